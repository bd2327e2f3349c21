/** The map of Coverage: a table of sessions by instruments, of which the rows in sight are drawn; and why something is missing in a cell. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { CoverageRow, CoverageView, MissRow, SourceKind } from "../../../archive/ask/dashboardTypes.ts";
import { thousands, counted } from "../../../ground/figures.ts";
import { heatLevel, shortMissed, storedShare, sumOf, unpacked, type HeatCell } from "../lib/heat.ts";
import { setParameters, href } from "../lib/router.ts";
import { Rows, slotOf, useRowWindow } from "../lib/rowWindow.ts";
import { SourceTag, Await, Code, Empty } from "./notes.tsx";
import type { ComponentChildren } from "preact";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { useNews } from "../lib/useApi.ts";
import { reasonOf } from "../lib/reasons.ts";

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

/** Names a cell of the map: its numbers may change while it is looked at. */
type Field = { date: string; instrument: string; source: SourceKind };

/** `sourceId`: of the field's source. */
type WhyProps = { field: Field | null; cell: HeatCell | null; sourceId: number | undefined };

/** Beside the map: what the ledger says of one cell. */
export function Why({ field, cell, sourceId }: WhyProps) {
  return (
    <aside class="why panel" aria-label="Why" data-chosen={field !== null}>
      {field === null ? (
        <Empty title="Why is something missing?">
          Choose a number: the ledger has a reason for each quote that was due and is not there.
        </Empty>
      ) : (
        // Keyed: the reasons of one cell never stand below the name of another.
        <Chosen key={Object.values(field).join(" ")} {...{ field, cell, sourceId }} />
      )}
    </aside>
  );
}

function Chosen({ field, cell, sourceId }: WhyProps & { field: Field }) {
  const { date, instrument } = field;
  const of = { source: String(sourceId ?? "") };
  const heading = useRef<HTMLHeadingElement>(null);
  // Who has pressed a number of the map goes on here, and returns to it.
  useLayoutEffect(() => {
    if (!document.activeElement?.closest(".heat")) return;
    heading.current?.closest("aside")?.scrollIntoView({ block: "nearest" });
    heading.current?.focus({ preventScroll: true });
  }, []);
  const close = (): void => {
    document.querySelector<HTMLElement>(".heat [aria-pressed=true]")?.focus();
    setParameters({ date: "", instrument: "", source: "" });
  };
  return (
    <div onKeyDown={({ key }) => key === "Escape" && close()}>
      <button class="plain close" aria-label="Close" onClick={close}>
        ×
      </button>
      <h2 ref={heading} tabIndex={-1}>
        {instrument}, {date}
      </h2>
      {cell === null ? (
        <p class="dim">Nothing was due: no job asked for it that day.</p>
      ) : (
        <p>
          <b>{thousands(cell.stored)}</b> of {counted(cell.expected, "quote")} stored,{" "}
          <b>{thousands(cell.missed)}</b> missing. Times are {ZONE_NAME}'s.
        </p>
      )}
      {cell !== null && cell.missed > 0 && <Reasons field={field} />}
      {!/^(?:watchlist|chain) /.test(instrument) && (
        <a class="button" href={href("instrument", { name: instrument, ...of, from: date, to: date })}>
          Chart of this day
        </a>
      )}
    </div>
  );
}

function Reasons({ field }: { field: Field }) {
  const loaded = useNews<MissRow[]>("api/misses", field);
  return (
    <Await loaded={loaded} what="the reasons">
      {(rows) => (
        <ul class="missed">
          {rows.map(({ job, reason, count, firstAt, lastAt }) => (
            <MissedFor key={`${job} ${reason}`} reason={reason} count={count}>
              job {job}, {exchangeTime(firstAt)} to {exchangeTime(lastAt)}
            </MissedFor>
          ))}
        </ul>
      )}
    </Await>
  );
}

type MissedForProps = { reason: string; count: number; passed?: boolean; children: ComponentChildren };

/** Misses for one reason, and what to do about it. @param passed whether it has come to an end */
export function MissedFor({ reason, count, passed = false, children }: MissedForProps) {
  const { title, text, person } = reasonOf(reason);
  return (
    <li class="marked" data-tone={person && !passed ? "alarm" : "calm"}>
      <b>{thousands(count)}</b> {title}
      <small class="dim">{children}</small>
      <small class="dim">
        <Code text={text} />
      </small>
    </li>
  );
}
