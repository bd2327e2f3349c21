/** Alpaca's answers in the shapes of its specification and of published recordings, with values of our own, and its faults. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import type { Answer } from "../../src/quotes/answer.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import type { Instant } from "../../src/ground/clock.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { readAnswer } from "../../src/services/plainAnswer.ts";
import { writeCall } from "../../src/services/service.ts";

const CASES = fileURLToPath(new URL("alpaca/", import.meta.url));

const STOCKS: QuoteCall = { form: "symbols", symbols: ["ACME", "IBM"], delayed: false };
const CONTRACTS: QuoteCall = { ...STOCKS, of: "contracts", symbols: ["ACME261218C00061000"] };
const CHAIN: QuoteCall = { form: "chain", underlying: "ACME", expiration: "2026-12-18", delayed: false };
const LISTED: QuoteCall = { form: "expirations", underlying: "ACME", delayed: false };

/** Of a Tuesday, after the close. */
const OBSERVED_AT = "2026-11-24T23:00:00.000000Z" as Instant;

function classify(body: string | Uint8Array, call: QuoteCall, status = 200): Answer {
  return ALPACA.classify({ status, headers: {}, body: Buffer.from(body), observedAt: OBSERVED_AT }, call);
}

/** A call with what an account's options decide. */
function completed(call: QuoteCall, options: Record<string, string> = {}): QuoteCall {
  return ALPACA.complete?.(call, { options, today: "2026-11-24" }) ?? call;
}

describe("shapes", () => {
  test.each(readdirSync(CASES).filter((name) => statSync(join(CASES, name)).isDirectory()))(
    "%s is read into the document beside it",
    (name) => {
      const file = (of: string): string => join(CASES, name, `${of}.json`);
      const call = JSON.parse(readFileSync(file("asked"), "utf8")) as QuoteCall;

      const answer = classify(readFileSync(file("response")), call);

      const document = answer.outcome === "quotes" ? answer.document : answer;
      const items = "items" in document ? document.items.map(({ fragment: _, ...item }) => item) : [];
      const read = JSON.parse(JSON.stringify({ ...document, items })) as unknown;
      if (process.env["WRITE_CASES"]) writeFileSync(file("document"), `${JSON.stringify(read, null, 2)}\n`);
      expect(read).toEqual(JSON.parse(readFileSync(file("document"), "utf8")));
    },
  );
});

const said = (message: string, code?: number): string => JSON.stringify({ code, message });
const HTML = "<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>nginx</body></html>";

test.each([
  ["a badly formed name", 400, said("code=400, message=invalid symbol: BRK-B"), STOCKS, "refused", "BRK-B"],
  ["the same in other words", 400, said("invalid symbol: IXAM6"), STOCKS, "refused", "IXAM6"],
  ["an escaped name", 400, '{"message":"invalid symbol: M\\u0026M"}', STOCKS, "refused", "M&M"],
  ["another escaped name", 400, '{"message":"invalid symbol: BRK\\/B"}', STOCKS, "refused", "BRK/B"],
  [
    "a message with an escape that is none",
    400,
    '{"message":"invalid symbol: \\q"}',
    STOCKS,
    "refused",
    null,
  ],
  ["words of a feed in another fault", 400, said("subscription of what?"), STOCKS, "refused", null],
  ["an unknown parameter", 400, said("unexpected query parameter(s): limit"), STOCKS, "refused", null],
  [
    "a wrong key at the trading host",
    401,
    said("request is not authorized", 40_110_000),
    LISTED,
    "unauthorized",
    null,
  ],
  ["401 as a proxy's page", 401, HTML, STOCKS, "unauthorized", null],
  ["403 as a proxy's page", 403, HTML, STOCKS, "unauthorized", null],
  ["a wrong key at the data host", 403, said("forbidden."), STOCKS, "unauthorized", null],
  ["a path that the host has not", 404, said("endpoint not found"), STOCKS, "refused", null],
  [
    "a limit that is too large",
    422,
    said("limit must be less than 10000", 42_210_000),
    LISTED,
    "refused",
    null,
  ],
  ["too many calls", 429, said("too many requests."), STOCKS, "quota_fault", null],
  ["an error", 500, said("internal server error"), CHAIN, "server_error", null],
  ["a gateway's page", 502, HTML, CHAIN, "server_error", null],
  ["a page with 200", 200, HTML, STOCKS, "malformed", null],
  ["half of an answer", 200, '{"snapshots":{"ACME', CHAIN, "malformed", null],
  ["an answer without its snapshots", 200, "{}", CHAIN, "malformed", null],
  ["no body", 200, "", STOCKS, "server_error", null],
  ["words in place of stocks", 200, said("forbidden."), STOCKS, "malformed", null],
  ["contracts in place of stocks", 200, '{"snapshots":{"ACME":{}}}', STOCKS, "malformed", null],
] as const)(
  "%s is told by its words first and its status second",
  (_name, status, body, call, outcome, bad) => {
    const answer = classify(body, call, status);

    expect(answer).toMatchObject({ outcome, detail: expect.stringMatching(/\w/) });
    expect("badSymbol" in answer ? answer.badSymbol : null).toBe(bad);
    expect("ofFeed" in answer).toBe(false);
  },
);

test.each([
  [
    "subscription does not permit querying recent SIP data",
    403,
    STOCKS,
    { stockFeed: "sip" },
    "QUOTES_ALPACA_STOCK_FEED",
  ],
  [
    "subscription does not permit querying recent SIP data",
    422,
    STOCKS,
    { stockFeed: "sip" },
    "QUOTES_ALPACA_STOCK_FEED",
  ],
  ["your subscription does not include this feed", 403, STOCKS, {}, "QUOTES_ALPACA_STOCK_FEED"],
  ["OPRA subscription required", 403, CHAIN, { optionFeed: "opra" }, "QUOTES_ALPACA_OPTION_FEED"],
  ["OPRA agreement is not signed", 403, CHAIN, { optionFeed: "opra" }, "QUOTES_ALPACA_OPTION_FEED"],
  ["forbidden: insufficient grants", 403, CONTRACTS, { optionFeed: "opra" }, "QUOTES_ALPACA_OPTION_FEED"],
] as const)(
  '"%s" with %d is of the feed, and names its setting',
  (message, status, call, options, setting) => {
    const answer = classify(said(message), completed(call, options), status);

    expect(answer).toMatchObject({
      outcome: "unauthorized",
      ofFeed: true,
      detail: expect.stringContaining(setting),
    });
  },
);

test("an underlying without contracts is one of which none are listed", () => {
  const answer = classify(said("invalid underlying symbols: ZZZZQ", 42_210_000), LISTED, 422);

  expect(answer).toMatchObject({ outcome: "quotes", document: { expirations: [] } });
});

test("each call has its feed, its host and no parameter that its endpoint does not know", () => {
  const written = (call: QuoteCall, options?: Record<string, string>) => {
    const whole = completed(call, options);
    return [ALPACA.hostOf?.(whole) ?? "data", writeCall(ALPACA, whole).target];
  };

  expect(written(STOCKS)).toEqual(["data", "/v2/stocks/snapshots?symbols=ACME%2CIBM&feed=delayed_sip"]);
  expect(written(STOCKS, { stockFeed: "iex" })).toEqual([
    "data",
    "/v2/stocks/snapshots?symbols=ACME%2CIBM&feed=iex",
  ]);
  expect(written(CONTRACTS, { optionFeed: "opra" })).toEqual([
    "data",
    "/v1beta1/options/snapshots?symbols=ACME261218C00061000&feed=opra&limit=1000",
  ]);
  expect(written({ ...CHAIN, underlying: "BRK.B" })).toEqual([
    "data",
    "/v1beta1/options/snapshots/BRK.B?expiration_date=2026-12-18&feed=indicative&limit=1000",
  ]);
  expect(written({ ...CHAIN, page: "ACME QUNN=" })).toEqual([
    "data",
    "/v1beta1/options/snapshots/ACME?expiration_date=2026-12-18&feed=indicative&limit=1000&page_token=QUNN%3D",
  ]);
  expect(written({ ...CHAIN, underlying: "SPX", page: "SPXW" })).toEqual([
    "data",
    "/v1beta1/options/snapshots/SPXW?expiration_date=2026-12-18&feed=indicative&limit=1000",
  ]);
  expect(written(LISTED)).toEqual([
    "trading",
    "/v2/options/contracts?underlying_symbols=ACME&status=active&expiration_date_gte=2026-11-24&limit=10000",
  ]);
});

test("the record of a call says which feeds were asked, whatever the settings are later", () => {
  const [stocks, chain] = [completed(STOCKS, { stockFeed: "iex" }), completed(CHAIN, { stockFeed: "iex" })];

  expect(stocks).toEqual({ ...STOCKS, feed: "iex" });
  expect(chain).toEqual({ ...CHAIN, feed: "indicative", spotFeed: "iex" });
  expect([stocks, chain, LISTED].map((call) => ALPACA.sourceOf?.(call))).toEqual([
    { name: "alpaca iex" },
    { name: "alpaca indicative beside iex", spot: "alpaca iex", interest: "alpaca" },
    { name: "alpaca" },
  ]);
});

test("the limit is that of the headers, and their reset is in seconds", () => {
  const headers = {
    "x-ratelimit-limit": "200",
    "x-ratelimit-remaining": "13",
    "x-ratelimit-reset": "1795534980",
  };

  expect(ALPACA.rateLimit(headers)).toEqual({ limit: 200, remaining: 13, used: 187, expire: 1_795_534_980 });
  expect(ALPACA.limitEnd(headers)).toBe("1795534980");
  expect(ALPACA.rateLimit({})).toMatchObject({ limit: null, remaining: null });
});

test.each<[what: string, snapshot: object, volume: string | null, previousClose: string | null]>([
  [
    "a bar of today behind a quote of yesterday",
    {
      latestQuote: { t: "2026-11-23T20:59:00Z", bp: 9, ap: 11 },
      latestTrade: { t: "2026-11-24T15:40:00Z", p: 10 },
    },
    "1000",
    "7",
  ],
  ["a bar of today without a quote", { latestTrade: { t: "2026-11-24T15:40:00Z", p: 10 } }, "1000", "7"],
  [
    "a bar of two weeks ago without a quote",
    {
      latestTrade: { t: "2026-11-10T15:40:00Z", p: 10 },
      dailyBar: { t: "2026-11-10T05:00:00Z", c: 10, v: 1_000 },
    },
    null,
    "10",
  ],
  ["bars alone", { dailyBar: { t: "2026-11-23T05:00:00Z", c: 10, v: 1_000 } }, null, "10"],
])("%s says what the day's volume and the previous close are", (_what, snapshot, volume, previousClose) => {
  const bars = {
    dailyBar: { t: "2026-11-24T05:00:00Z", c: 10, v: 1_000 },
    prevDailyBar: { t: "2026-11-23T05:00:00Z", c: 7, v: 900 },
  };

  const answer = classify(JSON.stringify({ ACME: { ...bars, ...snapshot } }), {
    ...STOCKS,
    symbols: ["ACME"],
  });

  const [read] = answer.outcome === "quotes" ? answer.document.items : [];
  expect(read?.ok && read.item.quote.extended).toMatchObject({ volume, previousClose });
});

test.each([
  ['"ap":0e-5', "ask", null],
  ['"ap":-0', "ask", null],
  ['"ap":0.01', "ask", "0.01"],
] as const)("%s is an %s of %s", (written, field, expected) => {
  const quote = `{"latestQuote":{"t":"2026-11-24T20:59:00Z","bp":1,${written}}}`;

  const answer = classify(`{"ACME":${quote},"IBM":null}`, STOCKS);

  const [read] = answer.outcome === "quotes" ? answer.document.items : [];
  expect(read?.ok && read.item.quote[field]).toBe(expected);
});

test("five zeros are no greeks, though one is negative and the volatility is 0 as well", () => {
  const greeks = '{"delta":0,"gamma":0,"theta":-0,"vega":0.0,"rho":0}';

  const answer = classify(
    `{"snapshots":{"ACME261218C00061000":{"greeks":${greeks},"impliedVolatility":0}}}`,
    CONTRACTS,
  );

  const [read] = answer.outcome === "quotes" ? answer.document.items : [];
  const none = { delta: null, gamma: null, theta: null, vega: null, rho: null, impliedVolatility: null };
  expect(read?.ok && read.item.quote.extended).toMatchObject(none);
});

test.each(["2026-11-24T15:00:00+24:00", "2026-11-24T15:00:00.5-99:99"])(
  "a time of %s is odd, and costs no other instrument its quote",
  (t) => {
    const answer = classify(
      JSON.stringify({ ACME: { latestQuote: { t, bp: 1 } }, IBM: { latestQuote: { bp: 2 } } }),
      STOCKS,
    );

    const read = answer.outcome === "quotes" ? answer.document.items : [];
    expect(
      read.map((one) => one.ok && [one.item.quote.bid, one.item.quote.quotedAt, one.oddFields.length]),
    ).toEqual([
      ["1", null, 1],
      ["2", null, 0],
    ]);
  },
);

test("an answer that the reader itself fails at is malformed, so that it is kept", () => {
  const raw = { status: 200, headers: {}, body: Buffer.from("{}") };
  const fails = (): never => {
    throw new RangeError("Invalid time value");
  };

  const detail = "it could not be read: RangeError: Invalid time value";
  expect(readAnswer(raw, "{}", fails)).toMatchObject({ outcome: "malformed", detail });
});

test("a page's token is sent as it came, with its blanks", () => {
  const { target } = writeCall(ALPACA, { ...CHAIN, page: "ACME a b" });

  expect(target).toContain("page_token=a%20b");
});

test.each([
  ["of 30 February", "AAPL260230C00330000"],
  ["with a strike of 0", "AAPL261218C00000000"],
])("a name %s is no contract, and stands in a list of stocks", (_what, name) => {
  const call = completed({ ...STOCKS, symbols: ["ACME", name] });

  expect(call).toMatchObject({ feed: "delayed_sip" });
  expect(writeCall(ALPACA, call).target).toBe(`/v2/stocks/snapshots?symbols=ACME%2C${name}&feed=delayed_sip`);
});
