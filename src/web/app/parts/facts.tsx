/** What panels are made of: the frame below a title, a fact by its name, a line of `quotekeeper status` by its state. */
import type { ComponentChildren } from "preact";
import type { LiveProblem, StatusLine } from "../../api/types.ts";
import { Code } from "./notes.tsx";
import { thousands } from "../../../figures.ts";
import { href } from "../lib/router.ts";
import { mayBeWell } from "../lib/store.ts";
import { boxId, lineId } from "./verdict.tsx";

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

/** The line of `status` whose remedy another view has; an account may be called so too. */
const LOGIN = lineId({ subject: "login" });

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
        {id === LOGIN && (
          <>
            {" "}
            (<a href={href("/accounts")}>Accounts</a>)
          </>
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
