/** One item of a JSON answer: an instrument's quote, or what is wrong with it. */
import type { Instant } from "../ground/clock.ts";
import { cutText } from "../ground/outsideText.ts";
import { type InstrumentQuote, MAX_FRAGMENT, type ReadItem } from "../quotes/document.ts";
import { isObject, type Json, writtenAgain } from "./json.ts";
import { JsonFields } from "./jsonFields.ts";

/** One element, or several; none where nothing stands. */
export function listed(json: Json | undefined, isNothing: (json: Json) => boolean): readonly Json[] {
  if (json === undefined || isNothing(json)) return [];
  return Array.isArray(json) ? (json as readonly Json[]) : [json];
}

/** Of an item that does not say which instrument it is: why. */
export type UnnamedItem = Pick<Extract<ReadItem, { ok: false }>, "problem" | "symbol" | "isOption">;

export function isUnnamed(item: object | null): item is UnnamedItem {
  return item !== null && "problem" in item;
}

/** @param latest see `JsonFields` */
export function readItem(
  json: Json,
  read: (fields: JsonFields) => InstrumentQuote | UnnamedItem,
  latest: Instant | null,
): ReadItem {
  const written = (most: number): string => cutText(writtenAgain(json), most);
  if (!isObject(json))
    return {
      ok: false,
      symbol: null,
      isOption: null,
      problem: "a quote is no object",
      fragment: written(200),
    };
  const fields = new JsonFields(json, latest);
  const item = read(fields);
  if (isUnnamed(item)) return { ok: false, ...item, fragment: written(MAX_FRAGMENT) };
  return {
    ok: true,
    item,
    oddFields: fields.odd,
    // Hardly ever asked for, and as dear as reading.
    get fragment() {
      return written(MAX_FRAGMENT);
    },
  };
}
