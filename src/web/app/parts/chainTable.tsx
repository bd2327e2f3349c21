/** The table of a chain: calls on the left and puts on the right of each strike, or below each other where it is narrow. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ChainView, Contract } from "../../../archive/ask/dashboardTypes.ts";
import type { Column } from "../lib/chainColumns.ts";
import { atTheMoney, type StrikeRow, strikeRows } from "../lib/strikes.ts";
import { placesOf, price, pricePlaces } from "../../../figures.ts";
import { exchangeMoment } from "../lib/format.ts";
import { chartOf } from "../lib/router.ts";
import { stillText } from "./still.tsx";

/** A contract that was observed this much before the newest one is dimmed, ms. */
const STALE_MS = 15 * 60_000;

type Shown = {
  symbol: string;
  chain: ChainView;
  /** Those that pass the filter. */
  contracts: readonly Contract[];
  columns: readonly Column[];
  /** Where all the quotes come from. */
  sourceId: number;
  delayed: boolean;
};

/** What each row is drawn with: decimals of the prices, so that points stand below each other, and the newest quote's time. */
type OfChain = Pick<Shown, "columns" | "sourceId" | "delayed"> & {
  places: ReadonlyMap<string, number>;
  strikePlaces: number;
  newestMs: number;
  last: number | null;
  money: string | null;
};

function ofChain({ chain, columns, sourceId, delayed }: Shown): OfChain {
  const { contracts, underlyingLast } = chain;
  const places = columns
    .filter(({ price }) => price)
    .map(({ key, text }) => [key, pricePlaces(contracts.map(text))] as const);
  return {
    columns,
    sourceId,
    delayed,
    places: new Map(places),
    strikePlaces: placesOf(contracts.map(({ strike }) => strike)),
    newestMs: Math.max(...contracts.map(({ observedAt }) => Date.parse(observedAt))),
    last: underlyingLast === null ? null : Number(underlyingLast),
    money: atTheMoney(strikeRows(contracts), underlyingLast),
  };
}

/** Each contract leads to its instrument. */
export function ChainTable(shown: Shown) {
  const { columns } = shown;
  const each = ofChain(shown);
  const mirrored = [...columns].reverse();
  const box = useRef<HTMLDivElement>(null);
  const fits = useFits(box);
  return (
    <div class="scroll" ref={box} data-fits={fits} tabIndex={0} role="region" aria-label="Calls and puts">
      <table class="chain">
        <caption class="unseen">Calls on the left, puts on the right of each strike</caption>
        <thead>
          <tr>
            <th colSpan={columns.length} scope="colgroup" class="side">
              Calls
            </th>
            <th class="strike">
              <Underlying {...shown} />
            </th>
            <th colSpan={columns.length} scope="colgroup" class="side">
              Puts
            </th>
          </tr>
          <tr>
            <Headings columns={columns} />
            <th scope="col" class="strike">
              Strike
            </th>
            <Headings columns={mirrored} />
          </tr>
        </thead>
        <tbody>
          {strikeRows(shown.contracts).map(({ strike, call, put }) => (
            <tr key={strike} data-strike={strike} data-money={strike === each.money ? "at" : undefined}>
              <Cells of={each} contract={call} inside={isInside(each, strike, "CALL")} linked />
              <th scope="row" class="strike">
                {price(strike, each.strikePlaces)}
                {strike === each.money && <AtTheMoney />}
              </th>
              <Cells
                of={{ ...each, columns: mirrored }}
                contract={put}
                inside={isInside(each, strike, "PUT")}
                linked
              />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Headings({ columns, role }: { columns: readonly Column[]; role?: "columnheader" }) {
  return (
    <>
      {columns.map(({ key, name, title }) => (
        <th key={key} role={role} scope="col" title={title}>
          {name}
        </th>
      ))}
    </>
  );
}

/** Whether a table is no wider than its box: its head stays in sight then, which a box that scrolls sideways would not let it. */
function useFits(box: { current: HTMLElement | null }): boolean {
  const [fits, setFits] = useState(false);
  useLayoutEffect(() => {
    const table = box.current?.querySelector("table");
    if (!box.current || !table) return;
    const look = (): void => setFits(table.scrollWidth <= (box.current?.clientWidth ?? 0));
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    observer.observe(table);
    return () => observer.disconnect();
  }, []);
  return fits;
}

function Underlying({ symbol, chain: { underlyingLast } }: Pick<Shown, "symbol" | "chain">) {
  return (
    <span class="at-price">
      {symbol} <b>{price(underlyingLast)}</b>
    </span>
  );
}

/** Which sides are shown where only one of them has room. */
export type Side = "both" | "calls" | "puts";

/** A row for each contract; cells that have no room beside each other go on in the next line. */
export function ChainList({ side, ...shown }: Shown & { side: Side }) {
  const each = ofChain(shown);
  return (
    <table class="chain chain-list" role="table">
      <caption class="unseen">A row for each contract, by strike</caption>
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="strike">
            <Underlying {...shown} />
            Strike
          </th>
          <Headings columns={shown.columns} role="columnheader" />
        </tr>
      </thead>
      <tbody role="rowgroup">
        {strikeRows(shown.contracts).flatMap((row) =>
          sidesOf(row, side).map((contract, place) => (
            <tr
              key={contract.instrument}
              role="row"
              data-strike={row.strike}
              data-type={contract.optionType}
              data-first={place === 0 ? "" : undefined}
              data-money={row.strike === each.money ? "at" : undefined}
            >
              <th role="rowheader" scope="row" class="strike">
                <a href={chartOf(contract.instrument, each)}>
                  {price(row.strike, each.strikePlaces)}{" "}
                  <small>{contract.optionType === "CALL" ? "C" : "P"}</small>
                </a>
                {row.strike === each.money && <AtTheMoney />}
              </th>
              <Cells of={each} contract={contract} inside={isInside(each, row.strike, contract.optionType)} />
            </tr>
          )),
        )}
      </tbody>
    </table>
  );
}

function sidesOf({ call, put }: StrikeRow, side: Side): Contract[] {
  return [side === "puts" ? null : call, side === "calls" ? null : put].filter((each) => each !== null);
}

function AtTheMoney() {
  return (
    <abbr class="atm" title="at the money">
      ATM
    </abbr>
  );
}

function isInside({ last }: OfChain, strike: string, optionType: Contract["optionType"]): boolean {
  if (last === null) return false;
  return optionType === "CALL" ? Number(strike) < last : Number(strike) > last;
}

function titleOf({ instrument, observedAt, quotedAt, stillSince }: Contract): string {
  const observed = `${instrument}, observed ${exchangeMoment(observedAt)}`;
  if (stillSince !== null) return `${observed}, ${stillText(stillSince)}`;
  return quotedAt === null ? observed : `${observed}, quoted ${exchangeMoment(quotedAt)}`;
}

type CellsProps = { of: OfChain; contract: Contract | null; inside: boolean; linked?: boolean };

/** @param linked whether one of the cells leads to the contract: that of mid, or the first one */
function Cells({ of, contract, inside, linked = false }: CellsProps) {
  const { columns, places, newestMs } = of;
  const stale = contract !== null && newestMs - Date.parse(contract.observedAt) > STALE_MS;
  const title = contract ? titleOf(contract) : undefined;
  const isStill = contract !== null && contract.stillSince !== null;
  const link = columns.find(({ key }) => key === "mid") ?? columns[0];
  return (
    <>
      {columns.map((column) => {
        const { key, look = "", text } = column;
        const written = contract === null ? "" : text(contract);
        const decimals = places.get(key);
        const shown = contract === null || decimals === undefined ? written : price(written, decimals);
        return (
          <td
            key={key}
            role={linked ? undefined : "cell"}
            class={`${look} ${stale ? "dim" : ""} ${isStill && written !== "" ? "still" : ""}`}
            data-cell={key}
            data-in={inside ? "" : undefined}
            title={title}
          >
            {linked && contract && column === link ? (
              <a href={chartOf(contract.instrument, of)}>{shown}</a>
            ) : (
              shown
            )}
          </td>
        );
      })}
    </>
  );
}
