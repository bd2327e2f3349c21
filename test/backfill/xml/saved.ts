/** Saved answers on disk. */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type pg from "pg";
import { writeDocument } from "../../../src/services/reference/writeDocument.ts";
import { contentOf } from "../../support/archive.ts";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import { type BackfillWorld, equity } from "../world.ts";

/** A file's name and content. */
export type SavedFile = [name: string, content: string | Buffer];

/** An answer that says a last price of each symbol. */
export function saved(prices: Record<string, string>, id = "1"): string {
  return writeDocument({
    id,
    instruments: Object.entries(prices).map(([symbol, last]) => equity(symbol, last)),
  });
}

/** Three minutes of AAPL and MSFT, the time in the names. */
export const MINUTES: readonly SavedFile[] = [
  ["20261118T143000Z.xml", saved({ AAPL: "150.10", MSFT: "300.10" })],
  ["20261118T143100Z.xml", saved({ AAPL: "150.20", MSFT: "300.20" })],
  ["20261118T143200Z.xml", saved({ AAPL: "150.30", MSFT: "300.30" })],
];

/** A directory with files; names may have directories. */
export function directoryOf(files: readonly SavedFile[], dir = tempDir()): string {
  for (const [name, content] of files) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

/** When a file was written, as its file system has it. */
export function touch(path: string, at: string): void {
  utimesSync(path, new Date(at), new Date(at));
}

/** Each file compressed by itself. */
export function gzipped(files: readonly SavedFile[]): SavedFile[] {
  return files.map(([name, content]) => [`${name}.gz`, gzipSync(content)]);
}

/** The archive without where in which journal each answer is, and without what is remembered of backfills. */
export async function rowsOf(pool: pg.Pool): Promise<{ responses: unknown[]; [table: string]: unknown }> {
  const { backfills, backfill_positions, journal_positions, responses, ...content } = await contentOf(pool);
  const { rows } = await pool.query(
    "select observed_at, source_id, request_id, request ->> 'form' as form, outcome, response_id from responses order by 1, 2, 3",
  );
  return {
    ...content,
    responses: rows,
    counted: [backfills, backfill_positions, journal_positions, responses].length,
  };
}

/** Time, symbol and last price of all quotes, by time. */
export async function lasts(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select to_char(q.observed_at at time zone 'UTC', 'MM-DD HH24:MI:SS.US') || ' ' || i.symbol || ' ' || q.last as line
     from quotes q join instruments i on i.id = q.instrument_id order by q.observed_at, i.symbol, q.last desc`,
  );
  return rows.map(({ line }) => line);
}

/** Runs `backfill` with `--json`. */
export async function backfill(world: BackfillWorld, ...argv: string[]) {
  const { exitCode, stdout, stderr } = await run(["backfill", ...argv, "--json"], world.env);
  const printed = JSON.parse(exitCode < 2 && stdout.startsWith("{") ? stdout : "{}") as {
    report?: Record<string, number>;
    remarks?: string[];
    resumed?: boolean;
  };
  return { exitCode, ...printed, remarks: printed.remarks ?? [], stderr };
}
