/** Coverage where it is narrow: a line for each instrument, and the dates of the one that is chosen. */
import { useRef } from "preact/hooks";
import type { CoverageRow, CoverageView } from "../../../archive/ask/dashboardTypes.ts";
import { heatLevel, storedShare, sumOf, unpacked } from "../lib/heat.ts";
import { slotOf, useRowWindow } from "../lib/rowWindow.ts";
import { labelOf } from "./heatMap.tsx";
import { parameter, setParameters } from "../lib/router.ts";
import { OfOneSource, SourceTag } from "./notes.tsx";
import { FieldFacts } from "./why.tsx";

/** Height of a line, pixels; coverage.css has the same. */
const LINE_HEIGHT = 52;

type Dates = CoverageView["dates"];

type HeatListProps = { rows: readonly CoverageRow[]; dates: Dates; mixed: boolean };

/** Of thousands, those that are seen are drawn. */
export function HeatList({ rows, dates, mixed }: HeatListProps) {
  const list = useRef<HTMLUListElement>(null);
  const { from, to } = useRowWindow(list, rows.length);
  return (
    <div class="scroll heat-scroll">
      <ul
        ref={list}
        class="heat-list mono"
        aria-label="Instruments, the worst first"
        style={{ paddingTop: `${from * LINE_HEIGHT}px`, height: `${rows.length * LINE_HEIGHT}px` }}
      >
        {rows.slice(from, to).map((row, index) => (
          <li
            key={slotOf(from + index, { from, to })}
            data-row={from + index}
            aria-posinset={from + index + 1}
            aria-setsize={rows.length}
            data-instrument={row.instrument}
          >
            <button
              onClick={() => setParameters({ instrument: row.instrument, source: row.source, date: "" })}
            >
              <span>
                {row.instrument} {mixed && <SourceTag source={row.source} name={row.source} />}
              </span>
              <b>{storedShare(sumOf(row))}</b>
              <Strip row={row} dates={dates} />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The fields of a row, too small for a finger: its line tells them one by one. */
function Strip({ row, dates }: { row: CoverageRow; dates: Dates }) {
  return (
    <i class="strip" aria-hidden="true">
      {row.cells.map((packed, column) => {
        const cell = unpacked(packed);
        return <i key={dates[column]?.date} data-level={cell ? heatLevel(cell) : "empty"} />;
      })}
    </i>
  );
}

type HeatDaysProps = { row: CoverageRow; dates: Dates; sourceId: number | undefined };

/** The dates of one instrument, where a map has no room, the newest first; the chosen one with its reasons. */
export function HeatDays({ row, dates, sourceId }: HeatDaysProps) {
  const { instrument, source } = row;
  const chosen = parameter("date");
  const days = dates.map(({ date }, column) => ({ date, cell: unpacked(row.cells[column]) })).reverse();
  return (
    <>
      <div class="bar">
        <button onClick={() => setParameters({ instrument: "", source: "", date: "" })}>
          ‹ All instruments
        </button>
        <h2 class="of-days">
          {instrument} <OfOneSource source={source} name={source} />
        </h2>
      </div>
      <ul class="heat-days mono" aria-label={`Dates of ${instrument}`}>
        {days.map(({ date, cell }) => (
          <li key={date}>
            <button
              data-level={cell ? heatLevel(cell) : "empty"}
              aria-expanded={date === chosen}
              onClick={() => setParameters({ date: date === chosen ? "" : date })}
            >
              {labelOf(date, cell)}
            </button>
            {date === chosen && (
              <div class="day-facts">
                <FieldFacts field={{ date, instrument, source }} cell={cell} sourceId={sourceId} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
