/** A person logs in to E*TRADE, which a fake stands for, through the page. */
import { join } from "node:path";
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { systemClock } from "../../../src/ground/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { CONSUMER, startFakeEtrade } from "../../fakes/etrade/fake.ts";
import { acceptAsPerson } from "../../fakes/etrade/person.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { faultsOf } from "./faults.ts";
import { DASHBOARD, openBrowser, openPage, startProcess } from "./world.ts";

const TOKEN = "a-token-of-the-test-0123456789";

const fake = await startFakeEtrade({
  clock: systemClock,
  market: createSimulatedMarket({ seed: 1 }),
  calendar: alwaysOpen,
});
afterAll(() => fake.close());

let browser: Browser;
/** Starts a collector of its own. @returns its dashboard's address */
let start: (env?: Record<string, string>) => Promise<string>;
beforeAll(async () => {
  const directory = tempDir();
  const bin = compileProgram(join(directory, "program"));
  mkdirSync(join(directory, "jobs"));
  writeFileSync(
    join(directory, "jobs", "us.yaml"),
    'name: us\nschedule: "*/5 * * * * *"\ntimezone: America/New_York\nsession: always\nsymbols: [AAPL]\n',
  );
  const account = {
    QUOTES_SERVICE: "etrade",
    QUOTES_BASE_URL: fake.baseUrl,
    QUOTES_CONSUMER_KEY: CONSUMER.key,
    QUOTES_CONSUMER_SECRET: CONSUMER.secret,
  };
  start = async (env) => {
    const { url } = await freshDatabase({ migrated: false });
    const own = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
    const options = { directory, env: { ...account, ...own, ...env }, says: DASHBOARD };
    return (await startProcess(bin, ["start"], options)).address;
  };
  browser = await openBrowser();
});

const stateOf = (page: Page): Promise<string | null> =>
  page.locator("[data-login]").getAttribute("data-login");

/** Where the keys are. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");

test("a person logs in through the card on Now, which then says until when, and quotes arrive", async () => {
  const address = await start({ QUOTEKEEPER_WEB_TOKEN: TOKEN });
  const { page, complaints, settled } = await openPage(browser);
  await page.goto(address);
  await page.getByLabel("Token of this dashboard").fill(TOKEN);
  await page.keyboard.press("Enter");

  await page.waitForSelector("[data-login=needed]");
  await page.getByRole("button", { name: "Log in" }).press("Enter");
  const link = page.getByRole("link", { name: "Open the service's page" });
  await link.waitFor();
  const url = (await link.getAttribute("href")) ?? "";

  expect([await link.getAttribute("target"), await link.getAttribute("rel")]).toEqual([
    "_blank",
    "noopener noreferrer",
  ]);
  expect(await page.locator(".logins code").textContent()).toBe(url);
  expect(await focused(page)).toBe("Open the service's page");
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.keyboard.press("Enter")]);
  await opened.waitForLoadState();
  expect([opened.url(), await opened.evaluate(() => window.opener)]).toEqual([url, null]);
  await opened.close();

  const code = page.getByLabel("The code that it shows");
  await code.fill("WRONG");
  await page.keyboard.press("Enter");
  const alert = page.locator(".logins [role=alert]");
  await alert.waitFor();
  expect(await alert.textContent()).toMatch(/LOGIN_CODE_WRONG.*verifier_invalid.*code that the page shows/);
  expect(await faultsOf(page)).toEqual([]);

  await code.fill(await acceptAsPerson(url));
  await page.getByRole("button", { name: "Finish" }).click();
  await page.waitForSelector("[data-login=open]");
  const said = (await page.locator("[data-login]").textContent()) ?? "";
  await settled();

  expect(said).toMatch(/^Logged in until 20\d\d-\d\d-\d\d 00:00 New York, for \d/);
  expect(await focused(page)).toBe(said);
  expect(await page.locator(".logins").textContent()).not.toContain("LOGIN_FAILED");
  expect([await code.count(), fake.logins.length]).toEqual([0, 1]);
  expect(await page.getByRole("button", { name: "Log in again" }).count()).toBe(1);
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(address);
  await page.waitForSelector(".glance li");
  await until(
    () => fake.calls.some(({ symbols, status }) => symbols.includes("AAPL") && status === 200),
    "quotes",
  );
  // The browser says so of every answer that is none of 200.
  expect(complaints.filter((text) => !/status of 4(01|22)/.test(text))).toEqual([]);
});

test("without a token the card says how to log in, and has no button for it", async () => {
  const address = await start();
  const { page } = await openPage(browser, { dark: false, width: 360 });
  await page.goto(address);
  await page.waitForSelector("[data-login]");

  expect(await stateOf(page)).toBe("needed");
  expect(await page.locator(".logins").textContent()).toMatch(/quotekeeper login.*QUOTEKEEPER_WEB_TOKEN/);
  expect(await page.locator(".logins button").count()).toBe(0);
  expect(await faultsOf(page)).toEqual([]);
});
