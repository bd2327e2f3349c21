/** The report of `status` for people. */
import type { Sink } from "../edges.ts";
import { painter, type StyleName } from "./style.ts";
import type { Line, LineState } from "./statusTypes.ts";
import { cutTo, wrapTo } from "./width.ts";

const MARKS: Record<LineState, string> = { ok: "ok", attention: "ATTENTION", idle: "-" };
const STYLES: Record<LineState, StyleName> = { ok: "green", attention: "red", idle: "dim" };

/** Columns of the subject and the mark, with the blank behind each. One column more stays free: a cursor stands there. */
const LEFT = 20;

/** The least of a terminal that the text is set for. */
const LEAST_TEXT = 20;

/** Lines that the report is to have at most, when nothing needs a person. */
const MOST_LINES = 10;

/**
 * The lines, ready to print, each without its end. On a terminal a line that is too wide goes on in the next, as far as
 * all of it stays within ten; beyond that a line that needs nobody is cut. Elsewhere nothing is cut.
 */
export function statusLines(
  lines: readonly Line[],
  sink: Pick<Sink, "isTTY" | "columns">,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const paint = painter(sink, env);
  const room = Math.max(LEAST_TEXT, sink.columns - 1 - LEFT);
  let spare = MOST_LINES - lines.length;
  return lines.flatMap(({ subject, state, text }) => {
    const left = `${subject.padEnd(9)} ${paint(STYLES[state], MARKS[state].padEnd(9))} `;
    if (!sink.isTTY) return [`${left}${text}`];
    const [first = "", ...more] = wrapTo(text, room, "/,;:");
    if (state !== "attention" && more.length > spare) return [`${left}${cutTo(text, room)}`];
    spare -= more.length;
    return [`${left}${first}`, ...more.map((line) => `${" ".repeat(LEFT)}${line}`)];
  });
}
