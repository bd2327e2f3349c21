/** Text measured in columns of a terminal: some characters take two, others none. */
import stringWidth from "string-width";
import { remembered } from "../../ground/remembered.ts";

export function widthOf(text: string): number {
  return stringWidth(text);
}

/** The text, cut with an ellipsis if it is wider than `columns`. The text must hold no colours. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  return `${startOf(text, Math.max(0, columns - 1))}…`;
}

/**
 * Lines of at most `columns`, broken at blanks if there are any. The text must hold no colours.
 *
 * @param separators a line may also end behind one of these characters
 */
export function wrapTo(text: string, columns: number, separators = ""): string[] {
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > columns) {
    const head = startOf(rest, Math.max(1, columns)) || [...rest].slice(0, 1).join("");
    const next = rest.charAt(head.length);
    const blank = next === " " ? head.length : head.lastIndexOf(" ");
    const mark = Math.max(...[...separators].map((one) => head.lastIndexOf(one) + 1), 0);
    const end = blank > 0 ? blank : mark > 0 ? mark : head.length;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return rest === "" && lines.length > 0 ? lines : [...lines, rest];
}

function startOf(text: string, columns: number): string {
  let start = "";
  let used = 0;
  for (const { segment } of graphemesIn("en").segment(text)) {
    used += widthOf(segment);
    if (used > columns) break;
    start += segment;
  }
  return start;
}

/** Made when it is asked for first: its tables take 3 MB, and mostly nothing is cut. */
const graphemesIn = remembered(
  1,
  (locale: string) => new Intl.Segmenter(locale, { granularity: "grapheme" }),
);

/** A continuation with fewer columns than this beside the key moves to the left, below the key. */
const LEAST_BESIDE = 20;

/** A line's key, such as `Database   `, or the blanks at its beginning. */
const BEFORE = /^ *(?:\S+(?: \S+){0,2} {2,})?/;

/**
 * A line for a terminal of so many columns: broken at blanks, never within a word, so that an address can be copied
 * whole. The continuation stands below the beginning of the text. The line may hold colours.
 */
export function fold(line: string, columns: number): string[] {
  if (columns === Infinity || widthOf(line) <= columns) return [line];
  const [before = ""] = BEFORE.exec(line) ?? [];
  const indent = columns - before.length < LEAST_BESIDE ? 2 : before.length;
  const lines: string[] = [];
  let current = before;
  let isBegun = false;
  for (const word of line.slice(before.length).split(" ")) {
    const longer = isBegun ? `${current} ${word}` : `${current}${word}`;
    if (widthOf(longer) <= columns) current = longer;
    else {
      if (current.trim() !== "") lines.push(current.trimEnd());
      current = " ".repeat(Math.max(0, Math.min(indent, columns - widthOf(word)))) + word;
    }
    isBegun = true;
  }
  return [...lines, current];
}
