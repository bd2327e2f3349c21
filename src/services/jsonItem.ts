/** One item of a JSON answer: an instrument's quote, or what is wrong with it. */
import type { Instant } from "../ground/clock.ts";
import { cutText } from "../ground/outsideText.ts";
import { type InstrumentQuote, MAX_FRAGMENT, type ReadItem } from "../quotes/document.ts";
import { isObject, type Json, writtenAgain } from "./json.ts";
import { JsonFields } from "./jsonFields.ts";

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
  if (!isObject(json)) {
    const fragment = cutText(writtenAgain(json), 200);
    return { ok: false, symbol: null, isOption: null, problem: "a quote is no object", fragment };
  }
  const fields = new JsonFields(json, latest);
  const written = (): string => cutText(writtenAgain(json), MAX_FRAGMENT);
  try {
    const item = read(fields);
    return {
      ok: true,
      item,
      oddFields: fields.odd,
      // Hardly ever asked for, and as dear as reading.
      get fragment() {
        return written();
      },
    };
  } catch (error) {
    if (!(error instanceof Nameless)) throw error;
    const { symbol, isOption, message: problem } = error;
    return { ok: false, symbol, isOption, problem, fragment: written() };
  }
}
