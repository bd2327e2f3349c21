/** E*TRADE's answers as they were recorded, in their shape and with values of our own, its faults, and its calls. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import type { ResponseRecord } from "../../src/journal/record.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import { ETRADE } from "../../src/services/etrade/etrade.ts";
import { writeCall } from "../../src/services/service.ts";

const CASES = fileURLToPath(new URL("etrade/", import.meta.url));

function classify(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): Answer {
  return ETRADE.classify({ status, headers, body: Buffer.from(body) });
}

function documentOf(body: string) {
  const answer = classify(body);
  if (answer.outcome !== "quotes") throw new Error(answer.detail);
  return answer.document;
}

const RECORD: Omit<ResponseRecord, "request" | "body"> = {
  kind: "response",
  service: "etrade",
  requestId: "01940000-0000-7000-8000-000000000000",
  requestedAt: "2026-11-27T18:15:00.000000Z",
  observedAt: "2026-11-27T18:15:01.000000Z",
  source: { kind: "account", name: "etrade" },
  jobs: [],
  slotAt: null,
  status: 200,
  headers: {},
};

describe("recorded shapes", () => {
  test.each(readdirSync(CASES))("%s is read into the document beside it", (name) => {
    const expected = join(CASES, name, "document.json");

    const { items, expirations } = documentOf(readFileSync(join(CASES, name, "response.json"), "utf8"));

    const read = { items: items.map(({ fragment: _, ...item }) => item), expirations };
    if (process.env["WRITE_CASES"]) writeFileSync(expected, `${JSON.stringify(read, null, 2)}\n`);
    expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(readFileSync(expected, "utf8")));
  });
});

const error = (message: string, code?: number): string =>
  JSON.stringify({ Error: { ...(code !== undefined && { code }), message } });

const errorXml = (message: string, code: number): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><code>${code}</code><message>${message}</message></Error>`;

const LIMIT = "Number of requests exceeded the rate limit set";
const page = (text: string): string => `<!DOCTYPE html><html><body><h1>${text}</h1></body></html>`;

test.each([
  ["the limit as JSON", 400, error(LIMIT), "quota_fault"],
  ["the limit as a page", 400, page(LIMIT), "quota_fault"],
  ["the limit under another status", 503, page(LIMIT), "quota_fault"],
  ["a token that has expired", 401, error("oauth_problem=token_expired"), "unauthorized"],
  ["a token that is rejected, in a page", 401, page("oauth_problem=token_rejected"), "unauthorized"],
  ["a key that is dead", 401, error("oauth_problem=consumer_key_rejected"), "unauthorized"],
  ["a signature that is wrong", 401, error("oauth_problem=signature_invalid"), "unauthorized"],
  ["a page with 401", 401, page("Unauthorized"), "unauthorized"],
  ["a nonce that is said to be missing", 401, error("oauth_parameters_absent=oauth_nonce"), "server_error"],
  [
    "the same with the name of the problem, and with 400",
    400,
    error("oauth_problem=parameter_absent,oauth_parameters_absent=oauth_nonce"),
    "server_error",
  ],
  ["an unknown symbol for the whole call", 400, errorXml("The symbol is invalid", 10033), "refused"],
  ["an account without the right", 400, error("Not authorized", 10035), "unauthorized"],
  [
    "the overnight maintenance",
    500,
    error("The requested service is not currently available.", 100),
    "server_error",
  ],
  ["a page with 500", 500, page("HTTP Status 500"), "server_error"],
  ["maintenance under 400", 400, errorXml("Service unavailable", 670), "server_error"],
  ["an empty answer with 200", 200, "", "server_error"],
  ["no content", 204, "", "server_error"],
  ["a page with 200", 200, page("Welcome"), "malformed"],
  ["a token that has expired, in XML", 401, errorXml("oauth_problem=token_expired", 0), "unauthorized"],
  ["the limit in XML", 400, errorXml(LIMIT, 0), "quota_fault"],
  ["an error in XML with 200", 200, errorXml("Service unavailable", 670), "server_error"],
  ["quotes in XML", 200, "<QuoteResponse><QuoteData/></QuoteResponse>", "malformed"],
  ["half of an answer", 200, '{"QuoteResponse":{"QuoteData":[{"All":{', "malformed"],
  ["a document of something else", 200, '{"AccountListResponse":{}}', "malformed"],
  ["a list in place of a document", 200, "[]", "malformed"],
  ["a redirect", 302, "", "refused"],
  ["414 without a body", 414, "", "too_long"],
] as const)("%s is told by its body first and its status second", (_, status, body, outcome) => {
  expect(classify(body, status).outcome).toBe(outcome);
});

test.each([
  ["the limit", error(LIMIT), "quota_fault", [200, 400, 401, 429, 500]],
  ["a token's problem", error("oauth_problem=token_expired"), "unauthorized", [200, 400, 403, 500]],
  ["a nonce that is said to be used", error("oauth_problem=nonce_used"), "server_error", [200, 400, 401]],
  ["the overnight maintenance", error("Not available", 100), "server_error", [200, 400, 401, 404]],
  ["an account without the right", error("Not authorized", 10_035), "unauthorized", [200, 404, 500]],
  ["an underlying without options", error("No options", 10_031), "quotes", [200, 404, 500]],
  ["an unknown symbol", error("The symbol is invalid", 10_033), "refused", [200, 400, 404]],
] as const)("%s is what its body says under each status that it comes with", (_, body, outcome, statuses) => {
  expect(statuses.map((status) => classify(body, status).outcome)).toEqual(statuses.map(() => outcome));
});

test("only a token's problem wants a login, and a clock's names the range that is accepted", () => {
  expect(classify(error("oauth_problem=token_expired"), 401)).toMatchObject({ needsLogin: true });
  expect(classify(error("oauth_problem=consumer_key_rejected"), 401)).not.toHaveProperty("needsLogin");
  expect(
    classify(error("oauth_problem=timestamp_refused,oauth_acceptable_timestamps=1795000000-1795000600"), 401),
  ).toMatchObject({ outcome: "unauthorized", detail: expect.stringContaining("1795000000-1795000600") });
});

const SYMBOLS = (count: number): string[] => Array.from({ length: count }, (_, place) => `S${place}`);
const call = (symbols: string[]): QuoteCall => ({ form: "symbols", symbols, delayed: false });

test("stocks and contracts stand in the path, commas and colons bare, and a list of more than 25 has the flag", () => {
  const mixed = writeCall(
    ETRADE,
    call(["BRK.B", "A&B", "IBM270115C00200500", "SPXW270108P05000000", "BRKB270115C00400000"]),
  );

  expect(mixed).toEqual({
    method: "GET",
    accept: "application/json",
    target:
      "/v1/market/quote/BRK.B,A%26B,IBM:2027:1:15:CALL:200.500000,SPXW:2027:1:8:PUT:5000.000000,BRK.B:2027:1:15:CALL:400.000000.json?detailFlag=ALL",
  });
  expect(writeCall(ETRADE, call(SYMBOLS(25))).target).not.toContain("overrideSymbolCount");
  expect(writeCall(ETRADE, call(SYMBOLS(26))).target).toMatch(/\?detailFlag=ALL&overrideSymbolCount=true$/);
});

test("a whole chain is asked for with adjusted and weekly contracts, and expirations of all types", () => {
  const chain = writeCall(ETRADE, {
    form: "chain",
    underlying: "SPX",
    expiration: "2026-12-04",
    delayed: false,
  });
  const dates = writeCall(ETRADE, { form: "expirations", underlying: "BRK/B", delayed: false });

  expect(Object.fromEntries(new URL(chain.target, "http://x").searchParams)).toEqual({
    ...{ symbol: "SPX", expiryYear: "2026", expiryMonth: "12", expiryDay: "4", chainType: "CALLPUT" },
    ...{ priceType: "ALL", skipAdjusted: "false", includeWeekly: "true", optionCategory: "ALL" },
  });
  expect(dates.target).toBe("/v1/market/optionexpiredate.json?symbol=BRK%2FB&expiryType=ALL");
  expect(() => writeCall(ETRADE, { form: "watchlist", watchlist: "DEFAULT", delayed: false })).toThrow(
    "UNEXPECTED: E*TRADE has no call of the form watchlist",
  );
});

const quote = (all: string, more = ""): string =>
  `{"QuoteResponse":{"QuoteData":[{"quoteStatus":"REALTIME",${more}"All":{${all}},"Product":{"securityType":"EQ","symbol":"ACME"}}]}}`;

function only(body: string) {
  const [read] = documentOf(body).items;
  if (!read?.ok) throw new Error(read?.problem ?? "no item");
  return read;
}

test("what is written as 0 is nothing where it cannot be a value, and 0 where it can", () => {
  const { item } = only(
    quote(
      '"bid":0.0,"ask":0.00,"bidSize":0,"lastTrade":5.00,"changeClose":0.0,"changeClosePercentage":0,"open":0.0,"totalVolume":0,' +
        '"averageVolume":0,"eps":0,"dividend":0.0,"exDividendDate":0,"timeOfLastTrade":0,"high52":0.0',
    ),
  );

  expect(item.quote).toMatchObject({
    bid: null,
    ask: null,
    last: "5.00",
    change: "0.0",
    pctChange: "0",
    tradedAt: null,
  });
  expect(item.quote.extended).toMatchObject({
    ...{
      bidSize: "0",
      volume: "0",
      open: null,
      averageVolume: null,
      earningsPerShare: null,
      high52Week: null,
    },
    dividend: { exDate: null, amount: null, yield: null },
  });
});

test("the date of a dividend is New York's, also in an evening that is the next day's in UTC", () => {
  // 2026-11-12, 21:36:44 in New York: 02:36:44 of the 13th in UTC.
  const at = Date.parse("2026-11-13T02:36:44Z") / 1_000;

  const { item } = only(quote(`"exDividendDate":${at},"dividend":0.25`));

  expect(item.quote.extended.dividend).toEqual({ exDate: "2026-11-12", amount: "0.25", yield: null });
});

test("outside the session the quote of extended hours counts, with the session's open and volume", () => {
  const detail =
    '"ExtendedHourQuoteDetail":{"ask":8.2,"askSize":3,"bid":8.1,"bidSize":4,"change":-0.5,"lastPrice":8.15,"percentChange":-5.8,"timeOfLastTrade":1795037400,"volume":7}';
  const all = `"ask":9.2,"bid":9.1,"lastTrade":9.15,"open":9,"totalVolume":70,${detail}`;

  const [after, within] = [only(quote(all, '"ahFlag":true,')), only(quote(all, '"ahFlag":false,'))];

  expect(after.item.quote).toMatchObject({
    bid: "8.1",
    ask: "8.2",
    last: "8.15",
    change: "-0.5",
    pctChange: "-5.8",
  });
  expect(after.item.quote.extended).toMatchObject({ open: "9", volume: "70", bidSize: "4", askSize: "3" });
  expect(within.item.quote).toMatchObject({ bid: "9.1", ask: "9.2", last: "9.15" });
});

const CONTRACT =
  '"optionRootSymbol":"SPXW","timeStamp":1795037400,"optionType":"PUT","strikePrice":5000.0,"symbol":"SPX","bid":1.5,"ask":1.7,"lastPrice":1.6,"netChange":-0.1';
const put = (key: string, more = ""): string => `{"Put":{${CONTRACT},"osiKey":"${key}"${more}}}`;
const chainOf = (...pairs: string[]): string =>
  `{"OptionChainResponse":{"OptionPair":[${pairs.join()}],"quoteType":"DELAYED","SelectedED":{"year":2026,"month":12,"day":4}}}`;

test("a contract of a chain has its root, and is delayed where the chain says so", () => {
  const { item } = only(chainOf(put("SPXW--261204P05000000")));

  expect(item.instrument).toMatchObject({
    symbol: "SPX",
    root: "SPXW",
    expiration: "2026-12-04",
    optionType: "PUT",
  });
  expect(item.delayed).toBe(true);
});

test.each([
  ["another strike", "SPXW--261204P05005000"],
  ["another type", "SPXW--261204C05000000"],
  ["another date than the chain", "SPXW--261211P05000000"],
])("a contract whose key has %s is set aside, and the rest of its chain is read", (_, key) => {
  const { items } = documentOf(chainOf(put(key), put("SPXW--261204P05000000")));

  expect(items.map(({ ok }) => ok)).toEqual([false, true]);
  expect(items[0]).toMatchObject({
    symbol: "SPX",
    isOption: true,
    problem: expect.stringContaining("osiKey"),
  });
});

test("greeks that are not of now are left out", () => {
  const greeks = (current: boolean): string =>
    `,"OptionGreeks":{"delta":-0.25,"gamma":0.001,"iv":0.0,"currentValue":${current}}`;
  const key = "SPXW--261204P05000000";

  const [now, then] = [true, false].map((current) => only(chainOf(put(key, greeks(current)))));

  expect(now?.item.quote.extended).toMatchObject({ delta: "-0.25", gamma: "0.001", impliedVolatility: null });
  expect(then?.item.quote.extended).toMatchObject({ delta: null, gamma: null });
});

test("a message names a symbol that is not known, and other messages name none", () => {
  const message = (description: string, code = 10033): string =>
    JSON.stringify({ description, code, type: "WARNING" });
  const messages = [
    message("NOSUCH is an invalid symbol"),
    message("Invalid symbol: BRK.C."),
    message("SPXW:2026:12:4:PUT:5000.000000 is an invalid symbol"),
    message("Symbol is invalid"),
    message("GE or IBM"),
    message("The symbol IBM is late", 1002),
  ];
  const body = `{"QuoteResponse":{"Messages":{"Message":[${messages.join()}]}}}`;

  const rows = rowsOf(
    { ...RECORD, request: call(["NOSUCH", "BRK.C", "SPXW261204P05000000", "IBM"]), body: Buffer.from(body) },
    { segment: "a", offset: 0 },
  );

  expect(rows.matched).toEqual([
    { fate: "unknown", name: "NOSUCH" },
    { fate: "unknown", name: "BRK.C" },
    { fate: "unknown", name: "SPX/SPXW:2026-12-04:PUT:5000" },
    { fate: "absent", name: "IBM" },
  ]);
});

test("a quote without details is of an unknown name where it has an error's message, and odd where it has none", () => {
  const contract = {
    ...{ callPut: "PUT", expiryDay: 18, expiryMonth: 12, expiryYear: 2026 },
    ...{ securityType: "OPTN", strikePrice: 55, symbol: "GE" },
  };
  const quotes = [
    { Product: { securityType: "EQ", symbol: "NOSUCH" }, errorMessage: "Invalid symbol" },
    { Product: contract, errorMessage: "No such contract" },
    { Product: { securityType: "EQ", symbol: "IBM" } },
  ];
  const body = JSON.stringify({ QuoteResponse: { QuoteData: quotes } });

  const rows = rowsOf(
    { ...RECORD, request: call(["NOSUCH", "GE261218P00055000", "IBM"]), body: Buffer.from(body) },
    { segment: "a", offset: 0 },
  );

  expect(rows.matched).toMatchObject([
    { fate: "unknown", name: "NOSUCH" },
    { fate: "unknown", name: "GE:2026-12-18:PUT:55" },
    { fate: "dead", name: "IBM", detail: "All is missing" },
  ]);
});

test.each([10_031, 10_032])(
  "an underlying without options (%d) has no expirations, and is not refused",
  (code) => {
    for (const body of [error("There are no options", code), errorXml("There are no options", code)])
      expect(classify(body, 400)).toMatchObject({
        outcome: "quotes",
        document: { items: [], expirations: [] },
      });
  },
);

test("a symbol with an ampersand is named whole by a message", () => {
  const message = { description: "Invalid symbol M&M", code: 10_033 };
  const body = Buffer.from(JSON.stringify({ QuoteResponse: { Messages: { Message: message } } }));

  const { matched } = rowsOf({ ...RECORD, request: call(["M&M", "M"]), body }, { segment: "a", offset: 0 });

  expect(matched).toEqual([
    { fate: "unknown", name: "M&M" },
    { fate: "absent", name: "M" },
  ]);
});

test("a trade of the next day is an odd field, and the date of a dividend that is ahead is none", () => {
  // A recorded answer of an evening has the trade 20 hours ahead of it.
  const answeredAt = "2026-11-21T01:04:00.000000Z";
  const [trade, exDate] = ["2026-11-21T21:10:00Z", "2026-12-11T15:00:00Z"].map(
    (at) => Date.parse(at) / 1_000,
  );
  const body = quote(
    `"timeOfLastTrade":${trade},"exDividendDate":${exDate}`,
    `"dateTimeUTC":${Date.parse(answeredAt) / 1_000},`,
  );

  const answer = ETRADE.classify({
    status: 200,
    headers: {},
    body: Buffer.from(body),
    observedAt: answeredAt,
  });

  const [read] = answer.outcome === "quotes" ? answer.document.items : [];
  expect(read).toMatchObject({
    item: {
      quote: { quotedAt: answeredAt, tradedAt: null, extended: { dividend: { exDate: "2026-12-11" } } },
    },
    oddFields: [{ element: "All/timeOfLastTrade", problem: expect.stringContaining("is of 2026-11-21") }],
  });
});

test("an answer that says DELAYED makes delayed rows, whatever the address is", () => {
  const body = quote('"bid":9.1').replace("REALTIME", "DELAYED");

  const rows = rowsOf(
    { ...RECORD, request: call(["ACME"]), body: Buffer.from(body) },
    { segment: "a", offset: 0 },
  );

  expect(rows.units.map(({ delayed }) => delayed)).toEqual([true]);
});

test.each([
  ["a bid that stands there twice with two values", quote('"bid":9.1,"bid":9.2')],
  ["something beside its quotes", quote("").replace(/}$/, ',"OptionChainResponse":null}')],
  [
    "an expiration that is no date",
    '{"OptionExpireDateResponse":{"ExpirationDate":[{"year":2026,"month":2,"day":30}]}}',
  ],
])("%s makes the whole answer unreadable", (_, body) => {
  expect(classify(body).outcome).toBe("malformed");
});

test("quotes in XML, as an older journal has them, are dead letters that say so", () => {
  const body = Buffer.from(
    '<?xml version="1.0" encoding="UTF-8"?><QuoteResponse><QuoteData><All><bid>9.1</bid></All></QuoteData></QuoteResponse>',
  );

  const { units, deadLetters } = rowsOf(
    { ...RECORD, request: call(["ACME", "BETA"]), body },
    { segment: "a", offset: 0 },
  );

  expect(units).toEqual([]);
  expect(deadLetters).toMatchObject([
    { reason: "malformed", detail: expect.stringContaining("XML in place of JSON, which was asked for") },
  ]);
});

test("a bid that stands in an item twice with one value is read", () => {
  expect(only(quote('"bid":9.1,"ask":9.3,"bid":9.1')).item.quote).toMatchObject({ bid: "9.1", ask: "9.3" });
});

const LONG = readFileSync(join(CASES, "stock-after-hours", "response.json"));

test("an answer that is cut at any place is no quotes document", () => {
  for (let end = 1; end < LONG.length - 1; end += 7)
    expect(classify(LONG.subarray(0, end)).outcome).not.toBe("quotes");
});
