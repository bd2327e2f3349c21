/** The watch table: as many rows as are in sight, of as many as there are. */
import type { RefObject } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { seriesKey } from "../../api/quoteTable.ts";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { SourceTag } from "./notes.tsx";
import { Still } from "./still.tsx";
import { aligned, direction, thousands, price, pricePlaces, signed } from "../../../figures.ts";
import { age } from "../lib/format.ts";
import { slim } from "../lib/narrow.ts";
import { nowMs } from "../lib/pageClock.ts";
import { chartOf, setParameters } from "../lib/router.ts";
import { pieces, slotOf, useRowWindow } from "../lib/rowWindow.ts";
import { changed } from "../lib/store.ts";
import {
  AREAS,
  type FurtherPlace,
  furtherPlaces,
  INSTRUMENT,
  placesOfRow,
  type WatchColumn,
} from "../lib/watchColumns.ts";

/** The most decimals in each column of prices, so that points stand below each other. */
type Places = Record<(typeof PRICES)[number], number>;
const PRICES = ["last", "change", "pctChange", "bid", "ask", "spread"] as const;

const placesIn = (rows: readonly QuoteRow[]): Places =>
  Object.fromEntries(PRICES.map((name) => [name, pricePlaces(rows.map((row) => row[name]))])) as Places;

type TableProps = {
  rows: readonly QuoteRow[];
  /** Those that a search has left out too: columns stay as wide while somebody types. */
  all: readonly QuoteRow[];
  columns: readonly WatchColumn[];
  sort: string;
  /** Whether a phone shows all columns at once, because somebody has chosen them. */
  chosen: boolean;
};

/** The table. The arrow keys, Page Up and Down, Home and End go from row to row. */
export function QuotesTable({ rows, all, columns, sort, chosen }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [opened, setOpened] = useState<boolean | null>(null);
  const id = useId();
  const further = useMemo(() => furtherPlaces(columns), [columns.map(({ key }) => key).join()]);
  const open = slim.value && (opened ?? chosen);
  const lines = open ? Math.max(2, ...[...further.values()].map(({ line }) => line)) : 2;
  const { from, to, height } = useRowWindow(body, rows.length, lines);
  const places = useMemo(() => placesIn(all), [all]);
  const { found, focused, setFocusKey, onKeyDown } = useRowFocus(body, rows, to - from);
  const headings = [INSTRUMENT, ...columns];
  return (
    <div class="scroll watch" data-open={open} style={{ "--further": lines - 2 }}>
      {slim.value && further.size > 0 && (
        <button
          class="plain further-button small"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpened(!open)}
        >
          {open ? "Fewer columns" : "More columns"}
        </button>
      )}
      <table id={id} class="quotes" role="grid" aria-rowcount={rows.length + 1}>
        <caption class="unseen">
          The newest quote of each instrument. Arrow keys go from row to row, Enter shows the chart.
        </caption>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {headings.map((column) => (
              <Heading key={column.key} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body} onKeyDown={onKeyDown}>
          {pieces(rows.length, { from, to }, found < 0 ? null : found).map((piece) => {
            if ("room" in piece) return <Room px={piece.room * height} span={headings.length} />;
            const row = rows[piece.row];
            return (
              row && (
                <Row
                  key={piece.row >= from && piece.row < to ? slotOf(piece.row, { from, to }) : "focused"}
                  row={row}
                  columns={columns}
                  places={places}
                  place={piece.row}
                  tabbed={piece.row === focused}
                  further={open ? further : null}
                  onFocus={() => setFocusKey(seriesKey(row))}
                />
              )
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The row that has the focus, by its series, and the keys that move it. @param drawn how many rows are */
function useRowFocus(body: RefObject<HTMLElement | null>, rows: readonly QuoteRow[], drawn: number) {
  const [focusKey, setFocusKey] = useState("");
  const moving = useRef(false);
  const found = useMemo(
    () => (focusKey === "" ? -1 : rows.findIndex((row) => seriesKey(row) === focusKey)),
    [rows, focusKey],
  );
  const focused = Math.max(0, found);
  // Elements show other rows after each change of the order, and the focus stays with its instrument.
  const hasFocus = body.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (!moving.current && !hasFocus) return;
    const row = body.current?.querySelector(`[data-row="${focused}"]`);
    if (moving.current) row?.scrollIntoView({ block: "nearest" });
    moving.current = false;
    const link = row?.querySelector("a");
    if (link !== document.activeElement) link?.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = stepOf(event, { page: Math.max(1, drawn - 18), all: rows.length });
    if (step === null) return;
    event.preventDefault();
    const row = rows[Math.min(rows.length - 1, Math.max(0, focused + step))];
    if (!row) return;
    moving.current = true;
    setFocusKey(seriesKey(row));
  };
  return { found, focused, setFocusKey, onKeyDown };
}

/** How many rows a key goes on; null: it goes nowhere. */
function stepOf(event: KeyboardEvent, { page, all }: { page: number; all: number }): number | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -all,
    End: all,
  };
  return steps[event.key] ?? null;
}

function Room({ px, span }: { px: number; span: number }) {
  return (
    <tr class="room" aria-hidden="true" style={{ height: `${px}px` }}>
      <td colSpan={span} />
    </tr>
  );
}

function Heading({ column: { key, name, text }, sort }: { column: WatchColumn; sort: string }) {
  const up = sort === key;
  const down = sort === `-${key}`;
  return (
    <th
      scope="col"
      role="columnheader"
      data-column={key}
      class={text ? "text" : ""}
      aria-sort={up ? "ascending" : down ? "descending" : undefined}
    >
      <button onClick={() => setParameters({ sort: up ? `-${key}` : down ? "" : key })}>
        {name}
        <i aria-hidden="true">{up ? "▲" : down ? "▼" : ""}</i>
      </button>
    </th>
  );
}

type RowProps = {
  row: QuoteRow;
  columns: readonly WatchColumn[];
  places: Places;
  place: number;
  tabbed: boolean;
  /** Where columns stand that do not fit into two lines; null: they do, or are not shown. */
  further: ReadonlyMap<string, FurtherPlace> | null;
  onFocus: () => void;
};

function Row({ row, columns, places, place, tabbed, further, onFocus }: RowProps) {
  const { instrument, observedAt } = row;
  const fresh = changed.value.has(seriesKey(row));
  return (
    <tr
      role="row"
      data-row={place}
      aria-rowindex={place + 2}
      data-instrument={instrument}
      data-fresh={fresh ? observedAt : undefined}
    >
      <th scope="row" role="rowheader" class="text" data-column="instrument">
        <a href={chartOf(instrument, row)} tabIndex={tabbed ? 0 : -1} onFocus={onFocus}>
          {instrument}
        </a>
        {row.delayed && <span class="tag">delayed</span>}
        {row.stillSince !== null && <Still since={row.stillSince} />}
      </th>
      {columns.map(({ key, name, text }) => (
        <td
          role="gridcell"
          data-column={key}
          {...seatOf(key, name, further?.get(key))}
          class={`${text ? "text dim" : ""} ${toneOf(key, row)} ${key === "last" && fresh ? "flash" : ""}`}
          key={key === "last" ? `last ${observedAt}` : key}
        >
          <Cell column={key} row={row} places={places} />
        </td>
      ))}
    </tr>
  );
}

/** Where a cell stands on a phone. The grid's columns are two halves, of which the second is in three parts. */
function seatOf(key: string, name: string, at: FurtherPlace | undefined) {
  if (!at) return key in AREAS ? { "data-seat": "", style: { gridArea: AREAS[key] } } : {};
  const gridColumn = at.half === null ? "1 / -1" : at.half === 1 ? "1 / 2" : "2 / -1";
  return { "data-name": name, style: { gridRow: String(at.line), gridColumn } };
}

function toneOf(column: string, { change, pctChange }: QuoteRow): string {
  const tones: Record<string, string> = {
    last: "strong",
    change: direction(change),
    pct: direction(pctChange),
    spread: "dim",
    age: "dim",
    bidSize: "dim",
    askSize: "dim",
  };
  return tones[column] ?? "";
}

function Cell({ column, row, places }: { column: string; row: QuoteRow; places: Places }) {
  switch (column) {
    case "change":
      return aligned(signed(price(row.change, placesOfRow(row))), places.change);
    case "pct":
      return aligned(signed(price(row.pctChange)), places.pctChange);
    case "last":
    case "bid":
    case "ask":
    case "spread":
      return aligned(price(row[column], placesOfRow(row)), places[column]);
    case "bidSize":
    case "askSize":
    case "volume":
      return thousands(row[column]);
    case "age":
      return age(row.quotedAt ?? row.observedAt, nowMs.value);
    case "openInterest":
      return thousands(row.openInterest);
    case "source":
      return <SourceTag source={row.source} name={row.sourceName} />;
    case "description":
      return row.description ?? "";
    default:
      return thousands(row.delta);
  }
}
