/** Which instruments have quotes that were asked for within a time. */
import type pg from "pg";
import type { LedgerSource } from "../../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { inTransaction } from "../connect/transaction.ts";
import { isNamed } from "../schema/instrumentNames.ts";
import { type NearRows, withNear } from "../tiers/citus/door.ts";
import type { Window } from "./knownShares.ts";
import { CHAIN, isOfMarket, isWatchlist, LEDGER_SOURCE_IDS, NAME_OF_ONE } from "./ledgerNames.ts";

/** Assumed: an answer arrives at most this long after it was asked for, in ms: three times the longest wait for one. */
export const LATEST_ANSWER_MS = 60_000;

/**
 * How much later than it was asked for an answer of these windows may bear its time, in s: `observed_at` never goes back
 * with a clock that is set back.
 */
async function readLatestAnswer(pool: pg.Pool, windows: readonly Window[]): Promise<number> {
  const [first, last] = [windows[0], windows.at(-1)];
  const { rows } = await pool.query<{ ms: string }>(
    `select coalesce(sum(-step_ms), 0) as ms from clock_steps
     where kind = 'set_back' and moved_at >= $1::timestamptz - interval '1 day' and moved_at < $2`,
    [first?.from.toISOString(), last?.to.toISOString()],
  );
  return (LATEST_ANSWER_MS + Number(rows[0]?.ms ?? 0)) / 1_000;
}

type WantedQuotes = {
  source: LedgerSource;
  /** Default: `DEFAULT_ACCOUNT`. */
  account?: string;
  instruments: readonly string[];
  delayed: boolean;
};

/**
 * Which of the instruments have a quote that was asked for within each window: the quotes that an interrupted slot already holds.
 * Windows without any are left out. Whoever asked, it is stored, for an instrument may have moved to another account
 * meanwhile; a watchlist is its account's own, and another's of that name is not it.
 *
 * @param windows ascending, without overlap
 * @returns names by the place of the window
 */
export async function readStoredWithin(
  pool: pg.Pool,
  windows: readonly Window[],
  wanted: WantedQuotes,
): Promise<Map<number, Set<string>>> {
  const stored = new Map<number, Set<string>>();
  if (windows.length === 0) return stored;
  const latest = await readLatestAnswer(pool, windows);
  const hit = await windowsWithAnswers(pool, windows, latest);
  if (hit.length === 0) return stored;
  const spans = [
    hit,
    hit.map((place) => windows[place]?.from.toISOString()),
    hit.map((place) => windows[place]?.to.toISOString()),
  ];
  const sourceId = LEDGER_SOURCE_IDS[wanted.source];
  const asOne = wanted.instruments.filter((name) => isWatchlist(name) || name.startsWith(CHAIN));
  const read = async (client: pg.ClientBase): Promise<{ place: number; name: string }[]> => {
    const found = await client.query<{ place: number; name: string }>(QUOTED, [
      ...spans,
      wanted.instruments,
      wanted.delayed,
      sourceId,
      latest,
    ]);
    if (asOne.length === 0) return found.rows;
    const listed = await client.query<{ place: number; name: string }>(LISTED, [
      ...spans,
      asOne,
      wanted.delayed,
      sourceId,
      latest,
      wanted.account ?? DEFAULT_ACCOUNT,
    ]);
    return [...found.rows, ...listed.rows];
  };
  const rows = await inTransaction(pool, (client) =>
    withNear(
      client,
      () => [quotesWithin(spans.slice(1), sourceId, latest)],
      () => read(client),
    ),
  );
  for (const { place, name } of rows) stored.set(place, (stored.get(place) ?? new Set()).add(name));
  return stored;
}

const NAMED = `select i.id, n.name
       from unnest($4::text[]) as n (name)
       join instruments i on ${isNamed("n.name")}`;

const QUOTED = `with wanted as (
       ${NAMED}
     )
     select distinct w.place, wanted.name
     from unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
     cross join wanted
     where exists (
       select from quotes q join responses r on r.observed_at = q.observed_at and r.source_id = q.source_id
       where q.instrument_id = wanted.id and ${isOfMarket("q.source_id", "$6")}
       -- What was asked for counts: a service may answer with delayed quotes whatever that was.
       and coalesce((r.request ->> 'delayed')::boolean, q.delayed) = $5
       and q.observed_at >= w.since and q.observed_at < w.until + make_interval(secs => $7)
       and r.requested_at >= w.since and r.requested_at < w.until
     )`;

/** Answers of watchlists and whole chains, by the window and the name that they belong to. */
const LISTING = `unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
    cross join unnest($4::text[]) as n (name)
    join responses r on r.observed_at >= w.since and r.observed_at < w.until + make_interval(secs => $7)
      and r.requested_at >= w.since and r.requested_at < w.until and ${isOfMarket("r.source_id", "$6")}
      and ${NAME_OF_ONE} = n.name and (r.request ->> 'delayed')::boolean = $5
      and (r.request ->> 'form' <> 'watchlist' or r.account_id = (select id from accounts where name = $8))`;

/** What comes in pages is stored when the first and the last of them are there: each is asked for by what the one before it says. */
const LISTED = `select w.place, n.name from ${LISTING}
  group by w.place, n.name
  having bool_or(r.outcome = 'quotes' and r.request ->> 'page' is null)
    and bool_or(r.outcome = 'quotes' and r.has_more is not true)
    and bool_or(exists (select from quotes q where q.observed_at = r.observed_at and q.source_id = r.source_id))`;

/** The quotes of a source that bear the times of answers of some windows. */
const quotesWithin = (windows: unknown[], sourceId: number, latest: number): NearRows => ({
  table: "quotes",
  rows: `join unnest($1::timestamptz[], $2::timestamptz[]) as w (since, until)
    on t.observed_at >= w.since and t.observed_at < w.until + make_interval(secs => $3)
    where ${isOfMarket("t.source_id", "$4")} on conflict do nothing`,
  values: [...windows, latest, sourceId],
});

/** Places of the windows in which anything was asked that was answered. After a long downtime these are few of very many. */
async function windowsWithAnswers(
  pool: pg.Pool,
  windows: readonly Window[],
  latest: number,
): Promise<number[]> {
  const [first, last] = [windows[0], windows.at(-1)];
  if (!first || !last) return [];
  const { rows } = await pool.query<{ at: string }>(
    `select date_trunc('milliseconds', requested_at) as at from responses
     where observed_at >= $1 and observed_at < $2::timestamptz + make_interval(secs => $3)
     and requested_at >= $1 and requested_at < $2 and outcome = 'quotes' group by 1 order by 1`,
    [first.from.toISOString(), last.to.toISOString(), latest],
  );
  const times = rows.map(({ at }) => new Date(at).getTime());
  let next = 0;
  return windows.flatMap(({ from, to }, place) => {
    while ((times[next] ?? Infinity) < from.getTime()) next += 1;
    return (times[next] ?? Infinity) < to.getTime() ? [place] : [];
  });
}
