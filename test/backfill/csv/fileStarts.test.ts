/** How files of spreadsheets and sites begin: in UTF-16, with `sep=`, with lines before their header. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { handOnDatabases } from "../../support/database.ts";
import { backfillWorld } from "../world.ts";
import { backfill, files, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const AT = "2026-11-18T09:30:00";
const MAP = "timezone: UTC\ncolumns: { symbol: Symbol, description: Name, time: Time, last: Last }\n";
const TEXT = `Symbol,Name,Time,Last\nMC,Mo\u00ebt \u{1f37e},${AT},1.5\n`;

/** A text in UTF-16, the smaller end first. */
const le = (text: string): Buffer => Buffer.from(text, "utf16le");
const be = (text: string): Buffer => le(text).swap16();

test.each([
  ["UTF-16, little end first", le(`\u{feff}${TEXT}`), "quotes.csv"],
  ["UTF-16, big end first", be(`\u{feff}${TEXT}`), "quotes.csv"],
  ["UTF-16 without a mark, little end first", le(TEXT), "quotes.csv"],
  ["UTF-16 without a mark, big end first", be(TEXT), "quotes.csv"],
  ["UTF-16 in gzip", gzipSync(be(`\u{feff}${TEXT}`)), "quotes.csv.gz"],
  ["UTF-8 with a mark", Buffer.from(`\u{feff}${TEXT}`), "quotes.csv"],
])("a file in %s is read", async (_form, bytes, name) => {
  const world = await backfillWorld();

  const { exitCode } = await backfill(world, files(bytes, MAP, name));

  expect(exitCode).toBe(0);
  expect(await rows(world, "q.last, i.description")).toEqual([
    "2026-11-18 09:30:00.000000 MC 1.5 Moët \u{1f37e}",
  ]);
});

test("a file in UTF-16 is read as such, whatever encoding its map names", async () => {
  const world = await backfillWorld();

  await backfill(world, files(le(`\u{feff}${TEXT}`), `encoding: windows-1252\n${MAP}`));

  expect(await rows(world, "i.description")).toEqual(["2026-11-18 09:30:00.000000 MC Moët \u{1f37e}"]);
});

test("UTF-16 that is cut inside of a character is an error, exit code 2", async () => {
  const world = await backfillWorld();

  const { exitCode, stderr } = await backfill(world, files(le(`\u{feff}${TEXT}`).subarray(0, -1), MAP));

  expect(exitCode).toBe(2);
  expect(stderr).toContain("its UTF-16 is damaged");
});

test.each(["sep=,", '"sep=,"', "SEP=,"])("a first line %s is no header", async (line) => {
  const world = await backfillWorld();

  const { exitCode, report } = await backfill(world, files(`${line}\r\n${TEXT}MC,x,never,1\n`, MAP));

  expect({ exitCode, report }).toMatchObject({ exitCode: 1, report: { stored: 1, deadLettered: 1 } });
  expect(await letters(world)).toEqual([
    'MC | malformed | quotes.csv line 4: Time is "never": expected ISO 8601',
  ]);
});

test("lines before the header are passed over, whatever they hold, and count as lines", async () => {
  const world = await backfillWorld();
  const csv = `Prices, "as they were\n\nmade by hand;\n${TEXT}MC,x,never,1\n`;

  const { report } = await backfill(world, files(csv, `skip: 3\n${MAP}`));

  expect(report).toMatchObject({ stored: 1, deadLettered: 1 });
  expect(await letters(world)).toEqual([
    'MC | malformed | quotes.csv line 6: Time is "never": expected ISO 8601',
  ]);
});

test("more lines before the header than the file has leave nothing of it", async () => {
  const world = await backfillWorld();

  const { exitCode, stderr } = await backfill(world, files(TEXT, `skip: 9\n${MAP}`));

  expect(exitCode).toBe(2);
  expect(stderr).toContain("it is empty");
});

test("the operator's calendar says when a day closed, and a calendar that is wrong is an error", async () => {
  const world = await backfillWorld();
  const jobs = world.env["QUOTEKEEPER_JOBS_DIR"] ?? "";
  mkdirSync(jobs);
  const given = files(
    "Symbol,Time,Last\nA,2026-11-18,1\n",
    "knownAt: close\ncolumns: { symbol: Symbol, time: Time, last: Last }\n",
  );
  writeFileSync(join(jobs, "calendar.yaml"), "overrides: [{ date: 2026-11-18, kind: never }]\n");

  const refused = await backfill(world, given);
  writeFileSync(
    join(jobs, "calendar.yaml"),
    'overrides: [{ date: 2026-11-18, kind: early, close: "14:00" }]\n',
  );
  const { exitCode } = await backfill(world, given);

  expect([refused.exitCode, exitCode]).toEqual([2, 0]);
  expect(refused.stderr).toContain("calendar.yaml:1");
  expect(await rows(world, "q.last")).toEqual(["2026-11-18 18:59:59.999999 A 1"]);
});
