/** An option chain: calls and puts side by side, now or at a past instant. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ChainKey, ChainView as Chain, Contract } from "../../api/types.ts";
import { Await, Empty, SourceTag } from "../parts/notes.tsx";
import { atTheMoney, instantOfStop, stopCount, type StrikeRow, strikeRows } from "../lib/chain.ts";
import { nowMs } from "../lib/clock.ts";
import {
  decimal,
  exchangeDateOf,
  padded,
  placesOf,
  exchangeMoment,
  expirationDate,
  grouped,
} from "../lib/format.ts";
import { useApi } from "../lib/load.ts";
import { href, parameter, setParameters } from "../lib/router.ts";

const keyOf = ({ symbol, sourceId, delayed }: ChainKey): string => `${symbol}/${sourceId}/${delayed}`;

/** The view. */
export function ChainView() {
  const loaded = useApi<ChainKey[]>("/api/chains", {}, Math.floor(nowMs.value / 60_000));
  return (
    <div class="view">
      <Await loaded={loaded} what="the chains">
        {(keys) =>
          keys.length === 0 ? (
            <>
              <h1 tabIndex={-1}>Option chain</h1>
              <Empty title="No options are stored">A job with `chains` or `options` collects them.</Empty>
            </>
          ) : (
            <Chains keys={keys} />
          )
        }
      </Await>
    </div>
  );
}

function Chains({ keys }: { keys: readonly ChainKey[] }) {
  const underlyings = [...new Map(keys.map((key) => [keyOf(key), key])).values()];
  const fullest = [...underlyings].sort((a, b) => contractsOf(keys, b) - contractsOf(keys, a))[0];
  const asked = parameter("underlying");
  const of = underlyings.find((key) => keyOf(key) === asked || key.symbol === asked) ?? fullest;
  if (!of) return null;
  const expirations = keys.filter((key) => keyOf(key) === keyOf(of));
  const today = exchangeDateOf(nowMs.peek());
  const wanted = parameter("expiration");
  const expiration =
    expirations.find((key) => key.expiration === wanted) ??
    expirations.find((key) => key.expiration >= today) ??
    expirations[0];
  if (!expiration) return null;
  return (
    <>
      <div class="bar">
        <h1 tabIndex={-1}>{of.symbol} options</h1>
        <select
          aria-label="Underlying"
          value={keyOf(of)}
          onChange={(event) => setParameters({ underlying: event.currentTarget.value, expiration: "" })}
        >
          {underlyings.map((key) => (
            <option key={keyOf(key)} value={keyOf(key)}>
              {key.symbol} {key.source === "simulated" ? "SIMULATED" : key.sourceName}
              {key.delayed ? ", delayed" : ""}
            </option>
          ))}
        </select>
        <SourceTag source={of.source} name={of.sourceName} />
      </div>
      <Tabs expirations={expirations} chosen={expiration} />
      <OneChain key={`${keyOf(of)} ${expiration.expiration}`} of={expiration} />
    </>
  );
}

function contractsOf(keys: readonly ChainKey[], of: ChainKey): number {
  return keys.filter((key) => keyOf(key) === keyOf(of)).reduce((sum, { contracts }) => sum + contracts, 0);
}

function Tabs({ expirations, chosen }: { expirations: readonly ChainKey[]; chosen: ChainKey }) {
  const choose = (key: ChainKey | undefined): void => {
    if (!key) return;
    setParameters({ expiration: key.expiration });
    document.getElementById(`tab-${key.expiration}`)?.focus();
  };
  const at = expirations.indexOf(chosen);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(expirations[(at + step + expirations.length) % expirations.length]);
  };
  return (
    <div class="tabs" role="tablist" aria-label="Expirations" onKeyDown={onKeyDown}>
      {expirations.map((key) => (
        <button
          key={key.expiration}
          id={`tab-${key.expiration}`}
          type="button"
          role="tab"
          aria-selected={key === chosen}
          aria-controls="chain"
          tabIndex={key === chosen ? 0 : -1}
          onClick={() => choose(key)}
        >
          {expirationDate(key.expiration)}
          <small>{key.contracts}</small>
        </button>
      ))}
    </div>
  );
}

function OneChain({ of: { symbol, expiration, sourceId, delayed } }: { of: ChainKey }) {
  const [at, setAt] = useState<string | null>(null);
  const [stop, setStop] = useState<number | null>(null);
  // The newest chain is read again as often as quotes can come.
  const version = at === null ? Math.floor(nowMs.value / 15_000) : 0;
  const query = {
    ...{ symbol, expiration, source: String(sourceId), delayed: String(delayed) },
    ...(at !== null && { at }),
  };
  const loaded = useApi<Chain>("/api/chain", query, version);
  return (
    <div id="chain" role="tabpanel" aria-labelledby={`tab-${expiration}`} tabIndex={0}>
      <Await loaded={loaded} what="the chain">
        {(chain) => {
          const stops = stopCount(chain.spans);
          return (
            <>
              <div class="bar time">
                <label for="time">Chain at</label>
                <input
                  id="time"
                  type="range"
                  min={0}
                  max={Math.max(1, stops - 1)}
                  value={stop ?? Math.max(1, stops - 1)}
                  disabled={stops < 2}
                  aria-valuetext={at ? exchangeMoment(at) : "the newest"}
                  onInput={(event) => {
                    const chosen = Number(event.currentTarget.value);
                    const instant = instantOfStop(chain.spans, chosen);
                    setStop(instant === null ? null : chosen);
                    setAt(instant);
                  }}
                />
                <output for="time">{at ? exchangeMoment(at) : "now, live"}</output>
                <button
                  type="button"
                  disabled={at === null}
                  onClick={() => {
                    setAt(null);
                    setStop(null);
                  }}
                >
                  Now
                </button>
                <span class="underlying">
                  {symbol} <b>{decimal(chain.underlyingLast)}</b>
                </span>
              </div>
              {chain.contracts.length === 0 ? (
                <Empty title="Nothing was stored by then">Move the slider to a later time.</Empty>
              ) : (
                <ChainTable chain={chain} sourceId={sourceId} />
              )}
            </>
          );
        }}
      </Await>
    </div>
  );
}

/** A contract that was observed this much before the newest one is dimmed, ms. */
const STALE_MS = 15 * 60_000;

/** Decimals of the price columns, so that points stand below each other. */
type Places = Record<"last" | "bid" | "mid" | "ask", number>;

const SIDE = ["Volume", "Last", "Delta", "Bid", "Mid", "Ask"];

function ChainTable({ chain, sourceId }: { chain: Chain; sourceId: number }) {
  const rows = strikeRows(chain.contracts);
  const money = atTheMoney(rows, chain.underlyingLast);
  const of = (name: keyof Places): number => placesOf(chain.contracts.map((each) => each[name]));
  const places = { last: of("last"), bid: of("bid"), mid: of("mid"), ask: of("ask") };
  const newestMs = Math.max(...chain.contracts.map(({ observedAt }) => Date.parse(observedAt)));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Calls and puts">
      <table class="chain">
        <caption class="unseen">Calls on the left, puts on the right of each strike</caption>
        <thead>
          <tr>
            <th colSpan={SIDE.length} scope="colgroup" class="side">
              Calls
            </th>
            <td />
            <th colSpan={SIDE.length} scope="colgroup" class="side">
              Puts
            </th>
          </tr>
          <tr>
            {SIDE.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th scope="col" class="strike">
              Strike
            </th>
            {[...SIDE].reverse().map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Strike
              key={row.strike}
              row={row}
              money={money}
              last={chain.underlyingLast}
              {...{ sourceId, places, newestMs }}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Strike({
  row: { strike, call, put },
  money,
  last,
  sourceId,
  places,
  newestMs,
}: {
  row: StrikeRow;
  money: string | null;
  last: string | null;
  sourceId: number;
  places: Places;
  newestMs: number;
}) {
  const price = last === null ? null : Number(last);
  const callIn = price !== null && Number(strike) < price;
  const putIn = price !== null && Number(strike) > price;
  return (
    <tr data-strike={strike} data-money={strike === money ? "at" : undefined}>
      <Side contract={call} inside={callIn} {...{ sourceId, places, newestMs }} />
      <th scope="row" class="strike">
        {strike}
        {strike === money && (
          <abbr class="atm" title="at the money">
            ATM
          </abbr>
        )}
      </th>
      <Side contract={put} inside={putIn} {...{ sourceId, places, newestMs }} mirrored />
    </tr>
  );
}

function Side({
  contract,
  inside,
  mirrored = false,
  sourceId,
  places,
  newestMs,
}: {
  contract: Contract | null;
  inside: boolean;
  mirrored?: boolean;
  sourceId: number;
  places: Places;
  newestMs: number;
}) {
  const behindMs = contract ? newestMs - Date.parse(contract.observedAt) : 0;
  const stale = behindMs > STALE_MS;
  const to = contract && href("/instrument", { name: contract.instrument, source: String(sourceId) });
  const title = contract ? `${contract.instrument}, observed ${exchangeMoment(contract.observedAt)}` : "";
  const price = (name: keyof Places): string => padded(decimal(contract?.[name] ?? null), places[name]);
  const mid = price("mid");
  const cells: { name: string; look: string; content: ComponentChildren }[] = [
    { name: "volume", look: "dim", content: grouped(contract?.volume ?? null) },
    { name: "last", look: "", content: price("last") },
    { name: "delta", look: "delta", content: shortDelta(contract?.delta ?? null) },
    { name: "bid", look: "", content: price("bid") },
    { name: "mid", look: "strong", content: to ? <a href={to}>{mid}</a> : mid },
    { name: "ask", look: "", content: price("ask") },
  ];
  return (
    <>
      {(mirrored ? cells.reverse() : cells).map(({ name, look, content }) => (
        <td
          key={name}
          class={`${look} ${stale ? "dim" : ""}`}
          data-cell={name}
          data-in={inside ? "" : undefined}
          title={title}
        >
          {content}
        </td>
      ))}
    </>
  );
}

/** Three decimals are what people compare; the rest is in the archive. */
function shortDelta(delta: string | null): string {
  return delta === null ? decimal(null) : Number(delta).toFixed(3);
}
