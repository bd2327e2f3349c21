/** A batch with every kind of row, into which an error of the engine's is put at each of its statements. */
import { EVER } from "../../src/journal/record.ts";
import type pg from "pg";
import { isPassing, loadBatch } from "../../src/archive/load/loadBatch.ts";
import { readBatches } from "../../src/archive/load/readBatches.ts";
import { JOURNAL_POSITION, ofBatches } from "../../src/archive/load/loadPosition.ts";
import { NO_POSITION } from "../../src/archive/refill/runPosition.ts";
import { IN_EACH_OTHERS_WAY } from "../../src/archive/connect/databaseError.ts";
import { mayBeOfARow, mayBeThereAlready } from "../../src/archive/connect/whoseFault.ts";
import { replay } from "../../src/backfill/journal/replay.ts";
import { NOTHING_DONE } from "../../src/archive/refill/backfillReport.ts";
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

/** The two loaders: the one that follows the journal, and the one of `backfill --journal`. */
export type LoaderName = "batches" | "stretches";

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

export async function injectedBatch(loader: LoaderName): Promise<InjectedBatch> {
  const { pool, journalDir, append } = await loadingWorld();
  await append(...RECORDS);
  const [{ name: segment } = { name: "" }] = await listSegments(journalDir);
  const { value: batch } = await readBatches(segment, { journalDir, from: 0 }).next();
  if (!batch) throw new Error("no batch");
  await loadBatch(pool, batch);
  // Its partitions are there, and stay.
  const loadAlone = (into: pg.Pool, position = JOURNAL_POSITION): Promise<unknown> =>
    loadBatch(into, batch, { memory: { months: new Set(["2026-11"]) }, position });
  const loadStretch = async (into: pg.Pool): Promise<void> =>
    replay({
      ...{ pool: into, journalDir, segments: await listSegments(journalDir), positions: new Map() },
      ...{
        wanted: () => true,
        range: EVER,
        runPosition: null,
        tally: { report: NOTHING_DONE },
        onProgress: () => undefined,
      },
      ...{ onDamage: () => undefined, signal: new AbortController().signal },
    });
  const load = loader === "batches" ? (into: pg.Pool) => loadAlone(into) : loadStretch;
  const empty = (): Promise<void> => emptyArchive(pool);
  await empty();
  const statementsOf = async (way: typeof load): Promise<string[]> => {
    const counted = injectedPool(pool, null);
    await way(counted.pool);
    await empty();
    return [...new Set(counted.statements)];
  };
  const statements = await statementsOf(load);
  const alone =
    loader === "batches" ? statements : await statementsOf((into) => loadAlone(into, ofBatches(NO_POSITION)));
  const ofStretches = statements
    .slice(statements.findIndex((text) => text.startsWith("begin")) + 1)
    .filter((text) => !alone.includes(text));
  const tryWith: InjectedBatch["tryWith"] = async (statement, sqlstate, bare) => {
    const error = { code: sqlstate };
    // What a stretch asks may have met a row's fault: then its batches go in one by one.
    const isMended =
      ofStretches.includes(statement) && (mayBeOfARow(error) || mayBeThereAlready(error) || isPassing(error));
    // Bars are made when the rows are committed; what hinders them meets the next to make them.
    const isBehind = statement.includes("make_due_bars");
    const isPassedOver = isMended || (isBehind && (mayBeOfARow(error) || IN_EACH_OTHERS_WAY.has(sqlstate)));
    const met = await load(injectedPool(pool, { statement, sqlstate, bare }).pool).then(
      () => null,
      (failure: unknown) => (failure as { code?: string }).code,
    );
    const [stored] = await rowsOfQuery(
      pool,
      "select (select count(*) from quotes) as quotes, array(select reason from dead_letters) as letters",
    );
    const isStored = isMended || isBehind;
    if (isStored) await empty();
    const expected = [isPassedOver ? null : sqlstate, ...(isStored ? [ROWS.quotes, "odd_field"] : [0, ""])];
    const found = [met, stored?.["quotes"], stored?.["letters"]];
    return String(found) === String(expected) ? null : `${sqlstate} at ${statement}: ${String(found)}`;
  };
  return { pool, statements, load, empty, tryWith };
}
