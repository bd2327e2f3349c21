/** Each view loaded, used and left open for a minute, by the figures of Chromium's Performance panel. */
import { writeFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { figuresOf, type PanelFigures, recordTrace, type TraceEvent } from "./trace.ts";

type View = { path: string; drawn: string; acts: (page: Page) => Promise<void> };

/** A reader's pause between two acts, ms: each has its own frames. */
const PAUSE_MS = 500;

const type = (page: Page, text: string) => page.getByRole("searchbox").first().pressSequentially(text);
const column = (page: Page, name: string) => page.locator(`thead th[data-column=${name}]`).click();

/** What is looked at, what shows that it stands, and what a reader does there. */
const VIEWS: View[] = [
  {
    path: "/",
    drawn: "[data-testid=calls-used]",
    acts: (page) => inTurn(page, [() => page.keyboard.press("/"), () => page.keyboard.type("number 29")]),
  },
  {
    path: "/quotes",
    drawn: "tr[data-row]",
    acts: (page) => inTurn(page, [() => column(page, "volume"), () => type(page, "number 29")]),
  },
  {
    path: "/instrument?symbol=AAPL",
    drawn: ".chart[data-drawn]",
    acts: (page) =>
      inTurn(page, [
        () => page.getByRole("button", { name: "5D", exact: true }).click(),
        () => page.getByRole("button", { name: "Log" }).click(),
      ]),
  },
  {
    path: "/chain?symbol=AAPL",
    drawn: "[role=tab]",
    acts: (page) =>
      inTurn(
        page,
        [1, 2].map((place) => () => page.getByRole("tab").nth(place).click()),
      ),
  },
  {
    path: "/coverage?span=1+month",
    drawn: "tr[data-instrument]",
    acts: (page) =>
      inTurn(page, [() => type(page, "s12"), () => page.locator(".heat td button").first().click()]),
  },
];

async function inTurn(page: Page, acts: (() => Promise<unknown>)[]): Promise<void> {
  for (const act of acts) {
    await act();
    await page.waitForTimeout(PAUSE_MS);
  }
}

/** What the page's own interfaces say: the panel shows the same three. */
type Vitals = { lcp: number; cls: number; inp: number };

/**
 * Prints it.
 *
 * @param options.quoted brings a minute of quotes to the archive
 * @param options.minutes how long each view is left open; 0: not at all
 * @param options.file where the trace of loads and acts is written, for the panel to open; null: nowhere
 * @returns whether a task or an interaction held up a page for more than 100 ms
 */
export async function measurePanel(
  browser: Browser,
  {
    address,
    quoted,
    file,
    minutes,
  }: { address: string; quoted: () => Promise<void>; file: string | null; minutes: number },
): Promise<boolean> {
  const session = await browser.newBrowserCDPSession();
  const kept: TraceEvent[] = [];
  let late = false;
  const tell = (what: string, figures: PanelFigures, vitals: Vitals | null): void => {
    late ||= figures.longestTask > 100 || (vitals?.inp ?? 0) > 100;
    console.log(line(what, figures, vitals));
  };
  console.log(HEADING);
  for (const { path, drawn, acts } of VIEWS) {
    // A context each, so that each has a process of its own.
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    await page.addInitScript(watchVitals);
    const load = await recordTrace(session, async () => {
      await page.goto(address + path);
      await page.waitForSelector(drawn);
      await page.waitForTimeout(PAUSE_MS);
      await page.evaluate(() => void performance.mark("quotekeeper"));
    });
    tell(`${path}: load`, figuresOf(load, "quotekeeper"), await vitalsOf(page));
    const used = await recordTrace(session, async () => {
      await page.evaluate(() => void performance.mark("quotekeeper"));
      await acts(page);
    });
    tell(`${path}: used`, figuresOf(used, "quotekeeper"), await vitalsOf(page));
    kept.push(...load, ...used);
    if (minutes > 0) {
      await page.evaluate(() => performance.clearMarks());
      const minute = await recordTrace(session, async () => {
        await page.evaluate(() => void performance.mark("quotekeeper"));
        await quoted();
        await page.waitForTimeout(minutes * 60_000);
      });
      tell(`${path}: ${minutes} min`, figuresOf(minute, "quotekeeper"), null);
    }
    await page.context().close();
  }
  if (file !== null) writeFileSync(file, JSON.stringify({ traceEvents: kept }));
  return late;
}

const HEADING =
  "times in ms; heap in MB".padEnd(32) +
  ["script", "render", "paint", "task", "INP", "LCP", "CLS", "frames", "dropped", "heap"]
    .map((name) => name.padStart(8))
    .join("");

function line(what: string, figures: PanelFigures, vitals: Vitals | null): string {
  const { scripting, rendering, painting, longestTask, drawn, dropped, heapMb } = figures;
  const cells = [scripting, rendering, painting, longestTask].map((ms) => ms.toFixed(0));
  const own = vitals ? [vitals.inp.toFixed(0), vitals.lcp.toFixed(0), vitals.cls.toFixed(3)] : ["", "", ""];
  return (
    what.padEnd(32) +
    [...cells, ...own, String(drawn), String(dropped), heapMb.toFixed(1)]
      .map((cell) => cell.padStart(8))
      .join("")
  );
}

type Watching = { vitals: Vitals };

async function vitalsOf(page: Page): Promise<Vitals> {
  return page.evaluate(() => (globalThis as unknown as Watching).vitals);
}

/** Runs in the page. An interaction is the longest of its events, and is told from 16 ms on. */
function watchVitals(): void {
  const vitals = { lcp: 0, cls: 0, inp: 0 };
  (globalThis as unknown as Watching).vitals = vitals;
  type Entry = PerformanceEntry & { interactionId?: number; value?: number; hadRecentInput?: boolean };
  const follow = (kind: string, take: (entry: Entry) => void): void =>
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => take(entry as Entry))).observe({
      ...{ type: kind, buffered: true },
      ...(kind === "event" && { durationThreshold: 16 }),
    } as PerformanceObserverInit);
  follow("largest-contentful-paint", ({ startTime }) => (vitals.lcp = startTime));
  follow("layout-shift", ({ value = 0, hadRecentInput }) => (vitals.cls += hadRecentInput ? 0 : value));
  follow("event", ({ interactionId, duration }) => {
    if (interactionId) vitals.inp = Math.max(vitals.inp, duration);
  });
}
