/**
 * A binary `numeric` is: how many groups of four digits, the place of the first group (0: just before the point), the
 * sign, how many digits behind the point are shown, and the groups (numeric_send in PostgreSQL's numeric.c).
 */

const GROUPS_AT = 8;
const GROUP = 10_000;
/** Powers of ten that are exact in a double. */
const POWERS = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
const PLUS = 0;
const MINUS = 0x40_00;
const NOT_NUMBERS: Readonly<Record<number, string>> = {
  0xc0_00: "NaN",
  0xd0_00: "Infinity",
  0xf0_00: "-Infinity",
};

/** A `numeric` times 10^scale; null where that is not exact in a double. Every type has room for a double's 16 digits. */
export function quickDecimal(view: DataView, start: number, scale: number): number | null {
  const groups = view.getInt16(start);
  const sign = view.getUint16(start + 4);
  if (sign !== PLUS && sign !== MINUS) return null;
  let value = 0;
  for (let at = start + GROUPS_AT; at < start + GROUPS_AT + 2 * groups; at += 2)
    value = value * GROUP + view.getInt16(at);
  const missing = scale - 4 * (groups - view.getInt16(start + 2) - 1);
  const power = POWERS[Math.abs(missing)] ?? NaN;
  // A step that was not exact has made the value too large: it does not shrink before the division.
  if (missing < 0 && !(value <= Number.MAX_SAFE_INTEGER && value % power === 0)) return null;
  value = missing < 0 ? value / power : value * power;
  if (!(value <= Number.MAX_SAFE_INTEGER)) return null;
  return sign === MINUS ? -value : value;
}

/** A `numeric` as text, without exponent; `NaN`, `Infinity` and `-Infinity` as PostgreSQL writes them. */
export function numericText(view: DataView, start: number): string {
  const [groups, first, sign] = [view.getInt16(start), view.getInt16(start + 2), view.getUint16(start + 4)];
  const notNumber = NOT_NUMBERS[sign];
  if (notNumber !== undefined) return notNumber;
  const digits = (group: number): string =>
    group < 0 || group >= groups
      ? "0000"
      : String(view.getInt16(start + GROUPS_AT + 2 * group)).padStart(4, "0");
  let text = sign === MINUS ? "-0" : "0";
  for (let group = 0; group <= first; group++) text += digits(group);
  if (groups > first + 1) text += ".";
  for (let group = first + 1; group < groups; group++) text += digits(group);
  return text;
}
