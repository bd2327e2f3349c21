/** A batch with every kind of row, into which an error of the engine's is put at each of its statements. */
import type pg from "pg";
import { loadBatch } from "../../src/archive/load/loadBatch.ts";
import { readBatches } from "../../src/archive/load/readBatches.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { emptyArchive, rowsOfQuery } from "../support/archive.ts";
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
  await loadBatch(pool, batch);
  // Its partitions are there, and stay.
  const load = (into: pg.Pool): Promise<unknown> =>
    loadBatch(into, batch, { memory: { months: new Set(["2026-11"]) } });
  const empty = (): Promise<void> => emptyArchive(pool);
  await empty();
  const counted = injectedPool(pool, null);
  await load(counted.pool);
  await empty();
  const statements = [...new Set(counted.statements)];
  const tryWith: InjectedBatch["tryWith"] = async (statement, sqlstate, bare) => {
    const met = await load(injectedPool(pool, { statement, sqlstate, bare }).pool).then(
      () => null,
      (failure: unknown) => (failure as { code?: string }).code,
    );
    const [stored] = await rowsOfQuery(
      pool,
      "select (select count(*) from quotes) as quotes, array(select reason from dead_letters) as letters",
    );
    const found = [met, stored?.["quotes"], stored?.["letters"]];
    return String(found) === String([sqlstate, 0, ""])
      ? null
      : `${sqlstate} at ${statement}: ${String(found)}`;
  };
  return { pool, statements, load, empty, tryWith };
}
