/**
 * Text from outside (answers, files, journals, callers) on its way into a message, a log, a dead letter or JSON. It is
 * cut and cleaned here and nowhere else. Pure.
 */

/** No text of PostgreSQL holds the character 0 or half of a UTF-16 pair. */
const NOT_TEXT = /[\0\p{Cs}]/gu;

/** The same in JSON; and an escaped backslash, which escapes nothing behind it. */
const NOT_TEXT_IN_JSON = /\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g;

const REPLACEMENT = "\u{FFFD}";

/** Replaces what no `text` column holds by U+FFFD. */
export function cleanText(text: string): string {
  return text.replace(NOT_TEXT, REPLACEMENT);
}

/**
 * The beginning of a text, clean, and never cut inside a character.
 *
 * @param most UTF-16 units
 */
export function cutText(text: string, most: number): string {
  return cleanText(beginning(text, most));
}

/** Like `cutText`, with `...` behind a cut. */
export function inShort(text: string, most: number): string {
  return text.length > most ? `${cutText(text, most)}...` : cleanText(text);
}

/** Like `inShort`, as a JSON string, which escapes what is not printable: `"A\u0000B"`. */
export function quotedText(text: string, most: number): string {
  return JSON.stringify(text.length > most ? `${beginning(text, most)}...` : text);
}

function beginning(text: string, most: number): string {
  return text.length > most ? text.slice(0, most).replace(/[\ud800-\udbff]$/, "") : text;
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** JSON that `jsonb` holds, whatever texts and names are in the value. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(NOT_TEXT_IN_JSON, (escape, what: string) =>
    what === "\\" ? escape : REPLACEMENT,
  );
}
