import { canonicalDecimal } from "./decimal.ts";
import { cutText } from "../ground/outsideText.ts";

/** Most differences that are shown, and most characters of each value. */
const [MOST_TOLD, VALUE_LENGTH] = [3, 40];

type Values = Readonly<Record<string, unknown>>;

/**
 * Where two quotes differ, as `quote.bid 1.5 and 1.6`. A number written in two ways (`1.0` and `1`) is one number, and
 * an absent field is null.
 *
 * @param hasUnreadable whether fields of the first and of the second could not be read: then their nulls do not count
 */
export function differences(a: object, b: object, hasUnreadable: readonly [boolean, boolean]): string[] {
  const [first, second] = [a as Values, b as Values];
  return [...new Set([...Object.keys(first), ...Object.keys(second)])].flatMap((name) => {
    const [x, y] = [first[name] ?? null, second[name] ?? null];
    if (isObject(x) || isObject(y))
      return differences(x ?? {}, y ?? {}, hasUnreadable).map((inner) => `${name}.${inner}`);
    if (isSame(x, y) || (x === null && hasUnreadable[0]) || (y === null && hasUnreadable[1])) return [];
    return [`${name} ${shown(x)} and ${shown(y)}`];
  });
}

export function someDifferences(all: readonly string[]): string {
  const rest = all.length - MOST_TOLD;
  return all.slice(0, MOST_TOLD).join(", ") + (rest > 0 ? `, and ${rest} more` : "");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isSame(x: unknown, y: unknown): boolean {
  if (typeof x !== "string" || typeof y !== "string") return x === y;
  return x === y || canonicalDecimal(x) === canonicalDecimal(y);
}

function shown(value: unknown): string {
  return value === null ? "none" : cutText(String(value), VALUE_LENGTH);
}
