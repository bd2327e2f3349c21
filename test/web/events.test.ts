/** Events to a page that reads slowly, or not at all, over a real socket. */
import { createServer, request, type IncomingMessage, type RequestOptions } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "@jest/globals";
import type { Clock } from "../../src/clock.ts";
import { createEvents } from "../../src/web/api/events.ts";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import type { QuoteRow } from "../../src/archive/ask/dashboardTypes.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { steppedClock } from "../support/steppedClock.ts";
import { until } from "../support/until.ts";

const MOST_LISTENERS = 64;

const none = (): void => undefined;
const LOG = { debug: none, info: none, warn: none, error: none };
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

/** So many of such a length are more than a socket's two ends take without anybody reading. */
const MANY = 4_000;
const DESCRIPTION = "x".repeat(5_000);

/** One quote of each instrument; `minute` is in its time and its price. */
const rowsAt = (minute: number, count: number): QuoteRow[] =>
  Array.from({ length: count }, (_, place) => ({
    instrumentId: place,
    instrument: `S${place}`,
    symbol: `S${place}`,
    description: DESCRIPTION,
    expiration: null,
    optionType: null,
    strike: null,
    source: "account",
    sourceId: 1,
    sourceName: "account",
    delayed: false,
    observedAt: `2026-11-20T15:0${minute}:00Z`,
    bid: null,
    ask: null,
    spread: null,
    last: String(minute),
    change: null,
    pctChange: null,
    bidSize: null,
    askSize: null,
    volume: null,
    delta: null,
    quotedAt: null,
    tradedAt: null,
    stillSince: null,
    openInterest: null,
    impliedVolatility: null,
    gamma: null,
    theta: null,
    vega: null,
  }));

/** A server of events alone, whose looks are made one by one. */
async function serveEvents() {
  const time = steppedClock();
  const news: QuoteRow[][] = [];
  const asked: string[] = [];
  let held = Promise.resolve();
  const events = createEvents({
    clock: time.clock as Clock,
    log: LOG,
    now: async () => ({}) as NowView,
    quotesSince: async (since) => {
      asked.push(since);
      await held;
      return news.shift() ?? [];
    },
  });
  const server = createServer((incoming, answer) => {
    const accepted = incoming.headers["accept-encoding"] as string | undefined;
    const wanted = { names: "all", columns: ["last", "description"] } as const;
    const { from = "127.0.0.1", yields } = incoming.headers;
    const who = { ip: String(from), yields: yields === "true", isStillAllowed: () => true };
    const full = events.listen(answer, { wanted, headers: {}, accepted, ...who });
    if (full) answer.writeHead(503).end(JSON.stringify(full));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closing.push(async () => {
    await events.end();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const options = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  // Looks go on as long as anybody is there.
  const other = (await opened(options)).resume();
  const look = async (): Promise<void> => {
    const looked = (): boolean => time.asleep() === 1 || other.destroyed;
    await until(looked, "the end of a look");
    time.step();
    await until(looked, "the end of the next look");
    expect(other.destroyed).toBe(false);
  };
  /** Looks last until the function that is returned is called. */
  const hold = (): (() => void) => {
    let go: () => void = none;
    held = new Promise((resolve) => (go = resolve));
    return go;
  };
  return { news, asked, hold, look, open: (headers = {}) => opened({ ...options, headers }) };
}

/** A quote of each of these times of 22 November, when the looks are made. */
const rowsOn22nd = (...times: string[]): QuoteRow[] =>
  times.flatMap((time) => rowsAt(1, 1).map((row) => ({ ...row, observedAt: `2026-11-22T${time}Z` })));

/** A page that has not begun to read. */
function opened(options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => request(options, resolve).on("error", reject).end());
}

/** Reads on until a row of this minute has come. @returns how often each price came for each instrument */
async function readUntil(page: IncomingMessage, minute: number): Promise<Map<string, string[]>> {
  const prices = new Map<string, string[]>();
  let text = "";
  for await (const piece of page.setEncoding("utf8")) {
    text += piece as string;
    if (!(piece as string).includes("\n\n")) continue;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events.filter((each) => each.startsWith("event: quotes")))
      for (const { instrument, last } of rowsOf(JSON.parse(event.split("data: ")[1] ?? "") as QuoteTable))
        prices.set(instrument, [...(prices.get(instrument) ?? []), last ?? ""]);
    if ([...prices.values()].some((each) => each.includes(String(minute)))) return prices;
  }
  throw new Error(`the stream ended before minute ${minute} came`);
}

test("a page that reads slowly is told everything once, however large one event is", async () => {
  const { news, look, open } = await serveEvents();
  news.push(rowsAt(1, MANY));
  const page = await open();

  for (let times = 0; times < 5; times++) await look();
  const delayed = rowsAt(9, 5).map((row) => ({ ...row, delayed: true }));
  news.push(rowsAt(2, 10), [...rowsAt(3, 5), ...delayed]);
  for (let times = 0; times < 5; times++) await look();
  const reading = readUntil(page, 3);
  const ended = reading.then(() => true);
  await until(async () => (await Promise.race([ended, look()])) === true, "what was held back");
  const prices = await reading;

  expect(prices.size).toBe(MANY);
  expect(prices.get(`S${MANY - 1}`)).toEqual(["1"]);
  expect(prices.get("S9")).toEqual(["1", "2"]);
  // Of what came while it read, the newest of real-time and of delayed quotes.
  expect(prices.get("S4")).toEqual(["1", "3", "9"]);
});

test("a page that reads nothing for more than a minute is let go", async () => {
  const { news, look, open } = await serveEvents();
  news.push(rowsAt(1, MANY));
  const page = await open();
  for (let times = 0; times < 59; times++) await look();
  const gone = new Promise<boolean>((resolve) => page.on("close", () => resolve(true)).on("error", none));
  const before = page.destroyed;

  for (let times = 0; times < 5; times++) await look();
  page.resume();

  expect(before).toBe(false);
  expect(await gone).toBe(true);
  expect(page.complete).toBe(false);
});

test("a page that reads now and then is not let go, though much waits for it all the time", async () => {
  const { news, look, open } = await serveEvents();
  news.push(rowsAt(1, 2 * MANY));
  const page = await open();
  let [gone, bytes, pauseAt] = [false, 0, (MANY * DESCRIPTION.length) / 2];
  page.on("close", () => (gone = true)).on("error", none);

  for (let times = 0; times < 40; times++) await look();
  page.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > pauseAt) page.pause();
  });
  await until(() => page.isPaused(), "ten megabytes");
  for (let times = 0; times < 40; times++) await look();
  pauseAt = 2 * MANY * DESCRIPTION.length;
  page.resume();
  await until(() => gone || bytes > pauseAt, "all of it");

  expect(gone).toBe(false);
});

test("a look begins behind the newest row of the one before, in whatever order its rows came", async () => {
  const { news, asked, look } = await serveEvents();
  news.push(rowsOn22nd("05:49:40", "05:49:30"));

  for (let times = 0; times < 3; times++) await look();

  expect(asked.at(-1)).toBe("2026-11-22T05:49:40Z");
});

test("a page that comes while a look is under way is told what was stored while the page came", async () => {
  const { news, asked, hold, look, open } = await serveEvents();
  news.push(rowsOn22nd("05:49:40"));
  for (let times = 0; times < 2; times++) await look();
  const [go, before] = [hold(), asked.length];
  const looking = look();
  await until(() => asked.length > before, "the beginning of a look");

  (await open()).resume();
  go();
  await looking;
  await look();

  // Five seconds before the look.
  expect(asked.slice(before)).toEqual(["2026-11-22T05:49:40Z", "2026-11-22T05:48:59.000Z"]);
});

/** Opens pages of some addresses, one after the other. @returns the text that each was sent when it ended, by its address and place */
async function openPages(
  open: (headers?: Record<string, string>) => Promise<IncomingMessage>,
  froms: string[],
) {
  const ends = new Map<string, string>();
  for (const [place, from] of froms.entries()) {
    const page = await open({ from });
    let text = "";
    page.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    page.on("end", () => ends.set(`${from} ${place}`, text)).on("error", none);
  }
  return ends;
}

test("64 pages, and one more, end the oldest of the address that has the most, which is told why; the others go on", async () => {
  const { open, look } = await serveEvents();
  const greedy = (count: number): string[] => Array<string>(count).fill("192.0.2.9");
  // One page more is open for the looks.
  const ends = await openPages(open, ["192.0.2.1", ...greedy(MOST_LISTENERS - 2), "192.0.2.2", ...greedy(2)]);

  await until(() => ends.size === 3, "three ends");
  await look();

  expect([...ends.keys()]).toEqual([1, 2, 3].map((place) => `192.0.2.9 ${place}`));
  for (const text of ends.values())
    expect(text).toMatch(/event: ended\ndata: \{"error":\{"code":"PAGES_FULL"[^\n]*\n\n$/);
});

test("pages that were closed make room: others that come then end none", async () => {
  const { open, look } = await serveEvents();
  const closed: IncomingMessage[] = [];
  for (let page = 0; page < MOST_LISTENERS - 1; page += 1) closed.push((await open()).resume());
  for (const page of closed) page.destroy();
  await look();

  const ends = await openPages(open, Array<string>(MOST_LISTENERS - 1).fill("127.0.0.1"));
  await look();

  expect([...ends.keys()]).toEqual([]);
});

test("64 pages, and one more, end none of a network's that has fewer, and none for a page that yields", async () => {
  const { open } = await serveEvents();
  const networks = Array.from({ length: MOST_LISTENERS - 1 }, (_, place) => `2001:db8:0:${place + 1}::1`);
  const ends = await openPages(open, networks);

  const yielding = await open({ from: "192.0.2.9", yields: "true" });
  await openPages(open, ["2001:db8:0:40::9", "2001:db8:0:7::2"]);
  await until(() => ends.size === 2, "the ends of two");

  expect(yielding.resume().statusCode).toBe(503);
  expect([...ends.keys()]).toEqual(["2001:db8:0:40::1 39", "2001:db8:0:7::1 6"]);
});
