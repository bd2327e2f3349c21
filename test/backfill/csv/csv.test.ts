import { appendFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { contentOf } from "../../support/archive.ts";
import { run } from "../../cli/edges.ts";
import { createTestClock } from "../../support/clock.ts";
import { handOnDatabases } from "../../support/database.ts";
import { type BackfillWorld, backfillWorld, interrupted } from "../world.ts";
import { backfill, fileOf, HEADER, letters, rows, series } from "./csvFiles.ts";

handOnDatabases();

/** The archive without what is remembered of backfills and of where answers are. */
async function archiveOf({ pool }: Pick<BackfillWorld, "pool">) {
  const { backfills, backfill_positions, journal_positions, responses, ...content } = await contentOf(pool);
  expect([backfills, backfill_positions, journal_positions, responses]).not.toContain(undefined);
  return content;
}

test("a cell that is wrong costs its row alone, a price that stands for none not even that, and the dead letter says line, column and value", async () => {
  const world = await backfillWorld();
  const { exitCode, report } = await backfill(
    world,
    fileOf(
      [
        HEADER,
        "AAPL,2026-11-18T09:30:00-05:00,1,1,1,1",
        "",
        "AAPL,2026-11-18T09:31:00-05:00,1O0,1,1,1",
        "AAPL,2026-02-30T09:35:00,1,1,1,1",
        "AAPL,2026-11-18T09:35:00-05:00,1,1,-999,1",
        'AAPL,2026-11-18T09:34:00-05:00,"1,1,1,1',
      ].join("\r\n"),
    ),
  );

  expect({ exitCode, report }).toMatchObject({
    exitCode: 1,
    report: { read: 5, stored: 2, deadLettered: 3 },
  });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 1 1 1 1",
    "2026-11-18 14:35:00.000000 AAPL 1 1 1",
  ]);
  expect(await letters(world)).toEqual([
    'AAPL | malformed | quotes.csv line 4: bid is "1O0": "1O0" is not a decimal number',
    'AAPL | malformed | quotes.csv line 5: observed_at is "2026-02-30T09:35:00": there is no such time',
    'AAPL | odd_field | quotes.csv line 6: last is "-999": "-999" is below zero',
    expect.stringMatching(/^malformed \| quotes\.csv line 7: it is no row of CSV: Quote Not Closed/),
  ]);
});

test("the same file again adds nothing; grown at its end it adds the new rows alone, to the journal too", async () => {
  const world = await backfillWorld();
  const given = fileOf(`${HEADER}\n${series(2_500)}AAPL,broken,,,1,\n`);
  const first = await backfill(world, given);
  const before = await contentOf(world.pool);

  const again = await backfill(world, given);
  const after = await contentOf(world.pool);
  appendFileSync(given, series(1_700, 2_500));
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
  expect((bytes[0] as { n: number }).n).toBeLessThan(4_201 * 45);
});

test("of two different rows of one instrument and time in a piece neither is stored; a row that the archive has stays", async () => {
  const world = await backfillWorld();
  const line = (last: string) => `AAPL,2026-11-18T09:00:00-05:00,,,${last},\n`;
  const torn = fileOf(`${HEADER}\n${line("1")}${line("1.0")}${line("2")}`);
  const far = fileOf(`${HEADER}\n${series(1_000)}${line("1")}${line("1.0")}`);
  const other = fileOf(`${HEADER}\n${line("3")}`);

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
    "AAPL | answered_twice | quotes.csv line 2: the archive has other values at 2026-11-18T14:00:00.000000Z: last 1 there and 3 here",
  ]);
});

test("percent signs of a page's export are read by the unit of each column, and a price in percent is a dead letter", async () => {
  const world = await backfillWorld();
  const at = "2026-11-27T10:00:00-05:00";
  const given = fileOf(
    [
      "symbol,expiration,option_type,strike,observed_at,bid,volume,pct_change,implied_volatility,delta",
      `AAPL,2026-12-18,CALL,250,${at},1.20,100,-10.95%,31.5%,45%`,
      `AAPL,2026-12-18,CALL,255,${at},5%,10%,1%,27%,40%`,
      `AAPL,2026-12-18,CALL,260,${at},1.10,10%,(1.5%),\u22123%,\u22120.25`,
      `AAPL,2026-12-18,CALL,265,${at},-999,10,(1.5),0.3,(40%)`,
    ].join("\n"),
  );

  const { exitCode, report } = await backfill(world, given);

  expect({ exitCode, report }).toMatchObject({
    ...{ exitCode: 1, report: { read: 4, stored: 2, deadLettered: 2 } },
  });
  const columns = "coalesce(q.bid::text, '-'), coalesce(e.volume::text, '-'), q.pct_change";
  expect(await rows(world, `${columns}, coalesce(e.implied_volatility::text, '-'), e.delta`)).toEqual([
    "2026-11-27 15:00:00.000000 AAPL 2026-12-18 CALL 250 1.20 100 -10.95 0.315 0.45",
    "2026-11-27 15:00:00.000000 AAPL 2026-12-18 CALL 265 - 10 -1.5 0.3 -0.4",
  ]);
  expect(await letters(world)).toEqual([
    'AAPL | malformed | quotes.csv line 3: bid is "5%": "5%" has a percent sign, and the column holds dollars',
    'AAPL | malformed | quotes.csv line 4: volume is "10%": "10%" has a percent sign, and the column holds a count',
    'AAPL | odd_field | quotes.csv line 5: bid is "-999": "-999" is below zero',
  ]);
});

test("two feeds of one instant are dead letters that name the column in which they differ, with both values", async () => {
  const world = await backfillWorld();
  const lines = (...feeds: string[]) => fileOf(["symbol,observed_at,last,delayed", ...feeds, ""].join("\n"));
  const at = "2026-11-18T15:00:00";

  await backfill(world, lines(`A,${at},1.5,false`, `A,${at},1.4,true`, `B,${at},2,false`, `B,${at},2,true`));
  await backfill(world, lines(`C,${at},3,false`));
  await backfill(world, lines(`C,${at},3,true`));

  expect(await rows(world, "q.last, q.delayed")).toEqual(["2026-11-18 15:00:00.000000 C 3 f"]);
  const torn = `rows with different values at ${at}.000000Z`;
  expect(await letters(world)).toEqual([
    `A | answered_twice | quotes.csv line 2: ${torn}: delayed false and true, last 1.5 and 1.4`,
    `A | answered_twice | quotes.csv line 3: ${torn}: delayed false and true, last 1.5 and 1.4`,
    `B | answered_twice | quotes.csv line 4: ${torn}: delayed false and true`,
    `B | answered_twice | quotes.csv line 5: ${torn}: delayed false and true`,
    `C | answered_twice | quotes.csv line 2: the archive has other values at ${at}.000000Z: delayed false there and true here`,
  ]);
});

test("pieces of two imports have times of their own, though the clock was set back between the imports", async () => {
  const world = await backfillWorld();
  for (const last of ["150", "151"]) {
    const given = fileOf(`${HEADER}\nAAPL,2026-11-18T09:30:${last.slice(1)},,,${last},\n`);
    await run(["backfill", "--csv", given], world.env, createTestClock());
  }

  const { rows: answers } = await world.pool.query("select distinct observed_at from responses");
  expect([answers.length, (await rows(world)).length]).toEqual([2, 2]);
});

test("only rows within --from and --to are taken, and years long past have room", async () => {
  const world = await backfillWorld();
  const given = fileOf(
    `${HEADER}\nA,1999-12-31T15:59:59-05:00,,,1,\nA,2009-03-09T10:00:00-04:00,,,2,\nA,2026-11-18T10:00:00-05:00,,,3,\n`,
  );

  const { report } = await backfill(world, given, "--from", "1999-12-01", "--to", "2009-03-09");

  expect(report).toMatchObject({ read: 2, stored: 2 });
  expect(await rows(world)).toEqual(["1999-12-31 20:59:59.000000 A 1", "2009-03-09 14:00:00.000000 A 2"]);
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
  const first = "AAPL,2026-11-16T09:30:20-05:00,,,150,\n";
  // A piece ends before so many empty lines; pieces of more than one batch.
  const pieces = Array.from({ length: 40 }, (_, piece) => series(50, piece * 50));
  const csv = [first, ...pieces, "AAPL,broken,,,1,\n"].join("\n".repeat(1_000));
  const given = fileOf(`${HEADER}\n${csv}`);
  const alone = await backfillWorld();
  const world = await backfillWorld();
  for (const one of [alone, world]) await missAt(one, "2026-11-16 14:30+00");
  await backfill(alone, given);

  const exitCode = await interrupted(world, ["backfill", "--csv", given]);
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

test("a slot that was missed is filled by an import's quote, and the ledger says by what", async () => {
  const world = await backfillWorld();
  await missAt(world, "2026-11-18 14:30+00");
  const given = fileOf(`${HEADER}\nAAPL,2026-11-18T09:30:20-05:00,,,150,\n`);

  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ stored: 1, filled: 1 });
  const { rows: fills } = await world.pool.query(
    "select instrument, reason, filled_by, s.kind, s.name from fills join sources s on s.id = fill_source_id",
  );
  expect(fills).toEqual([
    { instrument: "AAPL", reason: "down", filled_by: "csv", kind: "import", name: "quotes" },
  ]);
});
