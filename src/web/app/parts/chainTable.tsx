/** The table of a chain: calls on the left and puts on the right of each strike, or where it is narrow a row for each contract. */
import type { Ref } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ChainKey, ChainView, Contract } from "../../../archive/ask/dashboardTypes.ts";
import { aligned, placesOf, price, pricePlaces } from "../../../ground/figures.ts";
import {
  type ChainColumn,
  columnsOf,
  type SetName,
  contractsOf,
  type StrikeRow,
} from "../lib/chainColumns.ts";
import { isVague } from "../lib/curves.ts";
import { dayAndTime } from "../lib/format.ts";
import { chartOf } from "../lib/router.ts";
import { stillText } from "./said.tsx";

/** @param selector what is to be seen: its parent of offsets lies at the box's corner @param of when this changes, the box begins anew */
export function useInMiddle(selector: string, of: unknown): Ref<HTMLDivElement> {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    const seen = box?.querySelector<HTMLElement>(selector);
    if (!box || !seen) return;
    box.scrollTop = seen.offsetTop - (box.clientHeight - seen.offsetHeight) / 2;
    box.scrollLeft = seen.offsetLeft - (box.clientWidth - seen.offsetWidth) / 2;
  }, [of]);
  return ref;
}

/** A contract that was observed this much before the newest one is dimmed, ms. */
const STALE_MS = 15 * 60_000;

/** Contracts of which sides have rows of their own. */
export type ListedSide = "both" | "calls" | "puts";

/** Of the key: where all the quotes come from. */
type ChainTableProps = Pick<ChainKey, "symbol" | "expiration" | "sourceId" | "delayed"> & {
  chain: ChainView;
  rows: readonly StrikeRow[];
  /** The strike at the money; null: not known. */
  money: string | null;
  set: SetName;
  /** For how many columns of a contract there is room. */
  room: "few" | "many";
  /** Null: calls and puts stand side by side. */
  listed: ListedSide | null;
};

export function ChainTable({ symbol, chain, rows, money, set, room, listed, ...source }: ChainTableProps) {
  const { contracts, underlyingLast } = chain;
  const left = columnsOf(set, room, contracts);
  const right = listed ? left : [...left].reverse();
  const priced = left.filter(({ price }) => price);
  const of: OfTable = {
    ...source,
    places: new Map(priced.map(({ key, text }) => [key, pricePlaces(contractsOf(rows).map(text))])),
    newestMs: Math.max(...contracts.map(({ observedAt }) => Date.parse(observedAt))),
    last: Number(underlyingLast ?? NaN),
  };
  const strikePlaces = placesOf(rows.map(({ strike }) => strike));
  const line = (row: StrikeRow, only?: "C" | "P") => (
    <tr
      key={`${row.strike} ${only}`}
      data-strike={row.strike}
      data-money={row.strike === money ? "at" : undefined}
    >
      {!only && <Cells of={of} columns={left} contract={row.call} />}
      <th scope="row" class="strike">
        {price(row.strike, strikePlaces)} {only && <small>{only}</small>}
      </th>
      <Cells of={of} columns={right} contract={only === "C" ? row.call : row.put} />
    </tr>
  );
  const lines = (row: StrikeRow) =>
    listed
      ? [row.call && listed !== "puts" && line(row, "C"), row.put && listed !== "calls" && line(row, "P")]
      : line(row);
  return (
    <div
      class="scroll"
      ref={useInMiddle("[data-money]", rows.length)}
      tabIndex={0}
      role="region"
      aria-label={`Contracts of ${source.expiration}`}
    >
      <table class="chain">
        <caption class="unseen">{listed ? "Contracts by strike" : "Calls and puts of each strike"}</caption>
        <thead>
          <tr>
            {!listed && <Side name="calls" columns={left} />}
            <th class="strike at-price">
              {symbol} <b>{price(underlyingLast)}</b>
            </th>
            <Side name={listed ?? "puts"} columns={right} />
          </tr>
          <tr>
            {!listed && left.map(heading)}
            <th scope="col" class="strike">
              Strike
            </th>
            {right.map(heading)}
          </tr>
        </thead>
        <tbody>{rows.flatMap(lines)}</tbody>
      </table>
    </div>
  );
}

type Columns = { columns: readonly ChainColumn[] };

function Side({ name, columns }: Columns & { name: ListedSide }) {
  return (
    <th colSpan={columns.length} scope="colgroup" class="side">
      {{ both: "Calls and puts", calls: "Calls", puts: "Puts" }[name]}
    </th>
  );
}

const heading = ({ key, name, title }: ChainColumn) => (
  <th key={key} scope="col" title={title}>
    {name}
  </th>
);

/** What all rows are drawn with: decimals of prices by column, so that points stand below each other, and the underlying's price. */
type OfTable = Pick<ChainTableProps, "sourceId" | "delayed"> & {
  places: ReadonlyMap<string, number>;
  newestMs: number;
  last: number;
};

/** One of the cells leads to the contract: that of mid, or the first one. */
function Cells({ of, columns, contract }: Columns & { of: OfTable; contract: Contract | null }) {
  if (contract === null) return <td colSpan={columns.length} />;
  const { instrument, strike, optionType, observedAt, stillSince } = contract;
  const inside = optionType === "CALL" ? Number(strike) < of.last : Number(strike) > of.last;
  const stale = of.newestMs - Date.parse(observedAt) > STALE_MS;
  const vague = isVague(contract);
  const link = columns.find(({ key }) => key === "mid") ?? columns[0];
  return (
    <>
      {columns.map((column) => {
        const { key, look = "", ofVolatility, text } = column;
        const places = of.places.get(key);
        const shown = places ? aligned(price(text(contract)), places) : text(contract);
        const dim = stale || (vague && ofVolatility) ? "dim" : "";
        return (
          <td
            key={key}
            class={`${look} ${dim} ${stillSince === null ? "" : "still"}`}
            data-cell={key}
            data-in={inside ? "" : undefined}
            title={titleOf(contract)}
          >
            {column === link ? <a href={chartOf(instrument, of)}>{shown}</a> : shown}
          </td>
        );
      })}
    </>
  );
}

function titleOf({ instrument, observedAt, quotedAt, stillSince }: Contract): string {
  const observed = `${instrument}, observed ${dayAndTime(observedAt)}`;
  if (stillSince !== null) return `${observed}, ${stillText(stillSince)}`;
  return quotedAt === null ? observed : `${observed}, quoted ${dayAndTime(quotedAt)}`;
}
