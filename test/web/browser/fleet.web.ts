/** A take-over as it happens: two collectors share the accounts of a service, and a page shows who calls what. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { type CollectorProcess, startCollector } from "../../faults/kit/collector.ts";
import { accountVariables, accountYaml, credentialsOf } from "../../support/accounts.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { faultsOf } from "./faults.ts";
import { openBrowser, openPage, startProgram } from "./world.ts";

const NAMES = ["main", "second", "third", "fourth"];
const COLLECTORS = ["one", "two"];

const { url, pool } = await freshDatabase();
const dir = tempDir();
const collectors = new Map<string, CollectorProcess>();
let env: Record<string, string>;
let bin: string;
let page: Page;

/** The service is a program too, with a key for each account. */
beforeAll(async () => {
  bin = compileProgram(join(dir, "program"));
  const keys = NAMES.flatMap((name) => ["--key", Object.values(credentialsOf(name)).join(":")]);
  const service = await startProgram(bin, ["serve", "--source", "simulated", "--port", "0", ...keys], {
    directory: dir,
    env: {},
    says: /(http:\/\/127\.0\.0\.1:\d+)/,
  });
  const jobsDir = join(dir, "jobs");
  mkdirSync(jobsDir);
  const accounts = NAMES.map((name) => accountYaml(name, { baseUrl: service }));
  writeFileSync(join(jobsDir, "accounts.yaml"), `accounts:\n${accounts.join("")}`);
  const symbols = Array.from({ length: 40 }, (_, place) => `SIM${`${place}`.padStart(4, "0")}`);
  writeFileSync(
    join(jobsDir, "us.yaml"),
    `name: us\nschedule: "*/5 * * * * *"\nsession: always\nsymbols: [${symbols.join(", ")}]\n`,
  );
  env = { ...accountVariables(...NAMES), DATABASE_URL: url, QUOTEKEEPER_JOBS_DIR: jobsDir };
  for (const name of COLLECTORS) start(name);
  const address = await startProgram(bin, ["web"], {
    directory: dir,
    env: { ...env, QUOTEKEEPER_DATA_DIR: join(dir, "web") },
    says: /^Dashboard +(\S+)/m,
  });
  const browser = await openBrowser();
  const opened = await openPage(browser);
  page = opened.page;
  await until(shared, "two accounts each");
  await page.goto(`${address}/accounts`);
});

afterAll(async () => {
  for (const collector of collectors.values()) await collector.kill();
});

function start(name: string): void {
  const dataDir = join(dir, name);
  collectors.set(name, startCollector(bin, { ...env, QUOTEKEEPER_DATA_DIR: dataDir }, dir));
}

/** The names they gave themselves, in the order in which they were started. */
async function names(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; pid: number }>("select name, pid from collectors");
  return COLLECTORS.map((one) => rows.find(({ pid }) => pid === collectors.get(one)?.pid)?.name ?? "");
}

/** Whether each of two collectors has two accounts. */
async function shared(): Promise<boolean> {
  const owners = Object.values(await leases()).map(({ owner }) => owner);
  return (
    owners.length === 4 &&
    new Set(owners).size === 2 &&
    owners.filter((one) => one === owners[0]).length === 2
  );
}

/** Who has each account, by the leases themselves; those that were given back are nobody's. */
async function leases(): Promise<Record<string, { owner: string; since: string }>> {
  const { rows } = await pool.query<{ account: string; owner: string; since: string }>(
    `select a.name as account, c.name as owner, l.granted_at as since from leases l join accounts a on a.id = l.account_id
     join collectors c on c.id = l.holder where not l.released and l.expires_at > clock_timestamp()`,
  );
  return Object.fromEntries(rows.map(({ account, ...lease }) => [account, lease]));
}

/** A time of day as the exchange's clocks show it. */
function timeOf(instant: string): string {
  const zone = { timeZone: "America/New_York", hourCycle: "h23" } as const;
  return new Date(instant).toLocaleTimeString("en-GB", zone);
}

/** What the card of an account says under a name. */
async function fact(account: string, name: string): Promise<string> {
  const card = page.getByRole("listitem", { name: account, exact: true });
  return card.locator(`dt:text-is("${name}") + dd`).innerText();
}

/** A file name's worth of what is on the page, where somebody wants to look. */
async function look(name: string): Promise<void> {
  const pictures = process.env["PICTURES"];
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** Those that one collector has go to the other one: by the page itself, which was loaded once. */
async function seenTakenOver(from: string, to: string, how: string, gone: string[]): Promise<void> {
  await page.waitForFunction(
    ([accounts, owner]) =>
      accounts.every((name) => {
        const card = document.querySelector(`.budgets [aria-label="${name}"][data-hands=fresh]`);
        return card?.querySelector(".hands b")?.textContent === owner;
      }),
    [gone, to] as const,
  );
  const now = await leases();
  for (const name of gone) {
    expect(now[name]?.owner).toBe(to);
    expect(await fact(name, "Called by")).toBe(to);
    expect(await fact(name, "Since")).toContain(timeOf(now[name]?.since ?? ""));
    const row = page.locator(`.taken tr[data-fresh][data-how=${how}]`, { hasText: name }).first();
    expect(await row.locator("td").allInnerTexts()).toEqual([
      expect.stringContaining(timeOf(now[name]?.since ?? "")),
      name,
      to,
      from,
      expect.anything(),
    ]);
  }
  expect(await page.evaluate(() => performance.getEntriesByType("navigation").length)).toBe(1);
  expect(await page.evaluate(() => (window as { loadedOnce?: true }).loadedOnce)).toBe(true);
}

test("a collector that is ended gives its accounts to the other one, and one that is killed loses them, while the page is open", async () => {
  const [first = "", second = ""] = await names();
  await page.waitForFunction(() => document.querySelectorAll(".budgets > li").length === 4);
  await page.evaluate(() => void Object.assign(window, { loadedOnce: true }));
  await until(async () => (await fact("main", "Called by")) !== "nobody", "the page following");
  const before = await leases();
  const ofFirst = NAMES.filter((name) => before[name]?.owner === first);
  await look("1-before");
  expect(ofFirst).toHaveLength(2);

  await collectors.get("one")?.end();

  await seenTakenOver(first, second, "released", ofFirst);
  await look("2-ended");
  expect(await faultsOf(page)).toEqual([]);

  start("one");
  await until(shared, "two accounts each again");
  const again = await leases();
  const ofSecond = NAMES.filter((name) => again[name]?.owner === second);
  // While an account is handed over nobody has it for a moment.
  await page.waitForFunction(() => document.querySelector(".budgets [data-hands=none]") === null);
  await collectors.get("two")?.kill();

  // That nobody has them may be over before the page looks again.
  const silent = page.locator(".collectors li", { hasText: /not heard of|gone/ });
  await silent.first().waitFor();
  expect(await silent.locator("b").allInnerTexts()).toEqual([second]);
  await look("3-silent");
  await seenTakenOver(second, first, "expired", ofSecond);
  await look("4-taken");
  expect(await faultsOf(page)).toEqual([]);
});
