/** An archive of thousands of instruments that all had a quote lately, and a collector with four accounts beside it. */
import type pg from "pg";
import { followOwnRows, tellLoaded } from "../../support/archive.ts";
import type { Live, StatusView } from "../../../src/web/api/types.ts";
import type { NowSources } from "../../../src/web/live.ts";

/** How many there are: 3,004 securities, and 2,004 contracts of AAPL. */
export const CROWD = 5_008;
const SECURITIES = 3_004;

/** Fills it. `S0001` and so on have prices that rise with their number; four have names people know. */
export async function fillCrowd(pool: pg.Pool): Promise<void> {
  await pool.query(
    `insert into instruments (id, security_type, symbol, description, first_seen_at, last_seen_at)
     select n, 'CS', coalesce((array['AAPL', 'MSFT', 'TS', 'TSLA'])[n], 'S' || lpad(n::text, 4, '0')),
       coalesce((array['APPLE INC', 'MICROSOFT CORP', 'TRIPLE-S', 'TESLA INC'])[n], 'COMPANY NUMBER ' || n), now(), now()
     from generate_series(1, $1::int) n`,
    [SECURITIES],
  );
  await pool.query(
    `insert into instruments (id, security_type, symbol, expiration, option_type, strike, first_seen_at, last_seen_at)
     select $1 + n, 'OPT', 'AAPL', (date_trunc('week', now()) + interval '11 days')::date + 7 * (n / 167), case when n % 2 = 0 then 'CALL' else 'PUT' end,
       50 + (n % 167) / 2 * 2.5, now(), now()
     from generate_series(0, $2::int) n on conflict do nothing`,
    [SECURITIES + 1, CROWD - SECURITIES - 1],
  );
  await quoteCrowd(pool, 0);
}

/** Every instrument's quote of a further minute. */
export async function quoteCrowd(pool: pg.Pool, minute: number): Promise<void> {
  const at = `date_trunc('second', clock_timestamp()) + interval '1 second'`;
  const { rows } = await pool.query<{ at: string }>(`select (${at})::text as at`);
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select $1::timestamptz + id * interval '10 microseconds', id, 2, false, id + 0.01, id + 0.03, id + 0.02 + $2::int, 0.1 * (id % 7 - 3), 0.5
     from instruments`,
    [rows[0]?.at, minute],
  );
  await pool.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume)
     select $1::timestamptz + id * interval '10 microseconds', id, 2, 100, 200, 1000 * id + $2::int from instruments`,
    [rows[0]?.at, minute],
  );
  await followOwnRows(pool);
  await tellLoaded(pool, new Date(rows[0]?.at ?? 0));
}

const BUDGET: Omit<Live, "accounts" | "missed" | "unknown" | "jobs" | "quotesStored" | "problems"> = {
  callsUsed: 41,
  limit: 60,
  limitSet: 60,
  windowMs: 60_000,
  secondClient: 0,
  phase: "open",
  closedForMs: 0,
  queued: 3,
};

/** A collector that runs, and nothing to tell of it. */
export const CALM_STATUS: StatusView = {
  healthy: true,
  lines: [],
  collector: { state: "running", running: 1, stopped: 0, gone: 0 },
  nextPollAt: null,
  lastQuotesAt: {},
  budget: null,
  lastDay: null,
  lag: null,
  tier: "plain PostgreSQL 18.4",
  fleet: null,
  logins: [],
  quotes: [],
  unsureSince: null,
  uncalled: {},
};

/** A collector whose four accounts are busy: other figures at each look. */
export function busySources(): NowSources {
  let looks = 0;
  const live = (): Live => {
    looks++;
    const accounts = ["main", "second", "third", "fourth"].map((name, place) => ({
      ...BUDGET,
      callsUsed: (looks * 7 + place * 11) % 60,
      queued: (looks * 3 + place) % 40,
      name,
      state: "active" as const,
      problem: null,
    }));
    const job = { schedule: "* * * * *", session: "any", priority: 5, nextAt: "2099-01-01T00:00:00Z" };
    return {
      ...BUDGET,
      accounts,
      missed: 0,
      unknown: [],
      problems: [],
      quotesStored: looks * 84,
      jobs: ["us-equities", "aapl-options", "etfs", "indexes"].map((name) => ({ ...job, name })),
    };
  };
  return {
    feed: { simulated: true, address: null },
    collects: true,
    live,
    status: async () => CALM_STATUS,
    journal: async () => ({ bytes: looks * 10_000, segments: 1 }),
  };
}
