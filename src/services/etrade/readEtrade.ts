/** E*TRADE's answers in our words: lists of quotes, whole chains and expirations. */
import type { Instant } from "../../ground/clock.ts";
import { cutText } from "../../ground/outsideText.ts";
import {
  plainDocument,
  type ReadDocument,
  type ReadItem,
  refused,
  unknownQuote,
} from "../../quotes/document.ts";
import { isObject, type Json, type JsonObject, valueAt } from "../json.ts";
import { JsonFields } from "../jsonFields.ts";
import { listed, readItem } from "../jsonItem.ts";
import { keyInList } from "./writeEtrade.ts";
import { dateIn } from "./etradeContract.ts";
import { contractQuote, isDelayed, quoteOf } from "./etradeQuote.ts";

const [QUOTES, CHAIN, EXPIRATIONS] = [
  "QuoteResponse",
  "OptionChainResponse",
  "OptionExpireDateResponse",
] as const;

export const ROOTS: readonly string[] = [QUOTES, CHAIN, EXPIRATIONS];

const UNKNOWN_SYMBOL = "10033";

/** @param latest see `JsonFields`. @throws QuotekeeperError DOCUMENT_REFUSED when it is a document of something else */
export function readEtrade(document: JsonObject, latest: Instant | null): ReadDocument {
  const [kind = "", ...others] = Object.keys(document);
  const found = valueAt(document, kind);
  if (!ROOTS.includes(kind))
    throw refused(`it holds none of ${ROOTS.join(", ")}, but ${cutText(kind, 40) || "nothing"}`);
  if (others.length > 0) throw refused(`something stands beside its ${kind}`);
  // Nothing is an empty list; any text is none.
  if (!isObject(found) && found !== "" && found !== null) throw refused(`its ${kind} is no object`);
  const inside = new JsonFields(isObject(found) ? found : {});
  if (kind === EXPIRATIONS)
    return plainDocument([], elements(inside.value("ExpirationDate")).map(expirationIn));
  return plainDocument(kind === CHAIN ? chainItems(inside, latest) : quoteItems(inside, latest));
}

function elements(json: Json | undefined): readonly Json[] {
  return listed(json, (one) => one === null || one === "");
}

function expirationIn(json: Json): string | null {
  return isObject(json) ? dateIn(new JsonFields(json), ["year", "month", "day"]) : null;
}

function quoteItems(inside: JsonFields, latest: Instant | null): ReadItem[] {
  const messages = elements(inside.object("Messages")?.value("Message"));
  return [
    ...elements(inside.value("QuoteData")).map((one) => readItem(one, quoteOf, latest)),
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

function chainItems(chain: JsonFields, latest: Instant | null): ReadItem[] {
  const selected = chain.object("SelectedED");
  const read = contractQuote({
    delayed: isDelayed(chain.text("quoteType")),
    selected: selected && dateIn(selected, ["year", "month", "day"]),
  });
  return elements(chain.value("OptionPair")).flatMap((pair) => {
    const sides = isObject(pair) ? ["Call", "Put"].flatMap((side) => elements(valueAt(pair, side))) : [pair];
    return sides.map((side) => readItem(side, read, latest));
  });
}
