/** docs/tradier.md: its commands do what it says, against a fake, and it names each field that is read. */
import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { startFakeTradier } from "../fakes/tradier/fake.ts";
import { capturedEdges } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const PAGE = read("docs/tradier.md");

/** Arguments of each `quotekeeper` on the page, in their order. */
const COMMANDS = [...PAGE.matchAll(/^ *quotekeeper (.+)$/gm)].map(([, line = ""]) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ""),
);

const { url } = await freshDatabase({ migrated: false });
const fake = await startFakeTradier({
  clock: systemClock,
  market: createSimulatedMarket({ seed: 1 }),
  calendar: alwaysOpen,
});
afterAll(() => fake.close());

async function run(directory: string, env: Record<string, string>, argv: readonly string[]) {
  const { edges, stdout, stderr } = capturedEdges({ env, directory });
  process.chdir(directory);
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const commandsWith = (word: string): string[][] => COMMANDS.filter((argv) => argv.includes(word));

test("the page's way with the fake leads from init to quotes in the archive, which its statement reads", async () => {
  const [, token = ""] = /^export QUOTES_ACCESS_TOKEN=(.+)$/m.exec(PAGE) ?? [];
  const env = { DATABASE_URL: url, QUOTES_ACCESS_TOKEN: token };
  const directory = tempDir();
  const init =
    commandsWith("init").find((argv) => argv.some((word) => word.startsWith("tradier http"))) ?? [];
  const here = init.map((word) => word.replace("http://127.0.0.1:8089", fake.baseUrl));

  expect(here.join(" ")).toContain(fake.baseUrl);
  expect(await run(directory, env, here)).toMatchObject({ exitCode: 0, stderr: "" });
  for (const poll of commandsWith("poll"))
    expect(await run(directory, env, poll)).toMatchObject({ exitCode: 0, stderr: "" });
  const sql = await run(directory, env, commandsWith("sql")[0] ?? []);

  expect(sql).toMatchObject({ exitCode: 0 });
  expect(sql.stdout).toMatch(/^AAPL +\d[^]*^SPY +\d/m);
});

test("the page's way without a terminal chooses Tradier at its own address, and keeps the token out of .env", async () => {
  const directory = tempDir();
  const argv = commandsWith("init").find((words) => words.at(-1) === "tradier") ?? [];

  expect(await run(directory, { QUOTES_ACCESS_TOKEN: "token-1" }, argv)).toMatchObject({ exitCode: 0 });

  expect(readFileSync(`${directory}/.env`, "utf8")).not.toContain("token-1");
  expect(loadConfig({ QUOTES_ACCESS_TOKEN: "token-1" }, directory)).toMatchObject({
    service: { name: "tradier" },
    feed: { baseUrl: "https://api.tradier.com" },
  });
});

test("the page names every field of an answer that is read", () => {
  const source = read("src/services/tradier/readTradier.ts");
  const fields = [...source.matchAll(/(?:fields|greeks)\.(?:\w+)\("(\w+)"/g)].map(([, name = ""]) => name);

  expect(fields.length).toBeGreaterThan(25);
  expect(fields.filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([]);
});
