/** Of a field of Coverage: why something is missing, and the way to its chart. */
import type { ComponentChildren } from "preact";
import type { MissRow, SourceKind } from "../../../archive/ask/dashboardTypes.ts";
import type { HeatCell } from "../lib/heat.ts";
import { counted, thousands } from "../../../figures.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { href } from "../lib/router.ts";
import { useApi } from "../lib/useApi.ts";
import { reasonOf } from "../lib/reasons.ts";
import { Await, Code, Empty } from "./notes.tsx";

/** Names a field of the map: its numbers may change while it is looked at. */
export type Field = { date: string; instrument: string; source: SourceKind };

/** `sourceId`: of the field's source. */
type FieldProps = { field: Field; cell: HeatCell | null; sourceId: number | undefined };

/** Beside the map: what the ledger says of one field. */
export function Why({ field, cell, sourceId }: Omit<FieldProps, "field"> & { field: Field | null }) {
  return (
    <aside class="why panel" aria-live="polite" aria-label="Why">
      {field === null ? (
        <Empty title="Why is something missing?">
          Choose a field: the ledger has a reason for each quote that was due and is not there.
        </Empty>
      ) : (
        <>
          <h2>
            {field.instrument}, {field.date}
          </h2>
          <FieldFacts field={field} cell={cell} sourceId={sourceId} />
        </>
      )}
    </aside>
  );
}

export function FieldFacts({ field, cell, sourceId }: FieldProps) {
  if (cell === null) return <p class="dim">Nothing was due: no job asked for it that day.</p>;
  const { date, instrument, source } = field;
  const of = { name: instrument, ...(sourceId !== undefined && { source: String(sourceId) }) };
  return (
    <>
      <p class="why-sum">
        <b>{thousands(cell.stored)}</b> of {counted(cell.expected, "quote")} stored,{" "}
        <b>{thousands(cell.missed)}</b> missing.
      </p>
      {cell.missed === 0 ? (
        <p class="dim">Every quote that was due is there.</p>
      ) : (
        // Keyed: the reasons of one field never stand below the name of another.
        <Reasons key={`${date} ${source} ${instrument}`} field={field} missed={cell.missed} />
      )}
      {!/^(?:watchlist|chain) /.test(instrument) && (
        <a class="button" href={href("/instrument", { ...of, from: date, to: date })}>
          Chart of this day
        </a>
      )}
    </>
  );
}

function Reasons({ field, missed }: { field: Field; missed: number }) {
  const loaded = useApi<MissRow[]>("/api/misses", field, missed);
  return (
    <Await loaded={loaded} what="the reasons">
      {(rows) => (
        <ul class="missed">
          {rows.map(({ job, reason, count, firstAt, lastAt }) => (
            <MissedFor key={`${job} ${reason}`} reason={reason} count={count}>
              job {job}, {exchangeTime(firstAt)} to {exchangeTime(lastAt)} {ZONE_NAME}
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
