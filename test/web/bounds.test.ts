/** What a request may cost beside five thousand instruments: each route with its parameters at their largest. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "@jest/globals";
import { systemClock } from "../../src/ground/clock.ts";
import { MOST_NAMES, QUOTE_COLUMNS } from "../../src/web/api/quoteTable.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { CROWD, fillCrowd, quoteCrowd } from "./browser/crowd.ts";
import { COVERED, fillLedger } from "./browser/ledger.ts";
import { openDashboard } from "./dashboard.ts";

/** Bytes of an answer, packed. */
const MOST_BYTES = 2_000_000;

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

beforeAll(async () => {
  await fillCrowd(pool);
  await fillLedger(pool);
});

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const today = dayOf(Date.now());
const quarter = dayOf(Date.now() - 100 * 86_400_000);
const names = Array.from(
  { length: MOST_NAMES },
  (_, place) => `S${String(place + 5).padStart(4, "0")}`,
).join();
/** A Friday that is as far ahead as the first expiration of the crowd's chain. */
const friday = dayOf(Date.now() + (11 - ((new Date().getUTCDay() + 6) % 7)) * 86_400_000);
const chain = `symbol=AAPL&source=2&expiration=${friday}`;

/** Each route, and what it has at least, so that no empty answer passes for a small one. */
const ASKED: [path: string, leastBytes: number][] = [
  ["/api/now", 1_000],
  [`/api/quotes?columns=${QUOTE_COLUMNS.join()}`, CROWD * 60],
  [`/api/quotes?names=${names}`, MOST_NAMES * 60],
  ["/api/instruments?search=S", 500],
  ["/api/bars?instrument=1&source=2&interval=1m&sessions=10000", 200],
  [`/api/bars/misses?instrument=1&source=2&interval=1m&from=2000-01-01&to=${today}`, 20],
  ["/api/bars.csv?instrument=1&source=2&interval=1m&sessions=10000", 100],
  ["/api/chains", 1_000],
  [`/api/chain?${chain}`, 10_000],
  [`/api/chain/term?${chain}`, 20],
  ["/api/chain.csv?symbol=AAPL&source=2", 100_000],
  [`/api/coverage?from=${quarter}&to=${today}`, COVERED * 20],
  [`/api/misses?date=${today}&instrument=S0001&source=simulated`, 20],
];

test("each answer is at most 2 MB packed, and what came since the last one is little", async () => {
  const { get } = await openDashboard({ pool: reader, clock: systemClock });
  const told: string[] = [];
  const cursors = new Map<string, string>();
  // The asking side is loaded first: it is in the same process.
  await (await get("/api/instruments?search=none")).text();

  for (const [path, least] of ASKED) {
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    const response = await get(path);
    const text = await response.text();
    loop.disable();
    const bytes = gzipSync(text).length;
    told.push(
      `${path.slice(0, 60)}: ${text.length} bytes, ${bytes} packed, longest turn ${Math.round(loop.max / 1e6)} ms`,
    );
    expect([path, response.status]).toEqual([path, 200]);
    expect(text.length).toBeGreaterThanOrEqual(least);
    expect(bytes).toBeLessThan(MOST_BYTES);
    if (/^\{"cursor"/.test(text)) cursors.set(path, (JSON.parse(text) as { cursor: string }).cursor);
  }

  process.stderr.write(`${told.join("\n")}\n`);
  for (const [path, cursor] of cursors) {
    const text = await (await get(`${path}${path.includes("?") ? "&" : "?"}since=${cursor}`)).text();
    expect([path, text.length < 500]).toEqual([path, true]);
  }
});

test("of thousands of instruments those that were quoted since come alone", async () => {
  const { get } = await openDashboard({ pool: reader, clock: systemClock });
  const ask = async (since: string) => {
    const body = (await (await get(`/api/quotes?columns=last${since}`)).json()) as {
      cursor: string;
      whole: boolean;
      view: { rows: unknown[] } | null;
    };
    return { ...body, rows: body.view?.rows.length };
  };
  const first = await ask("");

  await quoteCrowd(pool, 1);
  await systemClock.sleep(1_100);
  const news = await ask(`&since=${first.cursor}`);

  expect([first.whole, first.rows]).toEqual([true, CROWD]);
  expect([news.whole, news.rows]).toEqual([false, CROWD]);
});
