/** docs/etrade.md: its commands do what it says, against a fake, and it names each field that is read. */
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { startFakeEtrade } from "../fakes/etrade/fake.ts";
import { capturedEdges } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const PAGE = read("docs/etrade.md");

/** Arguments of each `quotekeeper` on the page, in their order. */
const COMMANDS = [...PAGE.matchAll(/^ *quotekeeper (.+)$/gm)].map(([, line = ""]) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ""),
);

const { url } = await freshDatabase({ migrated: false });
const fake = await startFakeEtrade({
  clock: systemClock,
  market: createSimulatedMarket({ seed: 1 }),
  calendar: alwaysOpen,
});
afterAll(() => fake.close());

/** Runs a command; a person does at the page what it asks for. */
async function run(directory: string, env: Record<string, string>, argv: readonly string[]) {
  const stdin = new Readable({ read: () => undefined });
  const { edges, stdout, stderr } = capturedEdges({ env, directory, stdin: () => stdin });
  const { write } = edges.stdout;
  edges.stdout.write = (text) => {
    write(text);
    if (/^http\S+$/m.test(text))
      void fake.authorize(/http\S+/.exec(text)?.[0] ?? "").then((code) => stdin.push(`${code}\n`));
  };
  process.chdir(directory);
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const commandsWith = (word: string): string[][] => COMMANDS.filter((argv) => argv.includes(word));

test("the page's way with the fake leads from init and login to quotes in the archive, which its statement reads", async () => {
  const [, key = "", secret = ""] =
    /^export QUOTES_CONSUMER_KEY=(\S+) QUOTES_CONSUMER_SECRET=(\S+)$/m.exec(PAGE) ?? [];
  const env = { DATABASE_URL: url, QUOTES_CONSUMER_KEY: key, QUOTES_CONSUMER_SECRET: secret };
  const directory = tempDir();
  const init = commandsWith("init").find((argv) => argv.some((word) => word.startsWith("etrade http"))) ?? [];
  const here = init.map((word) => word.replace("http://127.0.0.1:8090", fake.baseUrl));

  expect(here.join(" ")).toContain(fake.baseUrl);
  expect(await run(directory, env, here)).toMatchObject({ exitCode: 0, stderr: "" });
  expect(commandsWith("login")).toHaveLength(2);
  expect(await run(directory, env, ["login"])).toMatchObject({ exitCode: 0, stderr: "" });
  for (const poll of commandsWith("poll"))
    expect(await run(directory, env, poll)).toMatchObject({ exitCode: 0, stderr: "" });
  const sql = await run(directory, env, commandsWith("sql")[0] ?? []);

  expect(sql).toMatchObject({ exitCode: 0 });
  expect(sql.stdout).toMatch(/^AAPL +\d[^]*^SPY +\d/m);
});

test("the page's way without a terminal chooses E*TRADE at its own address, and keeps the secret out of .env", async () => {
  const directory = tempDir();
  const argv = commandsWith("init").find((words) => words.at(-1) === "etrade") ?? [];
  const env = { QUOTES_CONSUMER_KEY: "key-1", QUOTES_CONSUMER_SECRET: "secret-1" };

  expect(await run(directory, env, argv)).toMatchObject({ exitCode: 0 });

  expect(readFileSync(`${directory}/.env`, "utf8")).not.toContain("secret-1");
  expect(loadConfig(env, directory)).toMatchObject({
    service: { name: "etrade" },
    feed: { baseUrl: "https://api.etrade.com" },
  });
});

test("the page names every field of an answer that is read", () => {
  const source = ["etradeQuote", "etradeContract"]
    .map((name) => read(`src/services/etrade/${name}.ts`))
    .join("");
  const namesIn = (text: string): string[] => [...text.matchAll(/"(\w{2,})"/g)].map(([, name = ""]) => name);
  const asked = [...source.matchAll(/\b(?:fields|all|data|side|product|current)\.\w+\(([^)]*)\)/g)].flatMap(
    // The arguments behind the first are our own words.
    ([, given = ""]) => namesIn(given.split(",")[0] ?? ""),
  );
  const inTables = [...source.matchAll(/: Keys = \{(.*?)\};/gs)].flatMap(([, table = ""]) => namesIn(table));
  const fields = [...asked, ...inTables];

  expect(new Set(fields).size).toBeGreaterThan(40);
  expect(fields.filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([]);
});
