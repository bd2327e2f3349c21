/** Volumes of bars, which become the sum of the day so far, over pieces, files that grow, and the journal alone. */
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { contentOf } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";
import { backfill, files, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const HEADER = "symbol,time,close,volume";
const BARS = `
timezone: America/New_York
knownAt: time + 1m
volumeOf: bar
columns: { symbol: symbol, time: time, close: close, volume: volume }
`;

/** Minute bars of some symbols, minute after minute, from 09:30 on; each has the volume of its own number. */
function bars(symbols: readonly string[], minutes: number, from = 0): string {
  const lines = Array.from({ length: minutes }, (_, place) => {
    const minute = from + place;
    const at = new Date(Date.UTC(2026, 10, 18, 9, 30 + minute)).toISOString().slice(0, 19);
    return symbols.map((symbol, which) => `${symbol},${at},150,${(minute + 1) * (which + 1)}\n`).join("");
  });
  return lines.join("");
}

/** The newest volume of each symbol, and how many quotes it has. */
async function last({ pool }: Pick<BackfillWorld, "pool">): Promise<string[]> {
  const { rows: found } = await pool.query<{ line: string }>(
    `select concat_ws(' ', i.symbol, max(e.volume), count(*)) as line
     from extended_quotes e join instruments i on i.id = e.instrument_id group by i.symbol order by 1`,
  );
  return found.map(({ line }) => line);
}

const SYMBOLS = ["A", "B", "C", "D"];

/** 390 minutes: 1 + 2 + ... + 390 of the first one, and a quote more with 0. */
const WHOLE = ["A 76245 391", "B 152490 391", "C 228735 391", "D 304980 391"];

test("a day that is cut into pieces has one sum, which the journal alone makes again", async () => {
  const world = await backfillWorld();
  const given = files(`${HEADER}\n${bars(SYMBOLS, 390)}`, BARS);

  const first = await backfill(world, given);
  const again = await backfill(world, given);

  expect(first).toMatchObject({ exitCode: 0, report: { answers: 2, stored: 1_564, repeated: 0 } });
  expect(await last(world)).toEqual(WHOLE);
  expect(again).toMatchObject({ exitCode: 0, report: { newAnswers: 0, stored: 0, repeated: 1_564 } });
  const { url, pool } = await freshDatabase();
  await run(["backfill", "--journal"], { ...world.env, DATABASE_URL: url });
  const made = await contentOf(pool);
  const there = await contentOf(world.pool);
  for (const table of ["quotes", "extended_quotes", "session_bars", "dead_letters"])
    expect({ [table]: made[table] }).toEqual({ [table]: there[table] });
});

test("a file that has grown goes on with the sums of its rows before", async () => {
  const world = await backfillWorld();
  await backfill(world, files(`${HEADER}\n${bars(SYMBOLS, 100)}`, BARS));

  const { report } = await backfill(world, files(`${HEADER}\n${bars(SYMBOLS, 390)}`, BARS));

  expect(report).toMatchObject({ stored: 1_160, repeated: 404, deadLettered: 0 });
  expect(await last(world)).toEqual(WHOLE);
});

test("rows before --from count for the sums of those behind it", async () => {
  const world = await backfillWorld();

  await backfill(world, files(`${HEADER}\n${bars(["A"], 390)}`, BARS), "--from", "2026-11-18T15:59:00-05:00");

  expect(await rows(world)).toEqual(["2026-11-18 20:59:59.999999 A 150 76245"]);
});

test("a bar that stands there twice counts once, and two that differ are both set aside", async () => {
  const world = await backfillWorld();
  const csv = `${HEADER}
A,2026-11-18T09:30:00,150,100
A,2026-11-18T09:31:00,151,50
A,2026-11-18T09:31:00,151,50
A,2026-11-18T09:32:00,152,7
A,2026-11-18T09:32:00,152,8
`;

  const { report } = await backfill(world, files(csv, BARS));

  expect(report).toMatchObject({ stored: 3, repeated: 1, deadLettered: 2 });
  expect(await rows(world, "q.last, e.volume")).toEqual([
    "2026-11-18 14:30:59.999998 A 0",
    "2026-11-18 14:30:59.999999 A 150 100",
    "2026-11-18 14:31:59.999999 A 151 150",
  ]);
});

test("a bar behind a later one of its day is set aside, and says what its file needs", async () => {
  const world = await backfillWorld();
  const csv = `${HEADER}\nA,2026-11-19T09:31:00,151,50\nA,2026-11-19T09:30:00,150,100\nA,2026-11-18T09:30:00,149,9\n`;

  const { exitCode } = await backfill(world, files(csv, BARS));

  expect(exitCode).toBe(1);
  expect(await letters(world)).toEqual([
    "A | malformed | quotes.csv line 3: it is of 2026-11-19T14:30:59.999999Z, and a row before it of 2026-11-19T14:31:59.999999Z: volumeOf: bar needs the rows of a day in the order of time",
  ]);
  expect(await rows(world, "q.last, e.volume")).toEqual([
    "2026-11-18 14:30:59.999998 A 0",
    "2026-11-18 14:30:59.999999 A 149 9",
    "2026-11-19 14:31:59.999998 A 0",
    "2026-11-19 14:31:59.999999 A 151 50",
  ]);
});

test("a bar without a volume has none, and the sum goes on behind it", async () => {
  const world = await backfillWorld();
  const csv = `${HEADER}\nA,2026-11-18T09:30:00,150,100\nA,2026-11-18T09:31:00,151,\nA,2026-11-18T09:32:00,152,20\n`;

  await backfill(world, files(csv, BARS));

  expect(await rows(world, "q.last, e.volume")).toEqual([
    "2026-11-18 14:30:59.999998 A 0",
    "2026-11-18 14:30:59.999999 A 150 100",
    "2026-11-18 14:31:59.999999 A 151",
    "2026-11-18 14:32:59.999999 A 152 120",
  ]);
});

test("a bar that was imported is another one behind other bars of its day", async () => {
  const world = await backfillWorld();
  const bar = "A,2026-11-18T09:31:00,151,50\n";
  await backfill(world, files(`${HEADER}\n${bar}`, BARS));

  const behind = files(`${HEADER}\nA,2026-11-18T09:30:00,150,100\n${bar}`, BARS);
  const { report } = await backfill(world, behind, "--from", "2026-11-18T09:31:00-05:00");

  expect(report).toMatchObject({ newAnswers: 1, repeated: 0, deadLettered: 1 });
});
