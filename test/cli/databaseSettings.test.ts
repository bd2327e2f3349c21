/** A database with settings of its own: what the program does hangs on none of them. */
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { backfill, fileOf, HEADER } from "../backfill/csv/csvFiles.ts";
import { journal } from "../backfill/world.ts";
import { contentOf } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

// Many commands run one after the other, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** What changes the meaning of names, arrays, texts and comparisons, and how intervals, numbers and bytes are written. */
const SETTINGS: Readonly<Record<string, string>> = {
  ...{ quote_all_identifiers: "on", array_nulls: "off", standard_conforming_strings: "off" },
  ...{
    backslash_quote: "off",
    transform_null_equals: "on",
    IntervalStyle: "iso_8601",
    DateStyle: "SQL, DMY",
  },
  ...{ extra_float_digits: "-15", bytea_output: "escape", TimeZone: "Asia/Tokyo", xmloption: "document" },
  ...{ default_transaction_isolation: "serializable", lc_monetary: "C", jit: "off" },
};

const COMMANDS = [
  ["migrate"],
  ["backfill", "--journal"],
  ["status"],
  ["coverage", "--from", "2026-11-18", "--to", "2026-11-19"],
  ["export", "--format", "csv", "--out", "as-csv"],
  ["export", "--format", "parquet", "--out", "as-parquet"],
  ["lake", "--through", "2026-11-19", "--drop-hot"],
  ["lake", "verify"],
  ["lake", "restore", "--from", "2026-11-18", "--to", "2026-11-19"],
  ["backfill", "--parquet", "as-parquet"],
  ["backfill", "--journal", "--rebuild"],
  ["accounts", "list"],
];

/** Runs all of them on a database. */
async function runAll(settings: Readonly<Record<string, string>>) {
  const { url, pool, name } = await freshDatabase({ migrated: false });
  for (const [setting, value] of Object.entries(settings))
    await pool.query(`alter database ${name} set ${setting} to '${value.replace(", ", "', '")}'`);
  const dir = tempDir();
  const env = {
    ...{ DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: dir, QUOTEKEEPER_JOBS_DIR: join(dir, "jobs") },
    ...{ QUOTEKEEPER_LAKE_DIR: join(dir, "lake"), QUOTEKEEPER_LAKE_HOT_DAYS: "1" },
  };
  await journal(join(dir, "journal"));
  const ended: unknown[] = [];
  for (const words of COMMANDS) {
    const { exitCode, stderr } = await run(
      words.map((word) => (word.startsWith("as-") ? join(dir, word) : word)),
      env,
    );
    ended.push([words.join(" "), exitCode, /^[A-Z_]{6,}: .*/mu.exec(stderr)?.[0]]);
    if (words[0] === "migrate") {
      const csv = fileOf(
        `${HEADER}\nIBM,2026-11-18 15:00:00Z,1.5,,NULL,7\nNULL,2026-11-18 15:00:00Z,1.25,1.50,1.4,\n`,
      );
      ended.push((await backfill({ env, pool, journalDir: join(dir, "journal") }, csv)).report);
    }
  }
  const asked = await run(
    [
      "sql",
      "--json",
      "select symbol, date, close, volume from bars_1d where option_type is null order by 1, 2",
    ],
    env,
  );
  const { quotes, extended_quotes, intraday_bars, instruments, dividends } = await contentOf(pool);
  return {
    ended,
    answer: asked.stdout,
    tables: [quotes, extended_quotes, intraday_bars, instruments, dividends],
  };
}

test("a database that quotes all names, takes NULL in arrays for a text and reads backslashes otherwise gets the same archive by the same commands", async () => {
  const usual = await runAll({});
  const strange = await runAll(SETTINGS);

  expect(strange).toEqual(usual);
});
