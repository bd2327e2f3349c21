/** Of a cell of Coverage: why something is missing, and the way to its chart. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { MissRow, SourceKind } from "../../../archive/ask/dashboardTypes.ts";
import type { HeatCell } from "../lib/heat.ts";
import { counted, thousands } from "../../../ground/figures.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { href, setParameters } from "../lib/router.ts";
import { useNews } from "../lib/useApi.ts";
import { reasonOf } from "../lib/reasons.ts";
import { Await, Code, Empty } from "./notes.tsx";

/** Names a cell of the map: its numbers may change while it is looked at. */
export type Field = { date: string; instrument: string; source: SourceKind };

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
