/** Text measured in the columns of a terminal, where some characters take two and others none. */
import stringWidth from "string-width";

/** Columns that a text takes; colours take none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** The text, cut with an ellipsis where it takes more than `columns`. It must hold no colours. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  return `${startOf(text, Math.max(0, columns - 1))}…`;
}

/**
 * Lines of at most `columns`, broken at blanks where there are any. It must hold no colours.
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

/** As many whole characters as fit. */
function startOf(text: string, columns: number): string {
  let start = "";
  let used = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += widthOf(segment);
    if (used > columns) break;
    start += segment;
  }
  return start;
}

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Where what goes on would get fewer columns than this beside what stands before it, it goes below. */
const LEAST_BESIDE = 20;

/** `Database   ` of a line that has a key, or the blanks that it begins with. */
const BEFORE = /^ *(?:\S+(?: \S+){0,2} {2,})?/;

/**
 * A line as a terminal of so many columns shows it: broken at blanks, and never within a word, so that an address can be
 * copied as a whole. What goes on stands below where the text began. It may hold colours.
 */
export function fold(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
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
