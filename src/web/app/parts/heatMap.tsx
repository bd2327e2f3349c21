/** The map of Coverage: a table of sessions by instruments, of which the rows that are in sight are drawn. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { CoverageRow, CoverageView } from "../../../archive/ask/dashboardTypes.ts";
import { thousands } from "../../../ground/figures.ts";
import { heatLevel, shortMissed, storedShare, sumOf, unpacked } from "../lib/heat.ts";
import { setParameters } from "../lib/router.ts";
import { Rows, slotOf, useRowWindow } from "../lib/rowWindow.ts";
import { SourceTag } from "./notes.tsx";
import type { Field } from "./why.tsx";

type HeatMapProps = Pick<CoverageView, "rows" | "dates"> & { mixed: boolean; chosen: Field | null };

/** The year stands above the first date of it. @param mixed whether each row says where it is from */
export function HeatMap({ rows, dates, mixed, chosen }: HeatMapProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const window = useRowWindow(body, rows.length);
  // What happened last is looked for first.
  useLayoutEffect(() => scroller.current?.scrollTo({ left: scroller.current.scrollWidth }), [dates.length]);
  return (
    <div
      class="scroll heat-scroll"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="Sessions by instruments"
    >
      <table class="heat" aria-rowcount={rows.length + 1}>
        <caption class="unseen">
          How many quotes are missing, by instrument and session, the worst first. A number opens its reasons.
        </caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" class="text">
              Instrument
            </th>
            {dates.map(({ date, session }, column) => (
              <th
                key={date}
                scope="col"
                class={session ? "" : "off"}
                title={session ? date : `${date}: no session of the exchange`}
              >
                {dates[column - 1]?.date.startsWith(date.slice(0, 4)) ? "" : date.slice(0, 4)}
                <span>{date.slice(5)}</span>
              </th>
            ))}
            <th scope="col">Stored</th>
          </tr>
        </thead>
        <tbody ref={body}>
          <Rows window={window} count={rows.length}>
            {(place) => {
              const row = rows[place];
              if (!row) return null;
              const isOf = chosen?.instrument === row.instrument && chosen.source === row.source;
              const key = slotOf(place, window);
              return <Row key={key} {...{ row, place, dates, mixed }} chosen={isOf ? chosen.date : null} />;
            }}
          </Rows>
        </tbody>
      </table>
    </div>
  );
}

type RowProps = Pick<HeatMapProps, "dates" | "mixed"> & {
  row: CoverageRow;
  place: number;
  /** The date that is chosen; null: none of this row. */
  chosen: string | null;
};

/** Made anew when something of it has changed: not for each row that comes into sight. */
function Row({ row, place, dates, mixed, chosen }: RowProps) {
  const { instrument, source, cells } = row;
  return useMemo(
    () => (
      <tr data-row={place} data-instrument={instrument} aria-rowindex={place + 2}>
        <th scope="row" class="text">
          {instrument} {mixed && <SourceTag source={source} name={source} />}
        </th>
        {cells.map((packed, column) => {
          const cell = unpacked(packed);
          const date = dates[column]?.date ?? "";
          if (cell === null) return <td key={date} title="nothing was due" />;
          const stored = `${thousands(cell.stored)} of ${thousands(cell.expected)} stored`;
          return (
            <td key={date} data-level={heatLevel(cell)} title={stored}>
              {cell.missed > 0 && (
                <button
                  aria-label={`${instrument} ${date}: ${shortMissed(cell)}, ${stored}`}
                  aria-pressed={date === chosen}
                  onClick={() => setParameters({ date, instrument, source })}
                >
                  {shortMissed(cell)}
                </button>
              )}
            </td>
          );
        })}
        <td>{storedShare(sumOf(row))}</td>
      </tr>
    ),
    [row, place, dates, mixed, chosen],
  );
}
