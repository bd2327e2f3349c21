import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import type { AccountView } from "../../../src/archive/ask/accountsTypes.ts";
import type { Live, LiveAccount, NowView } from "../../../src/web/api/types.ts";
import { until } from "../../support/until.ts";
import { faultsOf } from "./faults.ts";
import { openPage, openWorld, texts, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});

async function show(page: Page, path: string, drawn: string): Promise<void> {
  await page.goto(world.address + path);
  await page.waitForSelector(drawn);
}

async function rowsOf<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await world.pool.query<Row>(sql, values)).rows;
}

test("now: prices, jobs, calls and what keeps them are those of the database and of the files", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/", ".glance li");
  const [{ n: instruments, version } = { n: "", version: "" }] = await rowsOf<{ n: string; version: string }>(
    "select count(*) as n, split_part(current_setting('server_version'), ' ', 1) as version from instruments",
  );

  const agreed = await until(async () => {
    const shown = await texts(page, ".glance b");
    const rows = await rowsOf<{ last: string }>(
      `select distinct on (symbol) symbol, round(last, greatest(2, scale(last))) as last from latest_quotes
       where source = 'simulated' and option_type is null order by symbol, observed_at desc`,
    );
    return rows.length > 0 && rows.every(({ last }) => shown.includes(last));
  }, "the database's prices at a glance");

  expect(agreed).toBe(true);
  expect(await page.locator("[aria-labelledby=collected]").textContent()).toContain(
    `and ${Number(instruments) - 12} more`,
  );
  // The plan is made beside the answer, and may come later.
  await page.waitForSelector(".fits b");
  const cards = page.locator(".job-cards li");
  expect(await cards.locator("h3").allTextContents()).toEqual([
    "aapl-options aapl-options.yaml",
    "us-equities us-equities.yaml",
  ]);
  expect(await cards.first().textContent()).toMatch(/next poll in \d+:\d\d, 18 calls/);
  expect(await page.locator(".fits").textContent()).toMatch(/It fits: 19 of 60 calls in 60 s at most/);
  expect(await page.locator(".lines").textContent()).toContain(`PostgreSQL ${version}`);
  expect(await page.locator(".verdict").getAttribute("data-tone")).toBe("good");
  expect(await page.locator("main").textContent()).not.toMatch(
    /governor|second client|loader|dead letter|Nothing|None/i,
  );
  expect(await page.title()).toContain("SIMULATED");
});

type Latest = { name: string; last: string; bid: string; ask: string; volume: string };

// A price has two decimals, and all that it has.
const LATEST = `select concat_ws(':', symbol, expiration, option_type, trim_scale(strike)) as name,
  round(last, greatest(2, scale(last))) as last, round(bid, greatest(2, scale(bid))) as bid,
  round(ask, greatest(2, scale(ask))) as ask, volume
  from latest_quotes where source = 'simulated' order by expiration nulls first, symbol, strike, option_type`;

test("quotes: every price and volume is the database's, digit for digit", async () => {
  // High enough that all rows are in sight, and drawn.
  const { page } = await openPage(world.browser, { height: 4_000 });
  await show(page, "/quotes", "table.quotes tbody tr");

  const shown = await until(async () => {
    const expected = (await rowsOf<Latest>(LATEST)).map(({ name, last, bid, ask, volume }) =>
      [name, last, bid, ask, volume].join(" "),
    );
    const cells = await Promise.all(
      ["th a", "td:nth-of-type(1)", "td:nth-of-type(4)", "td:nth-of-type(5)", "td:nth-of-type(7)"].map(
        (cell) => texts(page, `table.quotes tbody tr ${cell}`),
      ),
    );
    const rows = cells[0]?.map((_, row) => cells.map((column) => column[row]).join(" "));
    return rows !== undefined && JSON.stringify(rows) === JSON.stringify(expected) && rows;
  }, "the database's values in the table");

  expect(shown.length).toBeGreaterThanOrEqual(22);
  expect(await page.locator(".sim").count()).toBe(2);
});

test("an archive that cannot be read says what to do, the mark SIMULATED stays, and it goes on by itself", async () => {
  const { page } = await openPage(world.browser);
  const error = {
    code: "DATABASE_UNREACHABLE",
    detail: "it is away",
    hint: "Start the server.",
    person: false,
  };
  await page.route("**/api/quotes?*", (route) => route.fulfill({ status: 503, json: { error } }));

  await page.goto(`${world.address}/quotes`);
  await page.waitForSelector(".note");

  expect(await page.locator(".note").textContent()).toContain("Start the server.");
  expect(await page.locator(".note").getAttribute("data-tone")).toBe("calm");
  expect(await page.locator("header .sim").textContent()).toBe("SIMULATED");

  await page.unroute("**/api/quotes?*");
  await page.waitForSelector("table.quotes tbody tr");
  await page.waitForSelector(".note", { state: "detached" });

  expect(await page.locator(".note").count()).toBe(0);
});

test("an error that needs a person is red, with its remedy; one that heals by itself is not", async () => {
  const { page } = await openPage(world.browser);
  const now = (await (await fetch(`${world.address}/api/now`)).json()) as NowView & { live: Live };
  const problem = {
    code: "SERVICE_UNAUTHORIZED",
    detail: "401",
    hint: "Check the credentials.",
    person: true,
    accounts: [],
  };
  const passing = { ...problem, code: "SERVICE_ERROR", person: false };
  const line = {
    subject: "service",
    state: "attention",
    text: "SERVICE_UNAUTHORIZED: the same in other words",
  };
  await tellNow(page, {
    ...now,
    live: { ...now.live, problems: [problem, passing], secondClient: 14 },
    status: { ...now.status, lines: [line, { ...line, subject: "slots", text: "20 missed" }] },
  });

  await show(page, "/", "[data-testid=calls-used]");

  const banner = page.locator(".verdict");
  expect(await banner.getAttribute("data-tone")).toBe("alarm");
  expect(await banner.innerText()).toMatch(/Needs attention:\s+service, slots\. What to do: see below\./);
  // Told once, and the banner leads to both.
  expect(await page.locator(".lines").textContent()).not.toContain("SERVICE_UNAUTHORIZED");
  for (const [name, led] of [
    ["slots", "20 missed"],
    ["see below", "Check the credentials."],
  ] as const) {
    await banner.getByRole("link", { name }).click();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain(led);
    expect(await page.locator(":focus").evaluate((box) => box.getBoundingClientRect().top)).toBeGreaterThan(
      40,
    );
  }
  expect(await page.locator(".note[data-tone=alarm]").textContent()).toContain("Check the credentials.");
  expect(await page.locator(".note[data-tone=calm]").textContent()).toContain("SERVICE_ERROR");
  expect(await page.locator("[aria-labelledby=calls]").textContent()).toContain("about 14 calls a minute");
});

/** Has the page told this Now view alone. */
async function tellNow(page: Page, view: object): Promise<void> {
  await page.route("**/api/now", (route) => route.fulfill({ json: view }));
}

/** The Now view of a collector with these accounts, and nothing else changed. */
async function showAccounts(page: Page, accounts: readonly Partial<LiveAccount>[]): Promise<void> {
  const now = (await (await fetch(`${world.address}/api/now`)).json()) as NowView & { live: Live };
  const [first] = now.live.accounts;
  const live = { ...now.live, accounts: accounts.map((account) => ({ ...first, ...account })) };
  const problems = live.accounts.flatMap(({ name, problem }) =>
    problem ? [{ ...problem, accounts: [name] }] : [],
  );
  const fleet = { at: now.at, collectors: [], takeOvers: [], accounts: accounts.map(accountOf) };
  await tellNow(page, { ...now, live: { ...live, problems }, fleet });
  await show(page, "/", "[data-testid=calls-used]");
}

/** What the archive says of such an account. */
const accountOf = ({ name = "", state = "active" }: Partial<LiveAccount>): AccountView => ({
  ...{
    name,
    state,
    limit: 60,
    windowMs: 60_000,
    calls: 0,
    serviceUsed: null,
    serviceLimit: null,
    serviceRemaining: null,
  },
  ...{ owner: "vm", fence: 1, renewedAgoMs: 0, takeOvers: 0, takesPart: true },
  shares: [{ job: "us", slots: 60, due: 120, stored: 100, missed: 20 }],
});

const REFUSED: Partial<LiveAccount> = {
  name: "second",
  state: "refused",
  problem: { code: "SERVICE_UNAUTHORIZED", detail: "401", hint: "Check the credentials.", person: true },
};
const CLOSED: Partial<LiveAccount> = {
  name: "third-of-a-long-name-that-nobody-would-give",
  phase: "closed",
  closedForMs: 40_000,
  callsUsed: 60,
  secondClient: 7,
  queued: 12,
  limit: 40,
};

test.each([{ width: 1280 }, { width: 360 }])(
  "of several accounts the one that is refused is named at once, and the others stay as they are, $width pixels wide",
  async ({ width }) => {
    const { page, complaints } = await openPage(world.browser, { width });

    await showAccounts(page, [{ name: "main" }, REFUSED, CLOSED, { name: "spare", state: "drained" }]);

    const banner = page.locator(".verdict");
    expect(await banner.getAttribute("data-tone")).toBe("alarm");
    expect(await banner.textContent()).toMatch(
      /SERVICE_UNAUTHORIZED.* second is refused by the service; third-\S+ waits for its budget: the service refused a call\. Going on: 1 of 4 accounts\./,
    );
    expect(await page.locator(".note").allTextContents()).toEqual([
      expect.stringMatching(/^SERVICE_UNAUTHORIZED second: 401\./),
    ]);
    const rows = page.locator("[aria-labelledby=accounts] tbody tr");
    expect(await rows.evaluateAll((all) => all.map((row) => row.children[1]?.textContent))).toEqual([
      "active",
      "refused",
      "waits 40 s: the service refused a call",
      "drained",
    ]);
    expect(await rows.nth(2).locator("td").last().textContent()).toBe("20 of 120");
    expect(await rows.nth(2).locator("[role=meter]").getAttribute("aria-valuenow")).toBe("40");
    expect(await page.locator("[data-testid=calls-used]").count()).toBe(1);
    const wide = await page.evaluate(() =>
      [...document.querySelectorAll("main *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth)
        .map((one) => one.outerHTML.slice(0, 100)),
    );
    expect(wide).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await faultsOf(page)).toEqual([]);
    expect(complaints.filter((line) => !/ERR_FAILED/.test(line))).toEqual([]);
  },
);

test("of several accounts one that waits for its budget is named calmly, and one account alone has no row", async () => {
  const { page } = await openPage(world.browser);
  await showAccounts(page, [{ name: "main" }, CLOSED]);
  const banner = page.locator(".verdict");

  expect(await banner.getAttribute("data-tone")).toBe("calm");
  expect(await banner.textContent()).toMatch(
    /third-\S+ waits for its budget: the service refused a call\. Going on: 1 of 2 accounts\./,
  );

  const { page: alone } = await openPage(world.browser);
  await show(alone, "/", "[data-testid=calls-used]");

  expect(await alone.locator("[aria-labelledby=accounts]").count()).toBe(0);
});

test("while the collector starts Now says so, and not that none runs in this process", async () => {
  const { page } = await openPage(world.browser);
  const now = (await (await fetch(`${world.address}/api/now`)).json()) as NowView;
  await tellNow(page, { ...now, live: null });

  await show(page, "/", ".job-cards >> text=the collector is starting");

  expect(now.collects).toBe(true);
  expect(await page.locator("main").textContent()).not.toMatch(/No collector runs|elsewhere/);
});

test("an address of no view says so, with the way back", async () => {
  const { page } = await openPage(world.browser);

  const response = await page.goto(`${world.address}/nowhere`);
  await page.waitForSelector("h1");

  expect(response?.status()).toBe(404);
  expect(await page.locator("h1").textContent()).toBe("There is no such view");
  expect(await page.getByRole("link", { name: "Quotes" }).count()).toBe(1);
});

/** Every part of the bar that is seen: where it is, and what it says. */
async function barParts(page: Page) {
  return page.locator(".top").evaluate((bar) => {
    const parts = [
      ...bar.querySelectorAll(".brand, .sim, .views-button, #views a, .find input, .top-end > *"),
    ];
    return parts
      .filter((part) => part.checkVisibility())
      .map((part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        return { name: part.textContent?.trim() ?? "", left, right, top, bottom };
      });
  });
}

test.each([320, 360, 480, 640, 641, 768, 1000, 1001, 1024, 1240, 1241, 1280, 1400, 1401, 1560, 1561])(
  "%d pixels wide the bar has its marks, the view, the search and the clock side by side, also with a market that closes and a login",
  async (width) => {
    const { page } = await openPage(world.browser, { width });
    const now = (await (await fetch(`${world.address}/api/now`)).json()) as NowView;
    const market = { phase: "closed", date: null, opensAt: "2026-11-30T14:30:00Z", closesAt: null };
    const protectedPage = { ...now.page, protected: true };
    await tellNow(page, { ...now, page: protectedPage, market, feed: { simulated: false, address: "x" } });

    await show(page, "/coverage", ".market");
    await page.getByRole("button", { name: "Log out" }).waitFor();
    const parts = await barParts(page);
    const named = (name: string) => parts.filter((part) => part.name.startsWith(name));

    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(parts.filter(({ left, right }) => left < 0 || right > width)).toEqual([]);
    const overlaps = parts.flatMap((one, place) =>
      parts
        .slice(place + 1)
        .filter((other) => one.left < other.right - 1 && other.left < one.right - 1)
        .filter((other) => one.top < other.bottom - 1 && other.top < one.bottom - 1)
        .map((other) => [one.name, other.name]),
    );
    expect(overlaps).toEqual([]);
    expect(await page.locator(".market").textContent()).toContain("Closed");
    for (const selector of [".top .sim", ".top .market", ".top .connection", ".top [data-slash]"])
      expect([selector, await page.locator(selector).isVisible()]).toEqual([selector, true]);
    expect(named("Coverage")).toHaveLength(1);
    expect(named("Chain")).toHaveLength(width > 1000 ? 1 : 0);
    // The bar is no higher than what sticks below it takes it for.
    const lines = new Set(parts.map(({ top }) => Math.round(top / 20)));
    expect(lines.size).toBeLessThanOrEqual(width > 640 ? 2 : 4);
    const [height, taken] = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("div"));
      probe.style.height = "var(--top)";
      return [document.querySelector(".top")?.clientHeight ?? 0, probe.clientHeight];
    });
    expect(Math.abs(height - taken)).toBeLessThanOrEqual(4);
  },
);

test("on a phone the view's name opens the list of views, by keys and by touch, and the focus is never lost", async () => {
  const { page, complaints } = await openPage(world.browser, { width: 360, height: 740 });
  await show(page, "/chain", "[role=tab]");
  const button = page.locator(".views-button");
  const list = page.locator("#views");
  const state = async () => ({
    open: await list.isVisible(),
    told: await button.getAttribute("aria-expanded"),
    focus: await page.evaluate(() => document.activeElement?.textContent?.trim().slice(0, 20)),
  });

  await button.focus();
  await page.keyboard.press("Enter");
  await list.waitFor();
  const faults = await faultsOf(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const second = await state();
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "hidden" });
  const escaped = await state();
  await button.click();
  await list.waitFor();
  // Below the list.
  await page.mouse.click(180, 720);
  await list.waitFor({ state: "hidden" });
  const left = await state();
  await button.click();
  await list.waitFor();
  await page.keyboard.press("/");
  await list.waitFor({ state: "hidden" });
  const searching = await page.evaluate(() => document.activeElement?.hasAttribute("data-slash"));
  await button.click();
  await page.getByRole("link", { name: "Chain", exact: true }).click();
  await list.waitFor({ state: "hidden" });
  const same = await state();
  await button.click();
  await page.getByRole("link", { name: "Coverage" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:text('Coverage')");
  await page.waitForFunction(() => document.activeElement?.closest("main") !== null);

  expect(faults).toEqual([]);
  expect(second).toEqual({ open: true, told: "true", focus: "Quotes" });
  expect(escaped).toEqual({ open: false, told: "false", focus: "Chain" });
  expect([left.open, left.told, searching]).toEqual([false, "false", true]);
  expect(same).toEqual({ open: false, told: "false", focus: "Chain" });
  expect(await state()).toMatchObject({ open: false, told: "false" });
  expect(await button.textContent()).toBe("Coverage");
  expect(complaints).toEqual([]);
});

test("the switch goes from the system's theme to light and to dark, and is kept", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/", "[data-testid=calls-used]");
  const background = (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const system = await background();

  await page.getByRole("button", { name: /Theme/ }).click();
  const light = await background();
  await page.reload();
  await page.waitForSelector("[data-testid=calls-used]");

  expect(light).not.toBe(system);
  expect(await background()).toBe(light);
});

test("alone over the archive: a token is asked for, the cookie is out of a script's reach, and Now says that nothing collects", async () => {
  const token = "a-token-of-the-test-0123456789";
  const address = await world.run("web", { QUOTEKEEPER_WEB_TOKEN: token });
  const { page } = await openPage(world.browser);

  await page.goto(address);
  await page.getByLabel("Token of this dashboard").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForSelector(".note");
  const refused = await page.locator(".note").textContent();
  await page.getByLabel("Token of this dashboard").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForSelector(".verdict");
  await page.waitForSelector(".job-cards >> text=polled by a collector elsewhere");

  expect(refused).toContain("TOKEN_WRONG");
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect((await page.context().cookies()).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
    { httpOnly: true, sameSite: "Strict" },
  ]);
});
