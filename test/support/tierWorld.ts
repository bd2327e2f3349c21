/** An archive on plain partitions, answers to load into it, and what its views say: for moves to another storage tier. */
import type pg from "pg";
import { loadAll } from "../../src/archive/load/loader.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { rowsOfQuery } from "./archive.ts";
import { createTestClock } from "./clock.ts";
import { freshDatabase, type TestDatabase } from "./database.ts";
import { answerRecord, appendAll, at } from "./journal.ts";
import { tempDir } from "./tempDir.ts";
import { answerXml, equityXml, optionXml } from "./xml.ts";

/** A database that has range partitions, whatever its server offers. */
export async function plainDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase({ migrated: false });
  await migrate(database.pool, at(0), { toTimescaledb: false });
  return database;
}

/** Answers of four quotes each, one a minute. */
const answers = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => {
    const extended = { volume: String(1_000 + 10 * (from + n)), bidsize: "9007199254740993" };
    return answerRecord(
      at(60 * (from + n)),
      answerXml(
        equityXml("AAPL", {
          quote: { lastprice: `${20 + ((n * 7) % 5)}.0450` },
          extended,
          dividend: { amt: "0.25" },
        }),
        equityXml("MSFT", { quote: { lastprice: `1${n % 3}E+3` }, extended }),
        optionXml({}),
      ),
    );
  });

/** A journal of so many such answers, how to load it, to load it again, and to append more. */
export async function journalOf(pool: pg.Pool, count: number) {
  const dir = tempDir();
  await appendAll(dir, answers(0, count));
  const load = () => loadAll({ pool, journalDir: dir, clock: createTestClock() });
  const replay = async () => {
    await pool.query("delete from journal_positions");
    return load();
  };
  const append = (more: number) =>
    appendAll(dir, answers(count, more), { clock: createTestClock(at(60 * count)) });
  return { dir, load, replay, append };
}

/** The views that every tier has. */
export const VIEWS = [
  "latest_quotes",
  "bars_1m",
  "bars_5m",
  "bars_1h",
  "bars_1d",
  "option_chain_latest",
  "dividend_calendar",
];

/** The rows that views, or functions, give. */
export async function viewsOf(
  pool: pg.Pool,
  views: readonly string[] = VIEWS,
): Promise<Record<string, string[]>> {
  const given: Record<string, string[]> = {};
  for (const view of views)
    given[view] = (await rowsOfQuery(pool, `select * from ${view}`)).map((row) => JSON.stringify(row)).sort();
  return given;
}
