/** Numbers as they are shown to people: `$150.11`, `45.33M`. Pure. */

/** The powers of ten that a letter behind a number stands for. */
const POWERS: Readonly<Record<string, number>> = { K: 3, M: 6, B: 9, T: 12 };

const SIGNED = /^([+-]?)[$€£¥]?\s?(\d[\d.,]*|[.,]\d+)\s?([KMBT])?$/u;

/**
 * The number without the sign of a currency before it, and with an exponent in place of a letter behind it: `$150.11` is
 * `150.11`, and `45.33M` is `45.33E6`. Any other text stays as it is.
 */
export function withoutSigns(text: string): string {
  const [, sign = "", number, letter] = SIGNED.exec(text) ?? [];
  if (number === undefined) return text;
  return `${sign}${number}${letter === undefined ? "" : `E${POWERS[letter] ?? 0}`}`;
}
