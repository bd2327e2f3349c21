/** PostgreSQL's decimals as Parquet's DECIMAL: a whole number and a scale. Nothing is ever rounded. */

/** A DECIMAL of so many digits, `scale` of them behind the point. */
export type DecimalType = { precision: number; scale: number };

/** What a column of decimals begins with: prices to ten thousand million, eight places, eight bytes a value. */
export const COMMON_DECIMAL: DecimalType = { precision: 18, scale: 8 };

/** What quotes begin with: most prices are cents. A file of eight places takes half as much again. */
export const NARROW_DECIMAL: DecimalType = { precision: 18, scale: 4 };

/** The types that a column comes to, one after the other. The last one holds whatever is stored: HELD_DIGITS. */
const TYPES: readonly DecimalType[] = [
  NARROW_DECIMAL,
  COMMON_DECIMAL,
  { precision: 38, scale: 18 },
  { precision: 38, scale: 23 },
];

/** The type after one that was too narrow; null: there is none. */
export function widerThan({ precision, scale }: DecimalType): DecimalType | null {
  const isWider = (type: DecimalType): boolean =>
    type.precision > precision || (type.precision === precision && type.scale > scale);
  return TYPES.find(isWider) ?? null;
}

/** A decimal without the zeros that its column's type adds. */
export function decimalText(whole: bigint, scale: number): string {
  const digits = (whole < 0n ? -whole : whole).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/u, "");
  return `${whole < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}
