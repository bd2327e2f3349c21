/** A service, or a file, whose texts a spreadsheet would run as formulas once they are exported. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { exact, harmless, harmlessSql } from "../../src/read/formula.ts";
import { barsCsv } from "../../src/web/api/csvFiles.ts";
import { backfillWorld, type BackfillWorld } from "../backfill/world.ts";
import { backfill, fileOf } from "../backfill/csv/csvFiles.ts";
import { run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { tempDir } from "../support/tempDir.ts";

/** Symbols and descriptions as somebody could send them; the last ones stay as they are. */
const HOSTILE = [
  ["=HYPERLINK(1)", "=cmd|' /C calc'!A0"],
  ["+1+1", "+1"],
  ["-1+1", "-1"],
  ["@SUM(A1)", "@x"],
  ["'=1", "\t=1"],
  ["''+1", "\r=1"],
  ["AAPL", "a = b"],
  ["'QUOTED", "'"],
];

let world: BackfillWorld;
beforeAll(async () => {
  world = await backfillWorld();
  const lines = HOSTILE.map(([symbol = "", description = ""], place) =>
    [harmless(symbol), `"${harmless(description)}"`, `2026-11-18T14:30:0${place}Z`, "1.25", "-0.5"].join(","),
  );
  const header = "instrument,description,observed_at,last,change";
  const done = await backfill(world, fileOf(`${header}\n${lines.join("\n")}\n`));
  expect(done).toMatchObject({ exitCode: 0, report: { stored: HOSTILE.length } });
  // Reading trims what stands around a text; a service's own may begin so.
  for (const [symbol, description] of HOSTILE)
    await world.pool.query("update instruments set description = $2 where symbol = $1", [
      symbol,
      description,
    ]);
});

async function exported(
  ...argv: string[]
): Promise<Record<"instruments" | "quotes", Record<string, string>[]>> {
  const out = join(tempDir(), "out");
  const tables = ["--tables", "instruments,quotes", "--format", "csv"];
  expect(await run(["export", "--out", out, ...tables, ...argv], world.env)).toMatchObject({ exitCode: 0 });
  const read = (path: string): Record<string, string>[] =>
    parse(readFileSync(join(out, path)), { columns: true });
  return {
    instruments: read("instruments/instruments.csv"),
    quotes: read("quotes/date=2026-11-18/quotes.csv"),
  };
}

const FORMULA = /^[=+\-@\t\r]/;

test("CSV has no text that a spreadsheet runs, and a negative number stays a number", async () => {
  const { instruments, quotes } = await exported();

  const texts = [
    ...instruments.flatMap(({ symbol, description }) => [symbol, description]),
    ...quotes.flatMap(({ instrument, source }) => [instrument, source]),
  ];
  expect(texts.filter((text) => FORMULA.test(text ?? "="))).toEqual([]);
  expect(texts).toEqual(
    expect.arrayContaining(["'=HYPERLINK(1)", "''=1", "'\t=1", "AAPL", "a = b", "'QUOTED"]),
  );
  expect(new Set(quotes.map(({ last, change }) => `${last} ${change}`))).toEqual(new Set(["1.25 -0.5"]));
});

test("with --raw every text is exactly what is in the archive; Parquet has no need of it", async () => {
  const { instruments } = await exported("--raw");
  const parquet = await run(
    ["export", "--format", "parquet", "--raw", "--out", join(tempDir(), "out")],
    world.env,
  );

  expect(instruments.map(({ symbol, description }) => [symbol, description])).toEqual(HOSTILE);
  expect([parquet.exitCode, parquet.stderr]).toEqual([
    2,
    expect.stringContaining("--raw is for --format csv"),
  ]);
});

test("an export that is imported again as a plain table brings back the same texts and numbers", async () => {
  const { quotes } = await exported();
  const cells = quotes.map(({ instrument, observed_at: at, last, change }) => [instrument, at, last, change]);
  const csv = [["instrument", "observed_at", "last", "change"], ...cells]
    .map((row) => row.map((cell) => `"${cell}"`).join(","))
    .join("\n");
  const other = await backfillWorld();

  await backfill(other, fileOf(csv));

  const same =
    "select symbol, last, change, observed_at from quotes join instruments i on i.id = instrument_id order by 4";
  expect(await rowsOfQuery(other.pool, same)).toEqual(await rowsOfQuery(world.pool, same));
});

test("whatever a text is, it is harmless, comes back exactly, and is the same by SQL", async () => {
  const parts = fc.array(fc.constantFrom("'", "=", "+", "-", "@", "\t", "\r", "\n", "a", "\\", '"', " "), {
    maxLength: 6,
  });
  const texts = fc.sample(
    parts.map((chosen) => chosen.join("")),
    { numRuns: 500, seed: 7 },
  );

  for (const text of texts) {
    expect(harmless(text)).not.toMatch(FORMULA);
    expect(exact(harmless(text))).toBe(text);
  }
  const bySql = await rowsOfQuery(
    world.pool,
    `select ${harmlessSql("text")} as text from unnest($1::text[]) with ordinality as t (text, place) order by place`,
    [texts],
  );
  expect(bySql.map(({ text }) => text)).toEqual(texts.map(harmless));
});

test("the dashboard's CSV is as harmless", () => {
  const price = "-1.25";
  const bar = {
    ...{ date: "2026-11-18", session: "regular", at: "2026-11-18T14:30:00Z", volume: null },
    ...{ open: price, high: price, low: price, close: price, bid: price, ask: price },
    ...{ meanSpread: "-0.5", quoteCount: "1" },
  };
  const of = { source: "account", delayed: false, interval: "1d", asked: "1d", more: false } as const;
  const beside = { sessions: [], dividends: [] };
  const at = { firstAt: "2026-11-18T15:00:00Z", lastAt: "2026-11-18T15:00:00Z" };

  const csv = barsCsv({ ...of, ...beside, instrument: "=1+1", bars: [bar as never] }, [
    { job: "=j", reason: "down", count: 2, ...at },
  ]);

  expect(csv.split("\r\n")[1]).toMatch(
    /^'=1\+1,account,false,1d,2026-11-18,regular,.*,-1\.25,.*,2,'=j down 2$/,
  );
});
