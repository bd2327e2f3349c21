/** The market of E*TRADE's fake over real HTTP, asked without our client: each of its answers is what is public of the service. */
import { afterAll, describe, expect, test } from "@jest/globals";
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

/** Names and texts of the elements that hold no others, in their order. */
function leavesOf(text: string): [string, string][] {
  const found = text.startsWith("<")
    ? text.matchAll(/<(\w+)>([^<]*)<\/\1>/g)
    : text.matchAll(/"(\w+)":(?:"([^"]*)"|([-\w.]+))/g);
  return [...found].map(([, name = "", quoted, bare]) => [name, quoted ?? bare ?? ""]);
}

describe("quotes", () => {
  test("XML is the default, and JSON has the same names and texts, asked for by the path or by Accept", async () => {
    const { ask } = await start();
    const target = `${QUOTE}/AAPL,${PUT},NOPE`;

    const xml = await ask(target, "*/*");
    const [byPath, byHeader] = [await ask(`${target}.json?detailFlag=ALL`, "*/*"), await ask(target)];
    const [document, json] = [await xml.text(), await byPath.text()];

    expect(xml.headers.get("content-type")).toBe("application/xml;charset=UTF-8");
    expect(document).toMatch(/^<\?xml [^>]*\?><QuoteResponse><QuoteData><dateTime>.*<\/QuoteResponse>$/);
    expect(leavesOf(json)).toHaveLength(125);
    expect(leavesOf(json)).toEqual(leavesOf(document));
    expect(await byHeader.text()).toBe(json);
  });

  test("the members of a stock stand in the order of recorded answers", async () => {
    const { quote } = await start();

    const stock = await quote("AAPL");

    expect(Object.keys(stock)).toEqual([
      ...["dateTime", "dateTimeUTC", "quoteStatus", "ahFlag", "hasMiniOptions", "All", "Product"],
    ]);
    expect(Object.keys(stock.All).join(" ")).toBe(
      "adjustedFlag ask askSize askTime bid bidExchange bidSize bidTime changeClose changeClosePercentage companyName " +
        "daysToExpiration dirLast dividend eps estEarnings exDividendDate high high52 lastTrade low low52 open openInterest " +
        "optionStyle optionUnderlier previousClose previousDayVolume primaryExchange symbolDescription totalVolume upc " +
        "cashDeliverable marketCap sharesOutstanding nextEarningDate beta yield declaredDividend dividendPayableDate pe " +
        "week52LowDate week52HiDate intrinsicValue timePremium optionMultiplier contractSize expirationDate timeOfLastTrade " +
        "averageVolume",
    );
  });

  test("a stock's prices are the simulated market's, digit by digit, and its sizes are in shares", async () => {
    const { quote } = await start();
    const { last, bid, ask, extended, change } = market.quote(security("AAPL"), new Date(IN_SESSION)).quote;

    const { All: all, Product: product, ...head } = await quote("AAPL");

    expect(head).toMatchObject({ quoteStatus: "REALTIME", ahFlag: "false", hasMiniOptions: false });
    expect(all).toMatchObject({ lastTrade: last, bid, ask, previousClose: extended.previousClose });
    expect(all).toMatchObject({
      totalVolume: extended.volume,
      changeClose: change,
      low52: extended.low52Week,
    });
    expect(all.bidSize).toBe(`${extended.bidSize}00`);
    expect(all).toMatchObject({ optionStyle: "", openInterest: "0", contractSize: "0.0" });
    expect(product).toEqual({ symbol: "AAPL", securityType: "EQ" });
  });

  test("an index is INDX, and a company without dividends has 0.0", async () => {
    const { quotes } = await start();

    const [index, amazon] = await quotes("SPX,AMZN");

    expect(index?.Product).toEqual({ symbol: "SPX", securityType: "INDX" });
    expect(amazon?.All).toMatchObject({ dividend: "0.0", declaredDividend: "0.0", yield: "0.0" });
  });

  test("a quote's time is written by New York's clocks and as epoch seconds, and lies just before the call", async () => {
    const winter = await (await start()).quote("AAPL");
    const summer = await (await start({ at: "2026-06-19T15:00:00Z", calendar: alwaysOpen })).quote("AAPL");

    expect(winter.dateTime).toMatch(/^\d\d:\d\d:\d\d EST 11-20-2026$/);
    expect(summer.dateTime).toMatch(/^1[01]:\d\d:\d\d EDT 06-19-2026$/);
    expect(winter.All.askTime).toBe(winter.dateTime);
    for (const seconds of [winter.dateTimeUTC, winter.All.timeOfLastTrade]) {
      const ago = Date.parse(IN_SESSION) - 1_000 * Number(seconds);
      expect([ago >= 0, ago < 15_000]).toEqual([true, true]);
    }
  });

  test("dates carry the request's time of day in New York, so that in the evening their day in UTC is the next", async () => {
    const { quote } = await start({ at: "2026-11-21T02:36:44Z" });

    const { All: all } = await quote("AAPL");
    const dates = [all.exDividendDate, all.dividendPayableDate, all.week52LowDate, all.week52HiDate];
    const inNewYork = new Intl.DateTimeFormat("en-US", {
      timeZone: "America/New_York",
      dateStyle: "short",
      timeStyle: "medium",
    });

    for (const date of dates)
      expect(inNewYork.format(1_000 * Number(date))).toMatch(/^\d+\/\d+\/2[56], 9:36:44\sPM$/u);
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

  test("a call without a symbol, with a date that does not exist or to an unknown path is told so", async () => {
    const { ask } = await start();
    const targets = [
      `${QUOTE}/`,
      EXPIRATIONS,
      `${CHAINS}&symbol=AAPL&expiryYear=2026&expiryMonth=2&expiryDay=30`,
      `${CHAINS}&symbol=NOPE`,
      "/v1/market/lookup/A",
    ];

    const answers = await Promise.all(targets.map((target) => ask(target)));
    const codes = answers.map(async (answer) => [answer.status, bodyOf(await answer.text()).Error?.code]);

    expect(await Promise.all(codes)).toEqual([
      [400, "10043"],
      [400, "10043"],
      [400, undefined],
      [400, "10033"],
      [404, undefined],
    ]);
  });
});

describe("contracts", () => {
  test("a contract's quote mixes with those of stocks, and names the contract in Product and osiKey", async () => {
    const { quotes } = await start(allTrade("usual"));

    const [, put] = await quotes(`KO,${PUT}`);

    expect(put?.Product).toEqual({
      symbol: "AAPL",
      securityType: "OPTN",
      callPut: "PUT",
      expiryYear: "2026",
      expiryMonth: "12",
      expiryDay: "18",
      strikePrice: "250.0",
    });
    expect(put?.All).toMatchObject({
      osiKey: "AAPL--261218P00250000",
      symbolDescription: "AAPL Dec 18 '26 $250 Put",
      optionStyle: "AMERICAN",
      optionUnderlier: "AAPL",
      optionUnderlierExchange: "NSDQ",
      daysToExpiration: "28",
      contractSize: "100.0",
      intrinsicValue: "0.0",
    });
    expect(put?.All).not.toHaveProperty("OptionGreeks");
    expect(put).not.toHaveProperty("hasMiniOptions");
  });

  test("greeks come with detailFlag=OPTIONS, in an element of its own", async () => {
    const { quotes } = await start();

    const [put] = await quotes(PUT, "?detailFlag=OPTIONS");

    expect(put).not.toHaveProperty("All");
    expect(put?.Option).toMatchObject({ osiKey: "AAPL--261218P00250000" });
    expect(put?.Option?.OptionGreeks).toMatchObject({ currentValue: true });
    expect(put?.Option?.OptionGreeks.delta).toMatch(/^-0\.\d{6}$/);
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

  test("a contract is listed until its expiration date's session has closed", async () => {
    const { clock, quotes } = await start();
    const ask = () => quotes("AAPL:2026:11:20:CALL:250.000000");

    expect(await ask()).toHaveLength(1);
    clock.advance(3_600_000);
    expect(await ask()).toHaveLength(0);
  });
});

describe("hours", () => {
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
    expect(later.All.ExtendedHourQuoteDetail?.lastPrice).not.toBe(
      after.All.ExtendedHourQuoteDetail?.lastPrice,
    );
    expect(night.All.ExtendedHourQuoteDetail?.quoteStatus).toBe("EH_CLOSED");
  });

  test("before the open there is no open, high, low or volume, and that is written as 0", async () => {
    const { quote } = await start({ at: BEFORE_OPEN });

    const { All: all, quoteStatus } = await quote("AAPL");

    expect(quoteStatus).toBe("CLOSING");
    expect(all).toMatchObject({ open: "0.0", high: "0.0", low: "0.0", totalVolume: "0" });
    expect(all.ExtendedHourQuoteDetail?.quoteStatus).toBe("EH_BEFORE_OPEN");
  });

  test("on a Sunday quotes are Friday's, some a day older than the last trade, and with hours that never end of the minute", async () => {
    const closed = await (await start({ at: ON_SUNDAY })).quotes("AAPL,MSFT,GE,IBM,KO,F,T,V,C,BAC,XOM,GM,HD");
    const open = await (await start({ at: ON_SUNDAY, calendar: alwaysOpen })).quote("AAPL");
    const days = closed.map(({ dateTime }) => dateTime?.slice(-10));

    expect(new Set(days)).toEqual(new Set(["11-20-2026", "11-19-2026"]));
    for (const { All: all } of closed)
      expect(new Date(1_000 * Number(all.timeOfLastTrade)).toISOString()).toMatch(/^2026-11-20T20:59:5/);
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
});

describe("chains and expirations", () => {
  test("a chain is the whole expiration in pairs, and what quoteDetail names can be asked in lists", async () => {
    const { read, quotes } = await start(allTrade("usual"));

    const chain = (await read(`${CHAINS}&symbol=AAPL${DEC_18}`)).OptionChainResponse;
    const calls = chain?.OptionPair.flatMap(({ Call }) => Call ?? []) ?? [];
    const names = calls.map(({ quoteDetail }) => quoteDetail?.split("/quote/")[1]);
    const quoted = await quotes(names.join());

    expect(chain?.OptionPair.map((pair) => Object.keys(pair).join())).toEqual(calls.map(() => "Call,Put"));
    expect(chain).toMatchObject({
      quoteType: "REALTIME",
      SelectedED: { day: "18", month: "12", year: "2026" },
    });
    expect(calls.map(({ osiKey }) => osiKey)).toEqual(quoted.map(({ All }) => All.osiKey));
    expect(calls.map(({ bid, ask, lastPrice }) => [bid, ask, lastPrice])).toEqual(
      quoted.map(({ All }) => [All.bid, All.ask, All.lastTrade]),
    );
    expect(Object.keys(calls[0] ?? {}).join(" ")).toBe(
      "optionCategory optionRootSymbol timeStamp adjustedFlag displaySymbol optionType strikePrice symbol bid ask bidSize " +
        "askSize inTheMoney volume openInterest netChange lastPrice quoteDetail osiKey OptionGreeks",
    );
    expect(Object.keys(calls[0]?.OptionGreeks ?? {}).join(" ")).toBe(
      "rho vega theta delta gamma iv currentValue",
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

  test("a chain may be of calls or puts alone, of the nearest strikes, and of the nearest date", async () => {
    const { read } = await start();
    const chain = async (query: string) =>
      (await read(`/v1/market/optionchains?symbol=AAPL${query}`)).OptionChainResponse;

    const puts = await chain(`${DEC_18}&chainType=PUT&noOfStrikes=2&strikePriceNear=300`);
    const nearest = await chain("&noOfStrikes=1");

    expect(puts?.OptionPair.map((pair) => Object.keys(pair).join())).toEqual(["Put", "Put"]);
    expect(puts?.OptionPair.map(({ Put }) => Put?.strikePrice)).toContain("300.0");
    expect(nearest?.SelectedED).toEqual({ day: "20", month: "11", year: "2026" });
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
});

describe("sandbox", () => {
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
});
