import { appendFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { contentOf } from "../../support/archive.ts";
import { run } from "../../cli/edges.ts";
import { createTestClock } from "../../support/clock.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { type BackfillWorld, backfillWorld, interrupted } from "../world.ts";
import { backfill, files, HEADER, letters, MAP, rows, series } from "./csvFiles.ts";

handOnDatabases();

/** The archive without what is remembered of backfills and of where answers are. */
async function archiveOf({ pool }: Pick<BackfillWorld, "pool">) {
  const { backfills, backfill_positions, journal_positions, responses, ...content } = await contentOf(pool);
  expect([backfills, backfill_positions, journal_positions, responses]).not.toContain(undefined);
  return content;
}

test("equities come in with their zone, their digits to the last one, and what is empty is NULL", async () => {
  const world = await backfillWorld();
  const given = files(
    `${HEADER}\nAAPL,2026-11-18T09:30:00,150.100000000000000000001,150.20,0.10,"21,261,045"\n` +
      `MSFT,2026-11-18 09:30:00.250001,,na,3.00E2,\n`,
  );

  const { exitCode, report } = await backfill(world, given);

  expect({ exitCode, report }).toMatchObject({
    exitCode: 0,
    report: { answers: 1, newAnswers: 1, read: 2, stored: 2, repeated: 0, deadLettered: 0 },
  });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 150.100000000000000000001 150.20 0.10 21261045",
    "2026-11-18 14:30:00.250001 MSFT 300",
  ]);
  const { rows: sources } = await world.pool.query(
    "select distinct s.kind, s.name, q.delayed from quotes q join sources s on s.id = q.source_id",
  );
  expect(sources).toEqual([{ kind: "import", name: "csv", delayed: false }]);
});

test("options come in by their OCC symbol, or by underlying, expiration, type and strike", async () => {
  const world = await backfillWorld();
  const occ = files(
    `contract;at;mid;d\nAAPL  261218C00150500;1795012200;1.234,50;-3,0E-6\nAAPL261218P00150000;1795012200;2,5;\n`,
    `source: vendor\ntimeFormat: s\ndelimiter: ;\ndecimal: ","\ndelayed: true\ncolumns: { occ: contract, time: at, last: mid, delta: d }\n`,
  );
  const parts = files(
    `IBM,12/18/2026,c,95.50,1795012260123,7.1\nIBM,12/18/2026,PUT,95.5,1795012260123456,7.2\n`,
    `header: false
source: vendor
timeFormat: ms
expirationFormat: "%m/%d/%Y"
columns: { underlying: 1, expiration: 2, type: 3, strike: 4, time: 5, last: 6 }
`,
  );

  const first = await backfill(world, occ);
  const second = await backfill(world, parts);

  expect(first).toMatchObject({ exitCode: 0, report: { stored: 2 } });
  expect(second).toMatchObject({ exitCode: 1, report: { stored: 1, deadLettered: 1 } });
  expect(await rows(world, "q.last, q.delayed, e.delta")).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 2026-12-18 PUT 150 2.5 t",
    "2026-11-18 14:30:00.000000 AAPL 2026-12-18 CALL 150.5 1234.50 t -0.0000030",
    "2026-11-18 14:31:00.123000 IBM 2026-12-18 CALL 95.5 7.1 f",
  ]);
  expect(await letters(world)).toEqual([
    `IBM | malformed | quotes.csv line 2: 5 is "1795012260123456": that is before 1980 or after 2099; see the map's time format`,
  ]);
});

test("a local time that clocks skip is set aside, one that they show twice is as the map says", async () => {
  const csv = `${HEADER}\nA,2026-03-08T02:30:00,,,1,\nB,2026-11-01T01:30:00,,,2,\nC,2026-11-01T01:30:00-05:00,,,3,\n`;
  const seen: string[][] = [];
  for (const ambiguous of ["earlier", "later", "refuse"]) {
    const world = await backfillWorld();
    const { exitCode } = await backfill(world, files(csv, `ambiguous: ${ambiguous}${MAP}`));
    expect(exitCode).toBe(1);
    seen.push(await rows(world));
    expect((await letters(world))[0]).toBe(
      'A | malformed | quotes.csv line 2: Time is "2026-03-08T02:30:00": clocks of America/New_York never showed it: they were put forward',
    );
  }

  expect(seen).toEqual([
    ["2026-11-01 05:30:00.000000 B 2", "2026-11-01 06:30:00.000000 C 3"],
    ["2026-11-01 06:30:00.000000 B 2", "2026-11-01 06:30:00.000000 C 3"],
    ["2026-11-01 06:30:00.000000 C 3"],
  ]);
});

test("a bad row costs itself alone, a bad count not even its row, and the dead letter says line, column and value", async () => {
  const world = await backfillWorld();
  const { exitCode, report } = await backfill(
    world,
    files(
      [
        HEADER,
        "AAPL,2026-11-18T09:30:00,1,1,1,1",
        "",
        "AAPL,2026-11-18T09:31:00,1O0,1,1,1",
        ",2026-11-18T09:32:00,1,1,1,1",
        "AAPL,yesterday,1,1,1,1",
        "AAPL,2026-11-18T09:33:00,1,1",
        'AAPL,2026-11-18T09:34:00,"1,1,1,1',
        "AAPL,2026-11-18T09:35:00,1,1,1,1.5",
        "AAPL,2026-02-30T09:35:00,1,1,1,1",
        "AAPL,2026-11-18T09:36:00,,,,",
        '"AAPL","2026-11-18T09:37:00","1","1","1","1"',
        "AAPL,2026-11-18T09:38:00,1,1,1,1,surplus",
        "AAPL,2026-11-18T09:39:00,1,1,1,1,",
      ].join("\r\n"),
    ),
  );

  expect({ exitCode, report }).toMatchObject({
    exitCode: 1,
    report: { read: 12, stored: 5, deadLettered: 7 },
  });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 1 1 1 1",
    "2026-11-18 14:35:00.000000 AAPL 1 1 1",
    "2026-11-18 14:37:00.000000 AAPL 1 1 1 1",
    "2026-11-18 14:38:00.000000 AAPL 1 1 1 1",
    "2026-11-18 14:39:00.000000 AAPL 1 1 1 1",
  ]);
  expect(await letters(world)).toEqual([
    'AAPL | malformed | quotes.csv line 4: Bid is "1O0": "1O0" is not a decimal number',
    'malformed | quotes.csv line 5: Symbol is "": expected a symbol',
    'AAPL | malformed | quotes.csv line 6: Time is "yesterday": expected ISO 8601',
    "malformed | quotes.csv line 7: it has 4 columns, and 6 are expected",
    expect.stringMatching(/^malformed \| quotes\.csv line 8: it is no row of CSV: Quote Not Closed/),
    'AAPL | odd_field | quotes.csv line 9: Volume is "1.5": "1.5" is not a whole number',
    'AAPL | malformed | quotes.csv line 10: Time is "2026-02-30T09:35:00": there is no such time',
    "AAPL | malformed | quotes.csv line 11: it has no value",
  ]);
});

test("the same file again adds nothing; grown at its end it adds the new rows alone, to the journal too", async () => {
  const world = await backfillWorld();
  const given = files(`${HEADER}\n${series(2_500)}AAPL,broken,,,1,\n`);
  const first = await backfill(world, given);
  const before = await contentOf(world.pool);

  const again = await backfill(world, given);
  const after = await contentOf(world.pool);
  appendFileSync(given.file, series(1_700, 2_500));
  const grown = await backfill(world, given);
  const twice = await backfill(world, given);

  expect(first.report).toMatchObject({
    answers: 3,
    newAnswers: 3,
    read: 2_501,
    stored: 2_500,
    deadLettered: 1,
  });
  expect(again.report).toMatchObject({ answers: 3, newAnswers: 0, read: 2_501, stored: 0, repeated: 2_500 });
  expect({ ...after, backfills: 0 }).toEqual({ ...before, backfills: 0 });
  expect(grown.report).toMatchObject({
    answers: 5,
    newAnswers: 2,
    read: 4_201,
    stored: 1_700,
    repeated: 2_500,
  });
  expect(twice.report).toMatchObject({ answers: 5, newAnswers: 0, stored: 0, repeated: 4_200 });
  expect(await letters(world)).toHaveLength(1);
  const { rows: bytes } = await world.pool.query("select sum(body_bytes)::int as n from responses");
  expect((bytes[0] as { n: number }).n).toBeLessThan(4_201 * 40);
});

test("of two different rows of one instrument and time in a piece neither is stored; a row that the archive has stays", async () => {
  const world = await backfillWorld();
  const line = (last: string) => `AAPL,2026-11-18T09:00:00,,,${last},\n`;
  const torn = files(`${HEADER}\n${line("1")}${line("1.0")}${line("2")}`);
  const far = files(`${HEADER}\n${series(1_000)}${line("1")}${line("1.0")}`);
  const other = files(`${HEADER}\n${line("3")}`);

  const reports = [];
  for (const file of [torn, far, other, other]) reports.push((await backfill(world, file)).report);

  expect(reports).toMatchObject([
    { read: 3, stored: 0, repeated: 0, deadLettered: 3 },
    { read: 1_002, stored: 1_001, repeated: 1, deadLettered: 0 },
    { read: 1, stored: 0, repeated: 0, deadLettered: 1 },
    { read: 1, stored: 0, repeated: 0, deadLettered: 1 },
  ]);
  const words = "rows with different values at 2026-11-18T14:00:00.000000Z: last 1 and 2";
  expect(await letters(world)).toEqual([
    ...[2, 3, 4].map((number) => `AAPL | answered_twice | quotes.csv line ${number}: ${words}`),
    "AAPL | answered_twice | quotes.csv line 2: the archive has other values at 2026-11-18T14:00:00.000000Z",
  ]);
});

test("two rows of different pieces that contradict each other: the first one stays, the other is set aside", async () => {
  const world = await backfillWorld();
  const line = (last: string) => `AAPL,2026-11-18T09:00:00,,,${last},\n`;

  const { report } = await backfill(world, files(`${HEADER}\n${line("1")}${series(1_200)}${line("3")}`));

  expect(report).toMatchObject({ answers: 2, read: 1_202, stored: 1_201, deadLettered: 1 });
  expect(await letters(world)).toEqual([
    "AAPL | answered_twice | quotes.csv line 1203: the archive has other values at 2026-11-18T14:00:00.000000Z",
  ]);
  expect((await rows(world))[0]).toBe("2026-11-18 14:00:00.000000 AAPL 1");
});

test("pieces of two imports have times of their own, though the clock was set back between the imports", async () => {
  const world = await backfillWorld();
  for (const last of ["150", "151"]) {
    const given = files(`${HEADER}\nAAPL,2026-11-18T09:30:${last.slice(1)},,,${last},\n`);
    await run(["backfill", "--csv", given.file, "--map", given.map], world.env, createTestClock());
  }

  const { rows: answers } = await world.pool.query("select distinct observed_at from responses");
  expect([answers.length, (await rows(world)).length]).toEqual([2, 2]);
});

test("a map's problems come all at once, each with its line, exit code 2", async () => {
  const world = await backfillWorld();
  const wrong = files(
    `${HEADER}\n`,
    `timezone: Mars/Olympus\ntimeFormat: "%Q"\ncolums: {}\ncolumns:\n  symbol: Symbol\n  time: Time\n  strike: Strike\n`,
  );
  const strange = files(`${HEADER}\n`, MAP.replace("bid: Bid", "bid: Gebot").replace("ask: Ask", "ask: 99"));
  const unzoned = files(`${HEADER}\n${series(1)}`, MAP.replace("timezone: America/New_York", ""));

  const first = await backfill(world, wrong);
  const second = await backfill(world, strange);
  const third = await backfill(world, unzoned);

  expect([first.exitCode, second.exitCode, third.exitCode]).toEqual([2, 2, 2]);
  expect(first.stderr).toContain("BACKFILL_MAP_INVALID");
  expect(first.stderr).toMatch(/map\.yaml:1: timezone is Mars\/Olympus/);
  expect(first.stderr).toMatch(/map\.yaml:3: colums is not an option here/);
  expect(second.stderr).toMatch(/map\.yaml:6: columns\.bid is Gebot: expected one of Symbol, Time, Bid/);
  expect(second.stderr).toMatch(/map\.yaml:7: columns\.ask is 99/);
  expect(third.stderr).toContain("timezone is missing");
});

test("a file in .gz with a byte order mark comes in, with one symbol for all rows, its date and its time apart", async () => {
  const world = await backfillWorld();
  const given = files(
    gzipSync(
      "\u{feff}Date\tTime\tClose\n11/18/2026\t9:30:05 AM\t150.5\n11/18/2026\t1:00:00 PM\t-\n11/18/2026\t1:00:01 PM\t151\n",
    ),
    `timezone: America/New_York
timeFormat: "%m/%d/%Y %I:%M:%S %p"
delimiter: tab
absent: ["-"]
constants: { symbol: "007" }
securityType: ETF
columns: { time: [Date, Time], last: Close }
`,
    "quotes.csv.gz",
  );

  const { report } = await backfill(world, given, "--name", "seven");

  expect(report).toMatchObject({ stored: 2, deadLettered: 1 });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:05.000000 007 150.5",
    "2026-11-18 18:00:01.000000 007 151",
  ]);
  const { rows: found } = await world.pool.query(
    "select security_type, (select name from sources where id >= 100) as source from instruments",
  );
  expect(found).toEqual([{ security_type: "ETF", source: "seven" }]);
});

test("only rows within --from and --to are taken, and years long past have room", async () => {
  const world = await backfillWorld();
  const given = files(
    `${HEADER}\nA,1999-12-31T15:59:59,,,1,\nA,2009-03-09T10:00:00,,,2,\nA,2026-11-18T10:00:00,,,3,\n`,
  );

  const { report } = await backfill(world, given, "--from", "1999-12-01", "--to", "2009-03-09");

  expect(report).toMatchObject({ read: 2, stored: 2 });
  expect(await rows(world)).toEqual(["1999-12-31 20:59:59.000000 A 1", "2009-03-09 14:00:00.000000 A 2"]);
});

test("a trial gives the numbers that the import then has, and changes nothing", async () => {
  const world = await backfillWorld();
  const given = files(`${HEADER}\n${series(1_500)}`);
  await backfill(world, given);
  appendFileSync(given.file, `${series(900, 1_400)}AAPL,broken,,,1,\nAAPL,2026-11-18T09:30:00,,,77,\n`);
  const before = await contentOf(world.pool);
  const journaled = readdirSync(world.journalDir);

  const trial = await backfill(world, given, "--dry-run");
  const after = await contentOf(world.pool);
  const journaledAfter = readdirSync(world.journalDir);
  const real = await backfill(world, given);

  expect(after).toEqual(before);
  expect(journaledAfter).toEqual(journaled);
  expect(trial.report).toMatchObject({ read: 2_402, stored: 800, deadLettered: 2 });
  expect(trial.report).toEqual(real.report);
});

/** A slot of AAPL in which it was missed. */
async function missAt({ pool }: BackfillWorld, slotAt: string): Promise<void> {
  await pool.query(
    `with due as (insert into due_sets (digest, instruments) values ('x', '{AAPL}') returning id)
     insert into slots (job, slot_at, source_id, due_set_id, due, stored, missed)
     select 'j', $1, 1, id, 1, 0, 1 from due`,
    [slotAt],
  );
  await pool.query(
    "insert into misses (job, slot_at, source_id, instrument, reason) values ('j', $1, 1, 'AAPL', 'down')",
    [slotAt],
  );
}

test("an import that was ended in its midst and runs again has the rows of one that was left alone, and fills the slots of both runs", async () => {
  // The first row is of a date that the second run does not read.
  const first = "AAPL,2026-11-16T09:30:20,,,150,\n";
  // A piece ends before so many empty lines; pieces of more than one batch.
  const pieces = Array.from({ length: 40 }, (_, piece) => series(50, piece * 50));
  const csv = [first, ...pieces, "AAPL,broken,,,1,\n"].join("\n".repeat(1_000));
  const given = files(`${HEADER}\n${csv}`);
  const alone = await backfillWorld();
  const world = await backfillWorld();
  for (const one of [alone, world]) await missAt(one, "2026-11-16 14:30+00");
  await backfill(alone, given);

  const exitCode = await interrupted(world, ["backfill", "--csv", given.file, "--map", given.map]);
  const partly = (await rows(world)).length;
  const second = await backfill(world, given);

  expect(exitCode).toBe(130);
  expect([partly > 0, partly < 2_001]).toEqual([true, true]);
  expect(second).toMatchObject({
    resumed: true,
    report: { read: 2_002, stored: 2_001, repeated: 0, deadLettered: 1, filled: 1 },
  });
  // Fills tell when they were made.
  const { dead_letters: letter, fills: _fills, ...content } = await archiveOf(world);
  const { dead_letters: other, fills: _others, ...expected } = await archiveOf(alone);
  expect(content).toEqual(expected);
  expect([letter?.rows, other?.rows]).toEqual([1, 1]);
});

test("from the journal alone the archive is made again, without file and map, the same row by row", async () => {
  const world = await backfillWorld();
  await backfill(
    world,
    files(`${HEADER}\n${series(1_100)}AAPL,broken,,,1,\nAAPL,2026-11-18T09:30:00,,,77,\n`),
  );
  const expected = await contentOf(world.pool);
  const { pool } = await freshDatabase();

  await loadAll({ pool, journalDir: world.journalDir, clock: createTestClock() });

  const { backfills, ...content } = expected;
  const { backfills: none, ...again } = await contentOf(pool);
  expect([backfills?.rows, none?.rows]).toEqual([1, 0]);
  expect(again).toEqual(content);
  expect(again["dead_letters"]?.rows).toBe(2);
});

test("a slot that was missed is filled by an import's quote, and the ledger says by what", async () => {
  const world = await backfillWorld();
  await missAt(world, "2026-11-18 14:30+00");
  const given = files(`${HEADER}\nAAPL,2026-11-18T09:30:20,,,150,\n`);

  const trial = await backfill(world, given, "--dry-run");
  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ stored: 1, filled: 1 });
  expect(trial.report).toEqual(report);
  const { rows: fills } = await world.pool.query(
    "select instrument, reason, filled_by, s.kind, s.name from fills join sources s on s.id = fill_source_id",
  );
  expect(fills).toEqual([
    { instrument: "AAPL", reason: "down", filled_by: "csv", kind: "import", name: "csv" },
  ]);
});
