/** The report of `status` for people. */
import type { Sink } from "../../run/edges.ts";
import { oneLine } from "./harmless.ts";
import { painter, type Paint, type StyleName } from "./style.ts";
import type { Line, LineState } from "../../run/statusTypes.ts";
import { cutTo, wrapTo } from "./width.ts";

const MARKS: Record<LineState, string> = { ok: "ok", attention: "ATTENTION", idle: "-" };
const STYLES: Record<LineState, StyleName> = { ok: "green", attention: "red", idle: "dim" };

/** Columns of the subject and the mark, with the blank behind each. One column more stays free: a cursor stands there. */
const LEFT = 20;

/** Where the text would get fewer columns than this, one that goes on takes the whole width of the next lines. */
const LEAST_TEXT = 20;

/** Blanks before such lines. */
const INDENT = "  ";

/** Characters behind which a line may go on in the next, besides blanks. */
const SEPARATORS = "/,;:";

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
  const width = Math.max(1, sink.columns - 1);
  const room = width - LEFT;
  let spare = MOST_LINES - lines.length;
  return lines.flatMap((line) => {
    const { subject, state } = line;
    const text = oneLine(line.text);
    const left = `${subject.padEnd(9)} ${paint(STYLES[state], MARKS[state].padEnd(9))} `;
    if (!sink.isTTY) return [`${left}${text}`];
    if (room < LEAST_TEXT) return narrow({ ...line, text }, width, paint);
    const [first = "", ...more] = wrapTo(text, room, SEPARATORS);
    if (state !== "attention" && more.length > spare) return [`${left}${cutTo(text, room)}`];
    spare -= more.length;
    return [`${left}${first}`, ...more.map((part) => `${" ".repeat(LEFT)}${part}`)];
  });
}

/** On a strip of a terminal: what needs nobody in one line, what needs a person in full, below its subject. */
function narrow({ subject, state, text }: Line, width: number, paint: Paint): string[] {
  const left = `${subject.padEnd(9)} ${MARKS[state]}`;
  if (state !== "attention") return [cutTo(`${left} ${text}`, width)];
  const below = wrapTo(text, Math.max(1, width - INDENT.length), SEPARATORS);
  return [paint(STYLES[state], cutTo(left, width)), ...below.map((part) => `${INDENT}${part}`)];
}
