/** The fake of Alpaca over real HTTP, asked without our client. A schema of the official specification's facts reads each answer. */
import { afterAll, describe, expect, test } from "@jest/globals";
import type { z } from "zod";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { createTestClock } from "../support/clock.ts";
import { type FakeAlpaca, type FakeAlpacaOptions, KEYS, startFakeAlpaca } from "./alpaca/fake.ts";
import {
  errorBody,
  limitHeaders,
  optionContracts,
  optionSnapshots,
  stockSnapshots,
} from "./alpaca/schema.ts";

/** A Tuesday, and the last date of a weekly chain is the Friday after it. */
const IN_SESSION = "2026-11-24T15:42:07.000Z";
const BEFORE_OPEN = "2026-11-24T12:40:00.000Z";
const AFTER_CLOSE = "2026-11-24T22:30:00.000Z";
const THIRD_FRIDAY = "2026-12-18";
const ON_THIRD_FRIDAY = "2026-12-18T15:42:07.000Z";

const STOCKS = "/v2/stocks/snapshots";
const OPTIONS = "/v1beta1/options/snapshots";
const CONTRACTS = "/v2/options/contracts";

const market = createSimulatedMarket({ seed: 1 });
const started: FakeAlpaca[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

const HEADERS = { "apca-api-key-id": KEYS.keyId, "apca-api-secret-key": KEYS.secretKey };

async function start({ at = IN_SESSION, ...options }: { at?: string } & Partial<FakeAlpacaOptions> = {}) {
  const clock = createTestClock(at);
  const fake = await startFakeAlpaca({ clock, market, mostStrikes: 10, ...options });
  started.push(fake);
  const ask = (target: string, headers: Record<string, string> = HEADERS) =>
    fetch((target.startsWith(CONTRACTS) ? fake.tradingUrl : fake.dataUrl) + target, { headers });
  const read = async <T>(schema: z.ZodType<T>, target: string): Promise<T> => {
    const response = await ask(target);
    limitHeaders.parse(Object.fromEntries(response.headers));
    return schema.parse(await response.json());
  };
  const stock = async (symbol: string, feed = "delayed_sip") =>
    (await read(stockSnapshots, `${STOCKS}?symbols=${symbol}&feed=${feed}`))[symbol] ?? {};
  const chain = (below: string, query = `expiration_date=${THIRD_FRIDAY}&limit=1000`) =>
    read(optionSnapshots, `${OPTIONS}/${below}?${query}`);
  const refusal = async (target: string) => {
    const response = await ask(target);
    const text = await response.text();
    return [response.status, text.startsWith("<") ? "HTML" : errorBody.parse(JSON.parse(text)).message];
  };
  return { clock, fake, ask, read, stock, chain, refusal };
}

describe("stocks", () => {
  test("a name that nobody lists is left out, and of no name there is an empty object", async () => {
    const { read } = await start();

    expect(Object.keys(await read(stockSnapshots, `${STOCKS}?symbols=ZZZZQ,AAPL,BRK.B,SPX`))).toEqual([
      "AAPL",
      "BRK.B",
    ]);
    expect(await read(stockSnapshots, `${STOCKS}?symbols=ZZZZQ`)).toEqual({});
  });

  test.each(["BRK-B", "BRK/B", "IXAM6", "^SPX"])("%s fails the whole list, and is named", async (symbol) => {
    const { refusal } = await start();

    expect(await refusal(`${STOCKS}?symbols=AAPL,${encodeURIComponent(symbol)}`)).toEqual([
      400,
      `code=400, message=invalid symbol: ${symbol}`,
    ]);
  });

  test("the feed decides whose quotes come and how old they are", async () => {
    const { stock } = await start();
    const [iex, delayed] = [await stock("AAPL", "iex"), await stock("AAPL")];

    expect([iex.latestQuote?.ax, iex.latestTrade?.x]).toEqual(["V", "V"]);
    expect(iex.latestQuote?.t.slice(0, 16)).toBe("2026-11-24T15:42");
    expect(delayed.latestQuote?.t.slice(0, 16)).toBe("2026-11-24T15:27");
    expect(delayed.latestTrade?.t.slice(0, 16)).toBe("2026-11-24T15:27");
    expect(delayed.dailyBar?.v).toBeGreaterThan(20 * (iex.dailyBar?.v ?? Infinity));
  });

  test("the last daily bar is yesterday's before the open, and its time is midnight in New York", async () => {
    const open = await (await start()).stock("AAPL");
    const early = await (await start({ at: BEFORE_OPEN })).stock("AAPL", "iex");

    expect([open.dailyBar?.t, open.prevDailyBar?.t]).toEqual([
      "2026-11-24T05:00:00Z",
      "2026-11-23T05:00:00Z",
    ]);
    expect([early.dailyBar?.t, early.prevDailyBar?.t]).toEqual([
      "2026-11-23T05:00:00Z",
      "2026-11-20T05:00:00Z",
    ]);
    expect(early.latestQuote).toMatchObject({ ap: 0, as: 0 });
  });

  test("IEX leaves a stub quote when trading is over", async () => {
    const { latestQuote } = await (await start({ at: AFTER_CLOSE })).stock("AAPL", "iex");

    expect((latestQuote?.ap ?? 0) / (latestQuote?.bp ?? 1)).toBeGreaterThan(1.1);
  });

  test("a trade that was canceled says so", async () => {
    const { stock } = await start({ canceled: new Set(["AAPL"]) });

    expect((await stock("AAPL")).latestTrade?.u).toBe("canceled");
    expect((await stock("MSFT")).latestTrade?.u).toBeUndefined();
  });
});

describe("options", () => {
  test("a chain comes in pages by symbol, and only the token tells whether there are more", async () => {
    const { chain } = await start();
    const whole = await chain("AAPL");
    const pages: string[][] = [];
    for (let token: string | null | undefined = ""; token !== null;) {
      const page: z.infer<typeof optionSnapshots> = await chain(
        "AAPL",
        `expiration_date=${THIRD_FRIDAY}&limit=7${token ? `&page_token=${encodeURIComponent(token)}` : ""}`,
      );
      pages.push(Object.keys(page.snapshots));
      token = page.next_page_token;
    }

    expect(whole.next_page_token).toBeNull();
    expect(pages.flat()).toEqual(Object.keys(whole.snapshots));
    expect(pages.flat()).toEqual([...pages.flat()].sort());
    expect(pages.length).toBe(Math.ceil(pages.flat().length / 7));
  });

  test("a page has 100 contracts where no limit is asked for, and 1,001 are refused", async () => {
    const { chain, refusal } = await start({ mostStrikes: 200 });

    const page = await chain("AAPL", `expiration_date=${THIRD_FRIDAY}`);

    expect(Object.keys(page.snapshots)).toHaveLength(100);
    expect(await refusal(`${OPTIONS}/AAPL?limit=1001`)).toEqual([400, "invalid limit: 1001"]);
  });

  test("a put has greeks of its own, and on the last day there are five zeros without a volatility", async () => {
    const { chain } = await start({ trading: () => "usual" });
    const expiring = await (await start({ at: ON_THIRD_FRIDAY })).chain("AAPL");

    const puts = Object.entries((await chain("AAPL")).snapshots).filter(([symbol]) => /P\d{8}$/.test(symbol));
    const priced = Object.values(expiring.snapshots).filter(({ greeks }) => greeks);

    expect(
      puts.some(([, { greeks, impliedVolatility }]) => (greeks?.rho ?? 0) < 0 && impliedVolatility),
    ).toBe(true);
    expect(priced.length).toBeGreaterThan(0);
    for (const one of priced) {
      expect(Object.values(one.greeks ?? {})).toEqual([0, 0, 0, 0, 0]);
      expect(one).not.toHaveProperty("impliedVolatility");
    }
  });

  test("trades of the indicative feed are 15 minutes old, and its quotes of now", async () => {
    const { chain } = await start({ trading: () => "usual" });

    const [one] = Object.values((await chain("AAPL")).snapshots);

    expect(one?.latestQuote?.t.slice(0, 16)).toBe("2026-11-24T15:42");
    expect(one?.latestTrade?.t.slice(0, 15)).toBe("2026-11-24T15:2");
  });

  test("a quiet contract's bar is of the day on which it traded", async () => {
    const { chain } = await start({ trading: () => "quiet" });

    const [one] = Object.values((await chain("AAPL")).snapshots);

    expect((one?.dailyBar?.t ?? "") < "2026-11-24").toBe(true);
    expect(one?.latestTrade?.t.slice(0, 10)).toBe(one?.dailyBar?.t.slice(0, 10));
  });

  test("an index is asked for by root at the data host and by its symbol at the trading host", async () => {
    const { chain, read } = await start();
    const rootsOf = (symbols: readonly string[]) => [
      ...new Set(symbols.map((symbol) => symbol.slice(0, -15))),
    ];

    expect(rootsOf(Object.keys((await chain("SPXW")).snapshots))).toEqual(["SPXW"]);
    expect(rootsOf(Object.keys((await chain("SPX")).snapshots))).toEqual(["SPX"]);
    const { option_contracts: listed } = await read(
      optionContracts,
      `${CONTRACTS}?underlying_symbols=SPX&expiration_date=${THIRD_FRIDAY}&limit=10000`,
    );
    expect(rootsOf(listed.map(({ symbol }) => symbol))).toEqual(["SPX", "SPXW"]);
  });

  test("a contract of an adjusted root stands in its underlying's chain", async () => {
    const { chain } = await start({ adjusted: { XOM: "XOM2261218P00280000" } });

    expect((await chain("XOM")).snapshots["XOM2261218P00280000"]?.latestQuote?.bp).toBe(7);
    expect(Object.keys((await chain("XOM", "expiration_date=2026-12-04")).snapshots)).not.toContain(
      "XOM2261218P00280000",
    );
  });

  test("an unknown underlying and a date without contracts look the same", async () => {
    const { chain } = await start();

    expect(await chain("ZZZZQ")).toEqual({ snapshots: {}, next_page_token: null });
    expect(await chain("AAPL", "expiration_date=2026-12-19")).toEqual({
      snapshots: {},
      next_page_token: null,
    });
  });

  test("contracts come up to the next weekend where no date is asked for, with numbers as text", async () => {
    const { read } = await start();
    const datesOf = async (query: string) => {
      const { option_contracts: listed } = await read(
        optionContracts,
        `${CONTRACTS}?underlying_symbols=AAPL&limit=10000${query}`,
      );
      return [...new Set(listed.map(({ expiration_date: date }) => date))];
    };

    expect(await datesOf("")).toEqual(["2026-11-27"]);
    expect((await datesOf("&expiration_date_gte=2026-11-24")).length).toBeGreaterThan(10);
  });

  test("one unlisted underlying fails the whole list of contracts, and all are named", async () => {
    const { refusal } = await start();

    expect(await refusal(`${CONTRACTS}?underlying_symbols=AAPL,ZZZZQ,BRK-A`)).toEqual([
      422,
      "invalid underlying symbols: ZZZZQ,BRK-A",
    ]);
  });
});

describe("what is refused", () => {
  test.each([
    [
      "a parameter that an endpoint does not know",
      `${STOCKS}?symbols=AAPL&limit=9`,
      [400, "unexpected query parameter(s): limit"],
    ],
    [
      "SIP on the free plan",
      `${STOCKS}?symbols=AAPL&feed=sip`,
      [403, "subscription does not permit querying recent SIP data"],
    ],
    ["OPRA on the free plan", `${OPTIONS}/AAPL?feed=opra`, [403, "OPRA agreement is not signed"]],
    ["a path that is none", "/v2/stocks/quotes", [404, "endpoint not found"]],
    ["page_token=null", `${OPTIONS}/AAPL?page_token=null`, [400, "invalid page_token"]],
  ])("%s", async (_, target, expected) => {
    const { refusal } = await start();

    expect(await refusal(target)).toEqual(expected);
  });

  test("keys: a page of the proxy without them, and words with wrong ones", async () => {
    const { ask } = await start();
    const wrong = { ...HEADERS, "apca-api-secret-key": "wrong" };
    const { refusal } = await start({ isLive: true });

    const [none, bad] = [await ask(`${STOCKS}?symbols=AAPL`, {}), await ask(`${STOCKS}?symbols=AAPL`, wrong)];

    expect([none.status, none.headers.get("content-type")]).toEqual([403, "text/html"]);
    expect([bad.status, await bad.json()]).toEqual([403, { message: "forbidden." }]);
    expect(await refusal(`${CONTRACTS}?underlying_symbols=AAPL`)).toEqual([401, "request is not authorized"]);
  });

  test.each([
    ["a minute of the clock", "fixed", 53],
    ["a minute that slides", "sliding", 60],
  ] as const)("what is over the limit of %s, each host by itself", async (_, window, seconds) => {
    const { clock, fake, ask } = await start({ limit: { calls: 2, window } });
    const status = async (target: string) => (await ask(target)).status;
    const stocks = `${STOCKS}?symbols=AAPL`;

    expect([await status(stocks), await status(stocks), await status(stocks)]).toEqual([200, 200, 429]);
    expect(await status(`${CONTRACTS}?underlying_symbols=AAPL`)).toBe(200);
    const refused = await ask(stocks);
    expect(Number(refused.headers.get("x-ratelimit-reset")) - clock.now().getTime() / 1_000).toBe(seconds);
    clock.advance(seconds * 1_000);
    expect(await status(stocks)).toBe(200);
    expect(fake.calls.map(({ host }) => host)).toEqual(["data", "data", "data", "trading", "data", "data"]);
  });

  test("faults come on purpose, by name", async () => {
    const { fake, refusal } = await start();
    const of = async (fault: Parameters<typeof fake.failNext>[0]) => {
      fake.failNext(fault);
      return refusal(`${STOCKS}?symbols=AAPL`);
    };

    expect([await of("badGateway"), await of("noSip422"), await of("serverError")]).toEqual([
      [502, "HTML"],
      [422, "subscription does not permit querying recent SIP data"],
      [500, "internal server error"],
    ]);
  });
});
