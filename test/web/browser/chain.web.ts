import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import type { ChainKey, ChainView, CoverageView } from "../../../src/archive/ask/dashboardTypes.ts";
import { instantOfStop } from "../../../src/web/app/lib/strikes.ts";
import { until } from "../../support/until.ts";
import { HOLE, PAST_JOB } from "./history.ts";
import { openPage, openWorld, texts, type World } from "./world.ts";

const FAR = "2027-01-15";
const CHAIN = `/chain?underlying=AAPL&source=2&expiration=${FAR}`;
const MANY = 5_000;

let world: World;
/** Two instants of the past at which contracts had been quoted, ISO 8601. */
let noon: string;
let later: string;
beforeAll(async () => {
  world = await openWorld();
  await addMany();
  const rows = await rowsOf<{ at: string }>(
    `select to_char(b.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at from session_bars b
     join instruments i on i.id = b.instrument_id
     where i.expiration = '${FAR}' and i.option_type = 'CALL' and i.strike = 390 order by b.date`,
  );
  noon = new Date(Date.parse(rows[0]?.at ?? "") - 3 * 3_600_000).toISOString();
  later = new Date(Date.parse(rows[2]?.at ?? "") - 2 * 3_600_000).toISOString();
});

/** A job of thousands of instruments in the ledger: twenty dates, all of them missed once a day, some more often. */
async function addMany(): Promise<void> {
  await world.pool.query(
    `insert into due_sets (digest, instruments)
     select 'many', array_agg('S' || lpad(n::text, 4, '0')) from generate_series(1, ${MANY}) n`,
  );
  await world.pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select 'many', d + time '15:00' + m * interval '5 minutes', 2, ${MANY},
            ${MANY} - lost, lost, (select id from due_sets where digest = 'many')
     from generate_series(current_date - 20, current_date - 1, interval '1 day') d, generate_series(0, 30) m,
          lateral (select case when m = 3 then ${MANY} when m % 10 = 0 then 100 else 0 end as lost) l`,
  );
  await world.pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select job, slot_at, 2, '*', 'down' from slots where job = 'many' and stored = 0
     union all
     select job, slot_at, 2, 'S' || lpad((1 + n * 37 % ${MANY})::text, 4, '0'), 'budget'
     from slots, generate_series(1, 100) n where job = 'many' and missed = 100`,
  );
}

async function rowsOf<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await world.pool.query<Row>(sql, values)).rows;
}

async function show(page: Page, path: string, drawn: string): Promise<void> {
  await page.goto(world.address + path);
  await page.waitForSelector(drawn);
}

const TABLE = "table.chain tbody tr";

type SurfaceRow = Record<"strike" | "option_type" | "bid" | "mid" | "ask", string> &
  Record<
    "iv_bid" | "iv_mid" | "iv_ask" | "delta" | "gamma" | "vega" | "theta" | "moneyness",
    number | null
  > & {
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
const trimmed = (text: string): string => text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

test("every number of a chain at a past instant is what SQL says; the strike nearest to the underlying is marked", async () => {
  const { page, complaints } = await openPage(world.browser);
  const columns = "iv-bid,iv,iv-ask,delta,service-delta,gamma,vega,theta,bid,mid,ask";
  await show(page, `${CHAIN}&at=${noon}&columns=${columns}`, TABLE);
  const rows = await surface(noon);

  const calls = rows.filter((row) => row.option_type === "CALL");
  const fixed = (value: number | null | undefined, places: number): string =>
    value === null || value === undefined ? "–" : value.toFixed(places);
  const shown = await Promise.all(columns.split(",").map((key) => callsOf(page, key)));
  const [{ strike } = { strike: "" }] = await rowsOf<{ strike: string }>(
    `select trim_scale(c.strike) as strike from chain_at('AAPL', $1) c
       where c.source = 'simulated' and c.expiration = '${FAR}' order by abs(c.strike - (
         select q.last from quotes q join instruments i on i.id = q.instrument_id
         where i.symbol = 'AAPL' and i.option_type is null and q.observed_at <= $1 order by q.observed_at desc limit 1)) limit 1`,
    [noon],
  );

  expect(calls.length).toBe(13);
  expect(calls.filter(({ iv_mid }) => iv_mid !== null).length).toBeGreaterThan(8);
  const prices = shown.splice(-3).map((column) => column.map(trimmed));
  expect(prices).toEqual([
    calls.map(({ bid }) => trimmed(bid)),
    calls.map(({ mid }) => trimmed(mid)),
    calls.map(({ ask }) => trimmed(ask)),
  ]);
  expect(shown).toEqual([
    calls.map((row) => fixed(row.iv_bid === null ? null : 100 * row.iv_bid, 2)),
    calls.map((row) => fixed(row.iv_mid === null ? null : 100 * row.iv_mid, 2)),
    calls.map((row) => fixed(row.iv_ask === null ? null : 100 * row.iv_ask, 2)),
    calls.map((row) => fixed(row.delta, 3)),
    calls.map((row) => fixed(row.service_delta === null ? null : Number(row.service_delta), 3)),
    calls.map((row) => fixed(row.gamma, 4)),
    calls.map((row) => fixed(row.vega === null ? null : row.vega / 100, 3)),
    calls.map((row) => fixed(row.theta === null ? null : row.theta / 365, 3)),
  ]);
  expect(Number(await page.locator("tr[data-money=at]").getAttribute("data-strike"))).toBe(Number(strike));
  expect(await page.locator("main .after").textContent()).toContain(
    "rate of 4 % and a dividend yield of 0 %",
  );
  expect(complaints).toEqual([]);
});

test("the chain of now follows the newest quotes", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/chain?underlying=AAPL&expiration=2026-12-18&columns=bid,mid,service-delta", TABLE);

  const agreed = await until(async () => {
    const expected = await rowsOf<{ strike: string; call_mid: string; call_delta: string }>(
      `select trim_scale(strike) as strike, trim_scale(call_mid) as call_mid, round(call_delta, 3) as call_delta
         from option_chain_latest where underlying = 'AAPL' and expiration = '2026-12-18' and source = 'simulated' order by strike`,
    );
    const [mids, deltas] = [await callsOf(page, "mid"), await callsOf(page, "service-delta")];
    return (
      JSON.stringify([mids.map(trimmed), deltas.map(Number)]) ===
      JSON.stringify([
        expected.map(({ call_mid }) => call_mid),
        expected.map(({ call_delta }) => Number(call_delta)),
      ])
    );
  }, "the database's values in the chain");

  expect(agreed).toBe(true);
});

test("the slider shows a chain as it was and leaves no steps behind; going back to now is one; the address shows the same", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/coverage", "[data-instrument]");
  await page.getByRole("link", { name: "Chain" }).click();
  await page.waitForSelector(TABLE);
  await page.getByRole("tab").nth(1).click();
  await page.waitForSelector(`[role=tab][aria-selected=true]#tab-${FAR}`);

  const chain = await fetch(`${world.address}/api/chain?symbol=AAPL&expiration=${FAR}&source=2`);
  const { spans } = (await chain.json()) as ChainView;
  const last = instantOfStop(spans, 200);

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
  await page.waitForFunction(() => document.querySelector("output")?.textContent === "now, live");
  await page.goBack();
  expect(page.url()).toBe(address);
  await page.goBack();
  await page.waitForSelector("[role=tab][aria-selected=true]#tab-2026-12-18");
  await page.goBack();
  await page.waitForURL(/\/coverage/);
});

test("arrow keys go from one expiration to the next", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/chain?underlying=AAPL&expiration=2026-12-18", TABLE);

  await page.getByRole("tab").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector(`[role=tab][aria-selected=true]#tab-${FAR}`);

  expect(await page.evaluate(() => document.activeElement?.id)).toBe(`tab-${FAR}`);
});

const drawn = (picture: string): string => `[data-picture=${picture}] .curves[data-drawn]`;

/** What a picture tells as the mouse goes over it from left to right, and from where to where it tells each, px. */
async function sweep(page: Page, picture: string): Promise<{ told: string; from: number; to: number }[]> {
  await page.locator(`[data-picture=${picture}] .told`).scrollIntoViewIfNeeded();
  const chart = await page.locator(drawn(picture)).boundingBox();
  const told = page.locator(`[data-picture=${picture}] .told`);
  const found = new Map<string, { told: string; from: number; to: number }>();
  for (let x = 2; x < (chart?.width ?? 0) - 80; x += 6) {
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

test("below the pointer the smile tells the volatilities of SQL, against strike and moneyness, of the instant that is chosen", async () => {
  const { page } = await openPage(world.browser);
  const check = async (at: string, axis: "strike" | "moneyness"): Promise<void> => {
    await show(page, `${CHAIN}&at=${at}&x=${axis}`, drawn("smile"));
    const rows = (await surface(at)).filter(({ iv_mid }) => iv_mid !== null);
    // A call and a put of a strike have different moneyness where the underlying's price has changed between them.
    const xs = [...new Set(rows.map((row) => Number(row[axis])))].sort((a, b) => a - b);
    const toldAt = (x: number): string => {
      const of = (type: string): SurfaceRow | undefined =>
        rows.find((row) => Number(row[axis]) === x && row.option_type === type);
      const name = axis === "strike" ? `Strike ${x}` : `S/K ${x.toFixed(3)}`;
      return `${name}${side("calls", of("CALL"))}${side("puts", of("PUT"))}`.replaceAll("– %", "–");
    };

    const found = await sweep(page, "smile");

    // Points of one place are one for the pointer.
    const pointed = xs.filter((x) => found.some(({ told }) => told === toldAt(x)));
    expect(found.map(({ told }) => told)).toEqual(pointed.map(toldAt));
    expect(pointed.length).toBeGreaterThan(8);
    if (axis === "strike") expect(pointed).toEqual(xs);
    // The axis is linear: what is told changes halfway between neighbours.
    const middles = pointed.slice(1).map((x, place) => (x + (pointed[place] ?? 0)) / 2);
    const [first = 0, last = 0] = [found[0]?.to, found.at(-1)?.from];
    const [least = 0, most = 0] = [middles[0], middles.at(-1)];
    const away = middles.map((middle, place) => {
      const at = first + ((middle - least) / (most - least)) * (last - first);
      return Math.abs((found[place]?.to ?? NaN) - at);
    });
    expect(Math.max(...away)).toBeLessThan(12);
  };

  await check(noon, "strike");
  await check(later, "moneyness");
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

test("the table stands before the pictures, the underlying's price stays in sight in its head, and tabs say how many days are left", async () => {
  const { page } = await openPage(world.browser, { height: 500 });
  await show(page, `${CHAIN}&at=${noon}`, drawn("smile"));
  const [{ last, days } = { last: "", days: 0 }] = await rowsOf<{ last: string; days: number }>(
    `select round(q.last, greatest(2, scale(q.last))) as last,
         '${FAR}'::date - ($1::timestamptz at time zone 'America/New_York')::date as days
       from quotes q join instruments i on i.id = q.instrument_id
       where i.symbol = 'AAPL' and i.option_type is null and q.observed_at <= $1 order by q.observed_at desc limit 1`,
    [noon],
  );

  await page.locator(TABLE).last().scrollIntoViewIfNeeded();

  const price = page.locator("table.chain thead .at-price");
  expect(await price.textContent()).toBe(`AAPL ${last}`);
  expect((await price.boundingBox())?.y).toBeGreaterThan(0);
  expect(await page.locator(`#tab-${FAR}`).textContent()).toBe(`${FAR}${days} d`);
  const [table, smile] = [page.locator("table.chain"), page.locator("[data-picture=smile]")];
  expect((await smile.boundingBox())?.y).toBeGreaterThan((await table.boundingBox())?.y ?? Infinity);
});

test("filters and columns stand in the address, and both table and picture follow", async () => {
  const { page } = await openPage(world.browser);
  await show(page, `${CHAIN}&at=${noon}`, TABLE);
  const near = (await surface(noon)).filter(({ moneyness }) => Math.abs((moneyness ?? 9) - 1) <= 0.05);

  await page.getByLabel("Moneyness").selectOption("5");
  await page.waitForURL(/within=5/);
  await page.locator("summary").click();
  await page.getByLabel("Gamma").check();
  await page.locator(".menu").getByLabel("Volume", { exact: true }).uncheck();
  await page.waitForURL(/columns=last%2Civ%2Cdelta%2Cgamma%2Cbid%2Cmid%2Cask/);
  const strikes = new Set(near.map(({ strike }) => strike));
  const points = await sweep(page, "smile");
  const file = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");

  expect(Object.fromEntries(new URL(file ?? "", world.address).searchParams)).toMatchObject({ at: noon });
  expect(await page.locator(TABLE).count()).toBe(strikes.size);
  expect(strikes.size).toBeLessThan(13);
  expect(points.filter(({ told }) => told.includes("calls"))).toHaveLength(
    near.filter((row) => row.option_type === "CALL" && row.iv_mid !== null).length,
  );
  expect(await page.locator("td[data-cell=gamma]").count()).toBe(near.length);
  expect(await page.locator("td[data-cell=volume]").count()).toBe(0);

  await page.locator(".choice select").nth(1).selectOption("1000");
  await page.waitForSelector("text=No contract passes the filter");
  await page.goBack();
  await page.waitForSelector(TABLE);
});

test("where the service says more, a chain shows open interest and its volatility beside ours, and underlines what stands still", async () => {
  const { page, complaints } = await openPage(world.browser);
  const since = "2026-11-20T15:10:00.000000Z";
  await page.route("**/api/chain?**", async (route) => {
    const chain = (await (await route.fetch()).json()) as ChainView;
    const contracts = chain.contracts.map((one, place) => ({
      ...one,
      ...{ openInterest: String(1_000 + place), serviceIvMid: "0.31", ivDifference: 0.0123 },
      stillSince: place === 0 ? since : null,
    }));
    await route.fulfill({ json: { ...chain, contracts } });
  });
  await show(page, `${CHAIN}&at=${noon}`, TABLE);

  expect((await callsOf(page, "oi"))[0]).toBe("1,000");
  expect((await callsOf(page, "service-iv"))[0]).toBe("31.00");
  expect((await callsOf(page, "iv-difference"))[0]).toBe("1.23");
  const still = page.locator("table.chain td.still");
  expect(await still.first().getAttribute("title")).toContain(
    "stands still: bid and ask are of 2026-11-20 10:10",
  );
  expect(await page.locator("[data-standing]").textContent()).toContain(
    "1 contract whose bid and ask stand still",
  );
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
  await show(page, `${CHAIN}&at=${noon}&pictures=off`, TABLE);
  const rows = await surface(noon);

  const both = await page.locator(TABLE).count();
  const names = await texts(page, `${TABLE} th`);
  await page.getByRole("button", { name: "puts" }).click();
  await page.waitForURL(/side=puts/);
  const puts = await callsOf(page, "bid");

  expect(both).toBe(26);
  expect(names.map((name) => name.replace("ATM", ""))).toEqual(
    rows.map(({ strike, option_type }) => `${strike}${option_type.slice(0, 1)}`),
  );
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
  const plain = await page.getByLabel("Underlying").locator("option").allTextContents();
  const keys = (await (await fetch(`${world.address}/api/chains`)).json()) as ChainKey[];
  const bought = keys.map((key) => ({ ...key, source: "account", sourceId: 1, sourceName: "account" }));
  await page.route("**/api/chains", (route) => route.fulfill({ json: [...keys, ...bought] }));

  await show(page, CHAIN, TABLE);

  expect(once).toEqual([1, 0]);
  expect(plain).toEqual(["AAPL"]);
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

const FIELD = "[data-place]";

test("each field of Coverage says what the ledger says, a click tells why, and the way leads to the chart of that day", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/coverage?search=JPM", FIELD);
  const date = world.dates.at(-2) ?? "";
  const cell = page.locator(`tr[data-instrument=JPM] ${FIELD}`).filter({ hasText: /./ }).first();
  const [row] = await rowsOf<{ expected: string; stored: string; missed: string }>(
    "select expected, stored, missed from coverage_daily where instrument = 'JPM' and date = $1",
    [date],
  );

  await cell.click();
  await page.waitForSelector(".why .missed");
  const why = (await page.locator(".why").textContent()) ?? "";

  expect(Number(row?.missed)).toBe(HOLE.to - HOLE.from);
  expect(await cell.getAttribute("aria-label")).toContain(`${row?.stored} of ${row?.expected} stored`);
  expect(why).toContain(`${row?.missed} not running`);
  expect(why).toContain(`job ${PAST_JOB}`);
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    search: "JPM",
    instrument: "JPM",
    source: "simulated",
    date,
  });

  await page.getByRole("link", { name: "Chart of this day" }).click();
  await page.waitForURL(/\/instrument/);
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
    name: "JPM",
    source: "2",
    from: date,
    to: date,
  });
  await page.goBack();
  await page.waitForSelector(".why .missed");
  expect(await page.locator("[aria-selected=true] [data-place]").getAttribute("aria-label")).toContain("JPM");
});

test("arrow keys go from field to field, Enter tells why, and the reasons are those of the field", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/coverage", FIELD);
  await page.locator(".heat button[data-level=part]").first().focus();
  const from = await page.evaluate(() => document.activeElement?.getAttribute("data-place") ?? "");

  await page.keyboard.press("ArrowDown");
  const to = await page.evaluate(() => document.activeElement?.getAttribute("data-place") ?? "");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".why-sum");
  const [row = 0, column = 0] = from.split("/").map(Number);

  expect(to).toBe(`${row + 1}/${column}`);
  expect(await page.locator(".why h2").textContent()).toContain(
    (await page.locator(`tr:has([data-place="${to}"])`).getAttribute("data-instrument")) ?? "nothing",
  );

  await page.goto(`${world.address}/coverage?span=3+months&search=JPM`);
  await page.locator(".heat button[data-level=empty]").first().click();
  await page.waitForSelector("text=Nothing was due");
});

test("of thousands of instruments Coverage draws those that are seen, and keys and search reach each", async () => {
  const { page, complaints } = await openPage(world.browser);
  const answered = page.waitForResponse((response) => response.url().includes("/api/coverage"));
  await show(page, "/coverage?span=1+month", FIELD);
  const view = (await (await answered).json()) as CoverageView;
  const [last] = await rowsOf<{ instrument: string }>(
    `select instrument from coverage_daily where date >= current_date - 31
       group by instrument order by sum(missed) / sum(expected), instrument like '%:%' desc, instrument desc limit 1`,
  );
  const rowCount = await page.locator("table.heat").getAttribute("aria-rowcount");
  const drawn = await page.locator("table.heat tbody tr[data-instrument]").count();

  await page.locator(FIELD).first().focus();
  await page.keyboard.press("Control+End");
  await page.waitForSelector(`tr[aria-rowindex="${view.rows.length + 1}"]`);
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  await page.getByRole("searchbox").fill("S4999");
  await page.waitForSelector('table.heat[aria-rowcount="2"]');
  const found = await page.locator("tr[data-instrument]").getAttribute("data-instrument");

  expect(view.rows.length).toBeGreaterThan(MANY);
  expect(Number(rowCount)).toBe(view.rows.length + 1);
  expect(drawn).toBeLessThan(60);
  expect(focused).toContain(last?.instrument ?? "nothing");
  expect(found).toBe("S4999");
  expect(page.url()).toContain("search=S4999");
  expect(complaints).toEqual([]);
});

test("the address has the filters, choices are steps for Back, and the map uses the width of the page", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/coverage", FIELD);
  await page.getByRole("searchbox").pressSequentially("KO");
  await page.getByRole("button", { name: "Only what misses something" }).click();
  await page.getByRole("button", { name: "1 month" }).click();
  await page.waitForURL(/span=1/);
  const address = page.url();
  const { page: other } = await openPage(world.browser);
  await other.goto(address);
  await other.waitForSelector(FIELD);

  expect(await texts(other, "tr[data-instrument] th")).toEqual(["KO"]);
  expect(await other.locator("[aria-pressed=true]").allTextContents()).toEqual([
    "1 month",
    "Only what misses something",
  ]);
  const table = await other
    .locator("table.heat")
    .evaluate((element) => element.getBoundingClientRect().width);
  const room = await other.locator(".heat-scroll").evaluate((element) => element.clientWidth);
  const all = await other.locator(".heat-and-why").evaluate((element) => element.clientWidth);
  expect(table).toBeGreaterThanOrEqual(room - 1);
  expect(all).toBeGreaterThan(1_280 - 40);

  await page.goBack();
  await page.goBack();
  expect(page.url()).toContain("search=KO");
  expect(page.url()).not.toContain("missing");
});

test("in Coverage 360 pixels wide an instrument is a line, and leads to its dates, their reasons and the chart", async () => {
  const { page, complaints } = await openPage(world.browser, { width: 360, height: 740 });
  await show(page, "/coverage?search=JPM", ".heat-list [data-instrument]");
  const date = world.dates.at(-2) ?? "";

  await page.locator("[data-instrument=JPM] button").click();
  await page.locator(".heat-days button").filter({ hasText: "−42" }).click();
  await page.waitForSelector(".heat-days .missed");

  expect(await page.locator(".day-facts").textContent()).toContain("42 not running");
  expect(await page.getByRole("link", { name: "Chart of this day" }).getAttribute("href")).toContain(
    `from=${date}&to=${date}`,
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "All instruments" }).click();
  await page.waitForSelector(".heat-list [data-instrument=JPM]");
  expect(complaints).toEqual([]);

  await page.goto(`${world.address}/coverage`);
  await page.waitForSelector(".heat-list li");
  expect(await page.locator(".heat-list li").count()).toBeLessThan(60);
  expect(Number(await page.locator(".heat-list li").first().getAttribute("aria-setsize"))).toBeGreaterThan(
    MANY,
  );
});

test("SIMULATED stands once, in the bar on top; at each row only where sources are mixed", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/coverage", FIELD);
  const once = [await page.locator("header .sim").count(), await page.locator("main .sim").count()];
  const view = (await (
    await fetch(`${world.address}/api/coverage?from=${world.dates[0]}&to=${world.dates.at(-1)}`)
  ).json()) as CoverageView;
  const row = { instrument: "REAL", source: "account", cells: view.dates.map(() => 5) };
  await page.route("**/api/coverage?**", (route) =>
    route.fulfill({ json: { ...view, rows: [row, ...view.rows.slice(0, 3)] } }),
  );

  await show(page, "/coverage", FIELD);

  expect(once).toEqual([1, 0]);
  expect(await page.locator("main .sim").count()).toBe(3);
  expect(await page.locator("tr[data-instrument=REAL] .tag").textContent()).toBe("account");
});
