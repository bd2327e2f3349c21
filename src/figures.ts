/** Numbers as people read them, on the page and on a terminal: one form for each kind. Files and JSON keep exact digits instead. Pure. */

/** Stands where there is no value. */
export const NOTHING = "–";

/** Decimals that a price has at least. */
const PRICE_PLACES = 2;

/** A decimal number as text: sign, whole part, the point and what follows. */
const DECIMAL = /^([-+]?)(\d+)(\.\d+)?$/;

/** A number with a comma between thousands and a true minus: `1,234,567`, `−0.47`. Text that is no decimal number stays as it is. */
export function thousands(value: string | number | null): string {
  if (value === null) return NOTHING;
  const text = String(value);
  const [, sign, whole = "", rest = ""] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return text;
  const minus = sign === "-" && /[1-9]/.test(text) ? "\u2212" : "";
  return `${minus}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${rest}`;
}

/** Decimals of the longest of some numbers. */
export function placesOf(texts: readonly (string | null)[]): number {
  return texts.reduce((most, text) => Math.max(most, decimalsOf(text ?? "")), 0);
}

/** Decimals that prices are shown with which belong together: of one instrument, or in one column. At least 2. */
export function pricePlaces(texts: readonly (string | null)[]): number {
  return Math.max(PRICE_PLACES, placesOf(texts));
}

/** A price with so many decimals: `382.20`. Zeros are added; a digit that was sent is never cut. */
export function price(text: string | null, places = PRICE_PLACES): string {
  if (text === null || !DECIMAL.test(text)) return thousands(text);
  const missing = Math.max(0, places - decimalsOf(text));
  return thousands(`${text}${missing > 0 && !text.includes(".") ? "." : ""}${"0".repeat(missing)}`);
}

/** A change as it is shown, with its sign: `+1.25`, `−0.30 %`, `0.00`. */
export function signed(shown: string): string {
  return /^\d/.test(shown) && /[1-9]/.test(shown) ? `+${shown}` : shown;
}

/** `up`, `down` or neither. */
export function direction(text: string | null): "up" | "down" | "" {
  const value = Number(text ?? 0);
  return value > 0 ? "up" : value < 0 ? "down" : "";
}

/** `99.20 %`. */
export function percent(value: string | number | null, places = 2): string {
  if (value === null) return NOTHING;
  return `${typeof value === "number" ? thousands(value.toFixed(places)) : price(value, places)} %`;
}

/** The text, followed by as much room as puts its point below those of its column. */
export function aligned(text: string, places: number): string {
  if (!/\d/.test(text)) return text;
  const missing = places - decimalsOf(text) + (places > 0 && !text.includes(".") ? 1 : 0);
  return text + "\u2007".repeat(Math.max(0, missing));
}

function decimalsOf(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/** A count and what is counted: `1 instrument`, `1,440 instruments`. @param many where more than one is not called so with an s */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : many}`;
}

/** A size in decimal units: `512 B`, `147.7 kB`, `3.4 GB`. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  const [unit, name] =
    count < 1e6 ? ([1e3, "kB"] as const) : count < 1e9 ? ([1e6, "MB"] as const) : ([1e9, "GB"] as const);
  return `${thousands((count / unit).toFixed(1))} ${name}`;
}
