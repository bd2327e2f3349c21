/** What becomes a dead letter in a backfill is counted and explained, and needs a person, whatever the source. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { answerRecord, appendAll, symbolsCall } from "../support/journal.ts";
import { settled } from "../support/ledger.ts";
import { account, scripted, sweep, symbolsFile } from "./symbols/world.ts";
import { type BackfillWorld, backfillWorld, equity } from "./world.ts";

/** A quote with prices that cannot be read, one that the database refuses, one that both take. */
const INSTRUMENTS = [equity("IBM", "1O0.00"), equity("SIX", "66.00"), equity("AAPL", "150.00")];
const ODD_AND_REFUSED =
  /^Dead +4: 3 odd_field \(IBM: .*"1O0(\.00)?".*\), 1 refused_by_database \(SIX: 23514: .*\); the table dead_letters has each$/m;
/** A row of a file that says nothing else is a dead letter as a whole. */
const MALFORMED_AND_REFUSED =
  /^Dead +2: 1 malformed \(.*IBM.*"1O0".*\), 1 refused_by_database \(SIX: 23514: .*\); the table dead_letters has each$/m;

/** An archive that takes no price of 66. */
async function pickyWorld(): Promise<BackfillWorld & { files: string }> {
  const world = await backfillWorld();
  await world.pool.query("alter table quotes add constraint no_sixty_six check (last <> 66)");
  const files = join(world.env["QUOTEKEEPER_DATA_DIR"] ?? "", "files");
  mkdirSync(files, { recursive: true });
  return { ...world, files };
}

/** The dead letters of the archive by reason, whoever counted them. */
async function reasonsIn({ pool }: BackfillWorld): Promise<unknown> {
  return rowsOfQuery(pool, "select reason, count(*)::int as count from dead_letters group by 1 order by 1");
}

const journaled = async (world: BackfillWorld): Promise<void> =>
  appendAll(
    world.journalDir,
    [
      answerRecord("2026-11-18T14:30:05.000000Z", writeDocument({ id: "1", instruments: INSTRUMENTS }), {
        request: symbolsCall("IBM", "SIX", "AAPL"),
      }),
    ],
    { clock: createTestClock("2026-11-18T14:30:00.000Z") },
  );

test.each(["--journal", "--xml", "--csv"])(
  "the dead letters of %s are counted and explained, and need a person",
  async (source) => {
    const world = await pickyWorld();
    if (source === "--journal") await journaled(world);
    writeFileSync(
      join(world.files, "20261118T143005Z.xml"),
      writeDocument({ id: "1", instruments: INSTRUMENTS }),
    );
    writeFileSync(
      join(world.files, "quotes.csv"),
      [
        "instrument,observed_at,last",
        "IBM,2026-11-18T14:30:00Z,1O0",
        "SIX,2026-11-18T14:30:00Z,66",
        "AAPL,2026-11-18T14:30:00Z,1",
      ].join("\n"),
    );
    const argv = {
      "--journal": [],
      "--xml": [join(world.files, "20261118T143005Z.xml")],
      "--csv": [join(world.files, "quotes.csv")],
    }[source];

    const trial = await run(["backfill", source, ...(argv ?? []), "--dry-run"], world.env);
    const first = await run(["backfill", source, ...(argv ?? [])], world.env);
    const again = await run(["backfill", source, ...(argv ?? []), "--json"], world.env);

    expect([trial.exitCode, first.exitCode, again.exitCode]).toEqual([1, 1, 1]);
    expect(first.stdout).toMatch(source === "--csv" ? MALFORMED_AND_REFUSED : ODD_AND_REFUSED);
    const { report } = JSON.parse(again.stdout) as {
      report: { deadLetters: { reason: string; count: number }[] };
    };
    expect(report.deadLetters.map(({ reason, count }) => ({ reason, count }))).toEqual(
      await reasonsIn(world),
    );
  },
);

test("the dead letters of --gaps are counted and explained, and need a person", async () => {
  const world = await pickyWorld();
  await journaled(world);
  const slot = settled("2026-11-18T14:30:59.000000Z", "2026-11-18T14:30:00.000000Z", ["AAPL"], ["AAPL down"]);
  await appendAll(world.journalDir, [slot], { clock: createTestClock("2026-11-18T14:31:00.000Z") });

  const { exitCode, stdout } = await run(["backfill", "--gaps"], world.env);
  const again = await run(["backfill", "--gaps", "--json"], world.env);

  // The hole is filled: the dead letters alone need a person.
  expect(stdout).toMatch(/^1 missed = 1 filled \+ 0 left/m);
  expect(stdout).toMatch(ODD_AND_REFUSED);
  expect(exitCode).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({ holes: [], deadLetters: [] });
  expect(again.exitCode).toBe(0);
});

test("the dead letters of a sweep are counted and explained, and need a person", async () => {
  const world = await pickyWorld();
  const service = await scripted(() => 200, { IBM: "1O0.00", SIX: "66.00" });
  const file = symbolsFile(world, ["IBM", "SIX", "AAPL"]);

  const { exitCode, stdout } = await sweep(
    account(world, service.baseUrl),
    createTestClock(),
    ...["--symbols-file", file],
  );

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(ODD_AND_REFUSED);
});

test("a note of the ledger that becomes a dead letter is counted apart, for it is no quote", async () => {
  const world = await backfillWorld();
  await appendAll(world.journalDir, [settled("2026-11-18T14:30:59.000000Z", "14:30", ["AAPL"])]);

  const { exitCode, stdout } = await run(["backfill", "--journal"], world.env);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Quotes +0 read = 0 stored \+ 0 repeated \+ 0 dead-lettered$/m);
  expect(stdout).toMatch(/^Dead +1: 1 refused_by_database \(a note of the ledger: .*\)/m);
});
