/** docs/alpaca.md: its commands do what it says, against a fake, and it names each setting and each field that is read. */
import { readFileSync } from "node:fs";
import { expect, jest, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { optionValue } from "../../src/services/service.ts";
import { capturedEdges } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { openFakeAlpaca } from "../support/livingFakes.ts";
import { tempDir } from "../support/tempDir.ts";

// Whole commands run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const PAGE = read("docs/alpaca.md");

/** Arguments of each `quotekeeper` on the page, in their order. */
const COMMANDS = [...PAGE.matchAll(/^ *quotekeeper (.+)$/gm)].map(([, line = ""]) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ""),
);

const commandsWith = (word: string): string[][] => COMMANDS.filter((argv) => argv.includes(word));

async function run(directory: string, env: Record<string, string>, argv: readonly string[]) {
  const { edges, stdout, stderr } = capturedEdges({ env, directory });
  process.chdir(directory);
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

test("the page's way with the fake leads from init to quotes in the archive, which its statement reads, and no call goes elsewhere", async () => {
  const { url } = await freshDatabase({ migrated: false });
  const { fake } = await openFakeAlpaca({ clock: systemClock, calendar: alwaysOpen });
  const here = (text: string): string =>
    text.replace("http://127.0.0.1:8089", fake.dataUrl).replace("http://127.0.0.1:8090", fake.tradingUrl);
  const exported = [...PAGE.matchAll(/^export (.+)$/gm)].flatMap(([, line = ""]) =>
    line.split(" ").map((pair) => here(pair).split("=") as [string, string]),
  );
  const env = { DATABASE_URL: url, ...Object.fromEntries(exported) };
  const directory = tempDir();
  const init = commandsWith("init").find((argv) => argv.some((word) => word.startsWith("alpaca http"))) ?? [];

  expect(Object.keys(env)).toContain("QUOTES_ALPACA_TRADING_URL");
  expect(await run(directory, env, init.map(here))).toMatchObject({ exitCode: 0, stderr: "" });
  expect(fake.calls.map(({ host, status }) => [host, status])).toEqual([["trading", 200]]);
  for (const poll of commandsWith("poll"))
    expect(await run(directory, env, poll)).toMatchObject({ exitCode: 0, stderr: "" });
  const sql = await run(directory, env, commandsWith("sql")[0] ?? []);

  expect(sql).toMatchObject({ exitCode: 0 });
  expect(sql.stdout).toMatch(/^AAPL +\d[^]*^SPY +\d/m);
});

test("the page names every setting with its values and default, and the steps to a key as init says them", () => {
  const { credentials, options = [], addresses } = ALPACA;

  const variables = [...credentials.all, ...options].map(({ variable }) => variable);
  const values = options.flatMap((option) =>
    "values" in option ? [...option.values] : [optionValue(option), ...(option.others?.addresses ?? [])],
  );
  expect(
    [...variables, ...values, addresses[0]?.baseUrl].filter((word) => !PAGE.includes(`\`${word}\``)),
  ).toEqual([]);
  const plain = PAGE.replace(/[<>]/g, "");
  expect(
    [...(credentials.steps?.slice(0, 2) ?? []), credentials.end].filter(
      (step) => !plain.includes(step ?? ""),
    ),
  ).toEqual([]);
});

test("the page names every field of an answer that is read", () => {
  const source = read("src/services/alpaca/readAlpaca.ts");
  const asked = [
    ...source.matchAll(/\b(?:fields|book|latest|trade|last|today|previous|greeks)\.\w+\("(\w+)"/g),
  ].map(([, name = ""]) => name);
  const [, greeks = ""] = /GREEKS = \[(.*?)\]/s.exec(source) ?? [];
  const fields = [
    ...asked,
    ...[...greeks.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name),
    "open_interest_date",
  ];

  expect(new Set(fields).size).toBeGreaterThan(20);
  expect(fields.filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([]);
});
