/** `--dry-run` reads and checks the input. It asks no database; of `--gaps` it asks for the misses alone. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { loadAll } from "../../src/archive/load/loader.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { run } from "../cli/edges.ts";
import { contentOf } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { appendAll } from "../support/journal.ts";
import { settled } from "../support/ledger.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerOf, backfillWorld, equity, journal } from "./world.ts";

/** An address at which no database answers. */
const NO_DATABASE = "postgresql://postgres@127.0.0.1:1/none";

/** A journal, and files of other kinds. */
async function input(): Promise<{ dataDir: string; files: string }> {
  const [dataDir, files] = [tempDir(), tempDir()];
  await journal(join(dataDir, "journal"));
  mkdirSync(join(files, "saved"));
  writeFileSync(
    join(files, "saved", "20261118T143000Z.xml"),
    writeDocument({ id: "1", instruments: [equity("AAPL", "150.00"), equity("IBM", "1O0.00")] }),
  );
  writeFileSync(
    join(files, "quotes.csv"),
    "instrument,observed_at,last\nAAPL,2026-11-18T14:30:00.1234567Z,1\nMSFT,x,1\nMSFT,2026-11-18T14:30:00Z,1\n",
  );
  return { dataDir, files };
}

type Report = { report: Record<string, unknown> };

test.each([
  ["--journal", ["--journal"], 25],
  ["--journal --rebuild", ["--journal", "--rebuild"], 25],
  ["--xml", ["--xml", "saved"], 2],
  ["--csv", ["--csv", "quotes.csv"], 3],
])(
  "a dry run of %s counts and explains what the run then reads, asks no database, and changes no file",
  async (_source, argv, read) => {
    const { dataDir, files } = await input();
    const { url } = await freshDatabase({ migrated: false });
    const filesBefore = readdirSync(dataDir, { recursive: true });
    const backfill = (database: string, ...more: string[]) =>
      run(
        [
          "backfill",
          ...argv.map((one) => (/\.|saved/.test(one) ? join(files, one) : one)),
          "--json",
          ...more,
        ],
        {
          DATABASE_URL: database,
          QUOTEKEEPER_DATA_DIR: dataDir,
          QUOTEKEEPER_JOBS_DIR: join(dataDir, "jobs"),
        },
      );

    const trial = await backfill(NO_DATABASE, "--dry-run");
    const filesAfter = readdirSync(dataDir, { recursive: true });
    const real = await backfill(url);

    expect(filesAfter).toEqual(filesBefore);
    const { report, ...rest } = JSON.parse(trial.stdout) as Report;
    expect(rest).toMatchObject({ dryRun: true });
    expect(report).toMatchObject({ read });
    expect((JSON.parse(real.stdout) as Report).report).toMatchObject(report);
    expect([trial.exitCode, real.exitCode]).toEqual([1, 1]);
  },
);

test("a dry run says in words how many quotes can be read, and why the others cannot", async () => {
  const { dataDir } = await input();

  const { stdout } = await run(["backfill", "--journal", "--dry-run"], {
    DATABASE_URL: NO_DATABASE,
    QUOTEKEEPER_DATA_DIR: dataDir,
  });

  expect(stdout).toMatch(/^Nothing was changed\. This is what was read:$/m);
  expect(stdout).toMatch(/^Quotes +25 read = 20 readable \+ 5 dead-lettered$/m);
  expect(stdout).toMatch(/^Dead +5: 5 malformed \(IBM: .*\)$/m);
});

test("a dry run makes no embedded database", async () => {
  const { dataDir } = await input();

  await run(["backfill", "--journal", "--dry-run"], { QUOTEKEEPER_DATA_DIR: dataDir });

  expect(existsSync(join(dataDir, "postgres"))).toBe(false);
});

test("a dry run of --gaps lists the misses, counts the journal of their hours, and changes no row", async () => {
  const world = await backfillWorld();
  await appendAll(
    world.journalDir,
    [
      answerOf("2026-11-18T14:30:05.000000Z", "AAPL", "150.00"),
      settled("2026-11-18T14:30:59.000000Z", "2026-11-18T14:30:00.000000Z", ["AAPL", "MSFT"], ["MSFT down"]),
    ],
    { clock: createTestClock("2026-11-18T14:30:00.000Z") },
  );
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  const before = await contentOf(world.pool);

  const { exitCode, stdout } = await run(["backfill", "--gaps", "--dry-run"], world.env);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^2026-11-18 .* down +1 +1 +1$/m);
  expect(stdout).toMatch(/^Quotes +1 read = 1 readable \+ 0 dead-lettered$/m);
  expect(await contentOf(world.pool)).toEqual(before);
});

test("a dry run of --gaps with a database that holds no archive says so", async () => {
  const { url } = await freshDatabase({ migrated: false });

  const { exitCode, stderr } = await run(["backfill", "--gaps", "--dry-run"], {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
  });

  expect(exitCode).toBe(1);
  expect(stderr).toContain("ARCHIVE_EMPTY");
});
