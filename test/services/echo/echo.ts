/**
 * A third service, as small as one can be: it answers each symbol with bid, ask and last, as JSON, to whoever shows the right word.
 * `test/services/newService.test.ts` puts it into a copy of the program.
 */
import { security } from "../../../src/market/instrument.ts";
import { QuotekeeperError } from "../../../src/ground/errors.ts";
import { type Answer, failed, type RawAnswer } from "../../../src/quotes/answer.ts";
import { NO_QUOTE, plainDocument, type ReadItem, unknownQuote } from "../../../src/quotes/document.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import { acceptedFinding, asking, KNOWN, readableFinding } from "../../../src/services/checkup.ts";
import { isObject, type JsonObject, parseJson, valueAt, writtenAgain } from "../../../src/services/json.ts";
import { JsonFields } from "../../../src/services/jsonFields.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import type { Service } from "../../../src/services/service.ts";

export const ECHO: Service = {
  name: "echo",
  title: "Echo",
  credentials: {
    all: [{ name: "accessToken", variable: "QUOTES_ACCESS_TOKEN", title: "word" }],
    identity: ["accessToken"],
    secrets: ["accessToken"],
  },
  addresses: [],
  limit: { calls: 30, windowMs: 60_000 },
  batch: { first: 20, least: 1, most: 20 },
  write: {
    symbols: ({ symbols }) => {
      const target = `/echo?symbols=${symbols.map(percentEncode).join(",")}`;
      return { method: "GET", target, accept: "application/json" };
    },
  },
  optionsInList: false,
  asksDelayed: false,
  isTimed: false,
  sign: (_, { accessToken = "" }) => ({ "x-echo-word": accessToken }),
  secrets: ({ accessToken = "" }) => [accessToken],
  keptHeaders: ["content-type", "date"],
  classify,
  rateLimit: () => NO_RATE_LIMIT,
  limitEnd: () => null,
  checkup: {
    next: (probed) => (probed.length === 0 ? asking(KNOWN) : null),
    findings: (probed) => [acceptedFinding(probed), readableFinding("JSON", probed)],
  },
};

function classify({ status, body }: RawAnswer): Answer {
  if (status === 403) return failed("unauthorized", "the word is wrong");
  if (status === 429) return failed("quota_fault", "HTTP 429");
  if (status >= 500) return failed("server_error", `HTTP ${status}`);
  if (status !== 200) return failed("refused", `HTTP ${status}`);
  try {
    const document = parseJson(body);
    if (!isObject(document)) return failed("malformed", "JSON that is no object");
    const items = Object.keys(document).map((symbol) => readItem(symbol, document));
    return { outcome: "quotes", document: plainDocument(items) };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return failed("malformed", error.detail);
  }
}

/** A symbol that Echo does not know is null. */
function readItem(symbol: string, document: JsonObject): ReadItem {
  const unknown = unknownQuote(security(symbol));
  const value = valueAt(document, symbol);
  if (!isObject(value)) return { ok: true, item: unknown, oddFields: [], fragment: symbol };
  const fields = new JsonFields(value);
  const [bid, ask, last] = [fields.decimal("bid"), fields.decimal("ask"), fields.decimal("last")];
  const quote = { ...NO_QUOTE, bid, ask, last };
  const item = {
    ...unknown,
    instrument: { ...unknown.instrument, securityType: "CS" },
    quote,
    unknownSymbol: false,
  };
  return { ok: true, item, oddFields: fields.odd, fragment: writtenAgain(value) };
}
