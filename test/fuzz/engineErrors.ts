/** A batch with every kind of row, into which an error of the engine's is put at each of its statements. */
import type pg from "pg";
import { createMemory, loadBatch } from "../../src/archive/load.ts";
import { readBatches } from "../../src/archive/readBatches.ts";
import { mayBeThereAlready } from "../../src/archive/refusal.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { injectedPool } from "../support/injected.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

/** One answer of every kind of row, and a note of the ledger. */
export const RECORDS = [
  answerRecord(
    at(0),
    answerXml(
      equityXml("A", { dividend: { amt: "1" } }),
      optionXml({}),
      equityXml("B", { quote: { bidprice: "--" } }),
    ),
    { request: symbolsCall("A", "B", "MRDN270115C00120000") },
  ),
  {
    kind: "note" as const,
    at: at(60),
    note: {
      type: "slots",
      entries: [{ job: "list", slotAt: at(0), due: ["A", "C"], misses: [["C", "absent_from_answer"]] }],
    },
  },
];

/** What they become. */
export const ROWS = {
  responses: 1,
  quotes: 4,
  extended_quotes: 4,
  dividends: 1,
  dead_letters: 1,
  slots: 1,
  misses: 1,
};

/** Everything that a load has written is taken out again. */
const EMPTY = `truncate responses, quotes, extended_quotes, dividends, dead_letters, slots, misses, due_sets,
  journal_positions, session_bars, instruments restart identity cascade`;

/** A database into which the batch can be loaded again and again. */
export type InjectedBatch = {
  pool: pg.Pool;
  /** The texts of its statements, each once. */
  statements: readonly string[];
  load: (pool: pg.Pool) => Promise<unknown>;
  empty: () => Promise<void>;
  /**
   * Loads it while a statement fails.
   *
   * @returns what went otherwise than it must; null: nothing
   */
  tryWith: (statement: string, sqlstate: string, bare: boolean) => Promise<string | null>;
};

export async function injectedBatch(): Promise<InjectedBatch> {
  const { pool, journalDir, append } = await loadingWorld();
  await append(...RECORDS);
  const [{ name: segment } = { name: "" }] = await listSegments(journalDir);
  const { value: batch } = await readBatches(segment, { journalDir, from: 0 }).next();
  if (!batch) throw new Error("no batch");
  await loadBatch(pool, batch, createMemory());
  // Its partitions are there, and stay.
  const load = (into: pg.Pool): Promise<unknown> => loadBatch(into, batch, { months: new Set(["2026-11"]) });
  const empty = async (): Promise<void> => void (await pool.query(EMPTY));
  await empty();
  const counted = injectedPool(pool, null);
  await load(counted.pool);
  await empty();
  const tryWith: InjectedBatch["tryWith"] = async (statement, sqlstate, bare) => {
    const met = await load(injectedPool(pool, { statement, sqlstate, bare }).pool).then(
      () => null,
      (error: unknown) => (error as { code?: string }).code,
    );
    // COPY alone may have met a row that is there already: then the rows are merged.
    const isMended = statement.startsWith("copy") && mayBeThereAlready({ code: sqlstate });
    const letters = await rowsOfQuery(pool, "select reason from dead_letters");
    if (isMended) await empty();
    const expected = isMended ? [null, "odd_field"] : [sqlstate];
    const found = [met, ...letters.map(({ reason }) => reason)];
    return String(found) === String(expected) ? null : `${sqlstate} at ${statement}: ${String(found)}`;
  };
  return { pool, statements: [...new Set(counted.statements)], load, empty, tryWith };
}
