/** What a map says of files that are nearly as they should be. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { exportableArchive } from "../../export/world.ts";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { backfillWorld } from "../world.ts";
import { backfill, files, HEADER, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const AT = "2026-11-18T09:30:00";

test("the names of an export's own CSV come in as the options that they are", async () => {
  const archive = await exportableArchive();
  const out = join(tempDir(), "out");
  await run(["export", "--format", "csv", "--out", out], { DATABASE_URL: archive.url });
  const world = await backfillWorld();
  const file = join(out, "quotes", "date=2026-11-20", "quotes.csv");
  const map = files(
    "",
    "columns: { symbol: instrument, time: observed_at, delayed: delayed, last: last }\n",
  ).map;

  const { report } = await backfill(world, { file, map });

  expect(report).toMatchObject({ read: 3, stored: 2, deadLettered: 1 });
  expect(await rows(world, "q.delayed, q.last")).toEqual([
    "2026-11-20 05:00:00.000000 AAPL t 12345678.12345678",
    "2026-11-20 21:00:00.000000 AAPL 2026-12-18 CALL 150.5 f 4.25",
  ]);
});

test("a text that looks like a contract and is none is set aside, whichever column has it", async () => {
  const world = await backfillWorld();
  const csv = `Symbol,Under,Time,Last\nAAPL_121826C375,,${AT},1\n,AAPL261218C00270000,${AT},2\n`;
  const map = "timezone: UTC\ncolumns: { symbol: Symbol, underlying: Under, time: Time, last: Last }\n";

  const { report } = await backfill(world, files(csv, map));

  expect(report).toMatchObject({ stored: 0, deadLettered: 2 });
  expect(await letters(world)).toEqual([
    expect.stringContaining('line 2: Symbol is "AAPL_121826C375": it looks like a contract and is none'),
    expect.stringContaining('line 3: Under is "AAPL261218C00270000": expected the symbol of an underlying'),
  ]);
});

test("what a map has cut is said: of times what is below microseconds, of counts the fraction", async () => {
  const world = await backfillWorld();
  const csv = "S,T,V\nA,1795012200000000999,1.5\nA,1795012260000000000,2\n";
  const map = "timeFormat: ns\nwholePart: [volume]\ncolumns: { symbol: S, time: T, volume: V }\n";

  const { report, remarks } = await backfill(world, files(csv, map));

  expect(report).toMatchObject({ stored: 2, cutTimes: 1, cutFractions: 1 });
  expect(remarks.filter((line) => line.startsWith("Cut"))).toEqual([
    "Cut       1 time to microseconds: what they say beyond that is in the journal",
    "Cut       the fractions of 1 count, as wholePart of the map says",
  ]);
});

test("a time beside the row's own is written as the row's is; one that cannot be read costs itself, and alone it is no quote", async () => {
  const world = await backfillWorld();
  const csv = `S,T,Q,D,L
A,1795012200000000000,1795012199123456789,1795012100000000000,1
B,1795012200000000000,yesterday,,2
C,1795012200000000000,1795012199123456000,,
`;
  const map =
    "timeFormat: ns\nknownAt: time + 1m\ncolumns: { symbol: S, time: T, quotedAt: Q, tradedAt: D, last: L }\n";

  const { report } = await backfill(world, files(csv, map));

  expect(report).toMatchObject({ stored: 2, cutTimes: 1 });
  const utc = (column: string): string => `to_char(${column} at time zone 'UTC', 'HH24:MI:SS.US')`;
  expect(await rows(world, `${utc("q.quoted_at")}, ${utc("q.traded_at")}, q.last`)).toEqual([
    "2026-11-18 14:30:59.999999 A 14:29:59.123456 14:28:20.000000 1",
    "2026-11-18 14:30:59.999999 B 2",
  ]);
  expect(await letters(world)).toEqual([
    expect.stringContaining('line 3: Q is "yesterday": expected a number since 1970'),
    expect.stringContaining("line 4: it has no value"),
  ]);
});

test("a map of the release before is the same map: what it brought in is not imported again", async () => {
  const call = JSON.parse(readFileSync(new URL("./recorded-call.json", import.meta.url), "utf8")) as unknown;
  const world = await backfillWorld();
  await backfill(world, files(`${HEADER}\nAAPL,${AT},1,2,1.5,7\n`));

  const { rows: found } = await world.pool.query("select request_id::text as id, request from responses");

  expect(found).toEqual([call]);
});
