/** Health, Jobs and Accounts in a browser: the ledger and the answers of a live collection, and what it did before. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import type { JobsView } from "../../../src/web/api/types.ts";
import { faultsOf } from "./faults.ts";
import { HOLE, PAST_JOB, SYMBOLS } from "./history.ts";
import { openPage, openWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
  // Some calls of a slot of the past at which something was missed, one of them refused.
  await world.pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, rate_limit_used,
       rate_limit_remaining, rate_limit_limit, body_bytes, journal_segment, journal_offset)
     select slot_at + n * interval '1.5 s', 2, gen_random_uuid(), slot_at + n * interval '1 s', $1,
       '{"form":"symbols","symbols":["KO","PFE","IBM","GE"],"delayed":false}', case n when 2 then 403 else 200 end,
       case n when 2 then 'quota_fault' else 'quotes' end, 58 + n, 2 - n, 60, 4321, 'segment-of-the-past', 1000 * n
     from (select max(slot_at) as slot_at from misses where job = $1 and reason = 'transport') s, generate_series(1, 2) n`,
    [PAST_JOB],
  );
});

async function show(page: Page, path: string, drawn: string): Promise<void> {
  await page.goto(world.address + path);
  // A busy server may end a statement after 5 s, and the view says so: it is loaded again.
  for (;;) {
    const shown = page.locator(drawn).or(page.locator(".note[role=alert], .note[role=status]")).first();
    await shown.waitFor({ state: "attached" });
    if ((await page.locator(drawn).count()) > 0) return;
    await page.reload();
  }
}

async function rowsOf<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await world.pool.query<Row>(sql, values)).rows;
}

test.each([360, 1280])("a slot and its calls fit a page %d pixels wide, without a fault", async (width) => {
  const { page, complaints } = await openPage(world.browser, { width, height: 900 });

  await show(page, "/health?span=4+weeks", ".holes tbody button");
  await page.locator(".holes tbody button").first().click();
  await page.waitForSelector(".slot .missed");

  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test("a reason, a slot and its calls are one click each, and the address has them all", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/health?span=4+weeks", ".columns rect[data-tone=down]");

  await page.getByRole("button", { name: /^no answer/ }).click();
  await page.waitForSelector(".holes h2:has-text('no answer')");
  const [slot] = await rowsOf<{ at: Date; n: string }>(
    "select max(slot_at)::text as at, (select count(*) from misses where reason = 'transport') as n from misses where reason = 'transport'",
  );
  // The slots of all reasons stand there until the answer comes. Two instruments each.
  await page.waitForFunction(
    (count) => document.querySelectorAll(".holes .tall tbody tr").length === count,
    Number(slot?.n) / 2,
  );
  await page.locator(".holes tbody button").first().click();
  await page.waitForSelector(".calls tbody tr");

  const address = new URL(page.url()).searchParams;
  expect(Date.parse(address.get("slot") ?? "")).toBe(Date.parse(String(slot?.at)));
  expect(address.get("reason")).toBe("transport");
  // Two instruments each.
  expect(await page.locator(".holes .tall").first().locator("tbody tr").count()).toBe(Number(slot?.n) / 2);
  expect(await page.locator(".calls tbody tr").allTextContents()).toEqual([
    expect.stringMatching(/^KO, PFE and 2 more.*quotes.*200.*1.5 s.*59 of 60.*segment-of-the-past at 1000$/),
    expect.stringMatching(/quota_fault.*403.*3.0 s.*60 of 60.*at 2000$/),
  ]);
  await page.reload();
  await page.waitForSelector(".calls tbody tr");
  await page.goBack();
  await page.waitForSelector(".slot", { state: "detached" });
});

test("a column is reached with the keys, and leads to its slots; the hour alone can be looked at", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/health?span=4+weeks", ".columns rect[data-tone=down]");
  const misses = page.getByRole("group", { name: "Missed, by reason by the hour" });

  await misses.getByRole("button").last().focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: /^Look at/ }).click();

  await page.waitForSelector("h2:has-text('by the minute')");
  await page.waitForSelector(".holes tbody tr");
  // The hole of 42 minutes ends at minute 142 after the open: the last hour has some of them.
  const { from, to } = Object.fromEntries(new URL(page.url()).searchParams);
  const [counted] = await rowsOf<{ n: number }>(
    "select count(*)::int as n from slots where missed > 0 and slot_at >= $1 and slot_at < $2",
    [from, to],
  );
  // Those of the whole time stand there until the answer comes.
  await page.waitForFunction(
    (count) => document.querySelectorAll(".holes tbody tr").length === count,
    counted?.n,
  );
  expect(counted?.n).toBeLessThanOrEqual(HOLE.to - HOLE.from);
});

test("the jobs that run are shown with what the plan says, and a broken file with its mistakes at their lines", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/jobs", ".asks .facts");
  const { dir, plan } = (await (await fetch(`${world.address}/api/jobs`)).json()) as JobsView;

  // Twelve symbols are a call, and each contract is one.
  expect(plan).toMatchObject({ fits: true, mostAMinute: 19, callsPerPass: 19, limit: 60 });
  // On a half day there are fewer.
  const [session] = await rowsOf<{ minutes: number }>(
    "select (extract(epoch from post_at - pre_at) / 60)::int as minutes from sessions where pre_at = $1",
    [plan?.minutes[0]?.at],
  );
  expect(plan?.minutes).toHaveLength(session?.minutes ?? 0);
  expect(await page.locator(".asks > li").count()).toBe(2);
  expect(await page.locator(".asks > li").last().textContent()).toContain(SYMBOLS.join(", "));
  const file = join(dir, "wrong.yaml");
  writeFileSync(file, 'name: wrong\nschedule: "* * * *"\nsymbols: [AAPL]\ncolour: red\n');
  try {
    await page.waitForSelector(".broken .mistake");
    const marked = await page.locator(".source li[data-wrong]").allTextContents();
    expect(marked.map((text) => text.slice(0, 8))).toEqual(["schedule", "colour: "]);
    expect(await page.locator(".asks > li").count()).toBe(2);
  } finally {
    rmSync(file);
  }
  await page.waitForSelector(".broken", { state: "detached" });
});

test("an account shows its budget, its collector and its jobs; what changes hands appears by itself", async () => {
  const { page } = await openPage(world.browser);
  await show(page, "/accounts", ".collectors li");
  const [collector] = await rowsOf<{ name: string; id: string }>("select name, id from collectors");

  expect(await page.locator(".budgets > li").textContent()).toMatch(/default.*of 60 in 60 s.*Called by/);
  expect(await page.locator(".collectors li").textContent()).toContain(
    `${collector?.name} runningcalls default`,
  );
  await world.pool.query(
    "insert into lease_history values (1, 999, clock_timestamp(), $1, 'quotes-b', 'expired', $2)",
    [collector?.id, collector?.name],
  );
  // The same collector, started again: of that the account stays where it was.
  await world.pool.query(
    "insert into lease_history values (1, 998, clock_timestamp(), $1, 'quotes-c', 'released', 'quotes-c'), (1, 997, clock_timestamp(), $1, 'quotes-d', 'restarted', 'quotes-e')",
    [collector?.id],
  );

  await page.waitForSelector(".taken tr[data-how=expired][data-fresh]");
  expect(await page.locator(".taken tr[data-how=expired]").textContent()).toContain(
    `defaultquotes-b${collector?.name}not heard of any more`,
  );
  await page.waitForResponse(/api\/accounts/);
  expect(
    await page.locator(".taken tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset["how"])),
  ).toEqual(["expired", "new"]);
});
