/** What the tables say of the collectors of an archive and of who calls which account. All of it is others' word. */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import type { CollectorRow, FleetRows, OwnedAccount } from "./fleetTypes.ts";

/** A collector is gone that was not seen for so long, or that was seen in the future because the clock was set back since. */
const GONE_AFTER_S = 60;
const IS_GONE = `abs(extract(epoch from clock_timestamp() - seen_at)) > ${GONE_AFTER_S}`;

const NAME_LENGTH = 100;

const agoMs = (column: string): string =>
  `floor(extract(epoch from greatest(clock_timestamp() - ${column}, interval '0')) * 1000)::float8`;

const IN_FORCE =
  "select jobs_digest, accounts from epochs where from_at <= clock_timestamp() order by number desc limit 1";

const COLLECTORS = `
  select c.id::text, left(c.name, ${NAME_LENGTH}) as name, left(c.version, ${NAME_LENGTH}) as version,
    case when c.stopped then 'stopped'
      when ${IS_GONE} then 'gone' else 'running' end as state,
    ${agoMs("c.seen_at")} as "seenAgoMs", c.journal_lag::float8 as "journalLag", c.clock_offset_ms as "clockOffsetMs",
    coalesce(c.jobs_digest <> e.jobs_digest, false) as "filesDiffer"
  from collectors c left join (${IN_FORCE}) e on true order by c.number`;

const ACCOUNTS = `
  select a.name as account,
    case when not l.released and clock_timestamp() between l.renewed_at and l.expires_at
      then coalesce(left(c.name, ${NAME_LENGTH}), l.holder::text) end as owner,
    l.fence::float8 as fence, case when l.account_id is not null then ${agoMs("l.renewed_at")} end as "renewedAgoMs",
    (select count(*)::int from lease_history h where h.account_id = a.id and h.how = 'expired'
      and h.taken_at > clock_timestamp() - interval '1 day') as "takeOvers",
    coalesce(a.name = any (e.accounts), true) as "takesPart"
  from accounts a left join (${IN_FORCE}) e on true
    left join leases l on l.account_id = a.id left join collectors c on c.id = l.holder
  where l.account_id is not null or a.name = any (e.accounts) order by a.name collate "C"`;

/** A reader's rights are enough. */
export async function readFleet(pool: Queryable): Promise<FleetRows> {
  const { rows: collectors } = await pool.query<CollectorRow>(COLLECTORS);
  const { rows: accounts } = await pool.query<OwnedAccount>(ACCOUNTS);
  return { collectors, accounts };
}

/**
 * When the first of the collectors that run began, whether all that ran have agreed on accounts and jobs, and when they last
 * agreed on others, null: not lately.
 */
export type SharingFacts = { beganAt: Date; hasAgreed: boolean; agreedFrom: Date | null };

/**
 * What tells since when the jobs are shared out among the accounts as they are at an instant. Null: no collector is known to
 * run.
 */
export async function readSharing(pool: pg.Pool, at: Date): Promise<SharingFacts | null> {
  const { rows } = await pool.query<{ began: string | null; has: boolean; agreed: string | null }>(
    `select (select min(started_at) from collectors
             where not stopped and not (${IS_GONE})) as began,
            exists (select from epochs) as has,
            (select max(from_at) from (
               select from_at, (jobs_digest, accounts) is distinct from (lag(jobs_digest) over w, lag(accounts) over w)
                               and lag(number) over w is not null as differs
               from epochs window w as (order by number)) e
             where differs and from_at <= $1) as agreed`,
    [at.toISOString()],
  );
  const { began = null, has: hasAgreed = false, agreed = null } = rows[0] ?? {};
  const agreedFrom = agreed === null ? null : new Date(agreed);
  return began === null ? null : { beganAt: new Date(began), hasAgreed, agreedFrom };
}
