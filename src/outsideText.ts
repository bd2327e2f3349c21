/**
 * Text of outside (answers, files, journals, callers) on its way into a message, a log, a dead letter or JSON. Such text is
 * cut and cleaned here and nowhere else. Pure.
 */

/** What PostgreSQL holds in no text: the character 0, and half of a pair of UTF-16. */
const NOT_TEXT = /[\0\p{Cs}]/gu;

/** The same as JSON writes it; and a backslash that is escaped itself, behind which nothing is. */
const NOT_TEXT_IN_JSON = /\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g;

const REPLACEMENT = "\u{FFFD}";

/** A text as every `text` column holds it: U+FFFD stands for what none holds. */
export function cleanText(text: string): string {
  return text.replace(NOT_TEXT, REPLACEMENT);
}

/**
 * The beginning of a text, clean, and never cut inside a character.
 *
 * @param most how long it is at most, in units of UTF-16
 */
export function cutText(text: string, most: number): string {
  return cleanText(beginning(text, most));
}

/** The same, with `...` behind what was cut. */
export function inShort(text: string, most: number): string {
  return text.length > most ? `${cutText(text, most)}...` : cleanText(text);
}

/** The same within quotation marks; what is not printable stands there as JSON escapes it: `"A\u0000B"`. */
export function quotedText(text: string, most: number): string {
  return JSON.stringify(text.length > most ? `${beginning(text, most)}...` : text);
}

function beginning(text: string, most: number): string {
  return text.length > most ? text.slice(0, most).replace(/[\ud800-\udbff]$/, "") : text;
}

/** A value as JSON that `jsonb` holds, whatever its texts and its names are. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(NOT_TEXT_IN_JSON, (escape, what: string) =>
    what === "\\" ? escape : REPLACEMENT,
  );
}
