/** `--replace`: rows of a later import take the place of those of an earlier one, whatever is read again afterwards. */
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { contentOf } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";
import { backfill, fileOf, HEADER, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const PARTIAL = `${HEADER}
AAPL,2026-11-18T09:30:00-05:00,,,150,100
AAPL,2026-11-18T09:31:00-05:00,,,151,150
MSFT,2026-11-18T09:31:00-05:00,,,300,7
`;
const FINAL = `${HEADER}
AAPL,2026-11-18T09:30:00-05:00,,,150,100
AAPL,2026-11-18T09:31:00-05:00,,,151.5,250
AAPL,2026-11-18T09:32:00-05:00,,,152,300
`;
const CORRECTED = [
  "2026-11-18 14:30:00.000000 AAPL 150 100",
  "2026-11-18 14:31:00.000000 AAPL 151.5 250",
  "2026-11-18 14:31:00.000000 MSFT 300 7",
  "2026-11-18 14:32:00.000000 AAPL 152 300",
];

/** An archive with a partial file and the final one that corrects it. */
async function corrected() {
  const world = await backfillWorld();
  const [partial, final] = [fileOf(PARTIAL), fileOf(FINAL)];
  await backfill(world, partial);
  const done = await backfill(world, final, "--replace");
  return { world, partial, final, done };
}

/** What the archive has of quotes, bars and dead letters. */
async function contentIn(pool: BackfillWorld["pool"]) {
  const { quotes, extended_quotes, session_bars, intraday_bars, dead_letters } = await contentOf(pool);
  return { quotes, extended_quotes, session_bars, intraday_bars, dead_letters };
}

async function barsIn({ pool }: BackfillWorld): Promise<string[]> {
  const { rows: found } = await pool.query<{ line: string }>(
    `select concat_ws(' ', i.symbol, b.close, b.quote_count, b.volume) as line
     from bars_5m b join instruments i on i.id = b.instrument_id order by 1`,
  );
  return found.map(({ line }) => line);
}

test("a final file corrects an earlier, partial one, which is said and counted, and bars follow", async () => {
  const { world, done } = await corrected();

  expect(done).toMatchObject({
    exitCode: 0,
    report: { read: 3, stored: 2, replaced: 1, repeated: 1, deadLettered: 0 },
  });
  expect(await rows(world)).toEqual(CORRECTED);
  expect(await barsIn(world)).toEqual(["AAPL 152 3 200", "MSFT 300 1 0"]);
});

test("a row that is corrected to be a delayed one leaves the bars of the others for those of the delayed", async () => {
  const world = await backfillWorld();
  const file = (delayed: boolean): string =>
    fileOf(`${HEADER},delayed\nAAPL,2026-11-18T09:30:00-05:00,,,150,100,${delayed}\n`);
  await backfill(world, file(false));

  await backfill(world, file(true), "--replace");

  const { rows: bars } = await world.pool.query(
    "select delayed, quote_count from bars_1d union all select delayed, quote_count from bars_5m",
  );
  expect(bars).toEqual([
    { delayed: true, quote_count: "1" },
    { delayed: true, quote_count: "1" },
  ]);
});

test("an import that replaces says in words how many quotes it took out", async () => {
  const world = await backfillWorld();
  await backfill(world, fileOf(PARTIAL));

  const { stdout } = await run(["backfill", "--csv", fileOf(FINAL), "--replace"], world.env);

  expect(stdout).toContain("Replaced  1 quote was taken out first\n");
});

test("without --replace the earlier row stays and the later one is set aside; imported again with it, it replaces", async () => {
  const world = await backfillWorld();
  const final = fileOf(FINAL);
  await backfill(world, fileOf(PARTIAL));

  const without = await backfill(world, final);
  const { report } = await backfill(world, final, "--replace");

  expect(without).toMatchObject({
    exitCode: 1,
    report: { stored: 1, replaced: 0, repeated: 1, deadLettered: 1 },
  });
  expect(report).toMatchObject({ newAnswers: 1, stored: 1, replaced: 1, repeated: 2 });
  expect(await rows(world)).toEqual(CORRECTED);
});

test("the earlier file, imported again, changes nothing and is no contradiction", async () => {
  const { world, partial, final } = await corrected();
  const before = await contentIn(world.pool);

  const again = await backfill(world, partial);
  const replacing = await backfill(world, final, "--replace");

  expect(again).toMatchObject({
    exitCode: 0,
    report: { stored: 0, replaced: 0, repeated: 3, deadLettered: 0 },
  });
  expect(replacing.report).toMatchObject({ newAnswers: 0, stored: 0, replaced: 0, repeated: 3 });
  expect(await contentIn(world.pool)).toEqual(before);
});

test("of several corrections the newest counts, whichever is read again", async () => {
  const { world, final } = await corrected();
  const newest = fileOf(FINAL.replace("151.5", "151.75"));
  await backfill(world, newest, "--replace");
  const again = await backfill(world, final, "--replace");

  expect(again.report).toMatchObject({ stored: 0, replaced: 0, repeated: 3, deadLettered: 0 });
  expect(await rows(world)).toEqual(CORRECTED.map((line) => line.replace("151.5", "151.75")));
});

test("another contradiction of the same source is still one, and stays one when the journal is read again", async () => {
  const { world } = await corrected();
  const wrong = await backfill(world, fileOf(`${HEADER}\nMSFT,2026-11-18T09:31:00-05:00,,,301,7\n`));
  const before = await contentIn(world.pool);

  await run(["backfill", "--journal"], world.env);

  expect(wrong).toMatchObject({ exitCode: 1, report: { deadLettered: 1 } });
  expect(await letters(world)).toHaveLength(1);
  expect(await contentIn(world.pool)).toEqual(before);
});

test("the journal gives the corrected rows, into an empty archive, into a full one, and in a rebuild", async () => {
  const { world } = await corrected();
  await backfill(world, fileOf(FINAL.replace("151.5", "151.75")), "--replace");
  const before = await contentIn(world.pool);
  const { url, pool } = await freshDatabase();

  await run(["backfill", "--journal"], { ...world.env, DATABASE_URL: url });
  const full = await run(["backfill", "--journal"], world.env);

  expect(full.exitCode).toBe(0);
  expect(await contentIn(pool)).toEqual(before);
  expect(await contentIn(world.pool)).toEqual(before);
  await run(["backfill", "--journal", "--rebuild"], world.env);
  expect(await contentIn(world.pool)).toEqual(before);
});

test("journals of two machines give the corrected rows, whichever is read first", async () => {
  const [one, other] = [await backfillWorld(), await backfillWorld()];
  await backfill(one, fileOf(PARTIAL));
  await backfill(other, fileOf(FINAL), "--replace");

  for (const dirs of [
    [one.journalDir, other.journalDir],
    [other.journalDir, one.journalDir],
  ]) {
    const { env, ...world } = await backfillWorld();
    for (const dir of dirs) expect((await run(["backfill", "--journal", dir], env)).exitCode).toBe(0);
    expect(await rows(world)).toEqual(CORRECTED);
  }
});

test("a correction of many pieces replaces the rows of all of them", async () => {
  const world = await backfillWorld();
  const lines = (price: number): string =>
    Array.from({ length: 2_500 }, (_, place) => {
      const at = new Date(Date.UTC(2026, 10, 18, 9, 30, place)).toISOString().slice(0, 19);
      return `${place % 2 === 0 ? "AAPL" : "MSFT"},${at}-05:00,,,${price},\n`;
    }).join("");
  await backfill(world, fileOf(`${HEADER}\n${lines(150)}`));

  const { report } = await backfill(world, fileOf(`${HEADER}\n${lines(151)}`), "--replace");

  expect(report).toMatchObject({ answers: 3, stored: 2_500, replaced: 2_500, deadLettered: 0 });
  const { rows: prices } = await world.pool.query("select last, count(*)::int as n from quotes group by 1");
  expect(prices).toEqual([{ last: "151", n: 2_500 }]);
});

test("a rebuild leaves rows of one source alone that bear the times of another's, with other values", async () => {
  const world = await backfillWorld();
  for (const name of ["one", "two"])
    await backfill(world, fileOf(name === "one" ? PARTIAL : FINAL), "--name", name);
  const before = await contentIn(world.pool);

  const { exitCode } = await run(["backfill", "--journal", "--rebuild"], world.env);

  expect(exitCode).toBe(0);
  expect(await contentIn(world.pool)).toEqual(before);
});
