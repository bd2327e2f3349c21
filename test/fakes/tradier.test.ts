/** The fake of Tradier over real HTTP, asked without our client: each of its answers is what is public of the service. */
import { afterAll, expect, test } from "@jest/globals";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { security } from "../../src/market/instrument.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { createTestClock } from "../support/clock.ts";
import { SLOW_MS } from "./faultRules.ts";
import { type FakeTradier, type FakeTradierOptions, startFakeTradier, TOKENS } from "./tradier/fake.ts";
import type { Trading } from "./trading.ts";

/** A Friday on which SPX and SPXW expire, an hour before the exchange closes. */
const IN_SESSION = "2026-11-20T20:00:03.000Z";
const AFTER_CLOSE = "2026-11-20T22:00:03.000Z";
const BEFORE_OPEN = "2026-11-20T13:00:03.000Z";
const ON_SUNDAY = "2026-11-22T18:00:00.000Z";

/** A listed contract. */
const PUT = "AAPL261218P00250000";
const QUOTES = "/v1/markets/quotes";
const CHAINS = "/v1/markets/options/chains";
const EXPIRATIONS = "/v1/markets/options/expirations";

const market = createSimulatedMarket({ seed: 1 });
const started: FakeTradier[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

/** Numbers as the text that came. */
type Greeks = Record<string, string>;
type Quote = Record<string, string | null> & { greeks?: Greeks | null };
type Body = {
  quotes?: { quote?: Quote | Quote[]; unmatched_symbols?: { symbol: string | string[] } };
  options?: { option: Quote[] } | string | null;
  expirations?: { date?: string[]; expiration?: Record<string, string>[] } | null;
  fault?: { faultstring: string; detail: { errorcode: string } };
};
type Asking = { token?: string; accept?: string; method?: string; body?: string };

async function start({ at = IN_SESSION, ...options }: { at?: string } & Partial<FakeTradierOptions> = {}) {
  const clock = createTestClock(at);
  const fake = await startFakeTradier({ clock, market, mostStrikes: 10, ...options });
  started.push(fake);
  const ask = (target: string, { token = TOKENS.token, accept = "application/json", ...rest }: Asking = {}) =>
    fetch(fake.baseUrl + target, { headers: { authorization: `Bearer ${token}`, accept }, ...rest });
  const read = async (target: string, asking?: Asking) => bodyOf(await (await ask(target, asking)).text());
  const quotes = async (symbols: string): Promise<Quote[]> => {
    const { quotes: answered } = await read(`${QUOTES}?greeks=true&symbols=${symbols}`);
    return [answered?.quote ?? []].flat();
  };
  const quote = async (symbol: string): Promise<Quote> => (await quotes(symbol))[0] ?? {};
  return { clock, fake, ask, read, quotes, quote };
}

function bodyOf(text: string): Body {
  return JSON.parse(text.replace(/(?<=[:[,])-?\d[\d.E-]*(?=[,\]}])/g, '"$&"')) as Body;
}

const optionsOf = ({ options }: Body): Quote[] =>
  typeof options === "object" && options !== null ? options.option : [];

/** Each contract trades so. */
const allTrade = (how: Trading) => ({ trading: () => how });

test("stocks and contracts mix in one list, by GET and by POST; one quote is an object, several are an array", async () => {
  const { read, fake } = await start();

  const got = await read(`${QUOTES}?symbols=AAPL,${PUT}&greeks=true`);
  const posted = await read(QUOTES, { method: "POST", body: `symbols=AAPL,${PUT}&greeks=true` });
  const one = (await read(`${QUOTES}?symbols=${PUT}`)).quotes?.quote;

  expect(got.quotes?.quote).toMatchObject([{ symbol: "AAPL" }, { symbol: PUT, greeks: {} }]);
  expect(posted).toEqual(got);
  expect(one).toMatchObject({ symbol: PUT });
  expect(one).not.toHaveProperty("greeks");
  expect(fake.calls.map(({ method, symbols }) => [method, symbols])).toEqual([
    ["GET", ["AAPL", PUT]],
    ["POST", ["AAPL", PUT]],
    ["GET", [PUT]],
  ]);
});

test("unknown symbols stand beside the quotes or instead of them, as a text or an array", async () => {
  const { read } = await start();

  const beside = (await read(`${QUOTES}?symbols=NOPE,AAPL`)).quotes;
  const instead = (await read(`${QUOTES}?symbols=NOPE,AAPL261218P00000001`)).quotes;

  expect(beside).toMatchObject({ quote: { symbol: "AAPL" }, unmatched_symbols: { symbol: "NOPE" } });
  expect(instead).toEqual({ unmatched_symbols: { symbol: ["NOPE", "AAPL261218P00000001"] } });
});

test("a contract that never traded has no prices, one that is quiet the close before, and one may have a volume without prices", async () => {
  const [never, quiet, odd] = await Promise.all(
    (["never", "quiet", "odd"] as const).map(async (how) => (await start(allTrade(how))).quote(PUT)),
  );

  expect(never).toMatchObject({ last: null, change: null, prevclose: null, open: null, trade_date: "0" });
  expect(never?.greeks).toMatchObject({ bid_iv: "0.0", mid_iv: "0.0", ask_iv: "0.0" });
  for (const one of [odd, quiet])
    expect(one).toMatchObject({ open: null, high: null, low: null, last: one?.prevclose, change: "0.00" });
  expect([Number(odd?.volume) > 0, quiet?.volume]).toEqual([true, "0"]);
});

test("no bid is 0.0 with the size 0 and no volatility, and small greeks have exponents", async () => {
  const { read } = await start(allTrade("usual"));

  const chain = optionsOf(await read(`${CHAINS}?symbol=AAPL&expiration=2026-12-18&greeks=true`));
  const worthless = chain.find(({ bid, greeks }) => bid === "0.0" && greeks);

  expect(worthless).toMatchObject({ bidsize: "0", greeks: { bid_iv: "0.0" } });
  expect(worthless?.greeks?.mid_iv).toBe(worthless?.greeks?.ask_iv);
  expect(worthless?.greeks?.delta).toMatch(/^-?\d\.\d+E-\d$/);
});

test("the close is null in the session and the last price after it, when trades stand still and bids go on", async () => {
  const { quote, clock } = await start({ at: IN_SESSION });
  const inSession = await quote("AAPL");
  clock.setTo(AFTER_CLOSE);
  const after = await quote("AAPL");
  clock.advance(600_000);
  const later = await quote("AAPL");

  expect(inSession.close).toBeNull();
  expect(after.close).toBe(after.last);
  expect([later.last, later.trade_date]).toEqual([after.last, after.trade_date]);
  expect(Number(after.trade_date)).toBeLessThan(Date.parse("2026-11-20T21:00:00Z"));
  expect(later.bid_date).not.toBe(after.bid_date);
});

test("before the open there is no open and no volume, on a Sunday quotes are Friday's, and with hours that never end of the minute", async () => {
  const early = await (await start({ at: BEFORE_OPEN })).quote("AAPL");
  const friday = await (await start({ at: ON_SUNDAY })).quote("AAPL");
  const sunday = await (await start({ at: ON_SUNDAY, calendar: alwaysOpen })).quote("AAPL");

  expect(early).toMatchObject({ open: null, high: null, low: null, close: null, volume: "0" });
  expect(Number(friday.trade_date)).toBeLessThan(Date.parse("2026-11-20T21:00:00Z"));
  expect(Date.parse(ON_SUNDAY) - Number(sunday.trade_date)).toBeLessThan(10_000);
});

test("the sandbox is 15 minutes late, and nothing says so but its times", async () => {
  const { quote, ask } = await start({ sandbox: true });
  const then = new Date(Date.parse(IN_SESSION) - 15 * 60_000);

  const stock = await quote("AAPL");

  expect(stock.last).toBe(market.quote(security("AAPL"), then).quote.last);
  expect(Number(stock.bid_date)).toBeLessThanOrEqual(then.getTime());
  expect((await ask(`${QUOTES}?symbols=AAPL`)).headers.get("date")).toBe("Fri, 20 Nov 2026 20:00:03 GMT");
});

test("a chain is the whole expiration, calls and puts, in one answer, and its contracts can be asked in lists", async () => {
  const { read, quotes } = await start();

  const chain = optionsOf(await read(`${CHAINS}?symbol=AAPL&expiration=2026-12-18&greeks=true`));

  expect(new Set(chain.map((one) => one.option_type))).toEqual(new Set(["call", "put"]));
  expect(new Set(chain.map((one) => one.expiration_date))).toEqual(new Set(["2026-12-18"]));
  expect(new Set(chain.map((one) => one.symbol)).size).toBe(chain.length);
  expect(await quotes(chain.map((one) => one.symbol).join(","))).toEqual(chain);
});

test("a third Friday of SPX has contracts of SPX and of SPXW, alike but for root, symbol and price", async () => {
  const { read } = await start(allTrade("usual"));

  const chain = optionsOf(await read(`${CHAINS}?symbol=SPX&expiration=2026-12-18`));
  const ofStrike = chain.filter((one) => one.strike === "600.0" && one.option_type === "call");

  expect(ofStrike.map((one) => one.root_symbol)).toEqual(["SPX", "SPXW"]);
  expect(ofStrike.map((one) => one.symbol)).toEqual(["SPX261218C00600000", "SPXW261218C00600000"]);
  expect(ofStrike.map((one) => one.underlying)).toEqual(["SPX", "SPX"]);
  expect(ofStrike[0]?.bid).not.toBe(ofStrike[1]?.bid);
});

test("an expiration that is not listed is null in place of the list, or the text of it, in turn", async () => {
  const { read } = await start();
  const ask = () => read(`${CHAINS}?symbol=AAPL&expiration=2026-12-17`);

  expect([await ask(), await ask(), await ask()]).toEqual([
    { options: null },
    { options: "null" },
    { options: null },
  ]);
  expect(await read(`${EXPIRATIONS}?symbol=NOPE`)).toEqual({ expirations: "null" });
});

test("expirations are dates, those of further roots where they are asked for, or of another shape with their types", async () => {
  const { read } = await start();
  const dates = async (query: string) => (await read(`${EXPIRATIONS}?symbol=${query}`)).expirations;

  expect((await dates("SPX"))?.date?.slice(0, 2)).toEqual(["2026-11-20", "2026-12-18"]);
  expect((await dates("SPX&includeAllRoots=true"))?.date?.slice(0, 2)).toEqual(["2026-11-20", "2026-11-27"]);
  expect(
    (await dates("SPX&includeAllRoots=true&expirationType=true"))?.expiration?.slice(0, 2),
  ).toMatchObject([
    { date: "2026-11-20", expiration_type: "standard" },
    { date: "2026-11-20", expiration_type: "weeklys" },
  ]);
});

test("a contract is listed until its expiration date's session has closed", async () => {
  const { read, clock } = await start();
  const ask = () => read(`${QUOTES}?symbols=AAPL261120C00250000`);

  expect((await ask()).quotes).toHaveProperty("quote");
  clock.setTo(AFTER_CLOSE);
  expect((await ask()).quotes).toEqual({ unmatched_symbols: { symbol: "AAPL261120C00250000" } });
});

test("a wrong token, and one of the other environment, are a 401; one that expired is a 500", async () => {
  const { ask, fake } = await start();
  const fault = async (token: string) => {
    const answer = await ask(`${QUOTES}?symbols=AAPL`, { token });
    return [answer.status, ((await answer.json()) as Body).fault?.faultstring];
  };

  expect(await fault("wrong")).toEqual([401, "Invalid Access Token"]);
  expect(await fault(TOKENS.otherEnvironment)).toEqual([
    401,
    "Invalid API call as no apiproduct match found",
  ]);
  expect(await fault(TOKENS.expired)).toEqual([500, "Access Token expired"]);
  fake.expireToken();
  expect(await fault(TOKENS.token)).toEqual([500, "Access Token expired"]);
  expect(JSON.stringify(fake.calls)).not.toContain("token");
});

test("a GET whose target is too long is a 414, and the same list by POST is answered", async () => {
  const { ask } = await start();
  const symbols = Array.from({ length: 1_200 }, (_, index) => `SIM${String(index).padStart(4, "0")}`).join();
  const body = `symbols=${symbols}`;

  const asked = await ask(`${QUOTES}?${body}`);
  const posted = await ask(QUOTES, { method: "POST", body });

  expect([asked.status, posted.status]).toEqual([414, 200]);
  expect([bodyOf(await posted.text()).quotes?.quote].flat()).toHaveLength(1_200);
});

const headersOf = ({ headers }: Response) =>
  ["allowed", "used", "available", "expiry"].map((name) => Number(headers.get(`x-ratelimit-${name}`)));

test("each node counts its own calls, and the headers name the clock's next full minute in ms", async () => {
  const { ask } = await start({ limit: { nodes: 2 } });
  const expiry = Date.parse("2026-11-20T20:01:00Z");

  const answers: number[][] = [];
  for (let call = 0; call < 3; call += 1) answers.push(headersOf(await ask(`${QUOTES}?symbols=AAPL`)));

  expect(answers).toEqual([
    [120, 1, 119, expiry],
    [120, 1, 119, expiry],
    [120, 2, 118, expiry],
  ]);
});

test("the limit holds over all nodes and begins anew with the clock's minute", async () => {
  const { ask, clock } = await start({ limit: { holds: 4 } });
  const status = async () => (await ask(`${QUOTES}?symbols=AAPL`)).status;
  const statuses: number[] = [];
  for (let call = 0; call < 5; call += 1) statuses.push(await status());
  const fault = (await (await ask(`${QUOTES}?symbols=AAPL`)).json()) as Body;
  clock.setTo("2026-11-20T20:01:00.000Z");
  statuses.push(await status());

  expect(statuses).toEqual([200, 200, 200, 200, 429, 200]);
  expect(fault.fault?.detail.errorcode).toBe("policies.ratelimit.QuotaViolation");
});

test("the sandbox says 200 and holds 60", async () => {
  const { ask, fake } = await start({ sandbox: true });
  for (let call = 0; call < 61; call += 1) await (await ask(`${EXPIRATIONS}?symbol=AAPL`)).text();

  expect(fake.calls.filter(({ status }) => status === 200)).toHaveLength(60);
  expect(headersOf(await ask(QUOTES))[0]).toBe(200);
});

const target = `${QUOTES}?symbols=AAPL`;

test("a fault is a whole answer: of the gateway, in XML to a client of JSON, a page, or nothing", async () => {
  const { ask, fake } = await start();
  const answered: unknown[] = [];
  for (const fault of ["datastore", "gatewayTimeout", "htmlPage", "empty"] as const) {
    fake.failNext(fault);
    const answer = await ask(target);
    const text = await answer.text();
    answered.push([answer.status, answer.headers.get("content-type")?.split(";")[0], text.slice(0, 20)]);
  }

  expect(answered).toEqual([
    [500, "application/json", '{"fault":{"faultstri'],
    [504, "application/xml", "<fault><faultstring>"],
    [200, "text/html", "<!DOCTYPE html>\n<htm"],
    [200, "application/json", ""],
  ]);
  expect((await ask(target)).status).toBe(200);
});

test("a connection is closed before an answer, or in the middle of one, and a slow body comes whole after its time", async () => {
  const { ask, read, fake, clock } = await start();

  fake.failNext("closedConnection");
  await expect(ask(target)).rejects.toThrow();
  fake.failNext("cutBody");
  const cut = await ask(target);
  await expect(cut.text()).rejects.toThrow();
  fake.failNext("slowBody");
  const slow = await read(target);

  expect(slow.quotes?.quote).toMatchObject({ symbol: "AAPL" });
  expect(clock.slept).toEqual([SLOW_MS]);
  expect(fake.calls.map(({ fault, status }) => [fault, status])).toEqual([
    ["closedConnection", null],
    ["cutBody", 200],
    ["slowBody", 200],
  ]);
});

test("faults follow a schedule: by number, by count, by time and by path", async () => {
  const { ask, fake, clock } = await start({
    faults: [
      { fault: "datastore", numbers: [1] },
      { fault: "empty", every: 3 },
      { fault: "htmlPage", path: EXPIRATIONS },
      { fault: "gatewayTimeout", from: new Date("2026-11-20T21:00:00Z") },
    ],
  });
  for (const path of [target, target, target, `${EXPIRATIONS}?symbol=AAPL`]) await (await ask(path)).text();
  clock.setTo(AFTER_CLOSE);
  await (await ask(target)).text();

  const met = ["datastore", null, "empty", "htmlPage", "gatewayTimeout"];
  expect(fake.calls.map(({ fault }) => fault)).toEqual(met);
});
