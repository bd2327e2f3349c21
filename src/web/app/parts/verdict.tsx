/** What needs a person, in one sentence above all, and where on the page each remedy stands. */
import type { ComponentChildren } from "preact";
import type { LiveAccount, LiveProblem, NowView, StatusLine } from "../../api/types.ts";
import { exchangeMoment, span } from "../lib/format.ts";
import { isOld } from "../lib/newest.ts";

const idOf = (...words: string[]): string => words.join("-").replaceAll(/[^\w-]+/g, "-");
export const boxId = ({ code, accounts }: LiveProblem): string => idOf("problem", code, ...accounts);
export const lineId = ({ subject }: Pick<StatusLine, "subject">): string => idOf("status", subject);

/** The box that says the same as a line of `status`; undefined: there is none. */
export function boxOf({ text }: StatusLine, problems: readonly LiveProblem[]): LiveProblem | undefined {
  return problems.find(({ code }) => text.startsWith(`${code}:`));
}

/** What a person has to see to, each once, and where on the page the remedy stands. */
function wrongOf({ status, live }: NowView): { name: string; id: string }[] {
  const problems = live?.problems ?? [];
  const lines = status?.lines.filter(({ state }) => state === "attention") ?? [];
  const boxes = lines.map((line) => boxOf(line, problems));
  return [
    ...lines.map((line, place) => {
      const box = boxes[place];
      return { name: line.subject, id: box ? boxId(box) : lineId(line) };
    }),
    ...problems
      .filter((problem) => problem.person && !boxes.includes(problem))
      .map((problem) => ({ name: problem.code, id: boxId(problem) })),
  ];
}

export function Verdict({ view }: { view: NowView }) {
  const { live, feed } = view;
  const wrong = wrongOf(view);
  const halted = haltedInWords(live?.accounts ?? []);
  if (wrong.length > 0 || halted?.refused)
    return (
      <VerdictBox tone="alarm" role="alert" title={`Needs attention${wrong.length > 0 ? ":" : ""}`}>
        <span>
          {wrong.map(({ name, id }, place) => (
            <span key={id}>
              {place > 0 && ", "}
              <a href={`#${id}`}>{name}</a>
            </span>
          ))}
          {wrong[0] && (
            <>
              . What to do: <a href={`#${wrong[0].id}`}>see below</a>.
            </>
          )}{" "}
          {halted?.words}
        </span>
      </VerdictBox>
    );
  const calm = calmOf(view, halted);
  if (calm)
    return (
      <VerdictBox tone="calm" title={calm.title}>
        {calm.words}
      </VerdictBox>
    );
  if (isOld.value) return null;
  return (
    <VerdictBox tone="good" title="All is well">
      {feed.simulated ? "The simulated market never closes." : (feed.address ?? "")}
    </VerdictBox>
  );
}

type VerdictBoxProps = {
  tone: "alarm" | "calm" | "good" | undefined;
  title: string;
  role?: "alert";
  children: ComponentChildren;
};

const WITHOUT = {
  starting: "The collector is starting",
  unknown: "Not known whether a collector runs",
  none: "No collector runs",
  stopped: "No collector runs",
  gone: "No collector runs",
} as const;

/** Why nothing is called well although no person is needed; null: there is no such reason. */
function calmOf(
  { live, status, market, feed }: NowView,
  halted: { words: string } | null,
): { title: string; words: string } | null {
  if (isOld.value)
    return { title: "Not live", words: "What stands here was so when the server was last heard." };
  if (live && live.phase === "closed") {
    const words = `No call is made for another ${span(live.closedForMs)}: the service refused one.`;
    return { title: "Waiting for the budget", words };
  }
  if (halted) return { title: "Some calls wait", words: halted.words };
  const collector = status?.collector.state ?? "unknown";
  if (!live && collector !== "running") {
    const words = status?.lines.find(({ subject }) => subject === "collector")?.text ?? "";
    return { title: WITHOUT[collector], words };
  }
  if (feed.simulated || market.phase !== "closed") return null;
  const opens = market.opensAt ? `; it opens ${exchangeMoment(market.opensAt)}` : "";
  return {
    title: "The market is closed",
    words: `${market.closedReason ?? "for today"}${opens}. Nothing is wrong.`,
  };
}

function VerdictBox({ tone, title, role, children }: VerdictBoxProps) {
  return (
    <p class="verdict row box marked dim" data-tone={tone} role={role}>
      <b>{title}</b> {children}
    </p>
  );
}

/**
 * Which of several accounts are refused or wait for their budget, and how many go on; null: none does. No time is in it:
 * an alert that changes is read aloud again.
 */
function haltedInWords(accounts: readonly LiveAccount[]): { refused: boolean; words: string } | null {
  const refused = accounts.filter(({ state }) => state === "refused");
  const waiting = accounts.filter(({ state, phase }) => state === "active" && phase === "closed");
  if (accounts.length < 2 || refused.length + waiting.length === 0) return null;
  const others = accounts.filter(({ state, phase }) => state === "active" && phase !== "closed").length;
  const halted = [
    ...refused.map(({ name }) => `${name} is refused by the service`),
    ...waiting.map(({ name }) => `${name} waits for its budget: the service refused a call`),
  ];
  const goOn =
    others === 0 ? "No other account is called." : `Going on: ${others} of ${accounts.length} accounts.`;
  return { refused: refused.length > 0, words: `${halted.join("; ")}. ${goOn}` };
}
