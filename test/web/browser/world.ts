/** A live simulated collection with a past, the program's own dashboard over it, and a browser. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach } from "@jest/globals";
import type pg from "pg";
import { type Browser, type BrowserContext, chromium, type Page, type Request } from "playwright-core";
import { systemClock } from "../../../src/ground/clock.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { chainOf, fillPast, SYMBOLS } from "./history.ts";

/** What the tests look at. */
export type World = {
  /** Address of the dashboard, without a slash at its end. */
  address: string;
  pool: pg.Pool;
  browser: Browser;
  /** Exchange dates of the past, ascending. */
  dates: string[];
  /** Runs the program with other settings; resolves with the dashboard's address. */
  run: (command: string, env: Record<string, string>) => Promise<string>;
};

/** What the live jobs poll: few enough that a slot is over in seconds. */
const EXPIRATIONS = ["2026-12-18", "2027-01-15"];

const closers: (() => Promise<unknown> | unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

// A page that stays open goes on asking and drawing, and holds up those after it.
const contexts: BrowserContext[] = [];
afterEach(async () => {
  for (const context of contexts.splice(0)) {
    // What a test has changed on its way may still be under way.
    for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  }
});

/** Starts it all, once for a test file. */
export async function openWorld(): Promise<World> {
  const { url, pool } = await freshDatabase();
  const now = systemClock.now();
  const price = 390;
  const strikes = [-30, -25, -20, -15, -10, -5, 0, 5, 10, 15, 20, 25, 30].map((away) => price + away);
  const dates = await fillPast(pool, now, chainOf("AAPL", EXPIRATIONS, strikes));
  const dir = tempDir();
  const bin = compileProgram(join(dir, "program"));
  writeJobs(join(dir, "jobs"), strikes);
  const run = async (command: string, more: Record<string, string>): Promise<string> => {
    const env = { DATABASE_URL: url, ...more };
    return (await startProcess(bin, [command], { directory: dir, env, says: DASHBOARD })).address;
  };
  const address = await run("start", {
    QUOTEKEEPER_ATTRIBUTION: "Market data by Broker Example, made up here",
  });
  const browser = await openBrowser();
  await until(async () => {
    const { rows } = await pool.query<{ n: string }>("select count(*) as n from responses");
    return Number(rows[0]?.n) >= 10;
  }, "ten answers stored");
  return { address, pool, browser, dates, run };
}

/** A browser; it is closed when the test file ends. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    timeout: 0,
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  closers.push(() => browser.close());
  return browser;
}

function writeJobs(dir: string, strikes: readonly number[]): void {
  mkdirSync(dir);
  const options = chainOf("AAPL", EXPIRATIONS.slice(0, 1), strikes.slice(2, 11)).map((key) =>
    key.kind === "option"
      ? `  - { underlying: AAPL, expiration: ${key.expiration}, type: ${key.optionType}, strike: ${key.strike} }`
      : "",
  );
  const job = (name: string, priority: number, rest: string): void =>
    writeFileSync(
      join(dir, `${name}.yaml`),
      `name: ${name}\nschedule: "* * * * *"\ntimezone: America/New_York\nsession: any\npriority: ${priority}\n${rest}\n`,
    );
  job("us-equities", 5, `symbols: [${SYMBOLS.join(", ")}]`);
  job("aapl-options", 3, `options:\n${options.join("\n")}`);
}

/** An archive with three quotes of a security and of a contract. @returns its address */
export async function smallArchive(): Promise<string> {
  const { url, pool } = await freshDatabase();
  await pool.query(
    `insert into instruments (id, security_type, symbol, expiration, option_type, strike, first_seen_at, last_seen_at)
     values (1, 'CS', 'AAPL', null, null, null, now(), now()), (2, 'OPT', 'AAPL', '2099-01-16', 'CALL', 150, now(), now())`,
  );
  await see(
    pool,
    ...[31, 32, 33].flatMap((minute) => [
      { at: `2026-11-20 09:${minute}:05`, source: 2, bid: "149.9", ask: "150.1", last: "150" },
      { at: `2026-11-20 09:${minute}:05`, source: 2, id: 2, bid: "4.9", ask: "5.1", last: "5" },
    ]),
  );
  return url;
}

/** What `start` and `web` say of their address. */
export const DASHBOARD = /^Dashboard +(\S+)/m;

/**
 * Runs the program until the test file ends.
 *
 * @param options.says what it prints when it is ready
 * @returns the first group of that, which is its address, and its process
 */
export async function startProcess(
  bin: string,
  words: readonly string[],
  { directory, env, says }: { directory: string; env: Record<string, string>; says: RegExp },
): Promise<{ address: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [bin, ...words], {
    cwd: directory,
    env: { PATH: process.env["PATH"] ?? "", QUOTEKEEPER_HTTP_PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  closers.push(() => end(child));
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const address = await until(() => {
    if (child.exitCode !== null) throw new Error(`the program ended:\n${said}`);
    return says.exec(said)?.[1] ?? null;
  }, "the program's address");
  return { address, child };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** How a page is opened. */
export type PageOptions = { dark?: boolean; width?: number; height?: number };

/** A page; `complaints` is what its console says, `settled` waits until it waits for no answer. */
export type Opened = { page: Page; complaints: string[]; settled: () => Promise<void> };

/** A page that is open until the test ends. */
export async function openPage(
  browser: Browser,
  { dark = true, width = 1280, height = 800 }: PageOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    acceptDownloads: true,
  });
  contexts.push(context);
  // jest ends what hangs.
  context.setDefaultTimeout(0);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return { page, complaints, settled: followAnswers(page) };
}

function followAnswers(page: Page): () => Promise<void> {
  const waiting = new Set<Request>();
  page.on("request", (request) => {
    if (request.resourceType() === "fetch") waiting.add(request);
  });
  // What a page has asked that is gone is told of no more.
  page.on("framenavigated", () => waiting.clear());
  page.on("requestfinished", (request) => waiting.delete(request));
  page.on("requestfailed", (request) => waiting.delete(request));
  return async () => {
    await page.waitForFunction(() => document.querySelector("main .skeleton") === null);
    // What an answer leads to, such as the next question, begins with the next frames.
    for (let calm = 0; calm < 3; calm = waiting.size === 0 ? calm + 1 : 0)
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  };
}

/** Numbers of cells as the archive has them: without commas between thousands, and without the room behind short decimals. */
export async function texts(page: Page, selector: string): Promise<string[]> {
  const found = await page.locator(selector).allTextContents();
  return found.map((text) => text.replace(/[\u2007\s,]+/g, "").replace("\u2212", "-"));
}
