/** An import of saved answers that runs again, or was ended, or only tries. */
import { readdirSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { contentOf } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld, interrupted } from "../world.ts";
import { backfill, directoryOf, gzipped, lasts, MINUTES, rowsOf, saved } from "./saved.ts";

handOnDatabases();

test("the same files again add nothing, in whatever form, and nothing more goes to the journal", async () => {
  const world = await backfillWorld();
  const dir = directoryOf(MINUTES);
  await backfill(world, "--xml", dir);
  const before = await contentOf(world.pool);
  const segments = readdirSync(world.journalDir).length;

  const again = await backfill(world, "--xml", dir);
  const zipped = await backfill(world, "--xml", directoryOf(gzipped(MINUTES)), dir);

  expect(again).toMatchObject({
    exitCode: 0,
    report: { answers: 3, newAnswers: 0, read: 6, stored: 0, repeated: 6 },
  });
  expect(zipped).toMatchObject({ report: { answers: 6, newAnswers: 0, read: 12, stored: 0, repeated: 12 } });
  const { backfills: one, ...rest } = before;
  const { backfills: three, ...now } = await contentOf(world.pool);
  expect([one?.rows, three?.rows]).toEqual([1, 3]);
  expect(now).toEqual(rest);
  expect(readdirSync(world.journalDir)).toHaveLength(segments);
});

test("a dry run counts what the files hold, names each file's time, and changes nothing", async () => {
  const world = await backfillWorld();
  await backfill(world, "--xml", directoryOf(MINUTES.slice(0, 1)));
  const before = await contentOf(world.pool);
  const files = readdirSync(world.journalDir);
  const dir = directoryOf([
    ...MINUTES,
    ["x/20261118T143100Z.xml", saved({ AAPL: "9" })],
    ["bad-20261118T143500Z.xml", "<"],
    ["20261118T143600Z.xml", saved({ NEVERSEEN: "1" })],
  ]);

  const trial = await run(["backfill", "--xml", dir, "--dry-run", "--json"], {
    ...world.env,
    QUOTEKEEPER_LOG_LEVEL: "info",
  });
  const afterTrial = await contentOf(world.pool);
  const journaled = readdirSync(world.journalDir);
  const real = await backfill(world, "--xml", dir);

  expect(afterTrial).toEqual(before);
  expect(journaled).toEqual(files);
  expect(trial.stderr).toMatch(/20261118T143100Z\.xml.*"way":"name"/);
  expect((JSON.parse(trial.stdout) as { report: unknown }).report).toMatchObject({
    answers: 6,
    read: 9,
    deadLettered: 1,
  });
  expect(real.report).toMatchObject({
    answers: 6,
    newAnswers: 5,
    read: 9,
    stored: 6,
    repeated: 2,
    deadLettered: 1,
  });
});

test("an import that was ended in its midst, at each batch, and runs again has the rows of one that was left alone", async () => {
  const files = Array.from({ length: 700 }, (_, place): [string, string] => [
    `20261118T${14 + Math.floor(place / 60)}${String(place % 60).padStart(2, "0")}00Z.xml`.replace(
      /T(\d\d)(\d\d)/,
      (_all, h: string, m: string) => `T${String(Number(h) % 24).padStart(2, "0")}${m}`,
    ),
    saved({ AAPL: `${place + 1}` }),
  ]);
  // The first answer once more, which comes last.
  const dir = directoryOf([...files, [`again/${files[0]?.[0]}`, files[0]?.[1] ?? ""]]);
  const alone = await backfillWorld();
  await backfill(alone, "--xml", dir);
  const world = await backfillWorld();

  const exitCode = await interrupted(world, ["backfill", "--xml", dir]);
  const partly = (await lasts(world.pool)).length;
  const second = await backfill(world, "--xml", dir);

  expect(exitCode).toBe(130);
  expect([partly > 0, partly < 700]).toEqual([true, true]);
  expect(second).toMatchObject({
    resumed: true,
    report: { answers: 701, read: 701, stored: 700, repeated: 1 },
  });
  expect(await rowsOf(world.pool)).toEqual(await rowsOf(alone.pool));
});

test("what was journaled and not loaded is loaded first, and counts once", async () => {
  const world = await backfillWorld();
  // Three that are too long to be answers, and long enough to be a batch of their own.
  const long = ["27", "28", "29"].map((minute): [string, string] => [
    `20261118T14${minute}00Z.xml`,
    saved({ AAPL: minute }).padEnd(6 * 1024 * 1024),
  ]);
  const dir = directoryOf([...long, ...MINUTES]);
  await backfill(world, "--xml", dir);
  const rows = await lasts(world.pool);
  const { pool: lost, url } = await freshDatabase();

  const { exitCode, report } = await backfill(
    { ...world, pool: lost, env: { ...world.env, DATABASE_URL: url } },
    ...["--xml", dir],
  );

  expect(exitCode).toBe(1);
  expect(report).toMatchObject({ answers: 6, newAnswers: 6, read: 9, stored: 6, repeated: 0 });
  expect(await lasts(lost)).toEqual(rows);
});
