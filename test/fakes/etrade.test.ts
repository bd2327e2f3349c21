/** The market of E*TRADE's fake over real HTTP, asked without our client: each of its answers is what is public of the service. */
import { afterAll, expect, test } from "@jest/globals";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { security } from "../../src/market/instrument.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { createTestClock } from "../support/clock.ts";
import { createClient } from "./etrade/client.ts";
import { type FakeEtrade, type FakeEtradeOptions, startFakeEtrade } from "./etrade/fake.ts";
import type { Trading } from "./trading.ts";

/** A Friday on which SPX and SPXW expire, an hour before the exchange closes. */
const IN_SESSION = "2026-11-20T20:00:03.000Z";
const AFTER_CLOSE = "2026-11-20T22:00:03.000Z";
const BEFORE_OPEN = "2026-11-20T13:00:03.000Z";
const ON_SUNDAY = "2026-11-22T18:00:00.000Z";

/** A listed contract. */
const PUT = "AAPL:2026:12:18:PUT:250.000000";
const QUOTE = "/v1/market/quote";
const MONTHLY_CHAINS = "/v1/market/optionchains?chainType=CALLPUT&priceType=ALL&skipAdjusted=false";
const CHAINS = `${MONTHLY_CHAINS}&includeWeekly=true`;
const DEC_18 = "&expiryYear=2026&expiryMonth=12&expiryDay=18";
const EXPIRATIONS = "/v1/market/optionexpiredate?expiryType=ALL";

const market = createSimulatedMarket({ seed: 1 });
const started: FakeEtrade[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

/** Numbers as the text that came. */
type Texts = Record<string, string>;
type Quote = Texts & { All: Texts & { ExtendedHourQuoteDetail?: Texts }; Product: Texts; Option?: Greeks };
type Greeks = Texts & { OptionGreeks: Texts };
type Pair = { Call?: Greeks; Put?: Greeks };
type Body = {
  QuoteResponse?: { QuoteData?: Quote[]; Messages?: { Message: Texts[] } };
  OptionChainResponse?: { OptionPair: Pair[]; SelectedED: Texts; quoteType: string; nearPrice: string };
  OptionExpireDateResponse?: { ExpirationDate: Texts[] };
  Error?: Texts;
};

async function start({ at = IN_SESSION, ...options }: { at?: string } & Partial<FakeEtradeOptions> = {}) {
  const clock = createTestClock(at);
  const fake = await startFakeEtrade({
    clock,
    market,
    mostStrikes: 10,
    // The limits have tests of their own.
    limit: { perSecond: 1_000 },
    ...options,
  });
  started.push(fake);
  const client = createClient(fake, clock);
  const token = await client.logIn();
  const ask = (target: string, accept = "application/json") => client.call(target, { token, accept });
  const read = async (target: string): Promise<Body> => bodyOf(await (await ask(target)).text());
  const quotes = async (symbols: string, query = ""): Promise<Quote[]> =>
    (await read(`${QUOTE}/${symbols}${query}`)).QuoteResponse?.QuoteData ?? [];
  const quote = async (symbol: string): Promise<Quote> => {
    const [first] = await quotes(symbol);
    if (!first) throw new Error(`no quote of ${symbol}`);
    return first;
  };
  const pairs = async (target: string) => (await read(target)).OptionChainResponse?.OptionPair ?? [];
  return { clock, fake, ask, read, quotes, quote, pairs };
}

function bodyOf(text: string): Body {
  return JSON.parse(text.replace(/(?<=[:[,])-?\d[\d.E-]*(?=[,\]}])/g, '"$&"')) as Body;
}

/** Each contract trades so. */
const allTrade = (how: Trading) => ({ trading: () => how });

test("XML is the default, and JSON comes by the path or by Accept", async () => {
  const { ask } = await start();
  const target = `${QUOTE}/AAPL,${PUT}`;

  const xml = await ask(target, "*/*");
  const [byPath, byHeader] = [await ask(`${target}.json?detailFlag=ALL`, "*/*"), await ask(target)];

  expect(xml.headers.get("content-type")).toBe("application/xml;charset=UTF-8");
  expect(await xml.text()).toMatch(
    /^<\?xml [^>]*\?><QuoteResponse><QuoteData><dateTime>.*<\/QuoteResponse>$/,
  );
  expect(await byHeader.text()).toBe(await byPath.text());
});

test("dates carry the request's time of day in New York, so that in the evening their day in UTC is the next", async () => {
  const { quote } = await start({ at: "2026-11-21T02:36:44Z" });

  const { All: all } = await quote("AAPL");

  const { exDate } = market.quote(security("AAPL"), new Date(IN_SESSION)).quote.extended.dividend ?? {};
  expect(exDate).toBe("2026-09-16");
  expect(new Date(1_000 * Number(all.exDividendDate)).toISOString()).toBe("2026-09-17T01:36:44.000Z");
});

test("unknown symbols are told in Messages beside the quotes or instead of them, or refuse the whole call", async () => {
  const { read } = await start();
  const strict = await start({ unknownSymbols: "refused" });

  const beside = (await read(`${QUOTE}/NOPE,AAPL`)).QuoteResponse;
  const instead = (await read(`${QUOTE}/AAPL:2026:12:17:PUT:250.000000`)).QuoteResponse;
  const refused = await strict.ask(`${QUOTE}/NOPE,AAPL`);

  expect(beside?.QuoteData?.map(({ Product }) => Product.symbol)).toEqual(["AAPL"]);
  expect(beside?.Messages?.Message).toEqual([
    { description: "NOPE is an invalid symbol", code: "10033", type: "WARNING" },
  ]);
  expect(Object.keys(instead ?? {})).toEqual(["Messages"]);
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { Error: { code: 10033, message: "NOPE is an invalid symbol" } },
  ]);
});

test("a list holds 25 symbols, and 50 with overrideSymbolCount", async () => {
  const { ask } = await start();
  const status = async (count: number, query = "") => {
    const symbols = Array.from({ length: count }, (_, index) => `SIM${String(index).padStart(4, "0")}`);
    return (await ask(`${QUOTE}/${symbols.join()}${query}`)).status;
  };

  expect([await status(25), await status(26)]).toEqual([200, 400]);
  expect(await status(50, "?overrideSymbolCount=true")).toBe(200);
  expect(await status(51, "?overrideSymbolCount=true")).toBe(400);
});

test("a contract is named in Product and osiKey, and greeks come with detailFlag=OPTIONS in an element of its own", async () => {
  const { quotes } = await start(allTrade("usual"));

  const [, put] = await quotes(`KO,${PUT}`);
  const [detailed] = await quotes(PUT, "?detailFlag=OPTIONS");

  expect(put?.Product).toMatchObject({
    symbol: "AAPL",
    callPut: "PUT",
    expiryDay: "18",
    strikePrice: "250.0",
  });
  expect(put?.All).toMatchObject({ osiKey: "AAPL--261218P00250000", contractSize: "100.0" });
  expect(put?.All).not.toHaveProperty("OptionGreeks");
  expect(detailed?.Option?.OptionGreeks).toMatchObject({ currentValue: true });
});

test("a contract without a trade in the session has no open, and its high, low and last are the last close", async () => {
  const { All: quiet } = await (await start(allTrade("quiet"))).quote(PUT);
  const { All: never } = await (await start(allTrade("never"))).quote(PUT);

  expect(quiet).toMatchObject({ open: "0.0", totalVolume: "0", changeClose: "0.0" });
  for (const price of [quiet.high, quiet.low, quiet.lastTrade]) expect(price).toBe(quiet.previousClose);
  expect(Number(quiet.lastTrade)).toBeGreaterThan(0);
  for (const name of ["lastTrade", "open", "high", "low", "previousClose"]) expect(never[name]).toBe("0.0");
  expect(never).toMatchObject({ timeOfLastTrade: "0", optionPreviousBidPrice: "0.0" });
});

test("outside of the session a contract's times are a minute after midnight, and its sizes 0 beside its prices", async () => {
  const { quote } = await start({ at: AFTER_CLOSE, ...allTrade("usual") });

  const call = await quote("AAPL:2026:12:18:CALL:250.000000");

  expect(call).toMatchObject({ quoteStatus: "CLOSING", ahFlag: "true" });
  expect(call).toMatchObject({ dateTime: "00:01:00 EST 11-20-2026" });
  expect(call.All).toMatchObject({ bidSize: "0", askSize: "0", timeOfLastTrade: call.dateTimeUTC });
  expect(Number(call.All.bid)).toBeGreaterThan(0);
  expect(call.All).not.toHaveProperty("ExtendedHourQuoteDetail");
});

test("after the close the last trade stays the session's, and the extended hours have a quote of their own", async () => {
  const { quote, clock } = await start({ at: AFTER_CLOSE });
  const atClose = market.quote(security("AAPL"), new Date("2026-11-20T21:00:00Z")).quote.last;
  const after = await quote("AAPL");
  clock.advance(600_000);
  const later = await quote("AAPL");
  clock.setTo("2026-11-21T02:00:00.000Z");
  const night = await (await start({ at: "2026-11-21T02:00:00.000Z" })).quote("AAPL");

  expect(after).toMatchObject({ quoteStatus: "CLOSING", ahFlag: "true" });
  expect([after.All.lastTrade, later.All.lastTrade]).toEqual([atClose, atClose]);
  expect(after.All.ExtendedHourQuoteDetail).toMatchObject({
    quoteStatus: "EH_REALTIME",
    bid: after.All.bid,
  });
  expect(later.All.ExtendedHourQuoteDetail?.lastPrice).not.toBe(after.All.ExtendedHourQuoteDetail?.lastPrice);
  expect(night.All.ExtendedHourQuoteDetail?.quoteStatus).toBe("EH_CLOSED");
});

test("before the open nothing is written as 0, on a Sunday quotes are Friday's, and with hours that never end of the minute", async () => {
  const early = await (await start({ at: BEFORE_OPEN })).quote("AAPL");
  const closed = await (await start({ at: ON_SUNDAY })).quote("AAPL");
  const open = await (await start({ at: ON_SUNDAY, calendar: alwaysOpen })).quote("AAPL");

  expect(early.All).toMatchObject({ open: "0.0", high: "0.0", low: "0.0", totalVolume: "0" });
  expect(early.All.ExtendedHourQuoteDetail?.quoteStatus).toBe("EH_BEFORE_OPEN");
  expect(new Date(1_000 * Number(closed.All.timeOfLastTrade)).toISOString()).toMatch(/^2026-11-20T20:59:5/);
  expect(open).toMatchObject({ quoteStatus: "REALTIME", ahFlag: "false" });
});

test("without an agreement on market data quotes are 15 minutes late, and say so", async () => {
  const { quote, read } = await start({ delayed: true });
  const then = new Date(Date.parse(IN_SESSION) - 15 * 60_000);

  const stock = await quote("AAPL");

  expect(stock.quoteStatus).toBe("DELAYED");
  expect(stock.All.lastTrade).toBe(market.quote(security("AAPL"), then).quote.last);
  expect((await read(`${CHAINS}&symbol=AAPL${DEC_18}`)).OptionChainResponse?.quoteType).toBe("DELAYED");
});

test("a chain is the whole expiration in pairs, and what quoteDetail names can be asked in lists", async () => {
  const { read, quotes } = await start(allTrade("usual"));

  const chain = (await read(`${CHAINS}&symbol=AAPL${DEC_18}`)).OptionChainResponse;
  const calls = chain?.OptionPair.flatMap(({ Call }) => Call ?? []) ?? [];
  const quoted = await quotes(calls.map(({ quoteDetail }) => quoteDetail?.split("/quote/")[1]).join());

  expect(chain?.OptionPair.map((pair) => Object.keys(pair).join())).toEqual(calls.map(() => "Call,Put"));
  expect(chain?.SelectedED).toEqual({ day: "18", month: "12", year: "2026" });
  expect(calls.map(({ osiKey, bid, ask, lastPrice }) => [osiKey, bid, ask, lastPrice])).toEqual(
    quoted.map(({ All }) => [All.osiKey, All.bid, All.ask, All.lastTrade]),
  );
});

test("a third Friday of SPX has pairs of SPX and of SPXW, of which only the root and osiKey tell", async () => {
  const { pairs } = await start();

  const both = await pairs(`${CHAINS}&symbol=SPX${DEC_18}&noOfStrikes=1`);
  const monthly = await pairs(`${MONTHLY_CHAINS}&symbol=SPX${DEC_18}&noOfStrikes=1`);

  expect(both.map(({ Put }) => [Put?.symbol, Put?.optionRootSymbol, Put?.osiKey])).toEqual([
    ["SPX", "SPX", "SPX---261218P00600000"],
    ["SPX", "SPXW", "SPXW--261218P00600000"],
  ]);
  expect(both[0]?.Call?.bid).not.toBe(both[1]?.Call?.bid);
  expect(monthly).toEqual(both.slice(0, 1));
});

test("a date without options is refused, and so is one of a week where includeWeekly is not asked for", async () => {
  const { ask } = await start();
  const weekly = "&symbol=AAPL&expiryYear=2026&expiryMonth=12&expiryDay=4";
  const targets = [
    `${CHAINS}${weekly}`,
    `${MONTHLY_CHAINS}${weekly}`,
    `${CHAINS}${weekly.replace("Day=4", "Day=3")}`,
  ];

  const statuses = targets.map(async (target) => (await ask(target)).status);

  expect(await Promise.all(statuses)).toEqual([200, 400, 400]);
});

test("expirations are dates with their type, each once", async () => {
  const { read } = await start();
  const listed = async (query: string) =>
    (await read(EXPIRATIONS + query)).OptionExpireDateResponse?.ExpirationDate ?? [];

  expect((await listed("&symbol=SPX")).slice(0, 2)).toEqual([
    { year: "2026", month: "11", day: "20", expiryType: "MONTHLY" },
    { year: "2026", month: "11", day: "27", expiryType: "WEEKLY" },
  ]);
  expect((await listed("&symbol=AAPL")).map(({ month, day }) => `${month}-${day}`)).toContain("12-18");
});

test("the sandbox answers IBM of years ago, whatever is asked and whenever", async () => {
  const { read, clock } = await start({ sandbox: true });
  const asked = `${CHAINS}&symbol=SPY${DEC_18}`;

  const [quote, chain] = [await read(`${QUOTE}/AAPL,SPY`), await read(asked)];
  clock.advance(3_600_000);

  expect(quote.QuoteResponse?.QuoteData).toHaveLength(1);
  expect(quote.QuoteResponse?.QuoteData?.[0]).toMatchObject({
    Product: { symbol: "IBM" },
    quoteStatus: "DELAYED",
  });
  expect(quote.QuoteResponse?.QuoteData?.[0]?.dateTime).toMatch(/06-20-2018$/);
  expect(chain.OptionChainResponse?.SelectedED).toEqual({ day: "17", month: "8", year: "2018" });
  expect([await read(`${QUOTE}/NOPE`), await read(asked)]).toEqual([quote, chain]);
  expect((await read(`${EXPIRATIONS}&symbol=SPY`)).OptionExpireDateResponse?.ExpirationDate[0]?.year).toBe(
    "2018",
  );
});
