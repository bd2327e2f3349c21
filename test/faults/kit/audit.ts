/**
 * Compares the database with the journal: what lies before a segment's position has exactly its rows, what lies
 * behind it has none. Correct at any instant, also while a collector runs: the database is read in one snapshot, and
 * the journal after it, which only grows.
 */
import type pg from "pg";
import { rowsOf, unitName } from "../../../src/read/answerToRows.ts";
import type { AnswerRows } from "../../../src/read/rowTypes.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import {
  answerFindings,
  countRows,
  dividendText,
  quotesOf,
  readPositions,
  readStored,
  type RowCounts,
  type StoredAnswer,
} from "./stored.ts";

/** Answers compared at a time: what is held in memory. */
const CHUNK = 400;

/** Findings listed at most; beyond, they are only counted. */
const MOST_FINDINGS = 20;

/** What an audit has found so far. */
export type AuditReport = {
  /** Answers in the journal, and those of them that the database has loaded. */
  journaled: number;
  loaded: number;
  /** Rows that the loaded ones must have, and have. */
  quotes: number;
  dividends: number;
  /** What does not hold, in words. */
  violations: string[];
};

/** Audits one journal and one database, again and again; what was found right is not read a second time. */
export class Auditor {
  readonly #pool: pg.Pool;
  readonly #journalDir: string;
  /** By segment: up to where its rows were compared. */
  readonly #done = new Map<string, number>();
  /** Segments that are loaded to their end: position and length, as they were then. */
  readonly #finished = new Map<string, string>();
  /** By segment: the arrival of its last answer. */
  readonly #lastObserved = new Map<string, string>();
  /** By instrument. */
  readonly #lastDividend = new Map<string, string>();
  /** Numbers of the answers that the journal holds. */
  readonly #numbers = new Set<number>();
  /** Rows of open interest alone. */
  #alone = 0;
  #report: AuditReport = { journaled: 0, loaded: 0, quotes: 0, dividends: 0, violations: [] };

  constructor(pool: pg.Pool, journalDir: string) {
    this.#pool = pool;
    this.#journalDir = journalDir;
  }

  /** Compares what is new since the last time. @param options.complete also whether all of the journal is loaded */
  async check({ complete = false } = {}): Promise<AuditReport> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin isolation level repeatable read read only");
      const positions = await readPositions(client);
      const counts = await countRows(client);
      let ahead = 0;
      for (const { name, bytes } of await listSegments(this.#journalDir)) {
        const position = positions.get(name) ?? 0;
        const state = `${position} of ${bytes}`;
        if (this.#finished.get(name) === state) continue;
        const behind = await this.#checkSegment(client, name, position);
        if (behind === 0) this.#finished.set(name, state);
        ahead += behind;
      }
      await client.query("commit");
      this.#report.journaled = this.#report.loaded + ahead;
      this.#compareCounts(counts);
      if (complete && ahead > 0) this.#found(`${ahead} answers of the journal are not loaded`);
    } finally {
      client.release();
    }
    return this.#report;
  }

  /** Numbers of the feed's answers that the journal holds. */
  get numbers(): ReadonlySet<number> {
    return this.#numbers;
  }

  /** @returns how many answers lie behind the position */
  async #checkSegment(client: pg.PoolClient, segment: string, position: number): Promise<number> {
    const from = this.#done.get(segment) ?? 0;
    if (position < from) this.#found(`${segment}: its position went back from ${from} to ${position}`);
    const chunks = { loaded: [] as AnswerRows[], ahead: [] as AnswerRows[] };
    let ahead = 0;
    let reached = from === position;
    for await (const item of readSegment(this.#journalDir, segment, { from, mayBeGone: true })) {
      if (item.kind === "damage") continue;
      if (item.kind === "unreadable") throw item.error;
      reached ||= item.end === position;
      if (item.kind === "end") break;
      if (item.record.kind !== "response") continue;
      const rows = rowsOf(item.record, { segment, offset: item.offset });
      const isLoaded = item.end <= position;
      if (isLoaded) this.#checkOrder(segment, rows);
      else ahead += 1;
      const chunk = isLoaded ? chunks.loaded : chunks.ahead;
      chunk.push(rows);
      if (chunk.length === CHUNK) await this.#compare(client, chunk.splice(0), isLoaded);
    }
    await this.#compare(client, chunks.loaded, true);
    await this.#compare(client, chunks.ahead, false);
    if (!reached) this.#found(`${segment}: its position ${position} is the end of no record`);
    this.#done.set(segment, position);
    return ahead;
  }

  #checkOrder(segment: string, { record, answer }: AnswerRows): void {
    const last = this.#lastObserved.get(segment) ?? "";
    if (record.observedAt <= last) this.#found(`${segment}: ${record.observedAt} comes after ${last}`);
    this.#lastObserved.set(segment, record.observedAt);
    const id = answer.outcome === "quotes" ? (answer.document.id ?? "") : "";
    // Of a feed whose answers have no number each counts.
    this.#numbers.add(id === "" ? -1 - this.#numbers.size : Number(id.slice(2)));
  }

  async #compare(client: pg.PoolClient, answers: readonly AnswerRows[], areLoaded: boolean): Promise<void> {
    if (answers.length === 0) return;
    const stored = await readStored(
      client,
      answers.map(({ record }) => record.observedAt),
    );
    for (const answer of answers) {
      const found = stored.get(answer.record.observedAt);
      if (areLoaded) this.#compareAnswer(answer, found);
      else if (found) this.#found(`${answer.record.observedAt} has rows, and lies behind the position`);
    }
  }

  #compareAnswer(answer: AnswerRows, found: StoredAnswer | undefined): void {
    const { position, units } = answer;
    this.#report.loaded += 1;
    this.#report.quotes += quotesOf(units);
    this.#alone += units.length - quotesOf(units);
    for (const finding of answerFindings(answer, found)) this.#found(finding);
    const dividends = this.#expectedDividends(units);
    this.#report.dividends += dividends.length;
    const stored = found?.dividends ?? [];
    if (dividends.join("\n") !== stored.toSorted().join("\n"))
      this.#found(
        `${position.segment} at ${position.offset}: dividends ${stored.join()} in place of ${dividends.join()}`,
      );
  }

  /** A dividend is stored when it is first seen or differs from the one before: only the right order gives these rows. */
  #expectedDividends(units: AnswerRows["units"]): string[] {
    const changed: string[] = [];
    for (const unit of units) {
      const text = dividendText(unit);
      if (text === null || text === this.#lastDividend.get(unitName(unit))) continue;
      this.#lastDividend.set(unitName(unit), text);
      changed.push(`${unitName(unit)} ${text}`);
    }
    return changed.sort();
  }

  /** Rows that belong to no answer of the journal show in the totals alone. */
  #compareCounts(counts: RowCounts): void {
    const { loaded, quotes, dividends } = this.#report;
    const expected: RowCounts = {
      responses: loaded,
      quotes,
      extended: quotes + this.#alone,
      dividends,
      deadLetters: 0,
    };
    for (const [table, count] of Object.entries(expected) as [keyof RowCounts, number][])
      if (counts[table] !== count) this.#found(`${counts[table]} ${table} in place of ${count}`);
  }

  #found(violation: string): void {
    if (this.#report.violations.length < MOST_FINDINGS) this.#report.violations.push(violation);
  }
}
