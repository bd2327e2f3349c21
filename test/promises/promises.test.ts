/** What 1.0 promised (docs/promises.md) still holds: its lists, what it printed with --json, and the journal that it wrote. */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { allPromises } from "../../scripts/promises/all.ts";
import { brokenPromises } from "../../scripts/promises/broken.ts";
import type { Promised } from "../../scripts/promises/lists.ts";
import type { Recorded } from "../../scripts/promises/outputs.ts";
import { run } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const HERE = fileURLToPath(new URL("./", import.meta.url));

function json<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

const { version } = json<{ version: string }>(join(ROOT, "package.json"));
const releases = readdirSync(HERE).filter((name) => name.startsWith(`${version.split(".")[0]}.`));
const { pool } = await freshDatabase();
const today = await allPromises(ROOT, pool);

/** One of a list, as a sentence names it. */
const KINDS: Readonly<Record<string, string>> = {
  ...{
    versions: "version",
    commands: "command or flag",
    settings: "setting",
    errors: "error",
    metrics: "metric",
  },
  ...{ json: "JSON field", columns: "table, view or column", functions: "SQL function" },
};

test("there is a record of this major version's first release", () => {
  expect(releases.length).toBeGreaterThan(0);
  expect(Object.keys(today).sort()).toEqual(Object.keys(KINDS).sort());
});

describe.each(releases)("of the promises of %s", (release) => {
  const dir = join(HERE, release);

  test.each(Object.entries(KINDS))("none about %s is broken", (list, kind) => {
    const recorded = json<Promised>(join(dir, `${list}.json`));

    expect(Object.keys(recorded).length).toBeGreaterThan(2);
    expect(brokenPromises({ kind, release }, recorded, today[list] ?? {})).toEqual([]);
  });

  test("what each command printed with --json is what docs/json.schema.json describes today", () => {
    const outputs = json<Recorded[]>(join(dir, "outputs.json"));
    const schema = json<{ $defs: Record<string, object> }>(join(ROOT, "docs", "json.schema.json"));
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as (its: Ajv2020) => void)(ajv);
    const wrong = outputs.flatMap(({ command, argv, output }) => {
      const validate = ajv.compile(schema.$defs[command] ?? { not: {} });
      return validate(output) ? [] : [{ argv: argv.join(" "), errors: validate.errors }];
    });

    expect(wrong).toEqual([]);
    const listed = Object.keys(json<Promised>(join(dir, "json.json"))).map((field) =>
      field.replace(/: .*$/, ""),
    );
    expect([...new Set(outputs.map(({ command }) => command))].sort()).toEqual([...new Set(listed)].sort());
  });

  test("a journal that it wrote is read, and makes the archive again", async () => {
    const data = tempDir();
    cpSync(join(dir, "journal"), join(data, "journal"), { recursive: true });
    const { url, pool: archive } = await freshDatabase();
    const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: data };

    const verified = await run(["journal", "verify", "--json"], env);
    const refilled = await run(["backfill", "--journal", "--json"], env);

    expect(JSON.parse(verified.stdout)).toMatchObject({ strangers: [] });
    expect(verified.exitCode).toBe(0);
    expect(JSON.parse(refilled.stdout)).toMatchObject({ report: { answers: 4, deadLettered: 0 } });
    const { rows } = await archive.query("select distinct symbol from instruments order by 1");
    expect(rows).toEqual(["AAPL", "GE", "SPY"].map((symbol) => ({ symbol })));
  });
});

test("a promise is broken by what is gone and by what has changed, never by what is new", () => {
  const broken = brokenPromises(
    { kind: "setting", release: "1.0" },
    { PORT: { default: "8080" }, HOST: { default: "127.0.0.1" }, LEVEL: { default: "info" } },
    { PORT: { default: "9090" }, LEVEL: { default: "info", unit: "none" }, NEW: { default: "1" } },
  );

  expect(broken).toEqual([
    "1.0 promised of the setting `PORT` (default): 8080. Today it is 9090.",
    "1.0 promised the setting `HOST`, which is gone.",
  ]);
});
