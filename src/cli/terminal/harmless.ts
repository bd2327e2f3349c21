/**
 * Printed text controls no terminal. Names, messages and descriptions come from a service, a file or a database; control
 * characters in them could make a terminal hide, forge or type text. Such characters are printed as JSON's escapes
 * (`\u009b`), on a terminal or not: so JSON stays JSON of the same text, and a person sees what is there. Our own colours
 * and cursor movements carry a mark that only this process knows.
 */
import { randomFillSync } from "node:crypto";
import type { Edges, Sink } from "../../ground/edges.ts";
import { fold } from "./width.ts";

/** Digits that nobody outside of this process can guess; they are never printed. */
const SECRET = [...randomFillSync(new Uint16Array(3))].map((digits) => 1_000 + (digits % 9_000)).join(";");

/** Stands before a sequence of our own. It has the form of a colour, so string-width counts no column for it. */
const MARK = `\u001b[${SECRET}m`;

/**
 * A marked sequence of our own; or a character that must not be printed: controls (C0, C1, DEL), bidi marks, zero-width
 * characters, line separators, lone surrogates.
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

/** Marks a sequence as ours; no other sequence is printed. */
export function own(sequence: string): string {
  return `${MARK}${sequence}`;
}

/** Escapes a text so that it stays in one line; marked sequences stay. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, (found, ours?: string) => (ours === undefined ? escaped(found) : found));
}

/** A stack in lines: the error, each call, each cause. Line ends within a message are escaped. */
export function linesOfStack(stack: string): string[] {
  return stack.split(/\n(?= +at |caused by: )/).map(oneLine);
}

/** Prints texts, a line each; on a terminal a line that is too wide continues in the next, at a blank. */
export function say(sink: Pick<Sink, "write"> & Partial<Sink>, ...lines: readonly string[]): void {
  const room = sink.isTTY && sink.columns ? sink.columns : Infinity;
  const shown = lines.flatMap((line) => fold(oneLine(line), room));
  sink.write(shown.map((line) => `${line}\n`).join(""));
}

/** Edges that print nothing but text, line ends, tabs and marked sequences. */
export function harmlessEdges<E extends Pick<Edges, "stdout" | "stderr">>(edges: E): E {
  return { ...edges, stdout: harmlessSink(edges.stdout), stderr: harmlessSink(edges.stderr) };
}

function harmlessSink(sink: Sink): Sink {
  // A prototype, because the sink's size changes with the window.
  return Object.create(sink, { write: { value: (text: string) => sink.write(shown(text)) } }) as Sink;
}

function shown(text: string): string {
  return text.replace(CONTROLS, (found, ours?: string) => {
    if (ours !== undefined) return ours;
    return found === "\n" || found === "\t" ? found : escaped(found);
  });
}

/** A character outside of the BMP becomes two escapes, as in JSON. */
function escaped(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  return character
    .split("")
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
