/** A newcomer's way with fakes of Alpaca and Tradier: `init`, `start`, and a chain with open interest and the service's own greeks. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/ground/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { KEYS, startFakeAlpaca } from "../../fakes/alpaca/fake.ts";
import { startFakeTradier, TOKENS } from "../../fakes/tradier/fake.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { DASHBOARD, openBrowser, openPage, startProcess } from "./world.ts";

// What they answer stays the same while the page and the archive are compared.
const startedAt = systemClock.now();
const listed = {
  clock: { ...systemClock, now: () => startedAt },
  market: createSimulatedMarket({ seed: 1 }),
  ...{ calendar: alwaysOpen, mostStrikes: 20, trading: () => "usual" as const },
};
const MANY = 1_000_000;
const tradier = await startFakeTradier({ ...listed, limit: { says: MANY, holds: MANY } });
// A chain of twenty-eight contracts comes in two pages.
const alpaca = await startFakeAlpaca({ ...listed, limit: { calls: MANY }, mostOfAPage: 20 });
afterAll(async () => {
  await Promise.all([tradier.close(), alpaca.close()]);
});

/** Whole chains so far: their expirations, by the fake's log. */
const SERVICES: {
  name: string;
  account: string;
  env: Record<string, string>;
  chains: () => (string | null | undefined)[];
}[] = [
  {
    name: "Alpaca",
    account: `alpaca ${alpaca.dataUrl}`,
    env: {
      QUOTES_ALPACA_TRADING_URL: alpaca.tradingUrl,
      ...{ QUOTES_ALPACA_KEY_ID: KEYS.keyId, QUOTES_ALPACA_SECRET_KEY: KEYS.secretKey },
    },
    chains: () =>
      alpaca.calls
        .filter(({ host, status, query }) => host === "data" && status === 200 && query["page_token"])
        .map(({ query }) => query["expiration_date"]),
  },
  {
    name: "Tradier",
    account: `tradier ${tradier.baseUrl}`,
    env: { QUOTES_ACCESS_TOKEN: TOKENS.token },
    chains: () =>
      tradier.calls
        .filter(({ path, status }) => path.endsWith("/chains") && status === 200)
        .map(({ expiration }) => expiration),
  },
];

/** Columns, and the sets that have them. */
const SHOWN_IN = [
  ["prices", "oi"],
  ["compare", "service-iv"],
  ["compare", "service-delta"],
] as const;

test.each(SERVICES)(
  "from init to a chain page of $name whose open interest, volatility and delta are those that the service gave",
  async (service) => {
    const { url, pool } = await freshDatabase({ migrated: false });
    const directory = tempDir();
    const bin = compileProgram(join(directory, "program"));
    const env = { PATH: process.env["PATH"] ?? "", DATABASE_URL: url, ...service.env };
    const init = ["init", "--yes", "--symbols", "AAPL", "--chains", "AAPL:listed", "--hours", "always"];
    const begun = await promisify(execFile)(process.execPath, [bin, ...init, "--account", service.account], {
      cwd: directory,
      env,
    });
    expect(begun.stdout).toContain(`a call for each expiration that ${service.name} lists of AAPL`);
    const { address } = await startProcess(bin, ["start"], { directory, env, says: DASHBOARD });
    const { page, complaints } = await openPage(await openBrowser());

    await until(() => service.chains().length > 2, "whole chains");
    const [date] = service.chains();
    const strikes = await until(async () => {
      const { rows } = await pool.query<Record<(typeof SHOWN_IN)[number][1], string>>(
        `select coalesce(to_char(call_open_interest, 'FM999,999,999'), '–') as oi,
              coalesce(to_char(100 * call_implied_volatility, 'FM999990.00'), '–') as "service-iv",
              coalesce(to_char(call_delta, 'FM999990.000'), '–') as "service-delta"
       from option_chain_latest where expiration = $1 order by strike`,
        [date],
      );
      return rows.length > 5 ? rows : null;
    }, "the rows of an expiration");
    for (const [set, key] of SHOWN_IN) {
      await page.goto(`${address}/chain?underlying=AAPL&expiration=${date}&strikes=all&set=${set}`);
      await page.waitForSelector(`table.chain tbody tr:nth-child(${strikes.length}) [data-cell=${key}]`);
      const shown = await page
        .locator("table.chain tbody tr")
        .evaluateAll(
          (rows, name) => rows.map((row) => row.querySelector(`[data-cell=${name}]`)?.textContent ?? ""),
          key,
        );
      expect([key, shown]).toEqual([key, strikes.map((row) => row[key])]);
    }
    expect(strikes.filter((row) => row.oi !== "–" && row["service-iv"] !== "–").length).toBeGreaterThan(3);
    expect(complaints).toEqual([]);
  },
);
