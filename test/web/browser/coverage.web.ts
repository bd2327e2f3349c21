/** Coverage: the table of sessions by instruments over a ledger of thousands, its reasons, the keyboard, a phone. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { exchangeDate } from "../../../src/market/calendar/dates.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { freshDatabase, poolOn } from "../../support/database.ts";
import { openDashboard } from "../dashboard.ts";
import { busySources } from "./crowd.ts";
import { faultsOf } from "./faults.ts";
import { openBrowser, openPage, type PageOptions } from "./world.ts";

const MANY = 5_000;
const DAYS = 6;
const MISSED = ".heat td button";

const { url, pool } = await freshDatabase();
let browser: Browser;
let address: string;
/** Exchange dates of the ledger, ascending. */
let dates: string[];

/** A job of thousands of instruments, missed once a day as a whole, some more often; and one of three, which misses KO on the first day. */
beforeAll(async () => {
  const today = systemClock.now().getTime();
  dates = Array.from({ length: DAYS }, (_, day) => exchangeDate(new Date(today - (DAYS - day) * 86_400_000)));
  await pool.query(
    `insert into due_sets (id, digest, instruments)
     select 1, 'many', array_agg('S' || lpad(n::text, 4, '0')) from generate_series(1, ${MANY}) n
     union all select 2, 'few', array['AAPL', 'AAPL:2099-12-18:CALL:150', 'KO']`,
  );
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select job, (day + time '15:00') at time zone 'America/New_York' + m * interval '5 minutes', 2, due, due - lost, lost, set
     from unnest($1::date[]) day, generate_series(0, 30) m,
          (values ('many', ${MANY}, 1), ('few', 3, 2)) r (job, due, set),
          lateral (select case when job = 'many' and m = 3 then due when job = 'many' and m % 10 = 0 then 100
                               when job = 'few' and day = $1[1] and m < 9 then 1 else 0 end as lost) l`,
    [dates],
  );
  await pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select job, slot_at, 2, '*', 'down' from slots where stored = 0
     union all select job, slot_at, 2, 'S' || lpad((1 + n * 37 % ${MANY})::text, 4, '0'), 'budget'
     from slots, generate_series(1, 100) n where missed = 100
     union all select job, slot_at, 2, 'KO', case when extract(minute from slot_at) < 30 then 'transport' else 'refused' end
     from slots where missed = 1`,
  );
  const reader = poolOn(url, { readOnly: true, max: 2 });
  ({ address } = await openDashboard({ pool: reader, clock: systemClock, sources: busySources() }));
  browser = await openBrowser();
});
afterAll(() => browser.close());

async function show(path: string, options: PageOptions & { drawn?: string } = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto(address + path);
  await opened.page.waitForSelector(options.drawn ?? MISSED);
  return opened;
}

const instruments = (page: Page): Promise<(string | null)[]> =>
  page
    .locator("tr[data-instrument]")
    .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-instrument")));

test("a click on a number of Coverage shows its misses as the ledger has them, and leads to the chart of that day", async () => {
  const { page } = await show("/coverage?search=KO");
  const cell = page.locator("tr[data-instrument=KO] button");

  await cell.click();
  await page.waitForSelector(".why .missed li");
  const reasons = await page.locator(".why .missed li").allTextContents();

  expect(await page.locator("tr[data-instrument=KO] td button").allTextContents()).toEqual(["−9"]);
  expect(await cell.getAttribute("aria-label")).toBe(`KO ${dates[0]}: −9, 22 of 31 stored`);
  expect(await page.locator(".why h2").textContent()).toBe(`KO, ${dates[0]}`);
  expect(reasons).toEqual([
    expect.stringMatching(/^6 no answerjob few, 15:00:00 to 15:25:00/),
    expect.stringMatching(/^3 refusedjob few, 15:30:00 to 15:40:00The service refused the call\./),
  ]);
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    ...{ search: "KO", instrument: "KO", source: "simulated", date: dates[0] },
  });
  await page.getByRole("link", { name: "Chart of this day" }).click();
  await page.waitForURL(/\/instrument/);
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    ...{ name: "KO", source: "2", from: dates[0], to: dates[0] },
  });
  await page.goBack();
  await page.waitForSelector(".why .missed li");
  expect(await page.locator(".heat [aria-pressed=true]").getAttribute("aria-label")).toContain("KO");
});

test("with the keyboard alone a number of Coverage is reached, told, and returned to", async () => {
  const { page } = await show("/coverage?search=KO");
  const focused = (): Promise<string> =>
    page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? "");
  await page.locator(".heat-scroll").focus();

  await page.keyboard.press("Tab");
  const cell = await focused();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".why .missed li");
  const heading = await focused();
  await page.keyboard.press("Tab");
  const link = await focused();
  await page.keyboard.press("Escape");
  await page.waitForSelector(".why .missed li", { state: "detached" });

  expect([cell, heading, link]).toEqual([
    `KO ${dates[0]}: −9, 22 of 31 stored`,
    `KO, ${dates[0]}`,
    "Chart of this day",
  ]);
  expect(await focused()).toBe(cell);
});

test("of thousands of instruments Coverage draws those that are seen, the worst first, and scrolling and search reach each", async () => {
  const { page, complaints } = await show("/coverage?span=3+months");
  const { rows } = await pool.query<{ instrument: string }>(
    `select instrument from coverage_daily group by instrument
     order by sum(missed) / sum(expected) desc, instrument like '%:%', instrument`,
  );
  const drawn = await instruments(page);
  const rowCount = await page.locator("table.heat").getAttribute("aria-rowcount");
  const headings = await page
    .locator("thead th[title]")
    .evaluateAll((all) => all.map((each) => each.getAttribute("title")?.slice(0, 10)));

  await page.locator(".heat-scroll").evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await page.waitForSelector(`tr[aria-rowindex="${rows.length + 1}"]`);
  const end = (await instruments(page)).at(-1);
  await page.getByRole("searchbox").fill("S4999");
  await page.waitForSelector('table.heat[aria-rowcount="2"]');

  expect(rows).toHaveLength(MANY + 3);
  expect(Number(rowCount)).toBe(rows.length + 1);
  expect(drawn).toEqual(rows.slice(0, drawn.length).map(({ instrument }) => instrument));
  expect(drawn.length).toBeLessThan(60);
  expect(headings.slice(0, DAYS)).toEqual(dates);
  expect(end).toBe(rows.at(-1)?.instrument);
  expect(await instruments(page)).toEqual(["S4999"]);
  expect(complaints).toEqual([]);
});

test("the address of Coverage has its filters, and choices are steps for Back", async () => {
  const { page } = await show("/coverage");
  await page.getByRole("searchbox").pressSequentially("A");
  await page.getByRole("button", { name: "1 month" }).click();
  await page.waitForFunction(() => document.querySelectorAll("tr[data-instrument]").length === 2);
  await page.getByRole("button", { name: "Only what misses something" }).click();
  await page.waitForSelector("text=No instrument is found");
  const chosen = page.url();

  await page.goBack();
  await page.goBack();

  expect(chosen).toMatch(/search=A&span=1\+month&missing=true$/);
  expect(new URL(page.url()).search).toBe("?search=A");
});

test.each([
  { width: 360, height: 740 },
  { width: 768, height: 900 },
  { width: 1_440, height: 900 },
])("Coverage $width pixels wide is one table, whose names stay in sight, without a fault", async (size) => {
  const { page, complaints } = await show("/coverage?search=AAPL", { ...size, drawn: ".heat td" });
  const box = page.locator(".heat-scroll");
  const names = page.locator("tbody th").last();
  const left = async (): Promise<number> => Math.round((await names.boundingBox())?.x ?? -1);
  await box.evaluate((element) => element.scrollTo(element.scrollWidth, 0));
  const [end, wide] = [await left(), await page.evaluate(() => document.documentElement.scrollWidth)];
  await box.evaluate((element) => element.scrollTo(0, 0));

  expect(end).toBe(await left());
  expect(wide).toBeLessThanOrEqual(size.width);
  await page.goto(`${address}/coverage?instrument=S0001&date=${dates[1]}`);
  await page.waitForSelector(".why .missed li");
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
