/** What stands where there is nothing, not yet, or something went wrong. */
import type { ComponentChildren } from "preact";
import type { QuoteRow, SourceKind } from "../../../archive/ask/dashboardTypes.ts";
import type { Problem } from "../../api/types.ts";
import { AWAY } from "../lib/api.ts";
import { several, trouble } from "../lib/newest.ts";
import type { LoadState } from "../lib/useApi.ts";

type NoteProps = {
  problem: Problem;
  accounts?: readonly string[];
  /** Where a link leads to it. */
  id?: string;
};

/** An error, of which accounts it is, and what to do about it. Red only when a person is needed. */
export function ProblemNote({ problem: { code, detail, hint, person }, accounts = [], id }: NoteProps) {
  const [tone, role] = person ? ["alarm", "alert"] : ["calm", "status"];
  return (
    <div
      class="note box marked wraps"
      data-tone={tone}
      role={role as "alert" | "status"}
      id={id}
      tabIndex={id ? -1 : undefined}
    >
      <p>
        <code>{code}</code> {accounts.length > 0 && <b>{accounts.join(", ")}: </b>}
        {sentence(detail)}
      </p>
      <p class="strong">
        <Code text={hint} />
      </p>
    </div>
  );
}

/** An empty state: what would be here, and when. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {children && <p class="dim">{children}</p>}
    </div>
  );
}

/** Grey lines where rows will be. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="skeleton" role="status" aria-label={`Loading ${what}`}>
      {[0, 1, 2, 3, 4].map((line) => (
        <i key={line} />
      ))}
    </div>
  );
}

/** What a view could not read. What stands above the view already is not told twice; that the server is away is told there alone. */
function ViewProblem({ problem }: { problem: Problem | null }) {
  const isTold = problem === AWAY || trouble.value === AWAY || problem?.code === trouble.value?.code;
  return problem && !isTold ? <ProblemNote problem={problem} /> : null;
}

/** Whether it is not clear yet that the server is away. */
const waits = (problem: Problem): boolean => problem === AWAY && trouble.value === null;

type AwaitProps<T> = { loaded: LoadState<T>; what: string; children: (data: T) => ComponentChildren };

/** Loading, failed or there. What is there stays while it is read again, or cannot be read. */
export function Await<T>({ loaded: { data, problem }, what, children }: AwaitProps<T>) {
  return (
    <>
      <ViewProblem problem={problem} />
      {data !== null ? children(data) : (!problem || waits(problem)) && <Loading what={what} />}
    </>
  );
}

/** Whose all is that a view shows, said once: where the archive has one source, the mark on top of the page tells. */
export function OfOneSource(source: Source) {
  return several.value ? <SourceTag {...source} /> : null;
}

type Source = { source: SourceKind; name: string };

/** Where a row comes from, among rows of several sources. */
export function SourceTag({ source, name }: Source) {
  if (source === "simulated") return <span class="sim">SIMULATED{name === "archive" ? " replay" : ""}</span>;
  return <span class="tag">{source === name ? source : `${source} ${name}`}</span>;
}

/** A source in words, where no tag can stand: `SIMULATED`, `vendor, delayed`. */
export function sourceText(of: Pick<QuoteRow, "source" | "sourceName" | "delayed">): string {
  return `${of.source === "simulated" ? "SIMULATED" : of.sourceName}${of.delayed ? ", delayed" : ""}`;
}

export function Code({ text }: { text: string }) {
  return (
    <>
      {text
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

function sentence(detail: string): string {
  const text = detail.trim();
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
