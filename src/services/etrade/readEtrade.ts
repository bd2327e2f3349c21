/** E*TRADE's answers in our words: lists of quotes, whole chains and expirations. */
import type { Instant } from "../../ground/clock.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { cutText } from "../../ground/outsideText.ts";
import { MAX_ITEMS, type ReadDocument, type ReadItem, refused, unknownQuote } from "../../quotes/document.ts";
import { isObject, type Json, type JsonObject, valueAt } from "../json.ts";
import { JsonFields } from "../jsonFields.ts";
import { readItem } from "../jsonItem.ts";
import { keyInList } from "./writeEtrade.ts";
import { contractQuote, isDelayed, type OfChain, quoteOf } from "./etradeQuote.ts";

/** What an answer is of, by its only element. */
const [QUOTES, CHAIN, EXPIRATIONS] = [
  "QuoteResponse",
  "OptionChainResponse",
  "OptionExpireDateResponse",
] as const;

export const ROOTS: readonly string[] = [QUOTES, CHAIN, EXPIRATIONS];

/** Code of a message that a symbol is not known. */
const UNKNOWN_SYMBOL = "10033";

/** @param latest see `JsonFields`. @throws QuotekeeperError DOCUMENT_REFUSED when it is a document of something else */
export function readEtrade(document: JsonObject, latest: Instant | null): ReadDocument {
  const [kind = "", ...others] = Object.keys(document);
  const found = valueAt(document, kind);
  if (!ROOTS.includes(kind))
    throw refused(`it holds none of ${ROOTS.join(", ")}, but ${cutText(kind, 40) || "nothing"}`);
  if (others.length > 0) throw refused(`something stands beside its ${kind}`);
  const inside = isObject(found) ? found : null;
  // Nothing is an empty list; any text is none.
  if (inside === null && found !== "" && found !== null) throw refused(`its ${kind} is no object`);
  const whole = { id: null, error: null, hasQuotes: true };
  if (kind === EXPIRATIONS) return { ...whole, items: [], expirations: datesIn(inside) };
  const items =
    inside === null ? [] : kind === CHAIN ? chainItems(inside, latest) : quoteItems(inside, latest);
  if (items.length > MAX_ITEMS) throw refused(`it holds more than ${MAX_ITEMS} instruments`);
  return { ...whole, items };
}

/** One element, or several. */
function listed(json: Json | undefined): readonly Json[] {
  if (json === undefined || json === null || json === "") return [];
  return Array.isArray(json) ? (json as readonly Json[]) : [json];
}

/** A list with a date that is none is of no use: chains would be asked for by it all day. */
function datesIn(inside: JsonObject | null): string[] {
  const dates = listed(inside === null ? null : valueAt(inside, "ExpirationDate")).map((one) =>
    isObject(one) ? dateIn(new JsonFields(one)) : null,
  );
  return dates.map((date) => {
    if (date !== null) return date;
    throw refused("one of its expirations is no date");
  });
}

function dateIn(fields: JsonFields | null): string | null {
  const [year, month, day] = ["year", "month", "day"].map((key) => fields?.integer(key) ?? "");
  const date = `${year}-${month?.padStart(2, "0")}-${day?.padStart(2, "0")}`;
  return isDateText(date) ? date : null;
}

function quoteItems(inside: JsonObject, latest: Instant | null): ReadItem[] {
  const messages = listed(new JsonFields(inside).object("Messages")?.value("Message"));
  return [
    ...listed(valueAt(inside, "QuoteData")).map((one) => readItem(one, quoteOf, latest)),
    ...messages.flatMap((message) => (isObject(message) ? unknownIn(new JsonFields(message)) : [])),
  ];
}

/**
 * Assumed: the symbol that a message is about is its only word in capitals; no recorded answer has one. A symbol that no message names
 * is absent from the answer.
 */
function unknownIn(message: JsonFields): ReadItem[] {
  const description = message.text("description") ?? "";
  const words = description.match(/(?<![\w.&])[A-Z0-9^$][A-Z0-9.:^$/&-]{0,63}(?![\w&-])/g) ?? [];
  const [name = "", ...others] = new Set(words.map((word) => word.replace(/[.:/-]+$/, "")));
  const key = others.length === 0 && /[A-Z]/.test(name) ? keyInList(name) : null;
  if (message.text("code") !== UNKNOWN_SYMBOL || key === null) return [];
  return [{ ok: true, item: unknownQuote(key), oddFields: [], fragment: cutText(description, 200) }];
}

function chainItems(inside: JsonObject, latest: Instant | null): ReadItem[] {
  const chain = new JsonFields(inside);
  const of: OfChain = {
    delayed: isDelayed(chain.text("quoteType")),
    selected: dateIn(chain.object("SelectedED")),
  };
  return listed(valueAt(inside, "OptionPair")).flatMap((pair) => {
    if (!isObject(pair)) return [readItem(pair, contractQuote(of), latest)];
    const sides = ["Call", "Put"].flatMap((side) => listed(valueAt(pair, side)));
    return sides.map((side) => readItem(side, contractQuote(of), latest));
  });
}
