/** From a fake of Tradier over HTTP to the tables, recounted from the market that the fake answers from. */
import { expect, test } from "@jest/globals";
import { option, security } from "../../src/market/instrument.ts";
import { parseOccSymbol } from "../../src/market/occ.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";
import { type FakeTradierOptions, TOKENS } from "../fakes/tradier/fake.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { market, openFakeTradier } from "../support/livingFakes.ts";

const IN_SESSION = "2026-11-20T20:00:03.000Z";
const PUT = "AAPL261218P00250000";

const calling = (...symbols: string[]): QuoteCall => ({ form: "symbols", symbols, delayed: false });

async function open(
  clock: TestClock,
  options: Partial<FakeTradierOptions> = {},
  accessToken: string = TOKENS.token,
) {
  const { fake } = await openFakeTradier({ clock, ...options });
  const path = await openCollecting(clock, {
    service: TRADIER,
    baseUrl: fake.baseUrl,
    credentials: { accessToken },
    source: { kind: "account", name: "tradier" },
  });
  return { fake, ...path };
}

test("a list of stocks and contracts becomes rows with times, open interest, volatilities and greeks, the market's own prices among them", async () => {
  const clock = createTestClock(IN_SESSION);
  const { pool, collect } = await open(clock, { trading: () => "usual" });

  const { answer } = await collect(calling("AAPL", "IBM", PUT, "NOSUCHNAME"));

  const contract = parseOccSymbol(PUT);
  if (!contract) throw new Error(`${PUT} is no OCC symbol`);
  const [stock, put] = [security("AAPL"), option(contract)].map(
    (key) => market.quote(key, new Date(IN_SESSION)).quote,
  );
  const rows = await rowsOfQuery(
    pool,
    `select i.symbol, i.security_type, i.strike, s.name as source, q.bid::float8, q.ask::float8, q.last::float8, q.delayed,
            q.quoted_at is not null and q.quoted_at <= q.observed_at as is_quoted, q.traded_at <= q.observed_at as is_traded,
            e.volume, e.open_interest > 0 as has_interest, e.implied_volatility > 0 as has_iv,
            e.gamma > 0 and e.vega > 0 and coalesce(e.theta, e.rho) is null and e.greeks_at <= q.observed_at as has_greeks
     from quotes q
     join extended_quotes e using (instrument_id, observed_at, source_id)
     join instruments i on i.id = q.instrument_id
     join sources s on s.id = q.source_id
     order by i.symbol, i.strike nulls first`,
  );
  expect(answer.outcome).toBe("quotes");
  expect(await rowsOfQuery(pool, "select rate_limit_used, rate_limit_expire::text from responses")).toEqual([
    { rate_limit_used: null, rate_limit_expire: String(Date.parse("2026-11-20T20:01:00Z") / 1_000) },
  ]);
  expect(rows).toMatchObject([
    {
      symbol: "AAPL",
      security_type: "CS",
      strike: null,
      source: "tradier",
      delayed: false,
      has_interest: null,
    },
    {
      symbol: "AAPL",
      security_type: "OPT",
      strike: "250",
      has_interest: true,
      has_iv: true,
      has_greeks: true,
    },
    { symbol: "IBM", strike: null, is_quoted: true, is_traded: true },
  ]);
  // A bid of 0 says that there is none.
  const priceOf = (text: string | null | undefined): number | null => Number(text) || null;
  expect(rows.slice(0, 2).map(({ bid, ask, last, volume }) => [bid, ask, last, volume])).toEqual(
    [stock, put].map((quote) => [
      priceOf(quote?.bid),
      priceOf(quote?.ask),
      priceOf(quote?.last),
      quote?.extended.volume,
    ]),
  );
});

test("a journal of Tradier's answers loaded again gives the rows that were loaded as they came", async () => {
  const clock = createTestClock(IN_SESSION);
  const { pool, collect, kept } = await open(clock);
  const digest = `select md5(string_agg(t::text, ',' order by t::text)) as digest from
    (select to_jsonb(q) || to_jsonb(e) as t from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)) t`;
  await collect(calling("AAPL", "MSFT", PUT));
  await collect(calling("GE", PUT));
  const before = await rowsOfQuery(pool, digest);

  await pool.query(
    "truncate quotes, extended_quotes, responses, journal_positions, session_bars, intraday_bars, dead_letters",
  );
  await collect(calling("NOSUCHNAME"));

  expect(await rowsOfQuery(pool, digest)).toEqual(before);
  expect((await kept()).map(({ service }) => service)).toEqual(["tradier", "tradier", "tradier"]);
});

test.each([
  ["an expired token", TOKENS.expired, {}, "unauthorized"],
  ["a token of the other environment", TOKENS.otherEnvironment, {}, "unauthorized"],
  [
    "the limit that is used up, told with 500",
    TOKENS.token,
    { limit: { says: 1, holds: 0 }, overLimit: { status: 500 } },
    "quota_fault",
  ],
  [
    "a gateway's timeout as XML",
    TOKENS.token,
    { faults: [{ fault: "gatewayTimeout", every: 1 }] },
    "server_error",
  ],
  ["a page in place of quotes", TOKENS.token, { faults: [{ fault: "htmlPage", every: 1 }] }, "malformed"],
] as const)(
  "%s is kept as what it is, and the token in no record of the journal",
  async (_, token, options, outcome) => {
    const { collect, kept } = await open(
      createTestClock(IN_SESSION),
      options as Partial<FakeTradierOptions>,
      token,
    );

    const { answer } = await collect(calling("AAPL"));

    expect(answer.outcome).toBe(outcome);
    expect(
      (await kept()).map((record) =>
        JSON.stringify({ ...record, body: Buffer.from(record.body).toString() }),
      ),
    ).toEqual([expect.not.stringContaining(token)]);
  },
);

test("three hundred symbols go in one call by POST", async () => {
  const { collect, fake, pool } = await open(createTestClock(IN_SESSION));

  await collect(calling("AAPL", ...Array.from({ length: 299 }, (_, place) => `NOSUCH${place}`)));

  expect(fake.calls).toMatchObject([{ method: "POST", status: 200 }]);
  expect(await rowsOfQuery(pool, "select count(*)::int as quotes from quotes")).toEqual([{ quotes: 1 }]);
});
