/** The option chain: its numbers against SQL, its slider, its choices in the address, its widths. */
import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import type { ChainKey, ChainView, Contract } from "../../../src/archive/ask/dashboardTypes.ts";
import type { News, NowView } from "../../../src/web/api/types.ts";
import { stopsOf } from "../../../src/web/app/lib/chainColumns.ts";
import { until } from "../../support/until.ts";
import { openPage, openWorld, texts, type World } from "./world.ts";

const NEAR = "2026-12-18";
const FAR = "2027-01-15";
const CHAIN = `/chain?underlying=AAPL&source=2&expiration=${FAR}`;

let world: World;
/** An instant of the past at which contracts had been quoted, ISO 8601. */
let noon: string;
beforeAll(async () => {
  world = await openWorld();
  const [row] = await rowsOf<{ at: string }>(
    `select to_char(b.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at from session_bars b
     join instruments i on i.id = b.instrument_id
     where i.expiration = '${FAR}' and i.option_type = 'CALL' and i.strike = 390 order by b.date limit 1`,
  );
  noon = new Date(Date.parse(row?.at ?? "") - 3 * 3_600_000).toISOString();
});

async function rowsOf<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await world.pool.query<Row>(sql, values)).rows;
}

async function show(page: Page, path: string, drawn: string): Promise<void> {
  await page.goto(world.address + path);
  await page.waitForSelector(drawn);
}

/** Has the page see something else in place of what a route answers. */
async function change<View>(page: Page, path: string, by: (view: View) => View): Promise<void> {
  await page.route(`**/api/${path}`, async (route) => {
    const news = (await (await route.fetch()).json()) as News<View>;
    await route.fulfill({ json: { ...news, view: news.view && by(news.view) } });
  });
}

const TABLE = "table.chain tbody tr";

type SurfaceRow = Record<"strike" | "option_type" | "bid" | "mid" | "ask", string> &
  Record<"iv_bid" | "iv_mid" | "iv_ask" | "delta" | "gamma" | "vega" | "theta", number | null> & {
    service_delta: string | null;
  };

/** What SQL says of the contracts of an expiration at an instant. */
async function surface(at: string, expiration = FAR): Promise<SurfaceRow[]> {
  return rowsOf<SurfaceRow>(
    `select trim_scale(strike) as strike, option_type, bid, trim_scale(mid) as mid, ask, iv_bid, iv_mid, iv_ask,
            delta, gamma, vega, theta, moneyness::float8, service_delta
     from surface_at('AAPL', $1) where source = 'simulated' and expiration = $2 order by strike, option_type`,
    [at, expiration],
  );
}

/** The calls' cells of a column, of what is drawn. */
const callsOf = (page: Page, key: string): Promise<string[]> =>
  page
    .locator("table.chain tbody tr")
    .evaluateAll(
      (rows, name) =>
        rows.map(
          (row) => row.querySelector(`[data-cell=${name}]`)?.textContent?.replace("\u2212", "-") ?? "",
        ),
      key,
    );

/** A number without zeros at its end. */
const trimmed = (text: string): string =>
  text
    .trim()
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

test("every number of a chain at a past instant is what SQL says; the strike nearest to the underlying is marked", async () => {
  const { page, complaints } = await openPage(world.browser);
  const calls = (await surface(noon)).filter((row) => row.option_type === "CALL");
  const shown = async (set: string, keys: readonly string[]): Promise<string[][]> => {
    await show(page, `${CHAIN}&at=${noon}&set=${set}`, `${TABLE} [data-cell=${keys[0]}]`);
    return Promise.all(keys.map((key) => callsOf(page, key)));
  };
  const fixed = (places: number, of: (row: SurfaceRow) => number | string | null): string[] =>
    calls.map((row) => {
      const value = of(row);
      return value === null ? "–" : Number(value).toFixed(places);
    });
  const percent = (of: (row: SurfaceRow) => number | null): string[] =>
    fixed(2, (row) => (of(row) === null ? null : 100 * Number(of(row))));
  const [{ strike } = { strike: "" }] = await rowsOf<{ strike: string }>(
    `select trim_scale(c.strike) as strike from chain_at('AAPL', $1) c
       where c.source = 'simulated' and c.expiration = '${FAR}' order by abs(c.strike - (
         select q.last from quotes q join instruments i on i.id = q.instrument_id
         where i.symbol = 'AAPL' and i.option_type is null and q.observed_at <= $1 order by q.observed_at desc limit 1)) limit 1`,
    [noon],
  );

  expect(calls.length).toBe(13);
  expect(calls.filter(({ iv_mid }) => iv_mid !== null).length).toBeGreaterThan(8);
  expect((await shown("prices", ["bid", "mid", "ask"])).map((column) => column.map(trimmed))).toEqual([
    calls.map(({ bid }) => trimmed(bid)),
    calls.map(({ mid }) => trimmed(mid)),
    calls.map(({ ask }) => trimmed(ask)),
  ]);
  expect(await shown("greeks", ["iv-bid", "iv", "iv-ask", "delta", "gamma", "vega", "theta"])).toEqual([
    percent(({ iv_bid }) => iv_bid),
    percent(({ iv_mid }) => iv_mid),
    percent(({ iv_ask }) => iv_ask),
    fixed(3, ({ delta }) => delta),
    fixed(4, ({ gamma }) => gamma),
    fixed(3, ({ vega }) => vega && vega / 100),
    fixed(3, ({ theta }) => theta && theta / 365),
  ]);
  expect(await shown("compare", ["service-delta"])).toEqual([fixed(3, (row) => row.service_delta)]);
  expect(Number(await page.locator("tr[data-money=at]").getAttribute("data-strike"))).toBe(Number(strike));
  expect(await page.locator("main .after").textContent()).toContain(
    "rate of 4 % and a dividend yield of 0 %",
  );
  expect(complaints).toEqual([]);
});

test("the chain of now follows the newest quotes", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `/chain?underlying=AAPL&expiration=${NEAR}`, TABLE);

  const agreed = await until(async () => {
    const expected = await rowsOf<{ call_mid: string }>(
      `select trim_scale(call_mid) as call_mid from option_chain_latest
       where underlying = 'AAPL' and expiration = '${NEAR}' and source = 'simulated' order by strike`,
    );
    const mids = (await callsOf(page, "mid")).map(trimmed);
    return JSON.stringify(mids) === JSON.stringify(expected.map((row) => row.call_mid));
  }, "the database's values in the chain");

  expect(agreed).toBe(true);
});

test("the slider shows a chain as it was and leaves no steps behind; going back to now is one; the address shows the same", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/quotes", "main h1");
  await page.getByRole("link", { name: "Chain" }).click();
  await page.waitForSelector(TABLE);
  await page.getByRole("tab").nth(1).click();
  await page.waitForSelector(`[role=tab][aria-selected=true]#tab-${FAR}`);

  const chain = await fetch(`${world.address}/api/chain?symbol=AAPL&expiration=${FAR}&source=2`);
  const { view } = (await chain.json()) as News<ChainView>;
  const last = new Date(stopsOf(view?.spans ?? [])[200] ?? NaN).toISOString();

  for (const stop of [210, 230, 200]) await page.locator("#time").fill(String(stop));
  // On a slow machine the slider stands still at the stops before, too.
  await page.waitForURL((url) => url.searchParams.get("at") === last);
  const address = page.url();
  const at = new URL(address).searchParams.get("at") ?? "";
  const expected = await rowsOf<{ bid: string }>(
    `select (select q.bid from quotes q where q.instrument_id = i.id and q.observed_at <= $1 order by q.observed_at desc limit 1) as bid
       from instruments i where i.symbol = 'AAPL' and i.expiration = '${FAR}' order by i.strike, i.option_type`,
    [at],
  );
  const bids = JSON.stringify(expected.map(({ bid }) => Number(bid)));
  const drawn = (wanted: string): boolean =>
    JSON.stringify(
      [...document.querySelectorAll("td[data-cell=bid]")].map((cell) => Number(cell.textContent)),
    ) === wanted;
  await page.waitForFunction(drawn, bids);
  expect(await page.locator("output").textContent()).not.toContain("now");
  expect(Object.fromEntries(new URL(address).searchParams)).toMatchObject({
    underlying: "AAPL",
    source: "2",
    expiration: FAR,
  });

  const { page: other } = await openPage(world.browser);
  await other.goto(address);
  await other.waitForFunction(drawn, bids);
  expect(await other.locator("#time").inputValue()).toBe("200");

  await page.getByRole("button", { name: "Now", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("output")?.textContent === "now");
  await page.goBack();
  expect(page.url()).toBe(address);
  await page.goBack();
  await page.waitForSelector("[role=tab][aria-selected=true]#tab-2026-12-18");
  await page.goBack();
  await page.waitForURL(/\/quotes/);
});

test("arrow keys go from one expiration to the next", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/chain?underlying=AAPL&expiration=2026-12-18", TABLE);

  await page.getByRole("tab").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector(`[role=tab][aria-selected=true]#tab-${FAR}`);

  expect(await page.evaluate(() => document.activeElement?.id)).toBe(`tab-${FAR}`);
});

const drawn = (picture: string): string => `[data-picture=${picture}] .curves > svg`;

/** What a picture tells as the mouse goes over it from left to right, and from where to where it tells each, px. */
async function sweep(page: Page, picture: string): Promise<{ told: string; from: number; to: number }[]> {
  await page.locator(`[data-picture=${picture}] .told`).scrollIntoViewIfNeeded();
  const chart = await page.locator(drawn(picture)).boundingBox();
  const told = page.locator(`[data-picture=${picture}] .told`);
  const found = new Map<string, { told: string; from: number; to: number }>();
  for (let x = 2; x < (chart?.width ?? 0); x += 6) {
    await page.mouse.move((chart?.x ?? 0) + x, (chart?.y ?? 0) + 60);
    // What is told is drawn with the next frame, on a slow machine too.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    const text = (await told.textContent()) ?? "";
    // The name of the axis stands there where the pointer is beside all points.
    if (text.includes("%")) found.set(text, { told: text, from: found.get(text)?.from ?? x, to: x });
  }
  return [...found.values()];
}

const percent = (iv: number | null): string => `${iv === null ? "–" : (100 * iv).toFixed(2)} %`;
const side = (name: string, row: SurfaceRow | undefined): string =>
  row ? `, ${name} ${percent(row.iv_mid)} (${percent(row.iv_bid)} to ${percent(row.iv_ask)})` : "";

test("below the pointer the smile tells the volatilities of SQL by strike, but those that are vague", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, drawn("smile"));
  const rows = (await surface(noon)).filter(
    ({ iv_bid, iv_mid, iv_ask }) => iv_mid && iv_bid !== null && iv_ask !== null && iv_ask - iv_bid <= iv_mid,
  );
  const strikes = [...new Set(rows.map(({ strike }) => Number(strike)))].sort((a, b) => a - b);
  const toldAt = (x: number): string => {
    const of = (type: string): SurfaceRow | undefined =>
      rows.find(({ strike, option_type }) => Number(strike) === x && option_type === type);
    return `Strike ${x}${side("calls", of("CALL"))}${side("puts", of("PUT"))}`;
  };

  const found = await sweep(page, "smile");

  expect(found.map(({ told }) => told)).toEqual(strikes.map(toldAt));
  expect(strikes.length).toBeGreaterThan(8);
  // The axis is linear: what is told changes halfway between neighbours.
  const middles = strikes.slice(1).map((x, place) => (x + (strikes[place] ?? 0)) / 2);
  const [first = 0, last = 0] = [found[0]?.to, found.at(-1)?.from];
  const [least = 0, most = 0] = [middles[0], middles.at(-1)];
  const away = middles.map((middle, place) => {
    const at = first + ((middle - least) / (most - least)) * (last - first);
    return Math.abs((found[place]?.to ?? NaN) - at);
  });
  expect(Math.max(...away)).toBeLessThan(12);
});

test("the term structure tells the means at the money that SQL gives, by expiration, and says so to who does not see them", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, drawn("term"));
  const expected = await rowsOf<{ expiration: string; iv: number }>(
    `select expiration::text, 100 * avg(iv_mid) as iv from surface_at('AAPL', $1) s
       where source = 'simulated' and iv_mid is not null and abs(strike - spot) = (
         select min(abs(o.strike - o.spot)) from surface_at('AAPL', $1) o
         where o.source = 'simulated' and o.expiration = s.expiration and o.iv_mid is not null)
       group by expiration order by expiration`,
    [noon],
  );

  const found = await sweep(page, "term");

  expect(expected).toHaveLength(2);
  const told = expected.map(({ expiration, iv }) => `${expiration}: ${iv.toFixed(2)} %`);
  expect(found.map((each) => each.told.replace(/, strike [\d.]+/, ""))).toEqual(told);
  const label = await page.locator(drawn("term")).getAttribute("aria-label");
  expect(label?.replace(/, strike [\d.]+/g, "")).toContain(told.join("; "));
});

test("tabs say how many days are left and the implied move, which is the straddle at the money that SQL gives", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, `#tab-${FAR} span`);
  const [{ days, straddle, percent: move } = { days: 0, straddle: "", percent: "" }] = await rowsOf<
    Record<"straddle" | "percent", string> & { days: number }
  >(
    `select '${FAR}'::date - ($1::timestamptz at time zone 'America/New_York')::date as days,
            trim_scale(sum(mid)) as straddle, round(100 * sum(mid) / avg(spot), 2) as percent
     from chain_at('AAPL', $1) where source = 'simulated' and expiration = '${FAR}'
     group by strike order by min(abs(strike - spot)) limit 1`,
    [noon],
  );

  expect(await page.locator(`#tab-${FAR}`).textContent()).toBe(`${FAR}${days} d ±${move} %`);
  expect(
    trimmed(
      /±([\d.]+)/.exec((await page.locator(`#tab-${FAR} span`).getAttribute("title")) ?? "")?.[1] ?? "",
    ),
  ).toBe(straddle);
});

/** Many strikes around 390 in place of those that are stored. */
const manyStrikes = (chain: ChainView): ChainView => ({
  ...chain,
  underlyingLast: "391",
  contracts: Array.from({ length: 60 }, (_, place) => 1 + place).flatMap((place) =>
    chain.contracts
      .slice(0, 2)
      .map((one) => ({ ...one, strike: String(90 + 10 * place), instrument: `${one.instrument}${place}` })),
  ),
});

test("a chain opens on the money with 12 strikes each side; all of them are a button; the head with the price stays in sight", async () => {
  const { page, complaints } = await openPage(world.browser, { height: 560 });
  await change(page, "chain?**", manyStrikes);
  await show(page, CHAIN, TABLE);
  const inSight = (selector: string): Promise<boolean> =>
    page.locator(selector).evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      const box = element.closest(".scroll")?.getBoundingClientRect();
      return box !== undefined && top >= box.top && bottom <= box.bottom && top >= 0 && bottom <= innerHeight;
    });
  const near = await page
    .locator(TABLE)
    .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-strike")));
  const opened = await inSight("tr[data-money]");

  await page.getByRole("button", { name: "All strikes" }).click();
  await page.waitForURL(/strikes=all/);
  await page.waitForSelector(`${TABLE}:nth-child(60)`);

  expect([near.length, near[0], near[12], near.at(-1)]).toEqual([25, "270", "390", "510"]);
  expect([opened, await inSight("tr[data-money]")]).toEqual([true, true]);
  await page.locator(TABLE).last().scrollIntoViewIfNeeded();
  expect(await page.locator("table.chain .at-price").textContent()).toBe("AAPL 391.00");
  expect(await inSight("table.chain .at-price")).toBe(true);
  expect(complaints).toEqual([]);
});

test("the sets of columns stand in the address, and the file is of what is shown", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, "td[data-cell=bid]");

  await page.getByRole("button", { name: "greeks" }).click();
  await page.waitForSelector("td[data-cell=theta]");
  const file = await page.getByRole("link", { name: "CSV" }).getAttribute("href");

  expect(page.url()).toContain("set=greeks");
  expect(await page.locator("td[data-cell=bid]").count()).toBe(0);
  expect(Object.fromEntries(new URL(file ?? "", world.address).searchParams)).toMatchObject({
    at: noon,
    expiration: FAR,
  });
  await page.goBack();
  await page.waitForSelector("td[data-cell=bid]");
});

test("from 1440 px on two expirations stand side by side, each with its head; below there is one", async () => {
  const { page } = await openPage(world.browser, { width: 1440, height: 900 });
  await show(
    page,
    `/chain?underlying=AAPL&source=2&expiration=${NEAR}&at=${noon}`,
    `section:nth-child(2) ${TABLE}`,
  );
  const heads = await page
    .locator("#chain h2")
    .evaluateAll((all) => all.slice(0, 2).map((one) => one.textContent));
  const rightMids = await page.locator("section:nth-child(2) td[data-cell=mid]").allTextContents();
  const expected = (await surface(noon)).map(({ mid }) => trimmed(mid));
  const widths = await page
    .locator("#chain .scroll")
    .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));

  expect(heads.map((head) => head?.slice(0, 10))).toEqual([NEAR, FAR]);
  expect(heads.every((head) => /\d d ±\d+\.\d\d %$/.test(head ?? ""))).toBe(true);
  expect(rightMids.map(trimmed)).toEqual(expected);
  expect(widths).toEqual([0, 0]);

  await page.getByLabel("Expiration beside it").selectOption({ label: "one alone" });
  await page.waitForSelector("td[data-cell=volume]");
  expect([await page.locator("table.chain").count(), page.url().includes("beside=none")]).toEqual([1, true]);
  await page.getByLabel("Expiration beside it").selectOption({ label: `beside it: ${FAR}` });
  await page.waitForSelector(`section:nth-child(2) ${TABLE}`);
  await page.setViewportSize({ width: 1439, height: 900 });
  await page.waitForFunction(() => document.querySelectorAll("table.chain").length === 1);
});

test("where the service says more, a chain shows it beside ours, but no difference from what is vague, and underlines what stands still", async () => {
  const { page, complaints } = await openPage(world.browser);
  await change<ChainView>(page, "chain?**", (chain) => ({
    ...chain,
    contracts: chain.contracts.map((one, place): Contract => ({
      ...one,
      ...{ openInterest: String(1_000 + place), serviceIvMid: "0.31", ivDifference: 0.0123 },
      ...{ ivMid: 0.32, ivBid: place === 0 ? null : 0.3, ivAsk: 0.34 },
      stillSince: place === 0 ? "2026-11-20T15:10:00.000000Z" : null,
    })),
  }));
  await show(page, `${CHAIN}&at=${noon}&set=compare`, TABLE);
  // The vague one is dim. All are, while the numbers are old.
  await page.waitForFunction(() => {
    const cells = [...document.querySelectorAll("td[data-cell=iv]")].slice(0, 2);
    return new Set(cells.map((cell) => getComputedStyle(cell).color)).size === 2;
  });

  expect((await callsOf(page, "service-iv"))[0]).toBe("31.00");
  expect((await callsOf(page, "iv-difference")).slice(0, 2)).toEqual(["–", "1.23"]);
  expect(await page.locator("table.chain td.still").first().getAttribute("title")).toContain(
    "stands still: bid and ask are of 2026-11-20 10:10",
  );
  expect(await page.locator("[data-standing]").textContent()).toContain(
    "1 contract whose bid and ask stand still",
  );
  await page.getByRole("button", { name: "prices" }).click();
  await page.waitForSelector("td[data-cell=oi]");
  expect((await callsOf(page, "oi"))[0]).toBe("1,000");
  expect(complaints).toEqual([]);
});

test("a contract leads to its history, of the same source", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, TABLE);

  await page.locator(`${TABLE}[data-strike="390"] td[data-cell=mid] a`).first().click();
  await page.waitForURL(/\/instrument/);

  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    name: `AAPL:${FAR}:CALL:390`,
    source: "2",
  });
});

test("a chain 360 pixels wide has a row for each contract, and a choice of sides", async () => {
  const { page, complaints } = await openPage(world.browser, { width: 360, height: 740 });
  await show(page, `${CHAIN}&at=${noon}`, TABLE);
  const rows = await surface(noon);

  const both = await page.locator(TABLE).count();
  const names = await texts(page, `${TABLE} th`);
  await page.getByRole("button", { name: "puts" }).click();
  await page.waitForURL(/side=puts/);
  const puts = await callsOf(page, "bid");

  expect(both).toBe(26);
  expect(names).toEqual(rows.map(({ strike, option_type }) => `${strike}${option_type.slice(0, 1)}`));
  expect(puts.map(trimmed)).toEqual(
    rows.filter(({ option_type }) => option_type === "PUT").map(({ bid }) => trimmed(bid)),
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect(
    await page
      .locator(`${TABLE} td`)
      .evaluateAll((cells) =>
        cells.every(
          (cell) => cell.getBoundingClientRect().right <= 360 && cell.scrollWidth <= cell.clientWidth,
        ),
      ),
  ).toBe(true);
  expect(complaints).toEqual([]);
});

test("SIMULATED stands once, in the bar on top; where sources are mixed, at each underlying", async () => {
  const { page } = await openPage(world.browser);
  await show(page, CHAIN, TABLE);
  const once = [await page.locator("header .sim").count(), await page.locator("main .sim").count()];
  const choices = await page.getByLabel("Underlying").count();
  await change<ChainKey[]>(page, "chains*", (keys) => [
    ...keys,
    ...keys.map((key): ChainKey => ({ ...key, source: "account", sourceId: 1, sourceName: "account" })),
  ]);
  await page.route("**/api/now", async (route) => {
    const now = (await (await route.fetch()).json()) as NowView;
    await route.fulfill({ json: { ...now, page: { ...now.page, mixed: true } } });
  });

  await show(page, CHAIN, "main .bar .sim");

  expect([once, choices]).toEqual([[1, 0], 0]);
  expect(await page.locator("main .bar .sim").count()).toBe(1);
  expect(await page.getByLabel("Underlying").locator("option").allTextContents()).toEqual([
    "AAPL SIMULATED",
    "AAPL account",
  ]);
});

test("an underlying of which no options are stored is said so, and others are offered", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/chain?underlying=NOTHING", ".empty");

  expect(await page.locator(".empty").textContent()).toContain("No options of NOTHING are stored");
  await page.getByLabel("Underlying").selectOption({ label: "AAPL" });
  await page.waitForSelector(TABLE);
});
