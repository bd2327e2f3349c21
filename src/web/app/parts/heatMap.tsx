/** The map of Coverage: sessions by instruments, of which the rows that are seen are drawn. */
import { Component } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CoverageRow, CoverageView } from "../../../archive/ask/dashboardTypes.ts";
import { type HeatCell, heatLevel, storedShare, sumOf, unpacked } from "../lib/heat.ts";
import { thousands } from "../../../figures.ts";
import { setParameters } from "../lib/router.ts";
import { pieces, slotOf, useRowWindow } from "../lib/rowWindow.ts";
import { SourceTag } from "./notes.tsx";
import type { Field } from "./why.tsx";

/** Height of a row, pixels; coverage.css has the same. */
const ROW_HEIGHT = 28;

/** With more dates than this a field has no room for a number. */
const MOST_NUMBERED = 31;

type Dates = CoverageView["dates"];

type Place = { row: number; column: number };

/** Rows and columns that a key goes on by; a page has as many rows as are seen at once. */
const STEPS: Readonly<Record<string, (page: number) => [rows: number, columns: number]>> = {
  ArrowUp: () => [-1, 0],
  ArrowDown: () => [1, 0],
  ArrowLeft: () => [0, -1],
  ArrowRight: () => [0, 1],
  PageUp: (page) => [-page, 0],
  PageDown: (page) => [page, 0],
  Home: () => [0, -Infinity],
  End: () => [0, Infinity],
};

const clamp = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));

type HeatMapProps = { rows: readonly CoverageRow[]; dates: Dates; mixed: boolean; chosen: Field | null };

/** Arrow keys go from field to field, Enter chooses. @param mixed whether each row says where it is from */
export function HeatMap({ rows, dates, mixed, chosen }: HeatMapProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const window = useRowWindow(body, rows.length);
  const { focus, setFocus, onKeyDown } = useFields(scroller, { rows: rows.length, columns: dates.length });
  const entry = { row: clamp(focus.row, rows.length), column: clamp(focus.column, dates.length) };
  return (
    <div class="scroll heat-scroll" onKeyDown={onKeyDown} onFocusIn={showWhole} ref={scroller}>
      <table
        class="heat"
        role="grid"
        aria-label="Sessions by instruments. Arrow keys move, Enter tells why."
        aria-rowcount={rows.length + 1}
        data-dense={dates.length > MOST_NUMBERED ? "" : undefined}
      >
        <Head dates={dates} />
        <tbody ref={body}>
          {pieces(rows.length, window, entry.row).map((piece) => {
            if ("room" in piece)
              return <tr aria-hidden="true" style={{ height: `${piece.room * ROW_HEIGHT}px` }} />;
            const place = piece.row;
            const row = rows[place];
            if (!row) return null;
            const isOf = chosen?.instrument === row.instrument && chosen.source === row.source;
            return (
              <Row
                key={place >= window.from && place < window.to ? slotOf(place, window) : "focused"}
                row={row}
                place={place}
                dates={dates}
                mixed={mixed}
                setFocus={setFocus}
                focused={entry.row === place ? entry.column : null}
                chosen={isOf ? chosen.date : null}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

type showWholeProps = { target: EventTarget | null; currentTarget: HTMLElement };

/** Scrolls sideways until nothing of the focused field is cut off at the right: browsers leave a field that is seen in part. */
function showWhole({ target, currentTarget }: showWholeProps): void {
  const cut = (target as Element).getBoundingClientRect().right - currentTarget.getBoundingClientRect().right;
  // The ring and the scroll bar have room too.
  if (cut > -4) currentTarget.scrollLeft += cut + 24;
}

/** The field that has the focus, and the keys that move it: also to rows that are not drawn yet. */
function useFields(
  scroller: { current: HTMLElement | null },
  { rows, columns }: { rows: number; columns: number },
) {
  const [focus, setFocus] = useState<Place>({ row: 0, column: columns - 1 });
  const goes = useRef(false);
  // Elements show other rows when one scrolls, and the focus stays with its field.
  const hasFocus = scroller.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    const field = scroller.current?.querySelector<HTMLElement>(`[data-place="${focus.row}/${focus.column}"]`);
    if (!field || (!goes.current && !hasFocus)) return;
    if (field !== document.activeElement) field.focus({ preventScroll: !goes.current });
    goes.current = false;
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const element = scroller.current;
    const page = Math.floor((element?.clientHeight ?? 0) / ROW_HEIGHT) - 2;
    const step = STEPS[event.key]?.(page);
    if (!step || !element) return;
    event.preventDefault();
    const [down, right] = step;
    // With Ctrl, Home and End lead to the first and the last row too.
    const row = focus.row + (event.ctrlKey && !Number.isFinite(right) ? right : down);
    const place = { row: clamp(row, rows), column: clamp(focus.column + right, columns) };
    reveal(element, place.row);
    goes.current = true;
    setFocus(place);
  };
  return { focus, setFocus, onKeyDown };
}

/** Brings a row below the heading and above the end of what is seen. */
function reveal(scroller: HTMLElement, row: number): void {
  const head = scroller.querySelector("thead")?.clientHeight ?? 0;
  const top = row * ROW_HEIGHT;
  const room = scroller.clientHeight - head - ROW_HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
}

function Head({ dates }: { dates: Dates }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" class="text">
          Instrument
        </th>
        {dates.map(({ date, session }) => (
          <th
            key={date}
            scope="col"
            data-session={session ? "" : undefined}
            title={session ? undefined : "no session of the exchange"}
          >
            <span>{date}</span>
          </th>
        ))}
        <th scope="col">Stored</th>
      </tr>
    </thead>
  );
}

type RowOptions = {
  row: CoverageRow;
  place: number;
  dates: Dates;
  mixed: boolean;
  /** The column that the keys can reach, and the date that is chosen; null: none of this row. */
  focused: number | null;
  chosen: string | null;
  setFocus: (place: Place) => void;
};

const OF_ROW = ["row", "place", "dates", "mixed", "focused", "chosen"] as const;

/** Drawn anew when something of it has changed: not for each row that comes into sight. */
class Row extends Component<RowOptions> {
  override shouldComponentUpdate(next: RowOptions): boolean {
    return OF_ROW.some((name) => next[name] !== this.props[name]);
  }

  override render() {
    const { row, place, dates, mixed, focused, chosen, setFocus } = this.props;
    const { instrument, source, cells } = row;
    return (
      <tr data-row={place} data-instrument={instrument} aria-rowindex={place + 2}>
        <th scope="row" class="text">
          {instrument} {mixed && <SourceTag source={source} name={source} />}
        </th>
        {cells.map((packed, column) => {
          const cell = unpacked(packed);
          const date = dates[column]?.date ?? "";
          return (
            <td key={date} role="gridcell" aria-selected={date === chosen}>
              <button
                data-place={`${place}/${column}`}
                data-level={cell ? heatLevel(cell) : "empty"}
                tabIndex={column === focused ? 0 : -1}
                aria-label={`${instrument} ${labelOf(date, cell)}`}
                onFocus={() => setFocus({ row: place, column })}
                onClick={() => setParameters({ date, instrument, source })}
              >
                {cell && cell.missed > 0 && dates.length <= MOST_NUMBERED ? compact(cell.missed) : ""}
              </button>
            </td>
          );
        })}
        <td>{storedShare(sumOf(row))}</td>
      </tr>
    );
  }
}

/** What a field says: `2026-11-20: −42, 348 of 390 stored`. */
export function labelOf(date: string, cell: HeatCell | null): string {
  if (cell === null) return `${date}: nothing was due`;
  const missed = cell.missed > 0 ? `${compact(cell.missed)}, ` : "";
  return `${date}: ${missed}${thousands(cell.stored)} of ${thousands(cell.expected)} stored`;
}

/** A number of misses, short enough for a field: `−42`, `−12k`. */
function compact(count: number): string {
  return count < 1_000 ? thousands(-count) : `${thousands(-Math.round(count / 1_000))}k`;
}
