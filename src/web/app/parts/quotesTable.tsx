/** The watch table: as many rows as are in sight, of as many as there are. */
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { seriesKey } from "../../api/quoteTable.ts";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { SourceTag } from "./notes.tsx";
import { Still } from "./said.tsx";
import { aligned, direction, fixed, price, pricePlaces, signed, thousands } from "../../../ground/figures.ts";
import { changed } from "../lib/newest.ts";
import { age } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { chartOf, setParameters } from "../lib/router.ts";
import { Rows, useRowWindow } from "../lib/rowWindow.ts";
import { placesOfRow, type WatchColumn } from "../lib/watchColumns.ts";

const PRICES = ["last", "change", "pctChange", "bid", "ask", "spread"] as const;

/** The most decimals in each column of prices, so that points stand below each other. */
type Places = Record<(typeof PRICES)[number], number>;

type TableProps = {
  rows: readonly QuoteRow[];
  /** Those that a search has left out too: columns stay as wide while somebody types. */
  all: readonly QuoteRow[];
  columns: readonly WatchColumn[];
  sort: string;
};

/** The table. The arrow keys, Page Up and Down, Home and End go from row to row. */
export function QuotesTable({ rows, all, columns, sort }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const window = useRowWindow(body, rows.length);
  const places = useMemo(() => {
    return Object.fromEntries(PRICES.map((key) => [key, pricePlaces(all.map((row) => row[key]))])) as Places;
  }, [all]);
  const { focused, setFocusKey, onKeyDown } = useRowFocus(body, rows, window.to - window.from);
  return (
    <div class="scroll watch">
      <table class="quotes" role="grid" aria-rowcount={rows.length + 1}>
        <caption class="unseen">
          The newest quote of each instrument. Arrow keys go from row to row, Enter shows the chart.
        </caption>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.key} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body} onKeyDown={onKeyDown}>
          <Rows window={window} count={rows.length} focused={focused}>
            {(place) => {
              const row = rows[place];
              if (!row) return null;
              const key = seriesKey(row);
              const onFocus = (): void => setFocusKey(key);
              return (
                <Row key={key} {...{ row, columns, places, place, onFocus }} tabbed={place === focused} />
              );
            }}
          </Rows>
        </tbody>
      </table>
    </div>
  );
}

/** The row that has the focus, by its series, and the keys that move it. @param drawn how many rows are */
function useRowFocus(body: RefObject<HTMLElement | null>, rows: readonly QuoteRow[], drawn: number) {
  const [focusKey, setFocusKey] = useState("");
  const moving = useRef(false);
  const at = useMemo(() => rows.findIndex((row) => seriesKey(row) === focusKey), [rows, focusKey]);
  const focused = Math.max(0, at);
  const hadFocus = body.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (!moving.current && !hadFocus) return;
    const row = body.current?.querySelector(`[data-row="${focused}"]`);
    if (moving.current) row?.scrollIntoView({ block: "nearest" });
    moving.current = false;
    // A row that has changed its place has lost the focus.
    row?.querySelector("a")?.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const [page, all] = [Math.max(1, drawn - 18), rows.length];
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -all,
      End: all,
    };
    const row = rows[Math.min(all - 1, Math.max(0, focused + (steps[event.key] ?? 0)))];
    if (!row || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moving.current = true;
    setFocusKey(seriesKey(row));
  };
  return { focused, setFocusKey, onKeyDown };
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
  onFocus: () => void;
};

function Row({ row, columns, places, place, tabbed, onFocus }: RowProps) {
  const { instrument, observedAt } = row;
  const fresh = changed.value.has(seriesKey(row));
  const [, ...others] = columns;
  return (
    <tr role="row" data-row={place} aria-rowindex={place + 2} data-instrument={instrument}>
      <th scope="row" role="rowheader" class="text">
        <a href={chartOf(instrument, row)} tabIndex={tabbed ? 0 : -1} onFocus={onFocus}>
          {instrument}
        </a>
        {row.delayed && <span class="tag">delayed</span>}
        {row.stillSince !== null && <Still since={row.stillSince} />}
      </th>
      {others.map(({ key, text }) => (
        <td
          role="gridcell"
          data-column={key}
          style={`grid-area: ${key}`}
          class={`${text ? "text dim" : ""} ${toneOf(key, row)} ${key === "last" && fresh ? "flash" : ""}`}
          key={key === "last" ? `last ${observedAt}` : key}
        >
          {shown(key, row, places)}
        </td>
      ))}
    </tr>
  );
}

function toneOf(column: string, { change, pctChange }: QuoteRow): string {
  if (column === "last") return "strong";
  if (column === "change") return direction(change);
  if (column === "pctChange") return direction(pctChange);
  return ["bidSize", "askSize", "spread", "age"].includes(column) ? "dim" : "";
}

function shown(column: string, row: QuoteRow, places: Places): ComponentChildren {
  const of = PRICES.find((key) => key === column);
  if (of) {
    const text = price(row[of], of === "pctChange" ? undefined : placesOfRow(row));
    return aligned(of === "change" || of === "pctChange" ? signed(text) : text, places[of]);
  }
  switch (column) {
    case "age":
      return age(row.quotedAt ?? row.observedAt, nowMs.value);
    case "delta":
      return fixed(row.delta === null ? null : Number(row.delta), 3);
    case "description":
      return row.description;
    case "source":
      return <SourceTag source={row.source} name={row.sourceName} />;
    default:
      return thousands(row[column as "volume"]);
  }
}
