/** One item of a JSON answer: an instrument's quote, or what is wrong with it. */
import type { Instant } from "../clock.ts";
import { cutText } from "../outsideText.ts";
import { type InstrumentQuote, MAX_FRAGMENT, type ReadItem } from "../quotes/document.ts";
import { JsonFields } from "./jsonFields.ts";
import { type Json, JsonObject } from "./plainJson.ts";

/** It cannot be told which instrument an item is. */
export class Nameless extends Error {
  readonly symbol: string | null;
  readonly isOption: boolean | null;

  constructor(problem: string, symbol: string | null, isOption: boolean | null) {
    super(problem);
    this.symbol = symbol;
    this.isOption = isOption;
  }
}

/** @param read throws Nameless. @param latest see `JsonFields` */
export function readItem(
  json: Json,
  read: (fields: JsonFields) => InstrumentQuote,
  latest: Instant | null,
): ReadItem {
  if (!(json instanceof JsonObject)) {
    const fragment = cutText(JSON.stringify(json), 200);
    return { ok: false, symbol: null, isOption: null, problem: "a quote is no object", fragment };
  }
  const fields = new JsonFields(json, latest);
  const fragment = json.text.slice(0, MAX_FRAGMENT);
  try {
    return { ok: true, item: read(fields), oddFields: fields.odd, fragment };
  } catch (error) {
    if (!(error instanceof Nameless)) throw error;
    const { symbol, isOption, message: problem } = error;
    return { ok: false, symbol, isOption, problem, fragment };
  }
}
