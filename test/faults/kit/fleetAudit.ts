/** Compares the database with the journals of several collectors, once all of them are loaded: each answer has its rows once. */
import type pg from "pg";
import { rowsOf, unitName } from "../../../src/read/answerToRows.ts";
import type { AnswerRows } from "../../../src/read/rowTypes.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import { answerFindings, countRows, dividendText, readStored } from "./stored.ts";

/** Answers compared at a time: what is held in memory. */
const CHUNK = 400;

/** Findings listed at most. */
const MOST_FINDINGS = 10;

/** What all journals hold, and what does not hold. */
export type FleetAudit = { answers: number; quotes: number; dividends: number; violations: string[] };

/** Where an answer lies. */
type Place = { dir: string; segment: string; offset: number; observedAt: string };

/** Compares them. */
export async function auditFleet(pool: pg.Pool, journalDirs: readonly string[]): Promise<FleetAudit> {
  const findings: string[] = [];
  const seen = new Map<string, Place>();
  const lastDividend = new Map<string, string>();
  const dividends: { at: string; name: string; text: string }[] = [];
  let [answers, quotes] = [0, 0];
  const client = await pool.connect();
  try {
    const compare = async (chunk: readonly AnswerRows[]): Promise<void> => {
      if (chunk.length === 0) return;
      const stored = await readStored(
        client,
        chunk.map(({ record }) => record.observedAt),
      );
      for (const answer of chunk)
        findings.push(...answerFindings(answer, stored.get(answer.record.observedAt)));
    };
    for (const dir of journalDirs)
      for (const { name: segment } of await listSegments(dir)) {
        let chunk: AnswerRows[] = [];
        for await (const item of readSegment(dir, segment)) {
          if (item.kind !== "record" || item.record.kind !== "response") continue;
          const { observedAt } = item.record;
          const before = seen.get(observedAt);
          if (before) findings.push(`${observedAt} stands in ${before.segment} and in ${segment}`);
          seen.set(observedAt, { dir, segment, offset: item.offset, observedAt });
          const rows = rowsOf(item.record, { segment, offset: item.offset });
          answers += 1;
          quotes += rows.units.length;
          for (const unit of rows.units) {
            const text = dividendText(unit);
            if (text !== null) dividends.push({ at: observedAt, name: unitName(unit), text });
          }
          if (chunk.push(rows) < CHUNK) continue;
          await compare(chunk);
          chunk = [];
        }
        await compare(chunk);
      }
    // In the order of their arrival, whichever journal was loaded first.
    dividends.sort((a, b) => (a.at < b.at ? -1 : 1));
    let changed = 0;
    for (const { name, text } of dividends) {
      if (lastDividend.get(name) !== text) changed += 1;
      lastDividend.set(name, text);
    }
    const expected = { responses: answers, quotes, extended: quotes, dividends: changed, deadLetters: 0 };
    for (const [table, count] of Object.entries(await countRows(client)))
      if (expected[table as keyof typeof expected] !== count)
        findings.push(`${count} ${table} in place of ${expected[table as keyof typeof expected]}`);
    const violations = findings.slice(0, MOST_FINDINGS);
    if (findings.length > MOST_FINDINGS) violations.push(`${findings.length - MOST_FINDINGS} more`);
    return { answers, quotes, dividends: changed, violations };
  } finally {
    client.release();
  }
}
