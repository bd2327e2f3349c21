/** The table of a chain: calls on the left and puts on the right of each strike. */
import type { ComponentChildren } from "preact";
import type { ChainView, Contract } from "../../api/types.ts";
import { atTheMoney, type StrikeRow, strikeRows } from "../lib/strikes.ts";
import { decimal, exchangeMoment, grouped, padded, placesOf } from "../lib/format.ts";
import { href } from "../lib/router.ts";

/** A contract that was observed this much before the newest one is dimmed, ms. */
const STALE_MS = 15 * 60_000;

/** Decimals of the price columns, so that points stand below each other. */
type Places = Record<"last" | "bid" | "mid" | "ask", number>;

const SIDE = ["Volume", "Last", "Delta", "Bid", "Mid", "Ask"];

/** Each contract leads to its instrument. @param sourceId where all the quotes come from */
export function ChainTable({ chain, sourceId }: { chain: ChainView; sourceId: number }) {
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

/** What each row of a chain is drawn with. */
type OfChain = { sourceId: number; places: Places; newestMs: number };

function Strike({
  row: { strike, call, put },
  money,
  last,
  ...ofChain
}: OfChain & { row: StrikeRow; money: string | null; last: string | null }) {
  const price = last === null ? null : Number(last);
  const callIn = price !== null && Number(strike) < price;
  const putIn = price !== null && Number(strike) > price;
  return (
    <tr data-strike={strike} data-money={strike === money ? "at" : undefined}>
      <Side contract={call} inside={callIn} {...ofChain} />
      <th scope="row" class="strike">
        {strike}
        {strike === money && (
          <abbr class="atm" title="at the money">
            ATM
          </abbr>
        )}
      </th>
      <Side contract={put} inside={putIn} {...ofChain} mirrored />
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
}: OfChain & { contract: Contract | null; inside: boolean; mirrored?: boolean }) {
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
