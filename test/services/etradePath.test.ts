/** From a fake of E*TRADE over HTTP to the tables, recounted from the market that the fake answers from. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { readStoredWithin } from "../../src/archive/ledger/storedWithin.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { option, security } from "../../src/market/instrument.ts";
import { parseOccSymbol } from "../../src/market/occ.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { ETRADE } from "../../src/services/etrade/etrade.ts";
import { createAnswers } from "../fakes/etrade/answers.ts";
import { createClient } from "../fakes/etrade/client.ts";
import { CONSUMER, type FakeEtradeOptions } from "../fakes/etrade/fake.ts";
import { route } from "../fakes/etrade/routes.ts";
import { answerOf, Problem } from "../fakes/etrade/wire.ts";
import { MANY_ROOTS } from "../fakes/listing.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { market, openFakeEtrade } from "../support/livingFakes.ts";
import { runs } from "../support/runs.ts";
import { writeCall } from "../../src/services/service.ts";

const IN_SESSION = "2026-11-20T20:00:03.000Z";
const PUT = "AAPL261218P00250000";

const calling = (...symbols: string[]): QuoteCall => ({ form: "symbols", symbols, delayed: false });
const chainOf = (underlying: string, expiration: string): QuoteCall => ({
  ...{ form: "chain", underlying, expiration, delayed: false },
});

async function open(clock: TestClock, options: Partial<FakeEtradeOptions> = {}) {
  const { fake } = await openFakeEtrade({ clock, ...options });
  const client = createClient(fake, clock);
  const token = await client.logIn();
  const credentials = {
    ...{ consumerKey: CONSUMER.key, consumerSecret: CONSUMER.secret },
    ...{ accessToken: token.key, accessTokenSecret: token.secret },
  };
  const path = await openCollecting(clock, {
    ...{ service: ETRADE, baseUrl: fake.baseUrl, credentials },
    source: { kind: "account", name: "etrade" },
  });
  return { fake, client, token, ...path };
}

const PRICES = `select i.symbol, i.security_type, i.strike, s.name as source, q.bid::float8, q.ask::float8, q.last::float8, q.delayed,
    q.quoted_at <= q.observed_at as is_quoted, q.traded_at <= q.observed_at as is_traded, e.volume, e.open_interest > 0 as has_interest
  from quotes q
  join extended_quotes e using (instrument_id, observed_at, source_id)
  join instruments i on i.id = q.instrument_id
  join sources s on s.id = q.source_id
  order by i.symbol, i.strike nulls first`;

/** A price of 0 says that there is none. */
const priceOf = (text: string | null | undefined): number | null => Number(text) || null;

test("a list of stocks and contracts becomes rows, the market's own prices among them", async () => {
  const clock = createTestClock(IN_SESSION);
  const { pool, collect } = await open(clock, { trading: () => "usual" });

  const { answer } = await collect(calling("AAPL", "IBM", PUT, "NOSUCHNAME"));

  const contract = parseOccSymbol(PUT);
  if (!contract) throw new Error(`${PUT} is no OCC symbol`);
  const own = [security("AAPL"), option(contract)].map(
    (key) => market.quote(key, new Date(IN_SESSION)).quote,
  );
  const rows = await rowsOfQuery(pool, PRICES);
  expect(answer.outcome).toBe("quotes");
  expect(rows).toMatchObject([
    {
      symbol: "AAPL",
      security_type: "CS",
      strike: null,
      source: "etrade",
      delayed: false,
      has_interest: null,
    },
    { symbol: "AAPL", security_type: "OPT", strike: "250", has_interest: true },
    { symbol: "IBM", strike: null, is_quoted: true, is_traded: true },
  ]);
  expect(rows.slice(0, 2).map(({ bid, ask, last }) => [bid, ask, last])).toEqual(
    own.map((quote) => [priceOf(quote?.bid), priceOf(quote?.ask), priceOf(quote?.last)]),
  );
});

test("a whole chain becomes its contracts with open interest and greeks, and nothing else", async () => {
  const { pool, collect, client, token } = await open(createTestClock(IN_SESSION));
  const dates = ETRADE.classify(
    await rawOf(client.call("/v1/market/optionexpiredate.json?symbol=SPX&expiryType=ALL", { token })),
  );
  const listed = dates.outcome === "quotes" ? (dates.document.expirations ?? []) : [];
  const [date = ""] = listed.slice(2);

  await collect(chainOf("SPX", date));

  expect(listed.length).toBeGreaterThan(5);
  const [row] = await rowsOfQuery(
    pool,
    `select count(*)::int as contracts, count(distinct i.strike)::int as strikes, bool_and(i.symbol = 'SPX') as is_of_it,
            count(e.open_interest)::int as interests, count(e.delta)::int as deltas, count(q.quoted_at)::int as times,
            array_agg(distinct i.expiration::text) as dates
     from quotes q join extended_quotes e using (instrument_id, observed_at, source_id) join instruments i on i.id = q.instrument_id`,
  );
  const contracts = row?.["contracts"];
  expect(contracts).toBeGreaterThan(9);
  expect(row).toMatchObject({
    is_of_it: true,
    interests: contracts,
    deltas: contracts,
    times: contracts,
    dates: [date],
  });
});

async function rawOf(answer: Promise<Response>) {
  const response = await answer;
  return { status: response.status, headers: {}, body: Buffer.from(await response.arrayBuffer()) };
}

const ASKED = fc.array(
  fc.constantFrom("AAPL", "IBM", "SPX", "GE", PUT, "SPXW261231C05000000", "NOSUCHNAME"),
  { minLength: 1 },
);

test("at any time each answer of the fake is read, without an odd field", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("2026-01-05"), max: new Date("2026-12-15"), noInvalidDate: true }),
      fc.constantFrom(...SEEDS),
      fc.boolean(),
      ASKED,
      (at, seed, delayed, symbols) => {
        const answers = answersOf(seed, delayed);
        const calls: QuoteCall[] = [
          calling(...symbols),
          chainOf("SPX", "2026-12-18"),
          { form: "expirations", underlying: "SPX", delayed: false },
        ];
        for (const call of calls) {
          const { target } = writeCall(ETRADE, call);
          const [path = "", query = ""] = target.replace(".json?", "?").split("?");
          const routed = route({ method: "GET", path, query: new URLSearchParams(query) }, answers, at);
          if (routed instanceof Problem) throw new Error(routed.message);
          const { status, body } = answerOf(routed, "json");
          expectWhole(ETRADE.classify({ status, headers: {}, body: Buffer.from(body) }));
        }
      },
    ),
    { numRuns: runs(40) },
  );
});

const SEEDS = [1, 2, 3];

function answersOf(seed: number, delayed: boolean): ReturnType<typeof createAnswers> {
  return createAnswers({
    ...{ market: createSimulatedMarket({ seed }), calendar: createCalendar(), trading: () => null, delayed },
    ...{ manyRoots: MANY_ROOTS, mostStrikes: 6, unknownSymbols: "messages" },
  });
}

function expectWhole(answer: Answer): void {
  if (answer.outcome !== "quotes") throw new Error(answer.detail);
  const { items, expirations = [] } = answer.document;
  expect(items.length + expirations.length).toBeGreaterThan(0);
  expect(items.filter((read) => !read.ok || read.oddFields.length > 0)).toEqual([]);
}

test("a journal of E*TRADE's answers loaded again gives the rows that were loaded as they came", async () => {
  const { pool, collect, kept } = await open(createTestClock(IN_SESSION));
  const digest = `select md5(string_agg(t::text, ',' order by t::text)) as digest from
    (select to_jsonb(q) || to_jsonb(e) as t from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)) t`;
  await collect(calling("AAPL", "MSFT", PUT));
  await collect(chainOf("AAPL", "2026-12-18"));
  const before = await rowsOfQuery(pool, digest);

  await pool.query(
    "truncate quotes, extended_quotes, responses, journal_positions, session_bars, intraday_bars, dead_letters",
  );
  await collect(calling("NOSUCHNAME"));

  expect(await rowsOfQuery(pool, digest)).toEqual(before);
  expect((await kept()).map(({ service }) => service)).toEqual(["etrade", "etrade", "etrade"]);
});

test.each([
  ["a page of the server's", "tomcat500", "server_error"],
  ["the overnight maintenance", "maintenance500", "server_error"],
  ["a nonce that is said to be missing", "nonceAbsent", "server_error"],
  ["an empty answer", "empty", "server_error"],
  ["the limit in a page", "rateLimitHtml", "quota_fault"],
  ["the limit in JSON", "rateLimitJson", "quota_fault"],
  ["a token that has expired", "tokenExpired", "unauthorized"],
  ["a key that is dead", "consumerKeyRejected", "unauthorized"],
  ["a clock that is off", "timestampRefused", "unauthorized"],
  ["a page in place of quotes", "html200", "malformed"],
] as const)("%s is kept as what it is, and no secret in any record", async (_, fault, outcome) => {
  const { fake, collect, kept, token } = await open(createTestClock(IN_SESSION));
  fake.failNext(fault);

  const { answer } = await collect(calling("AAPL"));

  expect(answer.outcome).toBe(outcome);
  for (const record of await kept()) {
    const text = JSON.stringify({ ...record, body: Buffer.from(record.body).toString() });
    for (const secret of [token.key, token.secret, CONSUMER.secret]) expect(text).not.toContain(secret);
  }
});

test("fifty symbols go in one call, and the rows of an account without the agreement on market data are delayed", async () => {
  const { fake, collect, pool } = await open(createTestClock(IN_SESSION), { delayed: true });
  const before = fake.calls.length;

  await collect(calling("AAPL", ...Array.from({ length: 49 }, (_, place) => `NOSUCH${place}`)));

  expect(fake.calls.slice(before)).toMatchObject([{ status: 200 }]);
  expect(await rowsOfQuery(pool, "select delayed from quotes")).toEqual([{ delayed: true }]);
  // A job that did not ask for delayed quotes has got what it was due.
  const slot = { from: new Date("2026-11-20T20:00:00Z"), to: new Date("2026-11-20T20:01:00Z") };
  const wanted = { source: "account", instruments: ["AAPL"], delayed: false } as const;
  expect(await readStoredWithin(pool, [slot], wanted)).toEqual(new Map([[0, new Set(["AAPL"])]]));
});
