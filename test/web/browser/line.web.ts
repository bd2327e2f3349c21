/** A page whose server is frozen, gone or out of reach. The test moves the page's clock. */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { compileProgram } from "../../support/compileProgram.ts";
import { tempDir } from "../../support/tempDir.ts";
import { faultsOf } from "./faults.ts";
import { countedWire, type Wire } from "./wire.ts";
import { DASHBOARD, openBrowser, openPage, smallArchive, startProcess } from "./world.ts";

const SECOND_MS = 1_000;

const dir = tempDir();
let bin: string;
let databaseUrl: string;
let server: { address: string; child: ChildProcess };
let wire: Wire;
let browser: Browser;

beforeAll(async () => {
  databaseUrl = await smallArchive();
  bin = compileProgram(join(dir, "program"));
  server = await startServer("0");
  wire = await countedWire(server.address);
  browser = await openBrowser();
});

// A process that stands still would not end.
afterEach(() => void server.child.kill("SIGCONT"));
afterAll(() => wire.close());

function startServer(port: string): ReturnType<typeof startProcess> {
  const env = { DATABASE_URL: databaseUrl, QUOTEKEEPER_HTTP_PORT: port };
  return startProcess(bin, ["web"], { directory: dir, env, says: DASHBOARD });
}

/** A page that is live, and whose clock stands still from now on. */
async function livePage(address: string, path = "/", options: Parameters<typeof openPage>[1] = {}) {
  const opened = await openPage(browser, options);
  const { page } = opened;
  await page.clock.install();
  // The browser's own deadlines go by the page's clock as well.
  await page.addInitScript(() => {
    AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException("It took too long.", "TimeoutError")), ms);
      return controller.signal;
    };
  });
  await page.goto(address + path);
  await page.waitForSelector(".connection[data-state=live]");
  await page.waitForSelector("main h1");
  await opened.settled();
  await page.clock.pauseAt((await pageMs(page)) + SECOND_MS);
  return opened;
}

const pageMs = (page: Page): Promise<number> => page.evaluate(() => Date.now());

/**
 * Lets the page's seconds pass, one by one, until it shows something.
 *
 * @param most some more than it may take: what was under way when the line was lost may come a little later
 * @returns how many it took
 */
async function secondsUntil(page: Page, selector: string, most: number): Promise<number> {
  for (let seconds = 0; seconds <= most; seconds++) {
    if ((await page.locator(selector).count()) > 0) return seconds;
    await page.clock.runFor(SECOND_MS);
  }
  throw new Error(`${selector} has not come within ${most} s of the page's clock`);
}

const STALE = ".connection[data-state=stale]";
const BANNER = "main > .note[data-tone=alarm]:has-text('SERVER_AWAY')";

/** What the page shows in green, or calls well. */
async function greenIn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = "var(--up)";
    const green = getComputedStyle(probe).color;
    probe.remove();
    const parts = ["color", "backgroundColor", "fill", "stroke", "borderLeftColor"] as const;
    const isGrey = (element: Element): boolean => element.closest("[data-old]") !== null;
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const style = getComputedStyle(element);
        const words = element.children.length === 0 ? (element.textContent ?? "") : "";
        if (/All is well|Nothing is wrong/.test(words) || element.ariaLabel === "well") return true;
        return (
          parts.some((part) => style[part] === green) &&
          !(element instanceof HTMLCanvasElement && isGrey(element))
        );
      })
      .map((element) => element.outerHTML.slice(0, 120));
  });
}

/** Every view, as the navigation of the page names them. */
async function eachView(page: Page, look: (name: string) => Promise<void>): Promise<string[]> {
  const names = await page.locator("nav[aria-label=Views] a").allTextContents();
  for (const name of names) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true }).click();
    await page.waitForSelector("main h1");
    await look(name);
  }
  return names;
}

test("a frozen server: the page is grey after 5 s and says since when, then the banner comes and nothing of any view is green; it goes on when the server does", async () => {
  const { page } = await livePage(server.address);
  expect(await greenIn(page)).not.toEqual([]);
  await page.evaluate(() => {
    const told = document.querySelector(".connection [role=status]") as Element;
    Object.assign(window, { told: [] });
    const { told: words } = window as unknown as { told: string[] };
    new MutationObserver(() => words.push(told.textContent ?? "")).observe(told, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  await page.clock.runFor(3 * SECOND_MS);
  const told = (): Promise<string[]> =>
    page.evaluate(() => [...new Set((window as unknown as { told: string[] }).told)]);
  const toldWhileLive = await told();

  server.child.kill("SIGSTOP");
  await secondsUntil(page, STALE, 12);
  const since = await page.locator(".connection").innerText();
  const greyed = await page.locator(".view[data-old]").count();
  const early = await page.locator(BANNER).count();
  const between = await secondsUntil(page, BANNER, 20);
  await page.clock.resume();
  const found: Record<string, unknown> = {};
  const names = await eachView(page, async (name) => {
    found[name] = { banners: await page.locator(BANNER).count(), green: await greenIn(page) };
  });
  const faults = await faultsOf(page);

  expect(since).toMatch(/not live since \d\d:\d\d:\d\d/);
  expect([greyed, early]).toEqual([1, 0]);
  expect(between).toBeGreaterThanOrEqual(9);
  expect(names).toEqual(["Now", "Quotes", "Chart", "Chain", "Coverage"]);
  expect(found).toEqual(Object.fromEntries(names.map((name) => [name, { banners: 1, green: [] }])));
  expect(faults).toEqual([]);
  // Said when it changes, and not each second.
  expect(toldWhileLive).toEqual([]);
  expect(await told()).toEqual([expect.stringMatching(/^not live since [\d:]+ New York$/)]);

  server.child.kill("SIGCONT");
  await page.waitForSelector(".connection[data-state=live]");
  await page.waitForSelector(BANNER, { state: "detached" });
  expect(await page.locator(".view[data-old]").count()).toBe(0);
});

test("a network that swallows all bytes: the banner comes, no request hangs for good, and the page goes on when bytes come through again", async () => {
  const { page } = await livePage(wire.address, "/coverage");
  const hanging = new Set<string>();
  page.on("request", (request) => hanging.add(request.url()));
  page.on("requestfinished", (request) => hanging.delete(request.url()));
  page.on("requestfailed", (request) => hanging.delete(request.url()));

  wire.swallow(true);
  await secondsUntil(page, BANNER, 40);
  for (const name of ["Chart", "Chain", "Coverage", "Quotes", "Now"]) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true }).click();
    await page.clock.runFor(SECOND_MS);
  }
  await page.clock.runFor(300 * SECOND_MS);
  // What was asked in the last seconds may still wait for its deadline.
  const stillHanging = hanging.size;

  wire.swallow(false);
  await secondsUntil(page, "body:not(:has(main > .note))", 40).catch(() => undefined);
  await page.clock.resume();
  await page.waitForSelector(".connection[data-state=live]");
  await page.getByRole("link", { name: "Quotes", exact: true }).click();
  await page.waitForSelector("table.quotes tbody tr");
  expect(stillHanging).toBeLessThanOrEqual(2);
  expect(await page.locator(".note").count()).toBe(0);
});

test("after a sleep and an hour's absence with the network gone the numbers are old at once, and a page that is looked at again tries at once", async () => {
  const { page } = await livePage(wire.address);
  wire.swallow(true);
  await page.clock.fastForward(3_600 * SECOND_MS);
  const old = await page.locator(STALE).count();
  // What it asked when it woke up hangs.
  await page.clock.runFor(3 * SECOND_MS);
  const tries = page.waitForRequest(/api\/now/);

  // Its clock stands still: nothing but the look makes it try.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await tries;
  const early = await page.locator(BANNER).count();
  await secondsUntil(page, BANNER, 10);
  wire.swallow(false);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForSelector(".connection[data-state=live]");
  await page.waitForSelector(BANNER, { state: "detached" });

  expect([old, early]).toEqual([1, 0]);
});

test("a server that ended is told on every view within seconds of the page's clock, and every view goes on within seconds when it is back", async () => {
  const { page: first } = await livePage(server.address);
  const pages = [(await livePage(server.address)).page, (await livePage(server.address, "/chain")).page];
  const { port } = new URL(server.address);
  const ended = new Promise((resolve) => server.child.once("close", resolve));

  server.child.kill("SIGTERM");
  await ended;
  const told = await Promise.all(pages.map((page) => secondsUntil(page, BANNER, 10)));
  const [page] = pages as [Page];
  await page.clock.resume();
  const found: Record<string, unknown> = {};
  const names = await eachView(page, async (name) => {
    found[name] = { banners: await page.locator(BANNER).count(), green: await greenIn(page) };
  });
  // Quotes is opened here while the server is away.
  await first.getByRole("link", { name: "Quotes" }).click();
  await secondsUntil(first, BANNER, 10);
  const loading = await first.locator(".skeleton").count();
  server = await startServer(port);
  for (const page of [first, ...pages]) {
    await secondsUntil(page, ".connection[data-state=live]", 10).catch(() => undefined);
    await page.clock.resume();
    await page.waitForSelector(".connection[data-state=live]");
    await page.waitForSelector(BANNER, { state: "detached" });
  }
  await first.waitForSelector("table.quotes tbody tr");

  expect(told).toHaveLength(2);
  expect(found).toEqual(Object.fromEntries(names.map((name) => [name, { banners: 1, green: [] }])));
  expect(loading).toBe(0);
});
