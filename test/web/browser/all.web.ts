/**
 * What holds of every view, also of one that comes later: the views are those that the page's own navigation names, in
 * light and dark, on a phone, a tablet and a desk.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { CDPSession, Page } from "playwright-core";
import { exchangeDate } from "../../../src/market/calendar/dates.ts";
import { exchangeTime } from "../../../src/web/app/lib/format.ts";
import { createTestClock } from "../../support/clock.ts";
import { tellLoaded } from "../../support/archive.ts";
import { see } from "../../support/observations.ts";
import { openDashboard } from "../dashboard.ts";
import { faultsOf } from "./faults.ts";
import { type Opened, openPage, openWorld, type World } from "./world.ts";

const BUILT = fileURLToPath(new URL("../../../dist/dashboard/", import.meta.url));

/** Each width and each theme once; with `EVERY_LOOK` each width in each theme. */
const LOOKS = [
  { width: 360, dark: true },
  { width: 768, dark: false },
  { width: 1280, dark: true },
  ...(process.env["EVERY_LOOK"]
    ? [
        { width: 360, dark: false },
        { width: 768, dark: true },
        { width: 1280, dark: false },
      ]
    : []),
];
const MOST_SCRIPT_BYTES = 100_000;

/** Places besides those of the navigation: something is chosen there. */
const MORE = [
  "/instrument?name=AAPL&range=5D&interval=5m",
  "/chain?underlying=AAPL&set=compare",
  "/coverage?span=1+month",
];

let world: World;
let views: string[];
beforeAll(async () => {
  world = await openWorld();
  const { page } = await openPage(world.browser);
  await page.goto(world.address);
  const links = page.locator("nav[aria-label=Views] a");
  await links.first().waitFor();
  const named = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
  views = [...named, ...MORE];
});

/** Opens a view and waits until it is drawn: its heading is there, nothing is still loading, and no answer is waited for. */
async function show({ page, settled }: Opened, path: string): Promise<void> {
  await page.goto(world.address + path);
  await page.waitForSelector("main h1");
  await settled();
}

/** In the page: what is taller than it need be, or scrolls within a page that scrolls too. */
function scrollersOf(): string[] {
  const root = document.documentElement;
  const content = [...document.querySelectorAll("main > *")].map((one) => one.getBoundingClientRect().bottom);
  const footer = document.querySelector(".foot")?.getBoundingClientRect().height ?? 0;
  // The content, some margins and the footer are the page, or the window is: nothing empty is scrolled to.
  const needed = Math.max(...content) + scrollY + 40 + footer;
  const spare = Math.round(root.scrollHeight - Math.max(innerHeight, needed));
  const long = [...document.querySelectorAll(".watch, .heat-scroll")].filter(
    (box) => box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible",
  );
  return [
    ...(spare > 1 ? [`${spare} px of empty room`] : []),
    ...(root.scrollHeight > innerHeight + 1 ? long.map((box) => `the page, and ${box.className} in it`) : []),
  ];
}

/** When each view was first painted, ms: the quickest of the looks. */
const painted = new Map<string, number>();
afterAll(() => {
  const took = [...painted].map(([view, ms]) => `${view} ${Math.round(ms)}`);
  process.stderr.write(`First paint, ms, the quickest of ${LOOKS.length}: ${took.join(", ")}.\n`);
});

test.each(LOOKS)(
  "every view, $width pixels wide, dark: $dark, is without fault and complaint, asks no other server, moves sideways in its tables alone, scrolls either as a page or in its table, has the menu of views in one place, and says when it was first painted",
  async ({ width, dark }) => {
    const opened = await openPage(world.browser, { dark, width });
    const { page, complaints } = opened;
    const strangers: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== world.address) strangers.push(request.url());
    });
    const found: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    const menus = new Set<number>();

    for (const view of views) {
      await show(opened, view);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      const scrolls = await page.evaluate(scrollersOf);
      // Told some frames later, on a busy machine after what is waited for above.
      const first = await page.waitForFunction(
        () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
      );
      const firstMs = (await first.jsonValue()) ?? Infinity;
      painted.set(view, Math.min(firstMs, painted.get(view) ?? Infinity));
      const isPainted = Number.isFinite(firstMs);
      const menu = await page
        .locator(".views-button")
        .evaluate((button) => button.getBoundingClientRect().top);
      menus.add(Math.round(menu));
      found[view] = { faults: await faultsOf(page), sideways: Math.max(0, wide - width), scrolls, isPainted };
      expected[view] = { faults: [], sideways: 0, scrolls: [], isPainted: true };
    }

    expect(views.length).toBe(MORE.length + 5);
    expect(found).toEqual(expected);
    expect(menus.size).toBe(1);
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
  },
);

/** Presses Tab through the whole view. @returns controls that it did not come by, and those on which nobody sees it */
async function tabThrough(page: Page): Promise<{ passedOver: string[]; unseen: string[]; stops: number }> {
  const unseen: string[] = [];
  let stops = 0;
  // Stops of one list are alike: Tab goes through no more of them than this.
  for (; stops < 1_500; stops++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return null;
      // A field for a date has stops of its own within.
      const within = element.getAttribute("data-reached") === "last" && element.matches("input");
      if (element.hasAttribute("data-reached") && !within) return null;
      document.querySelector("[data-reached=last]")?.setAttribute("data-reached", "");
      element.setAttribute("data-reached", "last");
      const { outlineStyle, outlineWidth, outlineOffset, boxShadow } = getComputedStyle(element);
      const seen = (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
      // A ring around an element that fills its box is cut off by the box.
      const around = parseFloat(outlineOffset) + parseFloat(outlineWidth);
      const box = element.parentElement?.closest(".scroll, .tabs, .tall, .heat-scroll");
      const [inner, outer] = [element.getBoundingClientRect(), box?.getBoundingClientRect()];
      const isCut =
        seen &&
        outer !== undefined &&
        element.matches("button") &&
        (inner.left - around < outer.left - 0.5 ||
          inner.right + around > outer.right + 0.5 ||
          inner.top - around < outer.top - 0.5);
      return { seen: (seen || within) && !isCut, html: element.outerHTML.slice(0, 120) };
    });
    if (at === null) break;
    if (!at.seen) unseen.push(at.html);
  }
  const passedOver = await page.evaluate(() =>
    [
      ...document.querySelectorAll<HTMLElement>(
        "a[href], button, input, select, summary, textarea, [tabindex]",
      ),
    ]
      .filter((element) => element.tabIndex >= 0 && !element.matches(":disabled, [data-reached]"))
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .map((element) => element.outerHTML.slice(0, 120)),
  );
  return { passedOver, unseen, stops };
}

test("with the Tab key alone every control of every view is reached, and is seen to be", async () => {
  const opened = await openPage(world.browser);
  const { page } = opened;
  const found: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};

  for (const view of views) {
    await show(opened, view);
    // From the top, also where a view has chosen a field of its own.
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.locator(".skip").focus();
    await page.locator(".skip").evaluate((link) => link.setAttribute("data-reached", ""));
    const { passedOver, unseen, stops } = await tabThrough(page);
    found[view] = { passedOver, unseen, some: stops > 5 };
    expected[view] = { passedOver: [], unseen: [], some: true };
  }

  expect(found).toEqual(expected);
});

test("the link past the navigation leads to the content", async () => {
  const opened = await openPage(world.browser);
  const { page } = opened;
  await show(opened, "/quotes");

  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");

  await page.waitForFunction(() => document.activeElement?.id === "main");
  expect(new URL(page.url()).pathname).toBe("/quotes");
});

test("the script of the whole page is less than 100 kB compressed, and the first view needs less", () => {
  const scripts = readdirSync(`${BUILT}assets`).filter((name) => name.endsWith(".js"));
  const sizeOf = (name: string): number =>
    gzipSync(readFileSync(`${BUILT}assets/${name}`), { level: 9 }).length;
  const html = readFileSync(`${BUILT}index.html`, "utf8");

  const all = scripts.reduce((sum, name) => sum + sizeOf(name), 0);
  const first = scripts.filter((name) => html.includes(name)).reduce((sum, name) => sum + sizeOf(name), 0);

  process.stderr.write(`Script, compressed: ${first} bytes for the first view, ${all} with all others.\n`);
  expect(first).toBeGreaterThan(10_000);
  expect(first).toBeLessThan(all);
  expect(all).toBeLessThan(MOST_SCRIPT_BYTES);
});

const PLAYED_S = 1_500;
/** After so many seconds whatever the page keeps is there. */
const WARM_S = 300;
const QUOTES_EVERY_S = 6;
const VIEWS_LEFT_OPEN = ["/", "/quotes"];
/** A leak of one quote's row for each that arrived would be more. */
const MOST_GROWTH_BYTES = 1_200_000;

async function kept(session: CDPSession): Promise<{ bytes: number; nodes: number }> {
  // What one collection lets go of, the next one frees.
  for (let time = 0; time < 3; time++) await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes } = await session.send("Memory.getDOMCounters");
  return { bytes: usedSize, nodes };
}

test("25 minutes of answers, played quickly, leave no more in memory at / and at /quotes", async () => {
  const { rows } = await world.pool.query<{ id: number }>("select id from instruments");
  const instruments = rows.map(({ id }) => id);
  const clock = createTestClock(new Date().toISOString());
  const { address } = await openDashboard({ pool: world.pool, clock });
  const pages: {
    view: string;
    page: Page;
    session: CDPSession;
    measured: { bytes: number; nodes: number }[];
  }[] = [];
  for (const view of VIEWS_LEFT_OPEN) {
    const { page } = await openPage(world.browser);
    await page.clock.install();
    await page.goto(address + view);
    await page.waitForSelector(".connection[data-state=live]");
    pages.push({ view, page, session: await page.context().newCDPSession(page), measured: [] });
  }

  for (let second = 2; second <= PLAYED_S; second += 2) {
    clock.advance(2_000);
    if (second % QUOTES_EVERY_S === 0) {
      const now = clock.now();
      const at = `${exchangeDate(now)} ${exchangeTime(now.toISOString())}.5`;
      const last = String(100 + Math.random());
      await see(
        world.pool,
        ...instruments.map((id) => ({ at, id, source: 2, last, bid: "100", ask: "101" })),
      );
      await tellLoaded(world.pool, now);
    }
    for (const { page, session, measured } of pages) {
      const answer = page.waitForResponse(/api\/now/);
      await page.clock.runFor(2_000);
      await answer;
      if (second === WARM_S || second === PLAYED_S) measured.push(await kept(session));
    }
  }

  for (const { view, measured } of pages) {
    const [warm, end] = measured;
    const growth = {
      bytes: (end?.bytes ?? 0) - (warm?.bytes ?? 0),
      nodes: (end?.nodes ?? 0) - (warm?.nodes ?? 0),
    };
    process.stderr.write(
      `After ${WARM_S} s ${view} keeps ${warm?.bytes} bytes and ${warm?.nodes} nodes; at the end ${growth.bytes} and ${growth.nodes} more.\n`,
    );
    expect(measured).toHaveLength(2);
    expect(growth.bytes).toBeLessThan(MOST_GROWTH_BYTES);
    expect(growth.nodes).toBeLessThan(500);
  }
});
