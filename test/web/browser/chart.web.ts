/** The view of one instrument, in a browser: its chart is driven by keys, mouse and address, and held to the database. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "@jest/globals";
import type { Download, Page } from "playwright-core";
import { faultsOf } from "./faults.ts";
import { PAST_JOB } from "./history.ts";
import { openPage, openWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});

const CHART = ".chart[data-drawn] canvas";

/** Opens the view and waits until its chart is drawn. */
async function show(page: Page, parameters: Record<string, string>): Promise<void> {
  await page.goto(`${world.address}/instrument?${new URLSearchParams(parameters).toString()}`);
  await page.waitForSelector(CHART);
}

async function drawn(page: Page, name: string): Promise<void> {
  await page.waitForSelector(`.chart[data-drawn="${name}"]`);
}

async function rowsOf<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await world.pool.query<Row>(sql, values)).rows;
}

/** A price with at least two decimals, as the page shows it. */
const shown = (text: string): string =>
  text.replace(/^(-?\d+)(\.\d*)?$/, (_, whole: string, rest = ".") => whole + rest.padEnd(3, "0"));

/** The date before the last: it is over, and has a hole. */
const holed = (): string => world.dates.at(-2) ?? "";

/** The parameters of the address, without those that are empty. */
function parametersOf(page: Page): Record<string, string> {
  return Object.fromEntries(new URL(page.url()).searchParams);
}

/** What stands under the crosshair, name by name. */
async function readout(page: Page): Promise<Record<string, string>> {
  return page
    .getByTestId("readout")
    .evaluate((element) =>
      Object.fromEntries([
        ["time", element.querySelector("b")?.textContent ?? ""],
        ...[...element.querySelectorAll("dl div")].map((fact) => [
          fact.querySelector("dt")?.textContent ?? "",
          (fact.querySelector("dd")?.textContent ?? "").replaceAll(",", "").replaceAll("\u2212", "-"),
        ]),
        ["hole", element.querySelector(".hole")?.textContent ?? ""],
      ]),
    ) as Promise<Record<string, string>>;
}

async function downloaded(page: Page, act: () => Promise<unknown>): Promise<{ name: string; body: Buffer }> {
  const waiting = page.waitForEvent("download");
  await act();
  const download: Download = await waiting;
  return { name: download.suggestedFilename(), body: readFileSync(await download.path()) };
}

type DayBar = {
  open: string;
  high: string;
  low: string;
  close: string;
  volume: string;
  spread: string;
  time: string;
};

/** Bars of a width of one date, from the raw rows: no view and no function of the schema has a part in it. */
async function barsOf(symbol: string, date: string, minutes: number): Promise<DayBar[]> {
  return rowsOf<DayBar>(
    `with raw as (
       select q.*, e.volume, date_bin(make_interval(mins => $3), q.observed_at at time zone 'America/New_York', $2::date) as bar
       from quotes q join extended_quotes e using (instrument_id, source_id, observed_at)
       where q.source_id = 2 and (q.observed_at at time zone 'America/New_York')::date = $2::date
         and q.instrument_id = (select id from instruments where symbol = $1 and option_type is null)
     ), ends as (
       select bar, (array_agg(last order by observed_at))[1] as open, max(last) as high, min(last) as low,
              (array_agg(last order by observed_at desc))[1] as close, max(volume) as shown, min(volume) as first_shown,
              avg(ask - bid) as spread
       from raw group by bar
     )
     select open::text, high::text, low::text, close::text, to_char(bar, 'HH24:MI') as time,
            (shown - lag(shown, 1, first_shown) over (order by bar))::text as volume,
            regexp_replace(trim_scale(round(spread, 6))::text, '(\\.\\d{4})\\d+$', '\\1') as spread
     from ends order by bar`,
    [symbol, date, minutes],
  );
}

test("what stands under the crosshair is the bar's, by key and by mouse, and without one the newest bar's", async () => {
  const { page, complaints } = await openPage(world.browser);
  const date = holed();
  await show(page, { name: "MSFT", interval: "15m", from: date, to: date });
  const bars = await barsOf("MSFT", date, 15);
  const fact = ({ open, high, low, close, volume, spread }: DayBar) => ({
    Open: shown(open),
    High: shown(high),
    Low: shown(low),
    Close: shown(close),
    Volume: volume,
    Spread: shown(spread),
  });
  const chart = page.getByRole("slider", { name: /MSFT/ });

  const newest = await readout(page);
  await chart.focus();
  await page.keyboard.press("Home");
  const first = await readout(page);
  await page.keyboard.press("ArrowRight");
  const second = await readout(page);
  const heard = await chart.getAttribute("aria-valuetext");
  await page.keyboard.press("Escape");
  const after = await readout(page);
  const box = await chart.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 40, (box?.y ?? 0) + 60);
  const pointed = await readout(page);

  expect(newest).toMatchObject(fact(bars.at(-1) as DayBar));
  expect(first).toMatchObject(fact(bars[0] as DayBar));
  expect(first["time"]).toContain(`${bars[0]?.time} New York`);
  expect(first["Change"]).toBe("–");
  expect(second).toMatchObject(fact(bars[1] as DayBar));
  expect(Number(second["Change"]?.split(" ")[0])).toBeCloseTo(
    Number(bars[1]?.close) - Number(bars[0]?.close),
    6,
  );
  expect(heard).toContain(`close ${shown(bars[1]?.close ?? "")}`);
  expect(after).toEqual(newest);
  expect(pointed["time"]).not.toBe(newest["time"]);
  expect(bars.map(({ close }) => shown(close))).toContain(pointed["Close"]);
  expect(complaints).toEqual([]);
});

test("each choice is a step for Back, and the address opens the same elsewhere", async () => {
  const { page, complaints } = await openPage(world.browser);
  const date = holed();
  await page.goto(`${world.address}/instrument`);
  await page.waitForSelector(CHART);
  const steps: Record<string, string>[] = [parametersOf(page)];
  const take = async (act: () => Promise<unknown>): Promise<void> => {
    const before = page.url();
    await act();
    await page.waitForFunction((url) => location.href !== url, before);
    steps.push(parametersOf(page));
  };
  const search = async (label: string, name: string): Promise<void> => {
    await page.getByRole("combobox", { name: label }).fill(name);
    await page.keyboard.press("Enter");
  };

  const fillDate = async (label: string, text: string): Promise<void> => {
    await page.getByLabel(label, { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };

  await take(() => search("Find an instrument", "MSFT"));
  await take(() => page.getByRole("button", { name: "5D", exact: true }).click());
  await take(() => page.getByLabel("Interval").selectOption("15m"));
  await take(() => search("Compare with an instrument", "KO"));
  await take(() => page.getByRole("button", { name: "VWAP" }).click());
  await take(() => page.getByRole("button", { name: "Add" }).click());
  await take(() => fillDate("From", date));
  await take(() => fillDate("To", date));
  const { page: other } = await openPage(world.browser);
  await other.goto(page.url());
  await drawn(other, `MSFT ${date} to ${date} 15m`);
  const lines = await other
    .locator(".lines-shown li")
    .evaluateAll((all) => all.map((one) => one.getAttribute("data-line")));
  const back: Record<string, string>[] = [];
  for (const step of steps.slice(0, -1).reverse()) {
    await page.goBack();
    await page.waitForFunction(
      (wanted) => new URLSearchParams(location.search).toString() === wanted,
      new URLSearchParams(step).toString(),
    );
    back.push(parametersOf(page));
  }
  await drawn(page, "AAPL 1D 1m");

  expect(steps.at(-1)).toEqual({
    name: "MSFT",
    interval: "15m",
    compare: "KO",
    indicators: "vwap,sma20",
    from: date,
    to: date,
  });
  expect(steps[0]).toEqual({ name: "AAPL" });
  expect(back).toEqual(steps.slice(0, -1).reverse());
  expect(lines).toEqual(["KO", "vwap", "sma20"]);
  expect(complaints).toEqual([]);
});

test("percents are of the first bar in view, and follow where one scrolls", async () => {
  const { page, complaints } = await openPage(world.browser);
  const date = holed();
  await show(page, { name: "MSFT", interval: "5m", from: date, to: date, compare: "KO,GE,IBM,JPM,PFE" });
  await page.waitForSelector(".lines-shown li:nth-child(5)");
  const seen = async (): Promise<number> =>
    Number((await page.locator("[data-line=KO] b").textContent())?.replace(" %", "").replace("\u2212", "-"));
  const [bars, whole] = [await barsOf("KO", date, 5), await seen()];
  const box = await page.locator(".chart").boundingBox();
  const last = Number(bars.at(-1)?.close);
  // To two decimals, as it is shown.
  const possible = bars.map(({ close }) => Number(((last / Number(close) - 1) * 100).toFixed(2)));

  await page.mouse.move((box?.x ?? 0) + 600, (box?.y ?? 0) + 100);
  // Wheel: the chart zooms in around the mouse, so its first bar in view is a later one.
  for (let turn = 0; turn < 6; turn++) await page.mouse.wheel(0, -400);
  await page.mouse.move(2, 2);
  await page.waitForFunction(
    (before) =>
      Number(
        document.querySelector("[data-line=KO] b")?.textContent?.replace(" %", "").replace("\u2212", "-"),
      ) !== before,
    whole,
  );
  const near = await seen();

  expect(whole).toBe(possible[0]);
  expect(possible.slice(1)).toContain(near);
  await page.getByText("In percent from the first bar in view").waitFor();
  expect(await page.getByText("5 are compared").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Remove KO" }).click();
  await page.waitForSelector("[data-line=KO]", { state: "detached" });
  expect(parametersOf(page)["compare"]).toBe("GE,IBM,JPM,PFE");
  expect(complaints).toEqual([]);
});

test("older bars come as one moves the chart to before its first bar, and the bars in view stay", async () => {
  const { page, complaints } = await openPage(world.browser);
  await show(page, { name: "MSFT", interval: "15m" });
  await drawn(page, "MSFT 1D 15m");
  const chart = page.getByRole("slider", { name: /MSFT/ });
  const last = async (): Promise<number> => Number(await chart.getAttribute("aria-valuemax"));
  const few = await last();
  const box = await chart.boundingBox();
  const [x, y] = [(box?.x ?? 0) + 100, (box?.y ?? 0) + 100];

  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 500, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(
    (before) => Number(document.querySelector(".chart")?.getAttribute("aria-valuemax")) > before,
    few,
  );
  const dates = await page.locator("table.bars tbody td:first-child").allTextContents();
  // The first bar by the keys, and on from there.
  await chart.focus();
  await page.keyboard.press("Home");
  const before = await last();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(
    (count) => Number(document.querySelector(".chart")?.getAttribute("aria-valuemax")) > count,
    before,
  );

  // The place among the bars follows the bars by a frame.
  await page.waitForFunction(
    () => Number(document.querySelector(".chart")?.getAttribute("aria-valuenow")) > 0,
  );

  expect(new Set(dates).size).toBe(2);
  expect(complaints).toEqual([]);
});

test("a stretch that would be too many bars is drawn in wider ones, and says so", async () => {
  const { page } = await openPage(world.browser);

  await show(page, { name: "MSFT", interval: "1m", range: "All", compare: "KO,GE,IBM,JPM,PFE" });

  await page.getByText(/Drawn in bars of \dm: those of 1m would be more/).waitFor();
  expect(await page.getByLabel("Interval").inputValue()).toBe("1m");
});

test("a hole says which job missed how many quotes and why, in the list and under the crosshair", async () => {
  const { page } = await openPage(world.browser);
  const date = holed();
  await show(page, { name: "GE", interval: "1m", from: date, to: date });
  await page.locator(".holes summary").click();
  const [{ n } = { n: "" }] = await rowsOf<{ n: string }>(
    `select count(*) as n from misses where source_id = 2 and job = $1 and reason = 'down'
       and (slot_at at time zone 'America/New_York')::date = $2`,
    [PAST_JOB, date],
  );

  const text = new RegExp(`^${n} missing: not running \\(job ${PAST_JOB}, `);
  await page
    .locator(".holes li", { hasText: `${n} missing: not running` })
    .getByRole("button")
    .click();
  const found = await readout(page);

  expect(Number(n)).toBeGreaterThan(40);
  expect(found["hole"]).toMatch(text);
  expect(found["Close"]).toBeUndefined();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-valuetext"))).toContain(
    "not running",
  );
});

test("the chart is saved as a picture and as CSV, which name symbol, width, time and that it is simulated", async () => {
  const { page, complaints } = await openPage(world.browser);
  const date = holed();
  await show(page, {
    name: "MSFT",
    interval: "5m",
    from: date,
    to: date,
    compare: "KO",
    indicators: "vwap,spread,sma3",
  });
  await page.waitForSelector("[data-line=sma3]");

  const png = await downloaded(page, () => page.getByRole("button", { name: "PNG" }).click());
  const csv = await downloaded(page, () => page.getByRole("link", { name: "CSV" }).click());
  const [heading, ...rows] = csv.body.toString().trim().split("\r\n");

  expect(png.name).toBe(`MSFT-5m-${date}-SIMULATED.png`);
  expect(png.body.subarray(0, 4).toString("latin1")).toBe("\u0089PNG");
  // Its width and height stand at the beginning: as wide as the chart, and higher.
  const chart = await page.locator(".chart").boundingBox();
  expect(png.body.readUInt32BE(16)).toBeGreaterThanOrEqual(Math.floor((chart?.width ?? 0) - 2));
  expect(png.body.readUInt32BE(20)).toBeGreaterThan((chart?.height ?? 0) + 40);
  expect(csv.name).toBe("MSFT-5m-SIMULATED.csv");
  expect(heading).toMatch(/,missing,reasons,vwap,sma3,close_KO$/);
  expect(rows).toHaveLength((await barsOf("MSFT", date, 5)).length);
  expect(complaints).toEqual([]);
});

const ALL = {
  name: "AAPL",
  interval: "5m",
  range: "5D",
  compare: "MSFT,KO",
  indicators: "vwap,spread,ema20",
};

test("360 pixels wide the controls unfold, and fit", async () => {
  const { page, complaints } = await openPage(world.browser, { width: 360, height: 800 });
  await show(page, ALL);
  await page.waitForSelector("[data-line=ema20]");
  await page.getByRole("button", { name: "More", exact: true }).click();

  for (const label of ["Interval", "From", "To", "Length in bars"])
    expect(await page.getByLabel(label, { exact: true }).isVisible()).toBe(true);
  expect(await page.getByRole("combobox", { name: "Compare with an instrument" }).isVisible()).toBe(true);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
