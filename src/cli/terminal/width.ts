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
