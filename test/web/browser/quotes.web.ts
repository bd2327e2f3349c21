/** Quotes of five thousand instruments, on wide and small windows, and the field that finds an instrument. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { systemClock } from "../../../src/ground/clock.ts";
import { followOwnRows } from "../../support/archive.ts";
import { freshDatabase, poolOn } from "../../support/database.ts";
import { openDashboard } from "../dashboard.ts";
import { busySources, CROWD, fillCrowd, quoteCrowd } from "./crowd.ts";
import { countedWire, type Wire } from "./wire.ts";
import { openBrowser, openPage, type PageOptions } from "./world.ts";
import { faultsOf } from "./faults.ts";

/** Rows that may be drawn at once: those of a high screen, and some around them. */
const MOST_DRAWN = 80;

const { url, pool } = await freshDatabase();
let browser: Browser;
let address: string;
let wire: Wire;
beforeAll(async () => {
  await fillCrowd(pool);
  const reader = poolOn(url, { readOnly: true, max: 2 });
  ({ address } = await openDashboard({ pool: reader, clock: systemClock, sources: busySources() }));
  wire = await countedWire(address);
  browser = await openBrowser();
});
afterAll(() => wire.close());

const ROWS = "table.quotes tbody tr[data-row]";

async function show(path: string, options: PageOptions & { drawn?: string; at?: string } = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto((options.at ?? address) + path);
  await opened.page.waitForSelector(options.drawn ?? ROWS);
  return opened;
}

const names = async (page: Page): Promise<string[]> =>
  page
    .locator(ROWS)
    .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["instrument"] ?? ""));

test("five thousand instruments are all in the table, of which only what is in sight is drawn", async () => {
  const { page, complaints } = await show("/quotes");

  const drawn = await page.locator(ROWS).count();

  expect(drawn).toBeGreaterThan(15);
  expect(drawn).toBeLessThan(MOST_DRAWN);
  expect(await page.locator("table.quotes").getAttribute("aria-rowcount")).toBe(String(CROWD + 1));
  expect(await page.locator(".found-of").textContent()).toContain("5,008 of 5,008");
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2_500);
  expect(await page.locator("main .sim").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("five thousand instruments are reached with the wheel, with the keys, and by their number", async () => {
  const { page } = await show("/quotes?kind=securities");
  const focused = (): Promise<string | undefined> =>
    page.evaluate(() => document.activeElement?.closest("tr")?.dataset["instrument"]);

  await page.locator(".watch").evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await page.waitForSelector('tr[data-instrument="TSLA"]');
  const last = (await names(page)).at(-1);
  await page.locator(".watch").evaluate((box) => box.scrollTo(0, 0));
  await page.waitForSelector('tr[data-instrument="AAPL"] a');
  await page.locator('tr[data-instrument="AAPL"] a').focus();
  await page.keyboard.press("ArrowDown");
  const second = await focused();
  await page.keyboard.press("End");
  const end = await focused();
  const index = await page.evaluate(
    () =>
      document.activeElement?.closest("tr")?.ariaRowIndex ??
      document.activeElement?.closest("tr")?.getAttribute("aria-rowindex"),
  );
  await page.locator(".watch").evaluate((box) => box.scrollTo(0, 0));
  await page.waitForSelector('tr[data-instrument="AAPL"]');
  const kept = await focused();
  await page.keyboard.press("Enter");
  await page.waitForURL(/instrument\?name=TSLA/);

  expect([last, second, end, kept]).toEqual(["TSLA", "MSFT", "TSLA", "TSLA"]);
  expect(index).toBe("3005");
});

test("five thousand instruments are sorted and searched as a whole, and nothing is asked for anew for it", async () => {
  const { page } = await show("/quotes");
  const asked: URL[] = [];
  page.on("request", (request) => asked.push(new URL(request.url())));

  await page.locator("th[data-column=volume]").click();
  await page.locator("th[data-column=volume]").click();
  const [dearest] = await names(page);
  await page.getByRole("searchbox").fill("number 2999");
  const found = await names(page);

  expect(dearest).toMatch(/^AAPL:\d{4}-/);
  expect(found).toEqual(["S2999"]);
  const quotes = asked.filter(({ pathname }) => pathname === "/api/quotes");
  expect(quotes.filter(({ searchParams }) => !searchParams.has("since"))).toEqual([]);
});

test("a minute of five thousand quotes comes by itself and packed, and draws no more rows", async () => {
  const { page } = await show("/quotes?kind=securities", { at: wire.address });
  const before = wire.received();

  await quoteCrowd(pool, 1);
  await page.waitForFunction(() =>
    document.querySelector('tr[data-instrument="AAPL"] td')?.textContent?.startsWith("2.02"),
  );

  process.stderr.write(`Quotes: ${before} bytes with the page, ${wire.received() - before} for a minute.\n`);
  expect(before).toBeLessThan(2_000_000);
  expect(wire.received() - before).toBeLessThan(250_000);
  expect(await page.locator(ROWS).count()).toBeLessThan(MOST_DRAWN);
});

test.each(["/", "/coverage"])("five thousand instruments: %s asks for no quotes", async (path) => {
  const { page } = await openPage(browser);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));

  await page.goto(address + path);
  await page.waitForSelector(".connection[data-state=live]");
  await page.waitForSelector("h1");

  expect(asked).toContain("/api/now");
  expect(asked).not.toContain("/api/quotes");
});

test("the CSV of Quotes has the rows that are shown, in their order, with all digits", async () => {
  const { page } = await show("/quotes?search=s29&sort=-last");
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const download = await waiting;
  const [heading, first, ...others] = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\r\n");

  expect(download.suggestedFilename()).toBe("quotes-SIMULATED.csv");
  expect(heading).toBe(
    "instrument,source,source_name,delayed,observed_at,last,change,pct_change,bid,ask,spread,volume,bid_size,ask_size,open_interest,delta,quoted_at,still_since,description",
  );
  expect(first).toMatch(
    /^S2999,simulated,simulated,false,\d{4}-.*Z,300\d\.02,-?0\.\d,0\.5,2999\.01,2999\.03,0\.02,\d+,100,200,,,,,COMPANY NUMBER 2999$/,
  );
  expect(others).toHaveLength(99);
});

test("Quotes of options has sizes and delta where there is room, and never more than the window is wide", async () => {
  const { page } = await show("/quotes?kind=options", { width: 1_440 });
  const headings = (): Promise<string[]> =>
    page.locator("thead th").evaluateAll((all) => {
      return all.filter((each) => each.checkVisibility()).map((each) => each.textContent ?? "");
    });
  const wide = await headings();
  await page.setViewportSize({ width: 768, height: 900 });

  expect(wide.join()).toBe(
    "Instrument,Last,Change,%,Bid,Ask,Bid size,Ask size,Spread,Volume,Open interest,Delta,Age",
  );
  expect((await headings()).join()).toBe("Instrument,Last,Change,%,Bid,Ask,Spread,Volume,Delta,Age");
  expect(await page.locator(".watch").evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
});

test("a heading sorts wherever it is hit, and by the keys; the address has it, and Back undoes it", async () => {
  const { page } = await show("/quotes?kind=securities");
  const cell = page.locator("th[data-column=last]");
  const sorted = (): Promise<string | null> => cell.getAttribute("aria-sort");
  const { width = 0, height = 0 } = (await cell.boundingBox()) ?? {};

  await cell.click({ position: { x: 2, y: 2 } });
  const corner = await sorted();
  await cell.click({ position: { x: width - 3, y: height - 3 } });
  const other = await sorted();
  const url = page.url();
  await page.goBack();
  const back = await sorted();
  await cell.getByRole("button").focus();
  await page.keyboard.press("Enter");

  expect([corner, other, back, await sorted()]).toEqual([
    "ascending",
    "descending",
    "ascending",
    "descending",
  ]);
  expect(url).toContain("sort=-last");
  expect((await names(page))[0]).toBe("S3004");
});

test("what is typed is no step for Back", async () => {
  const { page } = await show("/quotes");
  await page.getByRole("button", { name: "Options", exact: true }).click();
  await page.getByRole("searchbox").pressSequentially("aapl");
  await page.waitForURL(/search=aapl/);

  await page.goBack();

  expect(new URL(page.url()).search).toBe("");
  expect(await page.getByRole("searchbox").inputValue()).toBe("");
});

test("the mark SIMULATED stands on rows where sources are mixed, and once where those shown are not", async () => {
  const other = await freshDatabase();
  await other.pool.query(`
      insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
      values (1, 'CS', 'AAPL', now(), now()), (2, 'CS', 'GE', now(), now());
      insert into quotes (observed_at, instrument_id, source_id, delayed, last)
      values (now(), 1, 1, false, 10), (now(), 1, 2, false, 11), (now(), 2, 2, false, 12)`);
  await followOwnRows(other.pool);
  const web = await openDashboard({
    pool: poolOn(other.url, { readOnly: true, max: 2 }),
    clock: systemClock,
  });
  const { page } = await openPage(browser);

  await page.goto(`${web.address}/quotes`);
  await page.waitForSelector("table.quotes .sim");
  const onRows = await page.locator("table.quotes td[data-column=source]").allTextContents();
  await page.getByRole("searchbox").fill("GE");
  await page.waitForFunction(() => document.querySelectorAll("table.quotes tbody tr").length === 1);

  expect(onRows).toEqual(["account", "SIMULATED", "SIMULATED"]);
  expect(await page.locator("table.quotes .sim").count()).toBe(0);
  expect(await page.locator(".found-of .sim").count()).toBe(1);
});

test("360 pixels wide a row of Quotes is two lines that fit, and the last one ends where the table does", async () => {
  const { page, complaints } = await show("/quotes", { width: 360, height: 740 });
  const cells = await page
    .locator(ROWS)
    .nth(1)
    .locator("th, td")
    .evaluateAll((all) =>
      all
        .filter((cell) => cell.checkVisibility())
        .map((cell) => {
          const { left, right, top } = cell.getBoundingClientRect();
          return { column: (cell as HTMLElement).dataset["column"] ?? "instrument", left, right, top };
        }),
    );
  const firstTop = Math.min(...cells.map(({ top }) => top));
  const lines = [true, false].map((isFirst) => cells.filter(({ top }) => top < firstTop + 12 === isFirst));
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const last = page.locator(`tr[aria-rowindex="${CROWD + 1}"]`);
  await last.waitFor();
  const gap = await last.evaluate((row) => {
    const table = row.closest("table")?.getBoundingClientRect().bottom ?? 0;
    return Math.abs(table - row.getBoundingClientRect().bottom);
  });

  expect(lines.map((line) => line.map(({ column }) => column).sort())).toEqual([
    ["change", "instrument", "last"],
    ["age", "ask", "bid", "pctChange"],
  ]);
  for (const line of lines)
    for (const one of line)
      expect(line.filter((other) => other.left < one.right && one.left < other.right)).toEqual([one]);
  expect(Math.max(...cells.map(({ right }) => right))).toBeLessThanOrEqual(360);
  expect(gap).toBeLessThan(3);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

const field = "[role=combobox][data-slash]";

test.each(["/", "/quotes", "/coverage"])(
  "the search for an instrument is reached from %s with the key /, and tsl leads to TSLA",
  async (path) => {
    const { page, complaints } = await show(path, { drawn: ".connection[data-state=live]" });

    await page.keyboard.press("/");
    await page.keyboard.type("tsl");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".ticker");

    expect(await page.locator("h1").textContent()).toBe("TSLA");
    expect(new URL(page.url()).searchParams.get("name")).toBe("TSLA");
    expect(await page.getByText("Nothing is stored").count()).toBe(0);
    expect(complaints).toEqual([]);
  },
);

test("the search for an instrument shows the best matches, and is gone through with the arrow keys", async () => {
  const { page } = await show("/", { drawn: ".connection[data-state=live]" });
  await page.keyboard.press("/");
  await page.keyboard.type("aapl 55");
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll(".top [role=option] b")].map(
      (name) => name.textContent ?? "",
    );
    return names.length > 0 && names.every((name) => /^AAPL:.*:(CALL|PUT):55/.test(name));
  });

  const options = await page.locator(".top [role=option] b").allTextContents();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const active = await page.locator(field).getAttribute("aria-activedescendant");
  const chosen = await page.locator(".top [role=option][aria-selected=true]").getAttribute("id");
  const faults = await faultsOf(page);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".ticker");

  expect(options.length).toBeGreaterThanOrEqual(2);
  expect(active).toBe(chosen);
  expect(await page.locator("h1").textContent()).toBe(options[1]);
  expect(faults).toEqual([]);
});

test("the search for an instrument finds by name, says when nothing matches, and Escape leaves it", async () => {
  const { page } = await show("/", { drawn: ".connection[data-state=live]" });
  await page.keyboard.press("/");
  await page.keyboard.type("microsoft");
  await page.waitForSelector(".top [role=option]");
  const found = await page.locator(".top [role=option]").allTextContents();
  await page.locator(field).fill("qqqqq");
  await page.waitForSelector("text=Nothing matches qqqqq.");
  await page.keyboard.press("Enter");
  const still = new URL(page.url()).pathname;
  await page.keyboard.press("Escape");
  const expanded = await page.locator(field).getAttribute("aria-expanded");
  await page.keyboard.press("Escape");

  expect(found).toEqual(["MSFT MICROSOFT CORP"]);
  expect([still, expanded, await page.locator(field).inputValue()]).toEqual(["/", "false", ""]);
});

test("the search for an instrument says how many more there are, and shows names to their ends, where they differ", async () => {
  const { page } = await show("/", { drawn: ".connection[data-state=live]" });
  await page.keyboard.press("/");
  await page.keyboard.type("company number 29");

  await page.getByText("The best 20 of 111: type more to find fewer.").waitFor();
  const cut = await page
    .locator(".top [role=option] span")
    .evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);

  expect(await page.locator(".top [role=option]").count()).toBe(20);
  expect(cut).toBe(0);
});
