/** A fact by its name, and a line of `quotekeeper status` by its state. */
import type { ComponentChildren } from "preact";
import type { LiveProblem, StatusLine } from "../../api/types.ts";
import { Code } from "./notes.tsx";
import { thousands } from "../../../figures.ts";
import { mayBeWell } from "../lib/store.ts";
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
