/** What the checkup of Alpaca makes of a fake's answers, as they are and as they might be in place of what is assumed. */
import { expect, test } from "@jest/globals";
import { exchangeDate } from "../../src/market/calendar/dates.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { MOST_CALLS, type Probe, type ProbedAnswer } from "../../src/services/checkup.ts";
import { writeCall } from "../../src/services/service.ts";
import type { FakeAlpacaOptions } from "../fakes/alpaca/fake.ts";
import { createTestClock } from "../support/clock.ts";
import { openFakeAlpaca } from "../support/livingFakes.ts";

const KINDS = [
  "one",
  "again",
  "unknown",
  "malformed",
  "long",
  "expirations",
  "chain",
  "indexChain",
  "classChain",
  "contracts",
] as const;

type Kind = (typeof KINDS)[number];
type Sent = { status: number; headers: Record<string, string>; body: string };

type World = Partial<FakeAlpacaOptions> & {
  feeds?: Record<string, string>;
  /** An answer as it might be: of each of these kinds. */
  changed?: Partial<Record<Kind, (sent: Sent) => Partial<Sent>>>;
};

const NOW = "2026-11-20T20:00:03.000Z";

/** Makes the calls of the checkup, with their further pages and without a name that is refused. */
async function checkedAgainst({ feeds = {}, changed = {}, ...options }: World = {}) {
  const clock = createTestClock(NOW);
  const { fake, settings } = await openFakeAlpaca({
    ...{ clock, trading: () => "usual", mostStrikes: 60 },
    ...options,
  });
  const today = exchangeDate(clock.now());
  const credentials = {
    keyId: settings.QUOTES_ALPACA_KEY_ID,
    secretKey: settings.QUOTES_ALPACA_SECRET_KEY,
  };

  async function answerTo(call: QuoteCall, change?: (sent: Sent) => Partial<Sent>): Promise<ProbedAnswer> {
    const written = writeCall(ALPACA, call);
    const host = ALPACA.hostOf?.(call) === "trading" ? fake.tradingUrl : fake.dataUrl;
    const url = `${host}${written.target}`;
    const signed = ALPACA.sign({ ...written, url }, credentials, { nonce: "", timestamp: "" } as never);
    const response = await fetch(url, { headers: signed });
    const sent: Sent = {
      status: response.status,
      headers: { ...Object.fromEntries(response.headers), date: clock.now().toUTCString() },
      body: await response.text(),
    };
    const { status, headers, body: text } = { ...sent, ...change?.(sent) };
    const at = clock.now().toISOString().replace("Z", "000Z");
    const body = Buffer.from(text);
    const answer = ALPACA.classify({ status, headers, body, observedAt: at }, call);
    return { call, answer, status, headers, body, requestedAt: at, observedAt: at };
  }

  const probed: Probe[] = [];
  for (;;) {
    const next = ALPACA.checkup.next(probed, today);
    if (next === null) break;
    const call = ALPACA.complete?.(next, { options: feeds, today }) ?? next;
    const change = changed[KINDS[probed.length] ?? "one"];
    const first = await answerTo(call, change);
    const further: ProbedAnswer[] = [];
    const pageBehind = ({ answer }: ProbedAnswer) =>
      answer.outcome === "quotes" ? answer.document.nextPage : undefined;
    for (let page = pageBehind(first); page !== undefined; page = pageBehind(further.at(-1) ?? first))
      further.push(await answerTo({ ...call, page } as QuoteCall, change));
    const bad = first.answer.outcome === "quotes" ? undefined : first.answer.badSymbol;
    if (bad !== undefined && call.form === "symbols")
      further.push(await answerTo({ ...call, symbols: call.symbols.filter((symbol) => symbol !== bad) }));
    probed.push({ ...first, ...(further.length > 0 && { further }) });
  }
  const findings = ALPACA.checkup.findings(probed, null);
  return {
    fake,
    findings,
    verdictOf: (words: string) => {
      const found = findings.find(({ assumption }) => assumption.startsWith(words));
      return found && [found.verdict, found.why, found.needed];
    },
  };
}

/** Changes the JSON of a body. */
const json = (change: (document: Record<string, never>) => unknown) => (sent: Sent) => ({
  body: JSON.stringify(change(JSON.parse(sent.body) as Record<string, never>)),
});

/** Changes a part of each snapshot. */
const each = (part: string, changed: object) => (sent: Sent) => ({
  body: JSON.stringify(JSON.parse(sent.body), (key, value: unknown) =>
    key === part ? { ...(value as object), ...changed } : value,
  ),
});

const refusal = (status: number, message: string) => () => ({ status, body: JSON.stringify({ message }) });

test("where all is as documented each sentence holds, and no call is one too many", async () => {
  const { fake, findings } = await checkedAgainst();

  expect(findings.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
  expect(fake.calls).toHaveLength(MOST_CALLS);
  expect(JSON.stringify(findings)).not.toMatch(/SPY|SPX|BRK|ZZQ|\$/);
});

test.each([
  ["stocks", { stockFeed: "sip" }, "sip, HTTP 403", 1],
  ["options", { optionFeed: "opra" }, "opra, HTTP 403", 8],
] as const)(
  "a feed of %s that the plan does not have is told, is no refused key, and ends the calls",
  async (what, feeds, why, calls) => {
    const { fake, verdictOf } = await checkedAgainst({ feeds });

    expect(verdictOf(`The account's plan has the feed of ${what}`)).toEqual(["not_so", why, true]);
    expect(verdictOf("The service accepts the credentials")?.[0]).toBe("ok");
    expect(fake.calls).toHaveLength(calls);
  },
);

test("a subscription's feeds are of real time, with their own exchanges", async () => {
  const { findings } = await checkedAgainst({
    plan: "plus",
    limit: { calls: 10_000 },
    feeds: { stockFeed: "sip", optionFeed: "opra" },
  });

  expect(findings.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
  expect(findings.map(({ assumption }) => assumption)).toContain("Trades of contracts are of real time");
});

test("quotes that come from another feed than was asked are told by their age and their exchange", async () => {
  const { verdictOf } = await checkedAgainst({
    changed: {
      one: each("latestQuote", { t: NOW, ax: "V", bx: "V" }),
      chain: each("latestTrade", { t: NOW }),
    },
  });

  expect(verdictOf("Quotes are 15 minutes late")).toEqual(["not_so", "the youngest was 0 s old", true]);
  expect(verdictOf("Quotes of stocks are of their feed's exchanges")).toEqual(["not_so", "IEX alone", false]);
  expect(verdictOf("Trades of contracts are 15 minutes late")?.[0]).toBe("not_so");
});

test("IEX's quotes are of real time and of one exchange", async () => {
  const { verdictOf } = await checkedAgainst({ feeds: { stockFeed: "iex" } });

  expect(verdictOf("Quotes are of real time")?.[0]).toBe("ok");
  expect(verdictOf("Quotes of stocks are of their feed's exchanges")?.slice(0, 2)).toEqual([
    "ok",
    "IEX alone",
  ]);
});

test("a stub quote is told by its width, which is not needed", async () => {
  const { verdictOf } = await checkedAgainst({
    changed: { one: each("latestQuote", { bp: 54.1, ap: 67.9 }) },
  });

  expect(verdictOf("The quote of a large fund is narrow")).toEqual(["not_so", "it is 22.6 % wide", false]);
});

test("sizes in round lots are told as no shares, which is needed", async () => {
  const lots = each("latestQuote", { as: 3, bs: 17 });
  const { verdictOf } = await checkedAgainst({
    changed: { one: lots, again: lots, unknown: lots, malformed: lots },
  });

  expect(verdictOf("Sizes of stocks are shares")).toEqual([
    "not_so",
    "0 of 6 are multiples of a round lot, each is smaller: they are no shares",
    true,
  ]);
});

test.each([
  [
    "an unknown name that comes back as a snapshot",
    { unknown: json((document) => ({ ...document, ZZQXZZ: {} })) },
    "An unknown symbol is left out",
    ["not_so", "HTTP 200", true],
  ],
  [
    "a class of shares that nobody knows",
    { unknown: json(({ "BRK.B": _, ...others }) => others) },
    "A class of shares has a quote",
    ["not_so", "HTTP 200", false],
  ],
  [
    "a badly formed name that no message has",
    { malformed: refusal(400, "bad request") },
    "A badly formed symbol",
    ["not_so", "HTTP 400, and no symbol is named", false],
  ],
  [
    "a badly formed name that is left out",
    { malformed: (sent: Sent) => ({ ...sent, status: 200, body: '{"SPY":{}}' }) },
    "A badly formed symbol",
    ["not_so", "HTTP 200, and no symbol is named", false],
  ],
  [
    "a list that is too long",
    { long: refusal(414, "URI too long") },
    "A list of 200 symbols",
    ["not_so", "HTTP 414, 0 quotes", false],
  ],
  [
    "too many contracts",
    { contracts: refusal(400, "too many symbols: 100") },
    "A list of 100 contracts",
    ["not_so", "HTTP 400, 0 quotes", false],
  ],
  [
    "a chain that is empty for a class of shares",
    { classChain: json(() => ({ snapshots: {}, next_page_token: null })) },
    "The chain of a class of shares",
    ["not_so", "HTTP 200, 0 quotes", false],
  ],
  [
    "an index whose chain has the contracts of each root",
    { indexChain: (sent: Sent) => ({ body: sent.body.replace(/"SPX(?=\d)/, '"SPXW') }) },
    "An index has contracts of its own root",
    ["not_so", "HTTP 200, 74 and 74 contracts, 1 of another root", false],
  ],
  [
    "a put with the call's rho",
    { chain: each("greeks", { rho: 0.4 }) },
    "A put has greeks of its own",
    ["not_so", "0 of 27", false],
  ],
  [
    "a daily bar of another hour",
    { one: each("dailyBar", { t: "2026-11-19T14:30:00Z" }) },
    "A daily bar begins",
    ["not_so", "the last one is of another date", false],
  ],
  [
    "open interest of today",
    { expirations: json((document) => withInterestOf(document, "2026-11-20")) },
    "Contracts are listed with the open interest",
    ["not_so", "0 of 913", false],
  ],
  [
    "a chain without greeks",
    { chain: (sent: Sent) => ({ body: sent.body.replaceAll('"greeks"', '"none"') }) },
    "Contracts of a chain come with greeks",
    ["not_so", "0 of 74", false],
  ],
] as const)("%s is told, and the calls go on", async (_, changed, words, told) => {
  const { fake, verdictOf } = await checkedAgainst({ changed });

  expect(verdictOf(words)).toEqual(told);
  expect(fake.calls.at(-1)?.path).toBe("/v1beta1/options/snapshots");
});

function withInterestOf(document: Record<string, never>, date: string) {
  const contracts = document["option_contracts"] as unknown as { open_interest_date: string | null }[];
  return {
    ...document,
    option_contracts: contracts.map((one) => ({
      ...one,
      open_interest_date: one.open_interest_date && date,
    })),
  };
}

test("a chain in more pages than one is told with their number", async () => {
  const { verdictOf } = await checkedAgainst({ mostOfAPage: 60 });

  expect(verdictOf("A whole expiration comes in one call")).toEqual([
    "not_so",
    "60 contracts of it, 0 others, in 2 pages",
    false,
  ]);
});

test("a trading host of the other kind of account is told, which is needed, and no chain is asked", async () => {
  const { fake, verdictOf } = await checkedAgainst({ isLive: true });

  expect(verdictOf("The trading host of the settings takes the key")).toEqual([
    "not_so",
    "HTTP 401, taken as unauthorized",
    true,
  ]);
  expect(verdictOf("The service accepts the credentials")?.[0]).toBe("ok");
  expect(fake.calls.at(-1)).toMatchObject({ host: "trading", status: 401 });
});

test("a limit that both hosts share, one that slides and one of no plan are told", async () => {
  const shared = (sent: Sent) => ({
    headers: {
      ...sent.headers,
      "x-ratelimit-remaining": String(Number(sent.headers["x-ratelimit-remaining"]) - 1),
    },
  });
  const both = await checkedAgainst({ changed: { chain: shared } });
  const sliding = await checkedAgainst({ limit: { window: "sliding", calls: 300 } });

  expect(both.verdictOf("The trading host counts its calls apart")).toEqual([
    "not_so",
    "a call of each host took 2 of the data host's",
    false,
  ]);
  expect(sliding.verdictOf("x-ratelimit-reset ends a minute of the clock")?.[0]).toBe("not_so");
  expect(sliding.verdictOf("x-ratelimit-limit is 200 or 10000")?.slice(0, 2)).toEqual([
    "not_so",
    "it says 300",
  ]);
});

test("while the market is closed ages say nothing", async () => {
  const { verdictOf } = await checkedAgainst({ clock: createTestClock("2026-11-21T20:00:03.000Z") });

  expect(verdictOf("Quotes are 15 minutes late")?.[0]).toBe("unknown");
  expect(verdictOf("Trades of contracts are 15 minutes late")?.[0]).toBe("unknown");
});
