/** Beside the map of Coverage: why something is missing. */
import type { ComponentChildren } from "preact";
import type { CoverageCell, MissRow } from "../../api/types.ts";
import { exchangeTime, grouped, shortDate, ZONE_NAME } from "../lib/format.ts";
import { useApi } from "../lib/store.ts";
import { reasonOf } from "../lib/reasons.ts";
import { Await, Code, Empty } from "./notes.tsx";

/** Names a field of the map: its numbers may change while it is looked at. */
export type Field = Pick<CoverageCell, "date" | "instrument" | "source">;

/** Whether both name the same field. */
export function isSame(field: Field, other: Field | null): boolean {
  return field.date === other?.date && field.instrument === other.instrument && field.source === other.source;
}

/** What the ledger says of one field. */
export function Why({ field, cell }: { field: Field | null; cell: CoverageCell | null }) {
  return (
    <aside class="why panel" aria-live="polite" aria-label="Why">
      {field === null ? (
        <Empty title="Why is something missing?">
          Choose a field: the ledger has a reason for each quote that was due and is not there.
        </Empty>
      ) : (
        <>
          <h2>
            {field.instrument}, {shortDate(field.date)}
          </h2>
          {cell === null ? (
            <p class="dim">Nothing was due: no job asked for it that day.</p>
          ) : (
            <Sum cell={cell} />
          )}
        </>
      )}
    </aside>
  );
}

function Sum({ cell }: { cell: CoverageCell }) {
  return (
    <>
      <p class="why-sum">
        <b>{grouped(cell.stored)}</b> of {grouped(cell.expected)} quotes stored, <b>{grouped(cell.missed)}</b>{" "}
        missing.
      </p>
      {cell.missed === 0 ? (
        <p class="dim">Every quote that was due is there.</p>
      ) : (
        // Keyed: the reasons of one field never stand below the name of another.
        <Reasons key={`${cell.date} ${cell.source} ${cell.instrument}`} cell={cell} />
      )}
    </>
  );
}

function Reasons({ cell: { date, instrument, source, missed } }: { cell: CoverageCell }) {
  const loaded = useApi<MissRow[]>("/api/misses", { date, instrument, source }, missed);
  return (
    <Await loaded={loaded} what="the reasons">
      {(rows) => (
        <ul class="missed">
          {rows.map(({ job, reason, count, firstAt, lastAt }) => (
            <MissedFor key={`${job} ${reason}`} {...{ reason, count }}>
              job {job}, {exchangeTime(firstAt)} to {exchangeTime(lastAt)} {ZONE_NAME}
            </MissedFor>
          ))}
        </ul>
      )}
    </Await>
  );
}

/** Misses for one reason, and what to do about it. @param passed whether it has come to an end */
export function MissedFor({
  reason,
  count,
  passed = false,
  children,
}: {
  reason: string;
  count: number;
  passed?: boolean;
  children: ComponentChildren;
}) {
  const { title, text, person } = reasonOf(reason);
  return (
    <li data-tone={person && !passed ? "alarm" : "calm"}>
      <b>{grouped(count)}</b> {title}
      <small>{children}</small>
      <small>
        <Code text={text} />
      </small>
    </li>
  );
}
