/** What the command line and the dashboard ask of the archive. Reads only. */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import type { ClockStep, LedgerSource } from "../../journal/ledger.ts";

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
  const { rows } = await pool.query<{ answers: string | null; slots: string | null }>(
    `select (select s.kind from responses r join sources s on s.id = r.source_id where s.kind <> 'import'
             order by r.observed_at desc limit 1) as answers,
            (select s.kind from slots t join sources s on s.id = t.source_id order by t.slot_at desc limit 1) as slots`,
  );
  const marketOf = (kind: string | null | undefined): LedgerSource =>
    kind === "simulated" ? "simulated" : configured;
  return { answers: marketOf(rows[0]?.answers), slots: marketOf(rows[0]?.slots) };
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
  const { rows } = await pool.query<AccountAnswers>(
    `select a.name as account, s.kind as market, r.request ->> 'form' as form, r.outcome, max(r.observed_at) as "lastAt"
     from responses r join sources s on s.id = r.source_id join accounts a on a.id = r.account_id
     where r.observed_at >= $1 and s.kind = any ($2) group by 1, 2, 3, 4`,
    [new Date(now.getTime() - 3_600_000).toISOString(), ["simulated", configured]],
  );
  return rows.map((row) => ({ ...row, lastAt: isoOf(row.lastAt) }));
}

/** How the collection has been going. Answers are those of one market: what was imported is no answer to a call. */
export type Health = {
  lastAnswerAt: string | null;
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
  const ago = (ms: number): string => new Date(now.getTime() - ms).toISOString();
  const ofMarket = "source_id in (select id from sources where kind = $1)";
  const [newest, outcomes, about, positions] = await Promise.all([
    pool.query<{ at: string | null; quotesAt: string | null; account: string | null }>(
      `select (select observed_at from responses where ${ofMarket} order by observed_at desc limit 1) as at,
              q.observed_at as "quotesAt", q.name as account
       from (select) one left join lateral (
         select r.observed_at, a.name from responses r join accounts a on a.id = r.account_id
         where r.${ofMarket} and r.outcome = 'quotes' order by r.observed_at desc limit 1
       ) q on true`,
      [market],
    ),
    pool.query<{ outcome: string; count: number; last: string }>(
      `select outcome, count(*)::float8 as count, max(observed_at) as last from responses
       where observed_at >= $2 and ${ofMarket} group by outcome`,
      [market, ago(3_600_000)],
    ),
    pool.query<{ instruments: number; sources: string[]; letters: number; letterAt: string | null }>(
      `select (select count(*)::float8 from instruments) as instruments,
              array(select distinct kind from sources s where exists (select from responses where source_id = s.id)) as sources,
              count(*)::float8 as letters, max(observed_at) as "letterAt"
       from dead_letters where observed_at >= $1`,
      [ago(86_400_000)],
    ),
    pool.query<{ segment: string; to: number }>(
      "select segment, loaded_to::float8 as to from journal_positions",
    ),
  ]);
  const [{ at = null, quotesAt = null, account = null } = {}] = newest.rows;
  const [{ instruments = 0, sources = [], letters = 0, letterAt = null } = {}] = about.rows;
  return {
    lastAnswerAt: at === null ? null : isoOf(at),
    lastQuotes: account === null || quotesAt === null ? null : { account, at: isoOf(quotesAt) },
    lastHour: Object.fromEntries(outcomes.rows.map(({ outcome, count }) => [outcome, count])),
    lastOfOutcome: Object.fromEntries(outcomes.rows.map(({ outcome, last }) => [outcome, isoOf(last)])),
    instruments,
    sources,
    deadLettersToday: letters,
    lastDeadLetterAt: letterAt === null ? null : isoOf(letterAt),
    loaded: new Map(positions.rows.map(({ segment, to }) => [segment, to])),
  };
}

/** Where the newest answer of an outcome lies in the journal that it was loaded from; null: there is none. */
export async function readAnswerPlace(
  pool: Queryable,
  outcome: string,
): Promise<{ segment: string; offset: number } | null> {
  const { rows } = await pool.query<{ segment: string; offset: number }>(
    `select journal_segment as segment, journal_offset::float8 as offset from responses
     where outcome = $1 order by observed_at desc limit 1`,
    [outcome],
  );
  return rows[0] ?? null;
}

/** The steps of the machine's clock that were noticed in (since, until], by what the clock said then; the newest first. */
export async function readClockSteps(
  pool: Queryable,
  since: Date,
  until: Date,
): Promise<(ClockStep & { movedAt: Date })[]> {
  const { rows } = await pool.query<ClockStep & { movedAt: string }>(
    `select kind, step_ms::float8 as "stepMs", moved_at as "movedAt" from clock_steps
     where moved_at > $1 and moved_at <= $2 order by moved_at desc`,
    [since.toISOString(), until.toISOString()],
  );
  return rows.map((row) => ({ ...row, movedAt: new Date(isoOf(row.movedAt)) }));
}

/** `2026-11-20 22:50:00.123456+00` of PostgreSQL as ISO 8601 in UTC. */
export function isoOf(timestamptz: string): string {
  return timestamptz.replace(" ", "T").replace(/\+00(:00)?$/, "Z");
}
