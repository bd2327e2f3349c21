/** Bulk loading: the limit and our loader in turn, on the same server, the same rows, in emptied tables. */
import type pg from "pg";
import { createMemory, loadBatch } from "../../src/archive/load/loadBatch.ts";
import type { Batch } from "../../src/archive/load/batch.ts";
import { makeDueBars } from "../../src/archive/schema/makeBars.ts";
import { EXTENDED_QUOTES, QUOTES } from "../../src/archive/schema/quoteColumns.ts";
import { backslashCopy, prepareText } from "../limit.ts";
import { batchesOf, records } from "./sample.ts";
import type { BenchServer } from "./server.ts";
import { type StatementTimes, watchStatements } from "./statements.ts";

/** Rows a second of each round, both tables together, in the order of the rounds. */
export type BulkFigures = {
  rowCount: number;
  batchCount: number;
  limit: number[];
  ours: number[];
  /** The same, until the bars of these rows are made. */
  withBars: number[];
  /** The same batches again, their positions forgotten: every row is there already. */
  replayed: number[];
  /** Milliseconds of the server by what statements were for, a round's; new rows and repeated ones. */
  statements: { ours: StatementTimes; replayed: StatementTimes };
};

/** Runs `rounds` rounds and one before them that does not count. */
export async function benchBulk(server: BenchServer, minutes: number, rounds: number): Promise<BulkFigures> {
  const { pool } = server;
  const batches = batchesOf([...records({ symbolCount: 500, perCall: 100, minutes, fromMinute: 0 })], "bulk");
  await loadAllOf(pool, batches);
  await prepareText(server.url, server.dir);
  const { rows } = await pool.query<{ n: string }>(
    "select (select count(*) from quotes) + (select count(*) from extended_quotes) as n",
  );
  const rowCount = Number(rows[0]?.n);
  const digest = await digestOf(pool);
  const figures: BulkFigures = {
    ...{ rowCount, batchCount: batches.length },
    ...{ limit: [], ours: [], withBars: [], replayed: [] },
    statements: { ours: new Map(), replayed: new Map() },
  };

  for (let round = 0; round <= rounds; round++) {
    await emptyTables(pool);
    const limitMs = await backslashCopy(server.url, server.dir);
    if ((await digestOf(pool)) !== digest) throw new Error("the limit stored other rows than the loader");
    await emptyTables(pool);
    figures.statements.ours = watchStatements();
    const oursMs = await timed(() => loadAllOf(pool, batches));
    const barsMs = await timed(() => makeDueBars(pool));
    await pool.query("delete from journal_positions");
    figures.statements.replayed = watchStatements();
    const replayedMs = await timed(() => loadAllOf(pool, batches));
    watchStatements();
    if ((await digestOf(pool)) !== digest) throw new Error("a replay changed the rows");
    if (round === 0) continue;
    figures.limit.push((1_000 * rowCount) / limitMs);
    figures.ours.push((1_000 * rowCount) / oursMs);
    figures.withBars.push((1_000 * rowCount) / (oursMs + barsMs));
    figures.replayed.push((1_000 * rowCount) / replayedMs);
  }
  await emptyTables(pool);
  await loadAllOf(pool, batches);
  return figures;
}

async function loadAllOf(pool: pg.Pool, batches: readonly Batch[]): Promise<void> {
  const memory = createMemory();
  for (const batch of batches) await loadBatch(pool, batch, { memory });
}

/** Empties every table that loading fills, but for the directory of instruments, which the limit needs as well. */
async function emptyTables(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ names: string }>(
    `select string_agg(relname, ', ') as names from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not in ('sources', 'instruments', 'sessions', 'schema_migrations')`,
  );
  await pool.query(`truncate ${rows[0]?.names}`);
  // Each measurement pays for its own writes, not for the checkpoint of the one before.
  await pool.query("checkpoint");
}

async function digestOf(pool: pg.Pool): Promise<string> {
  const digests = [QUOTES, EXTENDED_QUOTES].map(
    ({ name }) => `(select md5(string_agg(t::text, e'\\n' order by t::text)) from ${name} t)`,
  );
  const { rows } = await pool.query<{ digest: string }>(`select ${digests.join(" || ")} as digest`);
  return rows[0]?.digest ?? "";
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
