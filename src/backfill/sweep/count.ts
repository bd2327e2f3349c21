/** What a sweep has brought: its answers in the journal, and the rows of them in the archive. */
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { addLetterCounts, countLetters, isOfQuote, type LetterCount } from "../../archive/letterCounts.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import type { DeadLetter } from "../../read/rowTypes.ts";
import type { Instant } from "../../clock.ts";
import { type BackfillReport, NOTHING_DONE } from "../report.ts";
import { answersOfRun } from "./journaled.ts";
import type { SweepRun } from "./runFile.ts";

/** Answers that are looked up together. */
const TOGETHER = 500;

/** What a sweep has brought. */
export type SweepCount = {
  /** Of the answers that are in the archive. */
  report: BackfillReport;
  /** Answers that are in the journal and not in the archive. */
  waiting: number;
};

/**
 * Counts by the journal and the archive themselves, not by what this process loaded: a collector that runs beside loads
 * answers of the sweep as well, whoever comes first.
 *
 * @param pool null: the database is away, and nothing of it is counted as stored
 */
export async function countSweep(
  pool: pg.Pool | null,
  journalDir: string,
  run: Pick<SweepRun, "name" | "begunAt">,
): Promise<SweepCount> {
  let report = NOTHING_DONE;
  let waiting = 0;
  let group: Counted[] = [];
  const settle = async (): Promise<void> => {
    const found = pool === null ? new Map<number, StoredRow>() : await readStored(pool, group);
    for (const [place, { units, deadLetters, missing }] of group.entries()) {
      const stored = found.get(place);
      if (stored === undefined) {
        waiting += 1;
        continue;
      }
      const quotes = Math.min(units, stored.quotes);
      report = {
        ...report,
        answers: report.answers + 1,
        newAnswers: report.newAnswers + 1,
        missing: report.missing + missing,
        read: report.read + units + deadLetters.filter(isOfQuote).length,
        stored: report.stored + quotes,
        deadLettered: report.deadLettered + deadLetters.filter(isOfQuote).length + units - quotes,
        deadLetters: addLetterCounts(report.deadLetters, [
          ...countLetters(deadLetters),
          ...(units > quotes ? [{ ...stored.refused, count: units - quotes }] : []),
        ]),
        dividends: report.dividends + stored.dividends,
      };
    }
    group = [];
  };
  for await (const { record, segment, offset } of answersOfRun(journalDir, run)) {
    const { units, deadLetters, matched } = rowsOf(record, { segment, offset });
    group.push({
      ...{ requestId: record.requestId, observedAt: record.observedAt, units: units.length },
      symbols: [...new Set(units.map(({ instrument }) => instrument.symbol))],
      deadLetters,
      missing: matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length,
    });
    if (group.length >= TOGETHER) await settle();
    await setImmediate();
  }
  await settle();
  return { report, waiting };
}

type Counted = {
  requestId: string;
  observedAt: Instant;
  symbols: string[];
  units: number;
  deadLetters: DeadLetter[];
  missing: number;
};

/** What the archive has of the answer at a place of the list. */
type StoredRow = {
  place: number;
  quotes: number;
  dividends: number;
  /** The first of its quotes that the database refused. */
  refused: Omit<LetterCount, "count">;
};

/** By instrument and time, as the keys have it: by time alone the whole month would be read. */
const STORED = `
  with asked as materialized (
    select distinct t.observed_at, i.id
    from unnest($1::timestamptz[], $2::text[]) as t(observed_at, symbol)
    join instruments i on i.symbol = t.symbol
  ), found_quotes as (
    select q.observed_at, q.source_id, count(*) as n from asked a
    join quotes q on q.instrument_id = a.id and q.observed_at = a.observed_at group by 1, 2
  ), found_dividends as (
    select d.observed_at, d.source_id, count(*) as n from asked a
    join dividends d on d.instrument_id = a.id and d.observed_at = a.observed_at group by 1, 2
  )
  select (e.place - 1)::int as place, coalesce(q.n, 0)::int as quotes, coalesce(d.n, 0)::int as dividends,
    (select json_build_object('reason', coalesce(min(l.reason), 'refused_by_database'),
       'example', coalesce(min(l.instrument || ': ' || l.detail), ''))
     from dead_letters l
     where l.observed_at = r.observed_at and l.source_id = r.source_id and l.reason = 'refused_by_database') as refused
  from unnest($3::timestamptz[], $4::uuid[]) with ordinality as e(observed_at, request_id, place)
  join responses r on r.observed_at = e.observed_at and r.request_id = e.request_id
  left join found_quotes q on q.observed_at = r.observed_at and q.source_id = r.source_id
  left join found_dividends d on d.observed_at = r.observed_at and d.source_id = r.source_id`;

async function readStored(pool: pg.Pool, answers: readonly Counted[]): Promise<Map<number, StoredRow>> {
  const named = answers.flatMap(({ observedAt, symbols }) =>
    symbols.map((symbol) => ({ observedAt, symbol })),
  );
  const { rows } = await pool.query<StoredRow>(STORED, [
    named.map(({ observedAt }) => observedAt),
    named.map(({ symbol }) => symbol),
    answers.map(({ observedAt }) => observedAt),
    answers.map(({ requestId }) => requestId),
  ]);
  return new Map(rows.map((row) => [row.place, row]));
}
