/** An option chain: calls and puts side by side, now or at a past instant. */
import { useState } from "preact/hooks";
import type { ChainKey, ChainView as Chain } from "../../api/types.ts";
import { ChainTable } from "../parts/chainTable.tsx";
import { Await, Empty, SourceTag } from "../parts/notes.tsx";
import { instantOfStop, stopCount } from "../lib/strikes.ts";
import { nowMs } from "../lib/pageClock.ts";
import { decimal, exchangeDateOf, exchangeMoment, expirationDate } from "../lib/format.ts";
import { useApi } from "../lib/store.ts";
import { parameter, setParameters } from "../lib/router.ts";

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
  const [chosen, choose] = useState<Stop | null>(null);
  // The newest chain is read again as often as quotes can come.
  const version = chosen === null ? Math.floor(nowMs.value / 15_000) : 0;
  const query = {
    ...{ symbol, expiration, source: String(sourceId), delayed: String(delayed) },
    ...(chosen !== null && { at: chosen.at }),
  };
  const loaded = useApi<Chain>("/api/chain", query, version);
  return (
    <div id="chain" role="tabpanel" aria-labelledby={`tab-${expiration}`} tabIndex={0}>
      <Await loaded={loaded} what="the chain">
        {(chain) => (
          <>
            <div class="bar time">
              <Slider spans={chain.spans} {...{ chosen, choose }} />
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
        )}
      </Await>
    </div>
  );
}

/** Where the slider stands, and the instant there, ISO 8601. */
type Stop = { stop: number; at: string };

/** @param chosen null: the newest, which is the last stop */
function Slider({
  spans,
  chosen,
  choose,
}: {
  spans: Chain["spans"];
  chosen: Stop | null;
  choose: (stop: Stop | null) => void;
}) {
  const last = Math.max(1, stopCount(spans) - 1);
  return (
    <>
      <label for="time">Chain at</label>
      <input
        id="time"
        type="range"
        min={0}
        max={last}
        value={chosen?.stop ?? last}
        disabled={stopCount(spans) < 2}
        aria-valuetext={chosen ? exchangeMoment(chosen.at) : "the newest"}
        onInput={(event) => {
          const stop = Number(event.currentTarget.value);
          const at = instantOfStop(spans, stop);
          choose(at === null ? null : { stop, at });
        }}
      />
      <output for="time">{chosen ? exchangeMoment(chosen.at) : "now, live"}</output>
      <button type="button" disabled={chosen === null} onClick={() => choose(null)}>
        Now
      </button>
    </>
  );
}
