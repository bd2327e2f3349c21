/** Tradier's answers as they were recorded, in their shape and with values of our own, and its faults. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { Answer } from "../../src/quotes/answer.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { writeCall } from "../../src/services/service.ts";

const CASES = fileURLToPath(new URL("tradier/", import.meta.url));

function classify(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): Answer {
  return TRADIER.classify({ status, headers, body: Buffer.from(body) });
}

const RECORD: Omit<ResponseRecord, "request" | "body"> = {
  kind: "response",
  service: "tradier",
  requestId: "01940000-0000-7000-8000-000000000000",
  requestedAt: "2026-11-27T18:15:00.000000Z",
  observedAt: "2026-11-27T18:15:01.000000Z",
  source: { kind: "account", name: "tradier" },
  jobs: [],
  slotAt: null,
  status: 200,
  headers: {},
};

describe("recorded shapes", () => {
  test.each(readdirSync(CASES).filter((name) => statSync(join(CASES, name)).isDirectory()))(
    "%s is read into the quotes beside it",
    (name) => {
      const body = readFileSync(join(CASES, name, "response.json"));
      const expected = join(CASES, name, "quotes.json");

      const answer = classify(body);

      const items = answer.outcome === "quotes" ? answer.document.items : answer.detail;
      const read = Array.isArray(items) ? items.map(({ fragment: _, ...item }) => item) : items;
      if (process.env["WRITE_CASES"]) writeFileSync(expected, `${JSON.stringify(read, null, 2)}\n`);
      expect(read).toEqual(JSON.parse(readFileSync(expected, "utf8")));
    },
  );
});

const fault = (words: string, code: string): string =>
  JSON.stringify({ fault: { faultstring: words, detail: { errorcode: code } } });

const keyFault = (code: string): string => fault("Invalid Access Token", `keymanagement.service.${code}`);
const QUOTA = fault("Rate limit quota violation", "policies.ratelimit.QuotaViolation");
const OF_GATEWAY =
  "<fault><faultstring>Gateway Timeout</faultstring><detail><errorcode>messaging.adaptors.http.flow.GatewayTimeout</errorcode></detail></fault>";

test.each([
  ["an expired token that comes with 500", 500, keyFault("access_token_expired"), "unauthorized"],
  ["an invalid token", 401, keyFault("invalid_access_token"), "unauthorized"],
  ["a token elsewhere", 401, keyFault("InvalidAPICallAsNoApiProductMatchFound"), "unauthorized"],
  ["a quota fault with 429", 429, QUOTA, "quota_fault"],
  ["a quota fault with 500", 500, QUOTA, "quota_fault"],
  ["a quota fault with 403", 403, QUOTA, "quota_fault"],
  ["a transient fault with 400", 400, fault("Error", "steps.servicecallout.ExecutionFailed"), "server_error"],
  ["a gateway's fault as XML", 504, OF_GATEWAY, "server_error"],
  ["429 without a body", 429, "", "quota_fault"],
  ["401 without a body", 401, "", "unauthorized"],
  ["414 without a body", 414, "", "too_long"],
  ["413 without a body", 413, "", "too_long"],
  ["503 without a body", 503, "", "server_error"],
  ["400 with a sentence", 400, "Invalid parameter, symbols: cannot be null.", "refused"],
  ["a redirect", 302, "", "refused"],
  ["a fault of another kind with 200", 200, fault("Something", "other.kind"), "refused"],
  ["an HTML page with 200", 200, "<!DOCTYPE html><html><body>Maintenance</body></html>", "malformed"],
  ["an empty answer with 200", 200, "\n ", "server_error"],
  ["half of an answer", 200, '{"quotes":{"quote":[{"symbol":"ACME"', "malformed"],
  ["a document of something else", 200, '{"history":null}', "malformed"],
  ["a list in place of a document", 200, "[]", "malformed"],
  ["a compressed answer that nobody asked for", 200, '{"quotes":null}', "malformed"],
] as const)("%s is told by its body first and its status second", (name, status, body, outcome) => {
  const headers: Record<string, string> = name.startsWith("a compressed")
    ? { "content-encoding": "gzip" }
    : {};

  expect(classify(body, status, headers)).toMatchObject({ outcome, detail: expect.stringMatching(/\w/) });
});

function quotedAt(times: string): { quotedAt?: string | null; odd: string[] } {
  const body = Buffer.from(`{"quotes":{"quote":{"symbol":"KO","type":"stock","bid":61.5${times}}}}`);
  const answer = TRADIER.classify({
    status: 200,
    headers: {},
    body,
    observedAt: "2026-11-27T18:15:03.000000Z",
  });
  const [read] = answer.outcome === "quotes" ? answer.document.items : [];
  if (!read?.ok) throw new Error("the quote was not read");
  return { quotedAt: read.item.quote.quotedAt, odd: read.oddFields.map(({ element }) => element) };
}

test.each([
  ["the bid's", ',"bid_date":1795803301250,"ask_date":1795803300999', "2026-11-27T18:15:01.250000Z", []],
  ["the ask's", ',"bid_date":1795803300999,"ask_date":1795803301250', "2026-11-27T18:15:01.250000Z", []],
  [
    "that of more digits",
    ',"bid_date":999999999999,"ask_date":1000000000000',
    "2001-09-09T01:46:40.000000Z",
    [],
  ],
  ["the only one", ',"bid_date":0,"ask_date":1795803301250', "2026-11-27T18:15:01.250000Z", []],
  ["none", ',"bid_date":0,"ask_date":null', null, []],
  [
    "the readable one",
    ',"bid_date":1795803301250,"ask_date":1.5',
    "2026-11-27T18:15:01.250000Z",
    ["ask_date"],
  ],
  [
    "the one in milliseconds",
    ',"bid_date":1795803301250,"ask_date":1795803302',
    "2026-11-27T18:15:01.250000Z",
    ["ask_date"],
  ],
  ["none of two in seconds", ',"bid_date":1795803301,"ask_date":1795803302', null, ["bid_date", "ask_date"]],
  [
    "the one that is not of tomorrow",
    ',"bid_date":1795803301250,"ask_date":1795889701250',
    "2026-11-27T18:15:01.250000Z",
    ["ask_date"],
  ],
  [
    "the one before the year 10000",
    ',"bid_date":1795803301250,"ask_date":999999999999999',
    "2026-11-27T18:15:01.250000Z",
    ["ask_date"],
  ],
])("the time of a quote is the later of bid and ask: %s", (_, times, expected, odd) => {
  expect(quotedAt(times)).toEqual({ quotedAt: expected, odd });
});

test.each([
  "KO261218C00062500",
  "KO261219P00062500",
  "KO261218P00062000",
  "61218P00062500",
  "P00062500",
  "62500",
])(
  "a contract whose symbol is %s and whose fields name the put of 18 December at 62.5 is malformed",
  (symbol) => {
    const answer = classify(
      `{"options":{"option":{"symbol":"${symbol}","type":"option","underlying":"KO","root_symbol":"KO","expiration_date":"2026-12-18","option_type":"put","strike":62.5,"bid":1.2}}}`,
    );

    const [read] = answer.outcome === "quotes" ? answer.document.items : [];
    expect(read).toMatchObject({
      ok: false,
      symbol,
      problem: `symbol ${symbol} names another contract than its fields`,
    });
  },
);

test("a quote of a list that is no object costs itself alone", () => {
  const answer = classify('{"quotes":{"quote":["ACME",{"symbol":"BETA","type":"etf","last":1.5}]}}');

  expect(answer).toMatchObject({
    outcome: "quotes",
    document: {
      items: [{ ok: false }, { ok: true, item: { instrument: { symbol: "BETA", securityType: "ETF" } } }],
    },
  });
});

test("a dead letter of an item has the item with its digits as they were sent", () => {
  const record: ResponseRecord = {
    ...RECORD,
    request: { form: "symbols", symbols: ["ACME"], delayed: false },
    body: Buffer.from(
      '{"quotes":{"quote":[{ "type":"stock", "last": 12.500 }, {"symbol":"ZETA","last":1E2}]}}',
    ),
  };

  const { deadLetters } = rowsOf(record, { segment: "segment", offset: 0 });

  expect(deadLetters.map(({ fragment }) => fragment)).toEqual([
    '{"type":"stock","last":12.500}',
    '{"symbol":"ZETA","last":1E2}',
  ]);
});

test("a symbol such as constructor is one like any other, and what an item has not is nothing", () => {
  const answer = classify('{"quotes":{"quote":{"symbol":"constructor","last":1.5,"__proto__":{"bid":2}}}}');

  expect(answer).toMatchObject({
    outcome: "quotes",
    document: {
      items: [
        {
          ok: true,
          item: { instrument: { symbol: "constructor" }, quote: { last: "1.5", bid: null } },
          oddFields: [],
        },
      ],
    },
  });
});

test("a list is asked for by GET, and by POST when the address would be long", () => {
  const short = writeCall(TRADIER, {
    form: "symbols",
    symbols: ["ACME", "BRK.B", "ACME261218P00095000"],
    delayed: false,
  });
  const symbols = Array.from({ length: 300 }, (_, place) => `SYM${place}`);
  const long = writeCall(TRADIER, { form: "symbols", symbols, delayed: false });

  expect(short).toEqual({
    method: "GET",
    target: "/v1/markets/quotes?symbols=ACME%2CBRK%2FB%2CACME261218P00095000&greeks=true",
    accept: "application/json",
  });
  expect(long).toEqual({
    method: "POST",
    target: "/v1/markets/quotes",
    body: {
      type: "application/x-www-form-urlencoded",
      text: `symbols=${symbols.join("%2C")}&greeks=true`,
    },
    accept: "application/json",
  });
});

test.each([
  ["a list", '{"expirations":{"date":["2026-12-04","2026-12-18"]}}', ["2026-12-04", "2026-12-18"]],
  ["one date, which is no list", '{"expirations":{"date":"2026-12-18"}}', ["2026-12-18"]],
  ["nothing", '{"expirations":null}', []],
  ["nothing as a text", '{"expirations":"null"}', []],
  [
    "dates with their kinds",
    '{"expirations":{"expiration":[{"date":"2026-12-04","expiration_type":"weeklys"},{"date":"2026-12-18"}]}}',
    ["2026-12-04", "2026-12-18"],
  ],
])("expirations are read from %s", (_, body, expirations) => {
  expect(classify(body)).toMatchObject({ outcome: "quotes", document: { items: [], expirations } });
});

test.each(['{"expirations":{"date":["2026-12-04","soon"]}}', '{"expirations":[]}', '{"options":[]}'])(
  "%s is malformed: chains would be asked for by half of a list all day",
  (body) => {
    expect(classify(body)).toMatchObject({ outcome: "malformed" });
  },
);

test("a whole chain and the list of expirations are calls of their own, with greeks and with all roots", () => {
  const chain = { form: "chain", underlying: "BRK.B", expiration: "2026-12-18", delayed: false } as const;
  const list = { form: "expirations", underlying: "SPX", delayed: false } as const;

  expect([writeCall(TRADIER, chain), writeCall(TRADIER, list)]).toEqual([
    {
      method: "GET",
      target: "/v1/markets/options/chains?symbol=BRK%2FB&expiration=2026-12-18&greeks=true",
      accept: "application/json",
    },
    {
      method: "GET",
      target: "/v1/markets/options/expirations?symbol=SPX&includeAllRoots=true",
      accept: "application/json",
    },
  ]);
});

test("of a whole chain each contract of the underlying and date is a row, whatever its root; others are dead letters", () => {
  const contract = (underlying: string, root: string, date: string): string =>
    `{"symbol":"${root}${date.slice(2).replaceAll("-", "")}C05000000","type":"option","last":1.5,"underlying":"${underlying}","root_symbol":"${root}","strike":5000,"option_type":"call","expiration_date":"${date}"}`;
  const contracts = [
    contract("SPX", "SPX", "2026-12-18"),
    contract("SPX", "SPXW", "2026-12-18"),
    contract("SPX", "SPXW", "2026-12-17"),
    contract("XSP", "XSP", "2026-12-18"),
  ];
  const record: ResponseRecord = {
    ...RECORD,
    request: { form: "chain", underlying: "SPX", expiration: "2026-12-18", delayed: false },
    body: Buffer.from(`{"options":{"option":[${contracts.join()}]}}`),
  };

  const { units, deadLetters } = rowsOf(record, { segment: "segment", offset: 0 });

  expect(units.map(({ instrument }) => [instrument.symbol, instrument.root, instrument.expiration])).toEqual([
    ["SPX", undefined, "2026-12-18"],
    ["SPX", "SPXW", "2026-12-18"],
  ]);
  expect(deadLetters.map(({ instrument, reason }) => [instrument, reason])).toEqual([
    ["SPX/SPXW:2026-12-17:CALL:5000", "not_asked"],
    ["XSP:2026-12-18:CALL:5000", "not_asked"],
  ]);
});

test("a contract is asked for by its OCC symbol, with its own root", () => {
  const contract = {
    underlying: "SPX",
    root: "SPXW",
    expiration: "2026-12-18",
    optionType: "PUT",
    strike: "5000",
  } as const;

  expect(writeCall(TRADIER, { form: "option", contract, delayed: false }).target).toBe(
    "/v1/markets/quotes?symbols=SPXW261218P05000000&greeks=true",
  );
});

test("the end of the window is believed, in seconds, and no count", () => {
  const headers = {
    "x-ratelimit-allowed": "200",
    "x-ratelimit-used": "3",
    "x-ratelimit-available": "197",
    "x-ratelimit-expiry": "1795802460000",
  };

  expect(TRADIER.rateLimit(headers)).toEqual({
    used: null,
    remaining: null,
    limit: null,
    expire: 1_795_802_460,
  });
  expect(TRADIER.rateLimit({ "x-ratelimit-expiry": "1795802460" }).expire).toBeNull();
});

test("rows of an answer have the volatilities, the greeks and the times, and a journal's record names the service", () => {
  const body = readFileSync(join(CASES, "stock-and-put", "response.json"));
  const call: QuoteCall = { form: "symbols", symbols: ["ACME", "ACME261218P00095000"], delayed: true };
  const record: ResponseRecord = { ...RECORD, request: call, body };

  const { units, deadLetters } = rowsOf(record, { segment: "segment", offset: 0 });
  const ofNoService = rowsOf({ ...record, service: "later" }, { segment: "segment", offset: 0 });

  expect(deadLetters).toEqual([]);
  expect(
    units.map(({ instrument, delayed, quote }) => [instrument.symbol, instrument.strike, delayed, quote.bid]),
  ).toEqual([
    ["ACME", null, true, "101.24"],
    ["ACME", "95", true, null],
  ]);
  expect(units[1]?.quote.extended).toMatchObject({ openInterest: "873", gamma: "0.04111873320015554" });
  expect(ofNoService.units).toEqual([]);
  expect(ofNoService.deadLetters).toMatchObject([
    { reason: "malformed", detail: expect.stringContaining("later") },
  ]);
});
