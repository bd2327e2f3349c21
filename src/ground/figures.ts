/**
 * Numbers as people read them, on the page and on a terminal: one form for each kind. Files and JSON keep exact digits.
 * Pure.
 */

export const NOTHING = "–";

const PRICE_PLACES = 2;

const DECIMAL = /^([-+]?)(\d+)(\.\d+)?$/;

/** A comma between thousands and a true minus: `1,234,567`, `−0.47`. Text that is no decimal number stays as it is. */
export function thousands(value: string | number | null): string {
  if (value === null) return NOTHING;
  const text = String(value);
  const [, sign, whole = "", rest = ""] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return text;
  const minus = sign === "-" && /[1-9]/.test(text) ? "\u2212" : "";
  return `${minus}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${rest}`;
}

/** The decimals of the text that has most. */
export function placesOf(texts: readonly (string | null)[]): number {
  return texts.reduce((most, text) => Math.max(most, decimalsOf(text ?? "")), 0);
}

/** The decimals that prices of one instrument, or of one column, are shown with: at least 2. */
export function pricePlaces(texts: readonly (string | null)[]): number {
  return Math.max(PRICE_PLACES, placesOf(texts));
}

/** `382.20`. Zeros are added; a digit that was sent is never cut. */
export function price(text: string | null, places = PRICE_PLACES): string {
  if (text === null || !DECIMAL.test(text)) return thousands(text);
  const missing = Math.max(0, places - decimalsOf(text));
  return thousands(`${text}${missing > 0 && !text.includes(".") ? "." : ""}${"0".repeat(missing)}`);
}

/** A shown change with its sign: `+1.25`, `−0.30 %`, `0.00`. */
export function signed(shown: string): string {
  return /^\d/.test(shown) && /[1-9]/.test(shown) ? `+${shown}` : shown;
}

export function direction(text: string | null): "up" | "down" | "" {
  const value = Number(text ?? 0);
  return value > 0 ? "up" : value < 0 ? "down" : "";
}

/** A number with so many decimals: `−0.230`. */
export function fixed(value: number | null, places: number): string {
  return thousands(value === null ? null : value.toFixed(places));
}

/** `99.20 %`. */
export function percent(value: string | number | null, places = 2): string {
  if (value === null) return NOTHING;
  return `${typeof value === "number" ? fixed(value, places) : price(value, places)} %`;
}

/** Pads the text so that its point stands below those of its column. @param places most decimals of the column */
export function aligned(text: string, places: number, blank = "\u2007"): string {
  if (!/\d/.test(text)) return text;
  const missing = places - decimalsOf(text) + (places > 0 && !text.includes(".") ? 1 : 0);
  return text + blank.repeat(Math.max(0, missing));
}

function decimalsOf(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/** `1 instrument`, `1,440 instruments`. @param many the plural, where it is not formed with an s */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : many}`;
}

/** `AAPL, MSFT and 3 more`. @param most so many are named, and the rest is counted */
export function someNames(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** A size in decimal units: `512 B`, `147.7 kB`, `3.4 GB`. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  const inUnit = (unit: number, name: string): string => `${fixed(count / unit, 1)} ${name}`;
  if (count < 1e6) return inUnit(1e3, "kB");
  return count < 1e9 ? inUnit(1e6, "MB") : inUnit(1e9, "GB");
}

/** Why it is not known whether all chains fit in the limit; null: it is known. @param chains underlyings by what they lack */
export function chainsNotKnown(chains: {
  priceless: readonly string[];
  unlisted: readonly string[];
}): string | null {
  const lack = (names: readonly string[], what: string): string[] =>
    names.length > 0 ? [`${counted(names.length, "chain has", "chains have")} no ${what} yet`] : [];
  const reasons = [...lack(chains.priceless, "price"), ...lack(chains.unlisted, "list of expirations")];
  return reasons.length === 0 ? null : reasons.join(", ");
}
