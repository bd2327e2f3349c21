/**
 * Text that a spreadsheet would take for a formula: it begins with = + - @, a tab or a carriage return. An apostrophe
 * before it makes it text there. Text that has apostrophes before such a beginning gets one more, so that taking one
 * away always gives back what was there. Pure.
 */

const FORMULA = "[=+@\\t\\r-]";
const FORMULA_TEXT = new RegExp(`^'*${FORMULA}`);
const HARMLESS_TEXT = new RegExp(`^'+${FORMULA}`);

/** A text as CSV has it for spreadsheets; most are the same. */
export function harmless(text: string): string {
  return FORMULA_TEXT.test(text) ? `'${text}` : text;
}

/** The text again that `harmless` was given. */
export function exact(text: string): string {
  return HARMLESS_TEXT.test(text) ? text.slice(1) : text;
}

export function harmlessSql(sql: string): string {
  return `regexp_replace((${sql})::text, '^(''*${FORMULA})', '''\\1')`;
}
