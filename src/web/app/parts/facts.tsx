/** What panels are made of: the frame below a title, a fact by its name, a line of `quotekeeper status` by its state. */
import type { ComponentChildren } from "preact";
import type { LiveProblem, StatusLine } from "../../api/types.ts";
import { Code } from "./notes.tsx";
import { thousands } from "../../../ground/figures.ts";
import { mayBeWell } from "../lib/newest.ts";
import { boxId } from "./verdict.tsx";

type FactProps = { name: string; value: ComponentChildren; swatch?: string; tone?: string | undefined };

/** @param swatch whose colour stands before the name @param tone class of the value */
export function Fact({ name, value, swatch, tone }: FactProps) {
  return (
    <div>
      <dt data-of={swatch}>{name}</dt>
      <dd class={tone}>{typeof value === "number" ? thousands(value) : value}</dd>
    </div>
  );
}

const STATES = { ok: "well", idle: "nothing to do", attention: "needs a person", was: "was well" };

/** @param box what says the same above */
export function Line({ line, box, id }: { line: StatusLine; box?: LiveProblem | undefined; id?: string }) {
  const { subject, text } = line;
  const state = line.state === "ok" && !mayBeWell.value ? "was" : line.state;
  return (
    <li data-state={state} id={id} tabIndex={id ? -1 : undefined}>
      <i role="img" aria-label={STATES[state]} />
      <b>{subject}</b>
      <span class={`wraps ${state === "attention" ? "" : "dim"}`}>
        {box ? (
          <>
            see <a href={`#${boxId(box)}`}>{box.code}</a> above
          </>
        ) : (
          <Code text={text} />
        )}
      </span>
    </li>
  );
}

type PanelProps = { id: string; title: ComponentChildren; kind?: string; children: ComponentChildren };

/** @param kind how much of the row it takes: a class beside `panel` */
export function Panel({ id, title, kind = "", children }: PanelProps) {
  return (
    <section class={`panel ${kind}`} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

type UsedProps = {
  used: number;
  /** Calls that are left to other programs on the same account. */
  left: number;
  limit: number;
  label: string;
};

/** Calls used, as a line. */
export function UsedLine({ used, left, limit, label }: UsedProps) {
  const ours = Math.min(used, limit);
  const theirs = Math.min(left, limit);
  return (
    <svg
      class="used-line"
      viewBox={`0 0 ${limit} 1`}
      preserveAspectRatio="none"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={ours}
      aria-valuetext={`${used} of ${limit} calls used${left > 0 ? `, ${left} left to another program` : ""}`}
    >
      <rect width={ours} height="1" />
      <rect data-of="them" x={limit - theirs} width={theirs} height="1" />
    </svg>
  );
}
