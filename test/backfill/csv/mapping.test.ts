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

test("more columns than the header names do not cost the row", async () => {
  const world = await backfillWorld();

  const { exitCode, report } = await backfill(
    world,
    files(`${HEADER}\nAAPL,${AT},1,2,1.5,7,more,"and more"\n`),
  );

  expect({ exitCode, report }).toMatchObject({ exitCode: 0, report: { stored: 1, deadLettered: 0 } });
  expect(await rows(world)).toEqual(["2026-11-18 14:30:00.000000 AAPL 1 2 1.5 7"]);
});

test("whether a quote is delayed is said by a column, where that is empty by a constant, or by neither", async () => {
  const world = await backfillWorld();
  const csv = `S,T,L,D\nA,${AT},1,true\nB,${AT},1,\nC,${AT},1,N\nD,${AT},1,perhaps\n`;
  const map = `timezone: UTC\ncolumns: { symbol: S, time: T, last: L, delayed: D }\nconstants: { delayed: true }\n`;

  await backfill(world, files(csv, map));

  expect(await rows(world, "q.delayed")).toEqual([
    "2026-11-18 09:30:00.000000 A t",
    "2026-11-18 09:30:00.000000 B t",
    "2026-11-18 09:30:00.000000 C f",
  ]);
  expect(await letters(world)).toEqual([
    'D | malformed | quotes.csv line 5: D is "perhaps": expected true or false',
  ]);
});

test("numbers are multiplied exactly, and a count of which a fraction is left is set aside unless the map cuts it", async () => {
  const csv = `S,T,K,V\nA,${AT},0.1000000000000000000001,1.2345\nB,${AT},"1,5e3",1\n`;
  const map = `timezone: UTC\ncolumns: { symbol: S, time: T, last: K, volume: V }\nscale: { last: 1000, volume: 1000 }\n`;
  const [exact, cut] = [await backfillWorld(), await backfillWorld()];

  await backfill(exact, files(csv, map));
  const { report, remarks } = await backfill(cut, files(csv, `${map}wholePart: [volume]\n`));

  expect(await letters(exact)).toEqual([
    expect.stringContaining('line 2: V is "1.2345": "1234.5" is not a whole number'),
    expect.stringContaining('line 3: K is "1,5e3"'),
  ]);
  expect(await rows(cut)).toEqual(["2026-11-18 09:30:00.000000 A 100.0000000000000000001 1234"]);
  expect(report).toMatchObject({ cutTimes: 0, cutFractions: 1 });
  expect(remarks).toContain("Cut       the fractions of 1 count, as wholePart of the map says");
});

test("what is cut from nanoseconds is said, by a number since 1970, ISO 8601 and a pattern alike", async () => {
  const told: unknown[] = [];
  for (const [format, text] of [
    ["ns", "1795012200000000999"],
    ["iso", "2026-11-18T14:30:00.000000999Z"],
    ['"%Y%m%d %H:%M:%S.%f"', "20261118 14:30:00.000000999"],
    ["s", "1795012200.000000999"],
    ["ns", "1795012200000000000"],
  ]) {
    const world = await backfillWorld();
    const map = `timezone: UTC\ntimeFormat: ${format}\ncolumns: { symbol: S, time: T, last: L }\n`;
    const { report, remarks } = await backfill(world, files(`S,T,L\nA,${text},1\n`, map));
    expect(await rows(world, "q.last")).toEqual(["2026-11-18 14:30:00.000000 A 1"]);
    told.push([report?.["cutTimes"], remarks.filter((line) => line.startsWith("Cut"))]);
  }

  const said = [1, ["Cut       1 time to microseconds: what they say beyond that is in the journal"]];
  expect(told).toEqual([said, said, said, said, [0, []]]);
});

test("what the map's new options cannot mean is said before anything is read", async () => {
  const world = await backfillWorld();
  const map = `timezone: UTC
columns: { symbol: Symbol, time: Time, last: Last }
scale: { last: -1, symbol: 2 }
strip: { last: { prefix: x }, symbol: { prefix: "" } }
wholePart: [last]
`;

  const { exitCode, stderr } = await backfill(world, files(`${HEADER}\n`, map));

  expect(exitCode).toBe(2);
  for (const problem of [
    "map.yaml:3: scale.last is -1: expected a number above 0, such as 0.001",
    "map.yaml:3: scale.symbol is not an option here",
    "map.yaml:4: strip.last is not an option here",
    "map.yaml:5: wholePart[0] is last: expected bidSize",
  ])
    expect(stderr).toContain(problem);
  const twice = "timezone: UTC\ncolumns: { symbol: Symbol, time: Time, last: Last, close: Bid }\n";
  const both = await backfill(world, files(`${HEADER}\n`, twice));
  expect(both.stderr).toContain("map.yaml:2: columns.close is Bid: expected last or close");
});

test("a map of the release before is the same map: what it brought in is not imported again", async () => {
  const call = JSON.parse(readFileSync(new URL("./recorded-call.json", import.meta.url), "utf8")) as unknown;
  const world = await backfillWorld();
  await backfill(world, files(`${HEADER}\nAAPL,${AT},1,2,1.5,7\n`));

  const { rows: found } = await world.pool.query("select request_id::text as id, request from responses");

  expect(found).toEqual([call]);
});
