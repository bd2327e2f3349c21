/**
 * `npm run bench:page [-- --minutes 60] [-- --slow 4]`: the dashboard's page over 5,008 instruments and four accounts, and
 * over twenty sessions of 5,000 in Coverage, by Chromium's own figures: how long interactions hold up the page (event
 * timing, long tasks), first paint, bytes of a minute on Now, memory of a page that stays open on Quotes. With `--slow 4`
 * the page has a processor that is four times as slow. `--panel` records each view as the Performance panel of Chromium's
 * DevTools does, and prints what the panel says (`--minutes 0`: of loads and interactions alone); `--trace FILE` writes what it recorded, for the panel to open. Exit code 1 when a target is missed, 3 without Chromium.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Browser, chromium, type Page } from "playwright-core";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { startWeb } from "../../src/web/server.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { busySources, CROWD, fillCrowd, quoteCrowd } from "../../test/web/browser/crowd.ts";
import { countedWire } from "../../test/web/browser/wire.ts";
import { fillFleet } from "./fleet.ts";
import { COVERED, fillLedger } from "../../test/web/browser/ledger.ts";
import { measurePanel } from "./panel.ts";

/** What must be reached. */
const TARGETS = { interactionMs: 100, bytesAMinute: 80_000, firstPaintMs: 500, scriptBytes: 100_000 };

/** Each figure of time is the median of so many: other programs use the machine too. */
const ROUNDS = 5;

const ASSETS = fileURLToPath(new URL("../../dist/dashboard/assets/", import.meta.url));
const minutes = given("--minutes");
const slow = given("--slow");
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) {
  console.log("No Chromium here: nothing was measured.");
  process.exit(3);
}

/** An option's number; 1 where it is not given. */
function given(option: string): number {
  const place = process.argv.indexOf(option);
  return place < 0 ? 1 : Number(process.argv[place + 1]);
}

let missed = false;
/** One line of the report. @param most the target; null: none */
function report(what: string, value: number, { unit, most }: { unit: string; most: number | null }): void {
  missed ||= most !== null && value > most;
  const target =
    most === null ? "" : `, at most ${most.toLocaleString("en")}${value > most ? ": MISSED" : ""}`;
  console.log(`${what.padEnd(44)} ${Math.round(value).toLocaleString("en").padStart(9)} ${unit}${target}`);
}

const server = await startTestServer();
const name = `quotekeeper_bench_${process.pid}`;
const url = new URL(server.url);
url.pathname = `/${name}`;
await execute(server.url, [`create database ${name}`]);
const pool = createPool(url.href, { max: 1 });
const reader = createPool(url.href, { max: 2, readOnly: true });
const silent = () => undefined;
try {
  await migrate(pool, instantFromDate(new Date()));
  await fillCrowd(pool);
  await fillLedger(pool);
  await fillFleet(pool);
  const web = await startWeb({
    ...{ pool: reader, clock: systemClock, calendar: createCalendar(), sources: busySources() },
    ...{ log: { debug: silent, info: silent, warn: silent, error: silent }, host: "127.0.0.1", port: 0 },
    ...{ token: null, attribution: null, version: "0", address: "bench" },
  });
  const wire = await countedWire(web.address);
  const browser = await chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  try {
    if (process.argv.includes("--panel")) missed = await panel(browser, wire.address);
    else await measure(await browser.newPage({ viewport: { width: 1280, height: 800 } }), wire);
  } finally {
    await browser.close();
    wire.close();
    await web.close();
  }
} finally {
  await pool.end();
  await reader.end();
  await execute(server.url, [`drop database ${name} with (force)`]);
  await server.close();
}
process.exitCode = missed ? 1 : 0;

async function panel(browser: Browser, address: string): Promise<boolean> {
  console.log(`The page of ${CROWD} instruments and four accounts, ${browser.version()}, 1280 x 800.`);
  const place = process.argv.indexOf("--trace");
  const file = place < 0 ? null : (process.argv[place + 1] ?? null);
  let minute = 0;
  return measurePanel(browser, { address, file, minutes, quoted: () => quoteCrowd(pool, ++minute) });
}

async function measure(page: Page, wire: { address: string; received: () => number }): Promise<void> {
  const processor = slow === 1 ? "" : `, a processor ${slow} times as slow`;
  console.log(`The page of ${CROWD} instruments and four accounts, 1280 x 800${processor}.`);
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slow });
  const scripts = readdirSync(ASSETS).filter((file) => file.endsWith(".js"));
  const bytes = scripts.map((file) => gzipSync(readFileSync(ASSETS + file), { level: 9 }).length);
  report("JavaScript, gzip", sum(bytes), { unit: "bytes", most: TARGETS.scriptBytes });
  for (const path of ["/", "/quotes"]) {
    const paints: number[] = [];
    const before = wire.received();
    for (let load = 0; load < ROUNDS; load++) {
      await page.goto(wire.address + path);
      await page.waitForSelector(path === "/" ? "[data-testid=calls-used]" : "tr[data-row]");
      await page.waitForTimeout(500);
      paints.push(
        await page.evaluate(
          () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
        ),
      );
    }
    report(`${path}: first contentful paint`, median(paints), { unit: "ms", most: TARGETS.firstPaintMs });
    const each = (wire.received() - before) / ROUNDS;
    report(`${path}: bytes of a load, the mean`, each, { unit: "bytes", most: null });
  }
  await timed(page, "Quotes", quotesActs(page));
  await page.goto(`${wire.address}/coverage?span=1+month`);
  await page.waitForSelector("tr[data-instrument]");
  await timed(page, `Coverage of ${COVERED}`, coverageActs(page));
  await page.goto(`${wire.address}/`);
  await page.waitForSelector("[data-testid=calls-used]");
  await page.waitForTimeout(3_000);
  const before = wire.received();
  await page.waitForTimeout(60_000);
  report("Now: a minute", wire.received() - before, { unit: "bytes", most: TARGETS.bytesAMinute });
  await memory(page, wire);
}

/** What a reader does, by its name. */
type Acts = [string, () => Promise<unknown>][];

function quotesActs(page: Page): Acts {
  let minute = 0;
  return [
    ["sort by volume", () => page.locator("thead th[data-column=volume]").click()],
    ["sort by it downwards", () => page.locator("thead th[data-column=volume]").click()],
    ["sort by instrument", () => page.locator("thead th[data-column=instrument]").click()],
    [
      "sort undone",
      () =>
        page
          .locator("thead th[data-column=instrument]")
          .click()
          .then(() => page.locator("thead th[data-column=instrument]").click()),
    ],
    ["options alone", () => page.getByRole("button", { name: "Options", exact: true }).click()],
    ["all again", () => page.getByRole("button", { name: "All", exact: true }).click()],
    ["search, a letter at a time", () => page.getByRole("searchbox").pressSequentially("number 29")],
    ["search undone", () => page.getByRole("searchbox").fill("")],
    [
      "to the last row with End",
      async () => {
        await page.locator("tr[data-row] a[tabindex='0']").first().focus();
        await page.keyboard.press("End");
      },
    ],
    [
      "a minute of all instruments arrives",
      async () => {
        const version = await page.evaluate(() => document.querySelector("tr[data-row] td")?.textContent);
        await quoteCrowd(pool, ++minute);
        await page.waitForFunction(
          (old) => document.querySelector("tr[data-row] td")?.textContent !== old,
          version,
        );
      },
    ],
  ];
}

function coverageActs(page: Page): Acts {
  const pressed = (key: string) => () =>
    page
      .locator(".heat-scroll")
      .focus()
      .then(() => page.keyboard.press(key));
  return [
    ["to the last row with End", pressed("End")],
    ["a page up", pressed("PageUp")],
    ["to the first row with Home", pressed("Home")],
    ["scrolled half way", () => page.locator(".heat-scroll").evaluate((box) => (box.scrollTop = 70_000))],
    ["search, a letter at a time", () => page.getByRole("searchbox").pressSequentially("s12")],
    ["search undone", () => page.getByRole("searchbox").fill("")],
    ["what misses something", () => page.getByRole("button", { name: "Only what misses" }).click()],
    ["all again", () => page.getByRole("button", { name: "Only what misses" }).click()],
    ["a number and its reasons", () => page.locator(".heat td button").first().click()],
  ];
}

/** What a reader does, and the longest time that it held up the page: input until the next paint, and the longest task. */
async function timed(page: Page, view: string, acts: Acts): Promise<void> {
  await page.evaluate(watch);
  const took = new Map<string, number[]>(acts.map(([what]) => [what, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [what, act] of acts) {
      await page.evaluate(() => ((globalThis as unknown as Watched).longest = { task: 0, event: 0 }));
      await act();
      await page.waitForTimeout(700);
      const { task, event } = await page.evaluate(() => (globalThis as unknown as Watched).longest);
      took.get(what)?.push(Math.max(task, event));
    }
  for (const [what, times] of took)
    report(`${view}: ${what}`, median(times), { unit: "ms", most: TARGETS.interactionMs });
}

type Watched = { longest: { task: number; event: number } };

/** Runs in the page. Tasks under 50 ms and events under 16 ms are not told, and count as 0. */
function watch(): void {
  const watched = globalThis as unknown as Watched;
  watched.longest = { task: 0, event: 0 };
  const follow = (type: string, of: "task" | "event"): void =>
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        watched.longest[of] = Math.max(watched.longest[of], duration);
    }).observe({ type, ...(of === "event" && { durationThreshold: 16 }) } as PerformanceObserverInit);
  follow("longtask", "task");
  follow("event", "event");
}

/** The heap after a collection, at the beginning and at the end; every instrument has a new quote each minute. */
async function memory(page: Page, { address }: { address: string }): Promise<void> {
  await page.goto(`${address}/quotes`);
  await page.waitForSelector("tr[data-row]");
  const session = await page.context().newCDPSession(page);
  const heap = async (): Promise<number> => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  await page.waitForTimeout(5_000);
  report("Quotes: heap at the beginning", await heap(), { unit: "MB", most: null });
  for (let minute = 0; minute < minutes; minute++) {
    await quoteCrowd(pool, 100 + minute);
    await page.waitForTimeout(60_000);
  }
  report(`Quotes: heap after ${minutes} min`, await heap(), { unit: "MB", most: null });
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Infinity;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
