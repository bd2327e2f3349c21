/** What an import leaves in the journal: plain rows, from which alone the archive is made again. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { run } from "../../cli/edges.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { answerRecord, appendAll } from "../../support/journal.ts";
import { tempDir } from "../../support/tempDir.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";
import { backfill, fileOf, HEADER, letters, rows, series } from "./csvFiles.ts";

handOnDatabases();

const RECORDED = join(import.meta.dirname, "recorded");
const MAPS = fileURLToPath(new URL("../../../docs/maps/", import.meta.url));

async function contentOf({ pool }: Pick<BackfillWorld, "pool">) {
  return { rows: await rows({ pool }), letters: await letters({ pool }) };
}

test("what maps made of files comes back from the journal alone, dead letters too, without file, map or DuckDB", async () => {
  const world = await backfillWorld();
  for (const vendor of ["polygon-minutes", "datashop-quotes"])
    await backfill(
      world,
      fileOf(readFileSync(join(RECORDED, vendor, "quotes.csv")), `${vendor}.csv`),
      ...["--map", join(MAPS, `${vendor}.sql`)],
    );
  const before = await contentOf(world);
  const other = await freshDatabase();

  const replayed = await run(["backfill", "--journal", "--json"], { ...world.env, DATABASE_URL: other.url });

  expect(before.rows.length).toBeGreaterThan(5);
  expect(before.letters.length).toBeGreaterThan(0);
  expect(replayed.exitCode).toBe(1);
  expect(await contentOf(other)).toEqual(before);
  expect((await run(["backfill", "--journal", "--rebuild", "--json"], world.env)).exitCode).toBe(1);
  expect(await contentOf(world)).toEqual(before);
});

test("pieces with a YAML map, of versions before 0.9, are named, and a rebuild is refused until an export has brought their rows", async () => {
  const world = await backfillWorld();
  await backfill(world, fileOf(`${HEADER}\n${series(3)}`, "kept.csv"));
  const piece = answerRecord("2026-11-20T10:00:00.000000Z", "Ticker,Time,Price\nAAPL,1,2\n", {
    source: { kind: "import", name: "vendor" },
    request: { form: "csv", file: "vendor.csv", firstLine: 2, map: { timeFormat: "s" } } as never,
  });
  await appendAll(world.journalDir, [piece]);
  const load = await run(["backfill", "--journal", "--json"], world.env);
  const [letter] = await letters(world);

  const refused = await run(["backfill", "--journal", "--rebuild"], world.env);

  expect([load.exitCode, letter]).toEqual([1, expect.stringContaining("vendor.csv")]);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toMatch(/BACKFILL_YAML_PIECES: the journal holds pieces of vendor\.csv/u);
  expect(refused.stderr).toContain("quotekeeper export");
  expect(await rows(world)).toHaveLength(3);

  const out = join(tempDir(), "out");
  await run(["export", "--format", "csv", "--out", out], world.env);
  await run(["backfill", "--csv", out, "--json"], world.env);
  const rebuilt = await run(["backfill", "--journal", "--rebuild", "--json"], world.env);

  expect(JSON.parse(rebuilt.stdout)).toMatchObject({ kind: "journal" });
  expect(await rows(world)).toHaveLength(3);
});
