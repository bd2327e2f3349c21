/** The view of one instrument, in a browser: its chart is driven by keys, mouse and address, and held to the database. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import type { Bar, BarsView } from "../../../src/archive/ask/dashboardTypes.ts";
import type { News } from "../../../src/web/api/types.ts";
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

/** Where the bars are, beside their axis and above the other panes. */
const barsPane = (page: Page): Locator => page.locator(".chart tr td:nth-child(2)").first();

/** The chart draws in frames of its own. */
async function frames(page: Page): Promise<void> {
  for (let frame = 0; frame < 3; frame++)
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
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
            round(spread, 6)::text as spread
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
    Spread: Number(spread).toFixed(2),
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
  expect(first["time"]).toBe(`${date} ${bars[0]?.time}`);
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
  const typed = async (field: Locator, text: string): Promise<void> => {
    await field.fill(text);
    await page.keyboard.press("Enter");
  };
  const button = (name: string): Locator => page.getByRole("button", { name, exact: true });

  await take(() => typed(page.getByRole("combobox", { name: "Find an instrument" }), "MSFT"));
  await take(() => button("5D").click());
  await take(() => page.getByLabel("Interval").selectOption("15m"));
  await take(() => button("Line").click());
  await take(() => button("Log").click());
  await take(() => typed(page.getByLabel("From", { exact: true }), date));
  await take(() => typed(page.getByLabel("To", { exact: true }), date));
  const { page: other } = await openPage(world.browser);
  await other.goto(page.url());
  await drawn(other, `MSFT ${date} to ${date} 15m`);
  const pressed = await other.locator("main [aria-pressed=true]").allTextContents();
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

  const last = { name: "MSFT", interval: "15m", draw: "line", scale: "log", from: date, to: date };
  expect(steps.at(-1)).toEqual(last);
  expect(steps[0]).toEqual({ name: "AAPL" });
  expect(back).toEqual(steps.slice(0, -1).reverse());
  expect(pressed).toEqual(["Line", "Log"]);
  expect(complaints).toEqual([]);
});

test("a line and a logarithmic scale are drawn otherwise than candles, and nothing moves", async () => {
  const { page } = await openPage(world.browser);
  const date = holed();
  await show(page, { name: "MSFT", interval: "15m", from: date, to: date });
  const chart = page.locator(".chart");
  await chart.focus();
  await page.keyboard.press("Home");
  const looks = [await chart.screenshot()];
  const places = [await readout(page)];

  for (const name of ["Log", "Line"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name, exact: true, pressed: true }).waitFor();
    await chart.focus();
    await frames(page);
    looks.push(await chart.screenshot());
    places.push(await readout(page));
  }

  expect(new Set(looks.map((look) => look.toString("base64"))).size).toBe(3);
  expect(places).toEqual([places[0], places[0], places[0]]);
});

/** In how many places the chart is divided, and how many it has before the first bar and behind the last one. */
const LEAST = { places: 31, behind: 1 };

test("few bars stand at the right edge, each as wide as of thirty; many fill the width", async () => {
  const { page } = await openPage(world.browser);
  const [date, bars] = [holed(), await barsOf("MSFT", holed(), 120)];
  const timeAt = async (share: number): Promise<string> => {
    const box = await barsPane(page).boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) * share, (box?.y ?? 0) + 60);
    await frames(page);
    return (await readout(page))["time"]?.slice(11, 16) ?? "";
  };

  await show(page, { name: "MSFT", interval: "2h", from: date, to: date });
  const few: string[] = [];
  for (const [index] of bars.entries())
    few.push(await timeAt(1 - (LEAST.behind + bars.length - index - 0.5) / (LEAST.places + 0.5)));
  await show(page, { name: "MSFT", interval: "5m", from: date, to: date });
  const many = [await timeAt(0.03), await timeAt(0.5), await timeAt(0.995)];

  expect(few).toEqual(bars.map(({ time }) => time));
  const all = await barsOf("MSFT", date, 5);
  expect([many[0], many[2]]).toEqual([expect.stringMatching(/^0[78]:/), all.at(-1)?.time]);
  expect(many[1]?.slice(0, 2)).toMatch(/^1[23]$/);
});

/** The API answers with one more bar than the archive has, from each call of `next` on. */
async function feedBars(page: Page): Promise<() => Promise<void>> {
  let news: News<BarsView> | null = null;
  let newest: Bar | null = null;
  await page.route("**/api/bars?*", async (route) => {
    if (!route.request().url().includes("since=")) {
      const response = await route.fetch();
      const whole = (await response.json()) as News<BarsView>;
      newest ??= whole.view?.bars.at(-1) ?? null;
      return route.fulfill({ response });
    }
    await route.fulfill({ json: news ?? { cursor: "", whole: false, view: null } });
  });
  return async () => {
    if (newest === null) throw new Error("no bars were read yet");
    newest = { ...newest, at: new Date(Date.parse(newest.at) + 300_000).toISOString() };
    const view: BarsView = {
      ...{ instrument: "MSFT", source: "simulated", delayed: false, interval: "5m", asked: "5m" },
      ...{ bars: [{ ...newest, date: "2099-01-01" }], sessions: [], dividends: [], more: false },
    };
    news = { cursor: "", whole: false, view };
    const before = await lastPlace(page);
    await page.waitForFunction(
      (count) => Number(document.querySelector(".chart")?.getAttribute("aria-valuemax")) > count,
      before,
    );
  };
}

const lastPlace = async (page: Page): Promise<number> =>
  Number(await page.locator(".chart").getAttribute("aria-valuemax"));

test("older bars come as one moves the chart to before its first bar; the bars in view stay, and so do the crosshair and the place when news come", async () => {
  const { page, complaints } = await openPage(world.browser);
  const next = await feedBars(page);
  await show(page, { name: "MSFT", interval: "5m", range: "1D" });
  await drawn(page, "MSFT 1D 5m");
  const few = await lastPlace(page);
  const box = await page.locator(".chart").boundingBox();
  const [x, y] = [(box?.x ?? 0) + 100, (box?.y ?? 0) + 100];

  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 500, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(
    (before) => Number(document.querySelector(".chart")?.getAttribute("aria-valuemax")) > before,
    few,
  );
  // The first bar by the keys stands in the middle, and there is room for older ones before it.
  const count = await lastPlace(page);
  await page.locator(".chart").focus();
  await page.keyboard.press("Home");
  const first = await readout(page);
  await page.waitForFunction(
    (before) => Number(document.querySelector(".chart")?.getAttribute("aria-valuemax")) > before,
    count,
  );
  const older = await readout(page);
  await frames(page);
  const look = await barsPane(page).screenshot();
  await next();
  await frames(page);
  const [later, after] = [await readout(page), await barsPane(page).screenshot()];

  expect(older["time"]).toBe(first["time"]);
  expect(later).toEqual(older);
  expect(after.equals(look)).toBe(true);
  expect(complaints).toEqual([]);
});

test("a stretch that would be too many bars is drawn in wider ones, and says so", async () => {
  const { page } = await openPage(world.browser);
  await page.route("**/api/bars?*", async (route) => {
    const response = await route.fetch();
    const news = (await response.json()) as News<BarsView>;
    await route.fulfill({ response, json: { ...news, view: news.view && { ...news.view, interval: "2m" } } });
  });

  await show(page, { name: "MSFT", interval: "1m", range: "All" });

  await page.getByText("Drawn in bars of 2m: those of 1m would be more").waitFor();
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

test("the bars that are drawn are given as a file, which names symbol, width and that it is simulated", async () => {
  const { page } = await openPage(world.browser);
  const date = holed();
  await show(page, { name: "MSFT", interval: "5m", from: date, to: date });

  const waiting = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  const download = await waiting;
  const [heading, ...rows] = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\r\n");

  expect(download.suggestedFilename()).toBe("MSFT-5m-SIMULATED.csv");
  expect(heading).toMatch(/,missing,reasons$/);
  expect(rows).toHaveLength((await barsOf("MSFT", date, 5)).length);
});

test("the chart's view, 360 pixels wide, names the zone once, moves nothing sideways and is without fault", async () => {
  const { page, complaints } = await openPage(world.browser, { width: 360, height: 800 });
  await show(page, { name: "AAPL", interval: "5m", range: "5D" });

  const text = await page.locator("main").innerText();

  expect(text.match(/New York/g)).toHaveLength(1);
  for (const label of ["Interval", "From", "To"])
    expect(await page.getByLabel(label, { exact: true }).isVisible()).toBe(true);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
