/** The lines of `quotekeeper status` as a terminal shows them. Pure. */
import type { Sink } from "../../ground/edges.ts";
import type { Line, LineState } from "../../status/statusJson.ts";
import { type Paint, painter, type StyleName } from "./colour.ts";
import { oneLine } from "./harmless.ts";
import { cutTo, wrapTo } from "./width.ts";

const MARKS: Record<LineState, string> = { ok: "ok", attention: "ATTENTION", idle: "-" };
const STYLES: Record<LineState, StyleName> = { ok: "green", attention: "red", idle: "dim" };

/** Columns of the subject and the mark, with the blank behind each. */
const LEFT = 20;

/** A text with fewer columns than this beside its subject moves below it. */
const LEAST_TEXT = 20;

const INDENT = "  ";

/** A line may continue in the next behind one of these characters, and at blanks. */
const SEPARATORS = "/,;:";

/** Where the lines are printed. `rows`: how many fit; undefined: any number. */
type Place = Pick<Sink, "isTTY" | "columns"> & { rows?: number | undefined };

/**
 * The lines of a status, ready to print, each without its end. On a terminal a line that is too wide continues in the
 * next. When not all lines fit at once, those that need nobody are cut. Elsewhere no line is broken or cut.
 */
export function statusLines(
  lines: readonly Line[],
  sink: Place,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const paint = painter(sink, env);
  // One column stays free for the cursor.
  const width = sink.isTTY ? Math.max(1, sink.columns - 1) : Infinity;
  let spare = (sink.rows ?? Infinity) - lines.length;
  return lines.flatMap((line) => {
    const shown = inFull(line, width, paint);
    if (line.state !== "attention" && shown.length - 1 > Math.max(0, spare))
      return [cutTo(`${leftOf(line)} ${oneLine(line.text)}`, width)];
    spare -= shown.length - 1;
    return shown;
  });
}

/** A line in full: its text beside its subject, or below it. */
function inFull(line: Line, width: number, paint: Paint): string[] {
  const style = STYLES[line.state];
  const text = oneLine(line.text);
  const below = width - LEFT < LEAST_TEXT;
  const indent = below ? INDENT : " ".repeat(LEFT);
  const parts = width === Infinity ? [text] : wrapTo(text, Math.max(1, width - indent.length), SEPARATORS);
  if (below)
    return [
      ...wrapTo(leftOf(line), width).map((part) => paint(style, part)),
      ...parts.map((part) => `${indent}${part}`),
    ];
  const [first = "", ...more] = parts;
  const left = `${line.subject.padEnd(9)} ${paint(style, MARKS[line.state].padEnd(9))} `;
  return [`${left}${first}`, ...more.map((part) => `${indent}${part}`)];
}

function leftOf({ subject, state }: Line): string {
  return `${subject.padEnd(9)} ${MARKS[state]}`;
}
