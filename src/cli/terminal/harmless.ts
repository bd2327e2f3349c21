/**
 * What is printed shows and does nothing. Names, messages and descriptions come from a service, a file or a database;
 * with control characters in them a terminal could be made to hide, forge or type. Such characters are printed as the
 * escapes that JSON has for them (`\u009b`), on a terminal or not: so JSON stays JSON of the same text, and a person sees
 * what is there. Our own colours and cursor movements carry a mark that nobody outside of this process can know.
 */
import { randomFillSync } from "node:crypto";
import type { Edges, Sink } from "../../run/edges.ts";
import { fold } from "./width.ts";

/** Digits that nobody outside can guess, as long as this process lives; they are never printed. */
const SECRET = [...randomFillSync(new Uint16Array(3))].map((digits) => 1_000 + (digits % 9_000)).join(";");

/** Stands before a sequence of our own. Itself written like a colour, so that whoever measures widths leaves it out. */
const MARK = `\u001b[${SECRET}m`;

/**
 * A marked sequence of our own; or a character that must not be printed: controls (C0, C1, DEL), what turns or hides text
 * (bidi marks, zero width), separators of lines, halves of a pair.
 */
const CONTROLS = new RegExp(
  String.raw`\u001b\[${SECRET}m((?:\r|\u001b\[(?!${SECRET}m)[?\d;]*[A-Za-z])+)|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]`,
  "gu",
);

const SHORT: Readonly<Record<string, string>> = {
  "\n": String.raw`\n`,
  "\r": String.raw`\r`,
  "\t": String.raw`\t`,
};

/** A sequence for the terminal that is ours: the only ones that get there. */
export function own(sequence: string): string {
  return `${MARK}${sequence}`;
}

/** A text in one line, whatever it holds; what is `own` stays. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, (found, ours?: string) => (ours === undefined ? escaped(found) : found));
}

/** A stack in lines: the error, each place it came from, each cause; the words of errors may be somebody else's. */
export function linesOfStack(stack: string): string[] {
  return stack.split(/\n(?= +at |caused by: )/).map(oneLine);
}

/** Prints lines, each of them one whatever it holds; on a terminal one that is too wide goes on in the next, at a blank. */
export function say(sink: Pick<Sink, "write"> & Partial<Sink>, ...lines: readonly string[]): void {
  const room = sink.isTTY && sink.columns ? sink.columns : Infinity;
  const shown = lines.flatMap((line) => fold(oneLine(line), room));
  sink.write(shown.map((line) => `${line}\n`).join(""));
}

/** The edges with the one way out: nothing gets past it but text, ends of lines, and what is `own`. */
export function harmlessEdges(edges: Edges): Edges {
  return { ...edges, stdout: harmlessSink(edges.stdout), stderr: harmlessSink(edges.stderr) };
}

/** A sink of the same place that only shows what it is given. */
export function harmlessSink(sink: Sink): Sink {
  // Its size changes with the window, so it is asked anew each time.
  return Object.create(sink, { write: { value: (text: string) => sink.write(shown(text)) } }) as Sink;
}

function shown(text: string): string {
  return text.replace(CONTROLS, (found, ours?: string) => {
    if (ours !== undefined) return ours;
    return found === "\n" || found === "\t" ? found : escaped(found);
  });
}

/** By halves where it is a pair, as in JSON. */
function escaped(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  return character
    .split("")
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
