/** What the command line and the dashboard ask of the archive. Reads only. */
import { and, count, desc, eq, gt, gte, inArray, lte, max, ne, sql } from "drizzle-orm";
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import type { ClockStep, LedgerSource } from "../../journal/ledger.ts";
import {
  accounts,
  clockSteps,
  deadLetters,
  instruments,
  responses,
  slots,
  sources,
} from "../schema/schema.ts";
import { journalPositions } from "../schema/internalSchema.ts";
import { tablesOn } from "../schema/tableRows.ts";

/**
 * Which market is polled. A service at an account's address may call itself a simulated market, and then its answers and
 * slots are kept as such: the newest answer and the newest slot tell, each for itself, since a poll of another
 * market is no slot of a schedule. What was imported was not polled.
 *
 * @param configured what the configuration says; the program's own simulated market is never anything else
 */
export async function readPolledMarket(
  pool: pg.Pool,
  configured: LedgerSource,
): Promise<{ answers: LedgerSource; slots: LedgerSource }> {
  if (configured === "simulated") return { answers: configured, slots: configured };
  const db = tablesOn(pool);
  const answers = await db
    .select({ kind: sources.kind })
    .from(responses)
    .innerJoin(sources, eq(sources.id, responses.sourceId))
    .where(ne(sources.kind, "import"))
    .orderBy(desc(responses.observedAt))
    .limit(1);
  const settled = await db
    .select({ kind: sources.kind })
    .from(slots)
    .innerJoin(sources, eq(sources.id, slots.sourceId))
    .orderBy(desc(slots.slotAt))
    .limit(1);
  const marketOf = ([newest]: { kind: string }[]): LedgerSource =>
    newest?.kind === "simulated" ? "simulated" : configured;
  return { answers: marketOf(answers), slots: marketOf(settled) };
}

/** Answers of the last hour, of an account, a market, a form of call and an outcome: when the newest of them arrived, UTC. */
export type AccountAnswers = {
  account: string;
  market: string;
  form: string | null;
  outcome: string;
  lastAt: string;
};

/** @param configured which market the configuration says; a service may call itself a simulated one, see `readPolledMarket` */
export async function readAccountAnswers(
  pool: pg.Pool,
  configured: LedgerSource,
  now: Date,
): Promise<AccountAnswers[]> {
  const { observedAt, outcome, request } = responses;
  const form = sql<string | null>`${request} ->> 'form'`;
  const rows = await tablesOn(pool)
    .select({ account: accounts.name, market: sources.kind, form, outcome, lastAt: max(observedAt) })
    .from(responses)
    .innerJoin(sources, eq(sources.id, responses.sourceId))
    .innerJoin(accounts, eq(accounts.id, responses.accountId))
    .where(
      and(
        gte(observedAt, new Date(now.getTime() - 3_600_000).toISOString()),
        inArray(sources.kind, ["simulated", configured]),
      ),
    )
    .groupBy(accounts.name, sources.kind, form, outcome);
  return rows.map(({ lastAt, ...row }) => ({ ...row, lastAt: isoOf(lastAt ?? "") }));
}

/** How the collection has been going. Answers are those of one market: what was imported is no answer to a call. */
export type Health = {
  /** Arrival of the newest answer, UTC; null when there is none. */
  lastAnswerAt: string | null;
  /** The newest answer with quotes; null when there is none. */
  lastQuotes: { account: string; at: string } | null;
  /** Answers of the last hour by outcome. */
  lastHour: Record<string, number>;
  /** Arrival of the newest answer of each outcome, of the last hour, UTC. */
  lastOfOutcome: Record<string, string>;
  instruments: number;
  /** Kinds of source that any answer came from. */
  sources: string[];
  deadLettersToday: number;
  /** When the newest dead letter of the last day arrived, UTC; null when there is none. */
  lastDeadLetterAt: string | null;
  /** How far each journal segment is loaded, in bytes. */
  loaded: Map<string, number>;
};

/**
 * @param market whose answers are told of; dead letters are those of all sources
 * @param now the hour and the day are counted back from it
 */
export async function readHealth(pool: pg.Pool, market: LedgerSource, now: Date): Promise<Health> {
  const db = tablesOn(pool);
  const hourAgo = new Date(now.getTime() - 3_600_000).toISOString();
  const dayAgo = new Date(now.getTime() - 86_400_000).toISOString();
  const ofMarket = inArray(
    responses.sourceId,
    db.select({ id: sources.id }).from(sources).where(eq(sources.kind, market)),
  );
  const [[newest], [quotes], outcomes, [known], kinds, [dead], positions] = await Promise.all([
    db
      .select({ at: responses.observedAt })
      .from(responses)
      .where(ofMarket)
      .orderBy(desc(responses.observedAt))
      .limit(1),
    db
      .select({ account: accounts.name, at: responses.observedAt })
      .from(responses)
      .innerJoin(accounts, eq(accounts.id, responses.accountId))
      .where(and(ofMarket, eq(responses.outcome, "quotes")))
      .orderBy(desc(responses.observedAt))
      .limit(1),
    db
      .select({ outcome: responses.outcome, count: count(), last: max(responses.observedAt) })
      .from(responses)
      .where(and(gte(responses.observedAt, hourAgo), ofMarket))
      .groupBy(responses.outcome),
    db.select({ count: count() }).from(instruments),
    db
      .selectDistinct({ kind: sources.kind })
      .from(sources)
      .where(sql`exists (select from ${responses} where ${responses.sourceId} = ${sources.id})`),
    db
      .select({ count: count(), last: max(deadLetters.observedAt) })
      .from(deadLetters)
      .where(gte(deadLetters.observedAt, dayAgo)),
    db.select().from(journalPositions),
  ]);
  return {
    lastAnswerAt: newest ? isoOf(newest.at) : null,
    lastQuotes: quotes ? { ...quotes, at: isoOf(quotes.at) } : null,
    lastHour: Object.fromEntries(outcomes.map(({ outcome, count }) => [outcome, Number(count)])),
    lastOfOutcome: Object.fromEntries(outcomes.map(({ outcome, last }) => [outcome, isoOf(last ?? "")])),
    instruments: Number(known?.count ?? 0),
    sources: kinds.map(({ kind }) => kind),
    deadLettersToday: Number(dead?.count ?? 0),
    lastDeadLetterAt: dead?.last ? isoOf(dead.last) : null,
    loaded: new Map(positions.map(({ segment, loadedTo }) => [segment, loadedTo])),
  };
}

/** Where the newest answer of an outcome lies in the journal that it was loaded from; null: there is none. */
export async function readAnswerPlace(
  pool: Queryable,
  outcome: string,
): Promise<{ segment: string; offset: number } | null> {
  const [found] = await tablesOn(pool)
    .select({ segment: responses.journalSegment, offset: responses.journalOffset })
    .from(responses)
    .where(eq(responses.outcome, outcome))
    .orderBy(desc(responses.observedAt))
    .limit(1);
  return found ? { segment: found.segment, offset: Number(found.offset) } : null;
}

/** The steps of the machine's clock that were noticed in (since, until], by what the clock said then; the newest first. */
export async function readClockSteps(
  pool: Queryable,
  since: Date,
  until: Date,
): Promise<(ClockStep & { movedAt: Date })[]> {
  const rows = await tablesOn(pool)
    .select()
    .from(clockSteps)
    .where(and(gt(clockSteps.movedAt, since.toISOString()), lte(clockSteps.movedAt, until.toISOString())))
    .orderBy(desc(clockSteps.movedAt));
  return rows.map((row) => ({ ...row, movedAt: new Date(isoOf(row.movedAt)) }));
}

/** `2026-11-20 22:50:00.123456+00` of PostgreSQL as ISO 8601 in UTC. */
export function isoOf(timestamptz: string): string {
  return timestamptz.replace(" ", "T").replace(/\+00(:00)?$/, "Z");
}
