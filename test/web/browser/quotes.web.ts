/** Five thousand instruments: what is drawn and what goes over the wire; the search; watchlists; small widths. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { systemClock } from "../../../src/clock.ts";
import { writeWatchlists } from "../../../src/web/app/lib/watchlistFile.ts";
import { freshDatabase, poolOn } from "../../support/database.ts";
import { until } from "../../support/until.ts";
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

/** Paths of what a page asks for from now on. */
function watchPaths(page: Page): string[] {
  const paths: string[] = [];
  page.on("request", (request) => paths.push(new URL(request.url()).pathname));
  return paths;
}

test("five thousand instruments are all in the table, of which only what is in sight is drawn", async () => {
  const { page, complaints } = await show("/quotes");

  const drawn = await page.locator(ROWS).count();
  const table = page.locator("table.quotes");

  expect(drawn).toBeGreaterThan(15);
  expect(drawn).toBeLessThan(MOST_DRAWN);
  expect(await table.getAttribute("aria-rowcount")).toBe(String(CROWD + 1));
  expect(await page.locator(".found-of").textContent()).toContain("5,008 of 5,008");
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2_500);
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

test("five thousand instruments are sorted and searched as a whole, and the wire carries nothing for it", async () => {
  const { page } = await show("/quotes");
  const paths = watchPaths(page);

  await page.locator("th[data-column=volume]").click();
  await page.locator("th[data-column=volume]").click();
  const [dearest] = await names(page);
  await page.getByRole("searchbox").fill("number 2999");
  const found = await names(page);
  expect(dearest).toMatch(/^AAPL:2099-/);
  expect(found).toEqual(["S2999"]);
  expect(paths.filter((path) => path.startsWith("/api/"))).toEqual([]);
});

test("a minute of all of them comes as one packed event, and draws no more rows", async () => {
  const { page } = await show("/quotes?kind=securities", { at: wire.address });
  const before = wire.received();

  await quoteCrowd(pool, 1);
  await page.waitForFunction(() =>
    document.querySelector('tr[data-instrument="AAPL"] td')?.textContent?.startsWith("2.02"),
  );
  const all = (
    await (await fetch(`${address}/api/quotes`, { headers: { "accept-encoding": "identity" } })).text()
  ).length;

  expect(all).toBeGreaterThan(1_500_000);
  expect(wire.received() - before).toBeGreaterThan(10_000);
  expect(wire.received() - before).toBeLessThan(all / 8);
  expect(await page.locator(ROWS).count()).toBeLessThan(MOST_DRAWN);
});

test("cost Now nothing: no quote is asked for, and sixty events are less than 50 kB", async () => {
  const { page } = await show("/", { drawn: "[data-testid=calls-used]", at: wire.address });
  await page.waitForFunction(() => document.querySelectorAll(".accounts li").length === 4);
  const paths = watchPaths(page);
  // Each look finds other figures, so each event changes how many calls wait.
  const queued = page.locator(".accounts li").first();
  const before = wire.received();
  let events = 0;

  await quoteCrowd(pool, 2);
  for (let text = await queued.textContent(); events < 12; events++) {
    const last = text;
    text = await until(async () => queued.textContent().then((next) => next !== last && next), "an event");
  }
  const bytes = (wire.received() - before) / events;

  expect(bytes).toBeGreaterThan(10);
  expect(bytes * 60).toBeLessThan(50_000);
  expect(paths.filter((path) => /quotes|bars/.test(path))).toEqual([]);
  process.stderr.write(`Now: ${Math.round(bytes)} bytes a second.\n`);
});

test.each(["/", "/chain", "/coverage"])("five thousand instruments: %s loads no quotes", async (path) => {
  const { page } = await openPage(browser);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url().replace(address, "")));

  await page.goto(address + path);
  await page.waitForFunction(() => document.querySelector(".connection[data-state=live]"));
  await page.waitForSelector("h1");

  expect(asked).toContain("/api/events");
  expect(asked.filter((each) => each.includes("quotes"))).toEqual([]);
});

test("an instrument's view asks for its own series", async () => {
  const { page } = await openPage(browser);
  const asked: URL[] = [];
  page.on("request", (request) => asked.push(new URL(request.url())));

  await page.goto(`${address}/instrument?name=tsla`);
  await page.waitForSelector(".ticker");

  const quotes = asked.filter(({ pathname }) => pathname === "/api/quotes");
  expect(quotes.map(({ searchParams }) => searchParams.get("names"))).toEqual(["TSLA"]);
  expect(
    asked.some((each) => each.pathname === "/api/events" && each.searchParams.get("quotes") === "TSLA"),
  ).toBe(true);
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

test("the mark SIMULATED stands on no row of an archive of one source, and beside no heading", async () => {
  const { page } = await show("/quotes");

  expect(await page.locator("header .sim").count()).toBe(1);
  expect(await page.locator("main .sim").count()).toBe(0);
  expect(await page.locator("th[data-column=source]").count()).toBe(0);
});

test("the mark SIMULATED stands on rows where sources are mixed, and once where those shown are not", async () => {
  const other = await freshDatabase();
  await other.pool.query(`
      insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
      values (1, 'CS', 'AAPL', now(), now()), (2, 'CS', 'GE', now(), now());
      insert into quotes (observed_at, instrument_id, source_id, delayed, last)
      values (now(), 1, 1, false, 10), (now(), 1, 2, false, 11), (now(), 2, 2, false, 12)`);
  const { followOwnRows } = await import("../../support/archive.ts");
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

test("360 pixels wide a watchlist of all columns shows each in every row, by its name, and one of the usual ones on demand", async () => {
  const { page, complaints } = await show("/quotes", { width: 360, height: 740 });
  const instruments = Array.from({ length: 120 }, (_, place) => `S${String(1_000 + place)}`);
  const columns = "last change pct bid ask bidSize askSize spread volume delta age description".split(" ");
  await page.evaluate(
    (lists) => localStorage.setItem("quotekeeper-watchlists", lists),
    writeWatchlists([{ name: "All", instruments, columns }]),
  );
  const cells = (): Promise<
    { column: string; name: string; text: string; left: number; right: number; top: number }[]
  > =>
    page
      .locator(ROWS)
      .nth(1)
      .locator("td")
      .evaluateAll((all) =>
        all
          .filter((cell) => cell.checkVisibility())
          .map((cell) => {
            const { left, right, top } = cell.getBoundingClientRect();
            const { column = "", name = "" } = (cell as HTMLElement).dataset;
            return { column, name, text: cell.textContent ?? "", left, right, top };
          }),
      );
  const usual = (await cells()).map(({ column }) => column);
  await page.getByRole("button", { name: "More columns" }).click();
  await page.waitForSelector(`${ROWS} td[data-name=Volume]`);
  const more = (await cells()).map(({ column }) => column);

  await page.goto(`${address}/quotes?list=All`);
  await page.waitForSelector(`${ROWS} td[data-name=Delta]`);
  const all = await cells();
  const overlaps = all.flatMap((one, place) =>
    all
      .slice(place + 1)
      .filter(
        (other) =>
          Math.abs(one.top - other.top) < 5 &&
          one.name !== "" &&
          one.left < other.right &&
          other.left < one.right,
      ),
  );
  await page.mouse.wheel(0, 6_000);
  await page.waitForFunction(
    () => Number(document.querySelector("tr[data-row]")?.getAttribute("data-row")) > 20,
  );
  // What is drawn stands where it would if all were: the last one ends where the table does.
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const last = page.locator('tr[data-instrument="S1119"]');
  await last.waitFor();
  const gap = await last.evaluate((row) => {
    const table = row.closest("table")?.getBoundingClientRect().bottom ?? 0;
    return Math.abs(table - row.getBoundingClientRect().bottom);
  });

  expect(usual.sort()).toEqual(["age", "ask", "bid", "change", "last", "pct"]);
  expect(more.sort()).toEqual([...usual, "spread", "volume", "description"].sort());
  expect(all.map(({ column }) => column).sort()).toEqual([...columns].sort());
  expect(all.find(({ column }) => column === "description")?.text).toMatch(/^COMPANY NUMBER \d+$/);
  expect(all.filter(({ name }) => name !== "").map(({ name }) => name)).toEqual([
    "Bid size",
    "Ask size",
    "Spread",
    "Volume",
    "Delta",
    "Description",
  ]);
  expect(overlaps).toEqual([]);
  expect(Math.max(...all.map(({ right }) => right))).toBeLessThanOrEqual(360);
  expect(gap).toBeLessThan(3);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

const field = "[role=combobox][data-slash]";

test.each(["/", "/quotes", "/coverage", "/chain"])(
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
  await page.keyboard.type("aapl 2099-01-16 55");
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll(".top [role=option] b")].map(
      (name) => name.textContent ?? "",
    );
    return names.length > 0 && names.every((name) => /^AAPL:2099-01-16:(CALL|PUT):55/.test(name));
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

test("the search for an instrument has those used last, also after the page is opened anew", async () => {
  const { page } = await show("/", { drawn: ".connection[data-state=live]" });
  for (const name of ["msft", "tsla"]) {
    await page.locator(field).fill(name);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`h1:text("${name.toUpperCase()}")`);
  }

  await page.goto(`${address}/coverage`);
  await page.waitForSelector(field);
  await page.keyboard.press("/");
  await page.waitForSelector("text=Last used");

  expect(await page.locator(".top [role=option] b").allTextContents()).toEqual(["TSLA", "MSFT"]);
});

/** One with these instruments, made as a reader makes it. */
async function make(page: Page, instruments: readonly string[]): Promise<void> {
  await page.getByRole("button", { name: "Watchlists…" }).click();
  await page.getByRole("button", { name: "New list" }).click();
  for (const name of instruments) {
    await page.getByRole("combobox", { name: "Add an instrument" }).fill(name);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`.order li:has-text("${name}")`);
  }
}
const order = (page: Page): Promise<string[]> => page.locator(".order li > span").allTextContents();

test("a watchlist asks for its instruments alone, in the columns that were chosen, and is there again", async () => {
  const { page, complaints } = await show("/quotes");
  const asked: URL[] = [];
  await make(page, ["TSLA", "AAPL", "MSFT"]);
  await page.getByLabel("Name of the list").fill("Tech");
  await page.getByLabel("Name of the list").press("Enter");
  for (const name of ["Bid", "Ask", "Spread", "Age", "Description", "Change", "%"])
    await page.getByLabel(name, { exact: true }).uncheck();
  await page.getByLabel("Bid size").check();
  await page.waitForURL(/list=Tech/);
  page.on("request", (request) => asked.push(new URL(request.url())));

  await page.reload();
  await page.waitForSelector(ROWS);
  const headings = await page.locator("table.quotes thead th").allTextContents();
  const quotes = asked.filter(({ pathname }) => pathname === "/api/quotes");

  expect(await names(page)).toEqual(["TSLA", "AAPL", "MSFT"]);
  expect(headings).toEqual(["Instrument", "Last", "Bid size", "Volume"]);
  expect([...new Set(quotes.map(({ search }) => search))]).toEqual([
    "?columns=last%2CbidSize%2Cvolume%2CstillSince&names=TSLA%2CAAPL%2CMSFT",
  ]);
  expect(complaints).toEqual([]);
});

test("a watchlist is put in order with the keys and by dragging", async () => {
  const { page } = await show("/quotes");
  await make(page, ["AAPL", "MSFT", "TS", "TSLA"]);

  await page.getByRole("button", { name: /^Move AAPL/ }).focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector(".order li > span")?.textContent === "MSFT");
  await page.waitForFunction(() =>
    document.activeElement?.getAttribute("aria-label")?.startsWith("Move AAPL, 2"),
  );
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelectorAll(".order li > span")[2]?.textContent === "AAPL");
  const byKeys = await order(page);
  const from = await page.getByRole("button", { name: /^Move TSLA/ }).boundingBox();
  const to = await page.getByRole("button", { name: /^Move MSFT/ }).boundingBox();
  if (!from || !to) throw new Error("no handles");
  await page.mouse.move(from.x + 5, from.y + 5);
  await page.mouse.down();
  await page.mouse.move(to.x + 5, to.y + 2, { steps: 6 });
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector(".order li > span")?.textContent === "TSLA");

  expect(byKeys).toEqual(["MSFT", "TS", "AAPL", "TSLA"]);
  expect(await order(page)).toEqual(["TSLA", "MSFT", "TS", "AAPL"]);
  // The rows of another order are asked for, and come.
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll<HTMLElement>("table.quotes tbody tr[data-row]")]
        .map((row) => row.dataset["instrument"])
        .join() === "TSLA,MSFT,TS,AAPL",
  );

  await page.getByRole("button", { name: "Remove TS", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".order li").length === 3);
  expect(await faultsOf(page)).toEqual([]);
});

test("a watchlist goes along as a file into another browser; a file that is none says what is wrong with it", async () => {
  const { page } = await show("/quotes");
  await make(page, ["MSFT", "TSLA"]);
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const download = await waiting;
  const file = readFileSync(await download.path(), "utf8");

  const { page: other } = await show("/quotes");
  await other.getByRole("button", { name: "Watchlists…" }).click();
  const give = (text: string) =>
    other
      .locator("input[type=file]")
      .setInputFiles({ name: "lists.json", mimeType: "application/json", buffer: Buffer.from(text) });
  await give(file.replace('"last"', '"price"'));
  await other.waitForSelector(".lists .note");
  const refused = await other.locator(".lists .note").textContent();
  await give(file);
  await other.waitForSelector("text=Taken: Watchlist 1.");
  await other.getByLabel("Watchlist", { exact: true }).selectOption("Watchlist 1");
  await other.waitForFunction(() => document.querySelectorAll("table.quotes tbody tr").length === 2);

  expect(download.suggestedFilename()).toBe("quotekeeper-watchlists.json");
  expect(refused).toMatch(
    /WATCHLISTS_UNREADABLE.*watchlists\[0\]\.columns\[0\] is "price", expected one of last, /,
  );
  expect(await other.locator(".lists .note").count()).toBe(0);
  expect(await names(other)).toEqual(["MSFT", "TSLA"]);
  await other.goBack();
  await other.waitForFunction(() => document.querySelector(".found-of")?.textContent?.includes("5,008"));
});
