/** The kind of one of Alpaca's answers: by the words of its message first, for one status has several meanings. */
import { cutText } from "../../ground/outsideText.ts";
import { type Answer, failed, type RawAnswer } from "../../quotes/answer.ts";
import type { QuoteCall, SavedCall } from "../../quotes/call.ts";
import { plainDocument } from "../../quotes/document.ts";
import { failedStatus, readAnswer, START } from "../plainAnswer.ts";
import { parseJson, textOf } from "../json.ts";
import { OPTION_FEEDS, STOCK_FEEDS } from "./feeds.ts";
import { readAlpaca } from "./readAlpaca.ts";

/** The feed is not in the account's plan: 403, and 422 in one place of the documentation. */
const NO_FEED = /\b(?:subscription|OPRA|grants)\b/i;
const NO_FEED_STATUS = [403, 422];

/** One name of a list is badly formed: the whole list fails. */
const BAD_SYMBOL = /invalid symbol: ([^\s",]{1,64})/i;

/** The trading host knows no such underlying, or one without options. */
const NO_UNDERLYING = /invalid underlying symbols?:/i;

/** Never throws. @param call that was answered */
export function classifyAlpaca(raw: RawAnswer, call: QuoteCall | SavedCall = NOT_KNOWN): Answer {
  const start = Buffer.from(raw.body.subarray(0, START)).toString("utf8");
  if (raw.status === 200)
    return readAnswer(raw, start, (document, latest) =>
      readAlpaca(document, { latest, observedAt: raw.observedAt ?? null }, call),
    );
  const message = messageIn(start);
  const words = `HTTP ${raw.status}${message === "" ? "" : `, "${cutText(message, 200)}"`}`;
  if (NO_FEED_STATUS.includes(raw.status) && NO_FEED.test(message))
    return { ...failed("unauthorized", `${words}: ${settingOf(call)} asks for it`), ofFeed: true };
  if (NO_UNDERLYING.test(message) && call.form === "expirations")
    return { outcome: "quotes", document: { ...plainDocument([]), expirations: [] } };
  const badSymbol = raw.status === 400 ? BAD_SYMBOL.exec(message)?.[1] : undefined;
  if (badSymbol !== undefined) return { ...failed("refused", words), badSymbol };
  return failed(failedStatus(raw.status) ?? "refused", words);
}

/** Empty: there is none. JSON writes some characters of a name as others. */
function messageIn(start: string): string {
  const written = /"message"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(start)?.[1] ?? '""';
  try {
    return textOf(parseJson(Buffer.from(written))) ?? "";
  } catch {
    return "";
  }
}

/** Stocks, for that is what most answers are of. */
const NOT_KNOWN: SavedCall = { form: "saved", file: "", delayed: false };

function settingOf(call: QuoteCall | SavedCall): string {
  const isOfOptions = "feed" in call && OPTION_FEEDS.values.some((feed) => feed === call.feed);
  return (isOfOptions ? OPTION_FEEDS : STOCK_FEEDS).variable;
}
