/**
 * One statement over the lake and the database as one archive: its plan says which tables and dates it reads, the database's rows
 * of these are put into files, all of one snapshot, and DuckDB reads them together with the lake's.
 */
import { join } from "node:path";
import type pg from "pg";
import { emptyTable } from "../../archive/export/duckFiles.ts";
import * as session from "../../archive/export/duckSession.ts";
import { DUCK_TABLES } from "../../archive/export/duckTables.ts";
import { macros, publicViews } from "../../archive/export/duckViews.ts";
import { withSnapshot } from "../../archive/export/snapshot.ts";
import type { Instant } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Duck, rowsOf } from "./duckdb.ts";
import { type FilledTables, type FillOptions, fillTables } from "./fillTables.ts";
import { type DateRange, datesOfPlan, type PlanNode } from "./planDates.ts";
import { readStatement, withoutEnd } from "./statement.ts";
import type { JsonValue, SqlColumn } from "./values.ts";

export type SqlAnswer = {
  columns: readonly SqlColumn[];
  /** Some rows; null: there are no more. */
  next: () => Promise<JsonValue[][] | null>;
  /** The instant at which the database's rows were as they are read; null: none are read. */
  asOf: Instant | null;
  /** Dates that are read as the lake has them, though rows of them came since. */
  behind: readonly string[];
};

type SqlOptions = Omit<FillOptions, "ranges"> & {
  /** The archive's database; null: only the lake is asked. */
  pool: pg.Pool | null;
  /** An empty directory of its own, for what DuckDB has no memory for. */
  dir: string;
  /** What `option_chain_latest` takes for now; null: now. */
  asOf: Instant | null;
  /** A file that the answer is written to, as Parquet; null: it is given. */
  parquet: string | null;
};

/**
 * Asks a statement. It is read and planned in a database that may touch no file at all, and answered in another one, which
 * may touch the files that the plan needs.
 *
 * @param take is given the answer, of which nothing is read before it is asked for; where it goes to a file, the number of rows
 * @throws QuotekeeperError DUCKDB_MISSING, SQL_WRONG, SQL_REFUSED, SQL_FAILED, LAKE_INVALID, LAKE_MISSING,
 *   EXPORT_UNREPRESENTABLE; the database's errors as they are
 */
export async function askSql<T>(
  text: string,
  options: SqlOptions,
  take: (answer: SqlAnswer) => Promise<T>,
): Promise<T> {
  const { duck, dir, asOf, signal, parquet } = options;
  const end = (): void => void duck.close();
  signal.addEventListener("abort", end);
  const tables = [...session.DUCK_SETUP, ...DUCK_TABLES.map(emptyTable), ...(await macros(asOf))];
  const views = await publicViews(asOf);
  try {
    signal.throwIfAborted();
    await openLocked(duck, [...tables, ...views], dir);
    const { select, explain } = await readStatement(duck, text);
    const ranges = await datesOfStatement(duck, select);
    const asked =
      parquet === null
        ? `${explain} ${select}`
        : session.copyToParquet(await withoutEnd(duck, select), parquet);
    await duck.open(join(dir, "spilled"));
    await duck.run(tables.join(";\n")).catch(asDefect);
    const { paths, asOf: at, behind, requireUnchanged } = await fill(ranges, options);
    await duck.run(views.join(";\n")).catch(asDefect);
    signal.throwIfAborted();
    await duck.run(session.locked([...paths, ...(parquet === null ? [] : [parquet])]).join(";\n"));
    const columns = await duck.begin(asked);
    // A copy is whole now, and `take` gives it its name.
    if (parquet !== null) await requireUnchanged();
    const taken = await take({ columns, next: () => duck.next(), asOf: at, behind });
    await requireUnchanged();
    return taken;
  } finally {
    signal.removeEventListener("abort", end);
    await duck.close();
  }
}

/** Statements of our own are never wrong for what somebody asks. */
function asDefect(error: unknown): never {
  const isRefused = error instanceof QuotekeeperError && ["SQL_WRONG", "SQL_REFUSED"].includes(error.code);
  if (!isRefused) throw error;
  const why = `DuckDB refuses a statement of quotekeeper's own: ${error.detail}`;
  throw new QuotekeeperError("UNEXPECTED", why, { cause: error });
}

/** A database of empty tables whose plans say what a statement reads, and which touches nothing else. */
async function openLocked(duck: Duck, setup: readonly string[], dir: string): Promise<void> {
  await duck.open(join(dir, "spilled"));
  await duck.run(setup.join(";\n")).catch(asDefect);
  const optimizers = await rowsOf(duck, session.PLAIN_PLANS);
  await duck.run([session.withoutOptimizers(String(optimizers[0]?.[0])), ...session.locked([])].join(";\n"));
}

async function datesOfStatement(duck: Duck, select: string): Promise<Map<string, DateRange>> {
  const rows = await rowsOf(duck, session.planOf(select));
  const plan = JSON.parse(String(rows[0]?.[1])) as PlanNode[];
  return datesOfPlan(plan, (name) => {
    const day = DUCK_TABLES.find((table) => table.name === name)?.rows.day;
    return day?.kind === "time" ? day.column : null;
  });
}

async function fill(ranges: ReadonlyMap<string, DateRange>, options: SqlOptions): Promise<FilledTables> {
  const { pool, signal, lake } = options;
  if (ranges.size > 0) {
    const all = { ...options, ranges };
    // The snapshot is made first: what the database has dropped since then is in the manifests that are read after that.
    if (pool) return withSnapshot(pool, signal, (snapshot) => fillTables(snapshot, all));
    if (lake) return fillTables(null, all);
  }
  return { paths: [], asOf: null, behind: [], requireUnchanged: async () => undefined };
}
