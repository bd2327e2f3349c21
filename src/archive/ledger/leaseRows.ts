/**
 * The fleet in the database: which collectors are there, which of them calls each account, and what they go by. Every
 * statement stands for itself: nothing of a session is needed, so a pooler in transaction mode does, and a collector that is
 * paused or cut off between two of them keeps no row locked, which others wait for. All times are the database's own.
 *
 * States and moves of an account's lease:
 * - nobody's -> held: `claim`, how "new";
 * - held -> held: `round` by its holder, with its fence, as often as it likes, also after it has expired;
 * - held -> released: `release` by its holder, with its fence;
 * - released -> held: `claim`, how "released";
 * - held -> held by another: `claim` of who knows that the holder's run is dead ("restarted"), or of who has watched it
 *   unchanged for long enough and finds it expired ("expired").
 * Each claim has the fence after the one before; with an older one nothing is renewed.
 */
import type pg from "pg";
import { z } from "zod";
import type { Epoch, Grant, LeaseStore, Look, CollectorReport } from "../../accounts/lease/leaseStore.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { UNIQUE_VIOLATION } from "../connect/whoseFault.ts";
import { jsonText } from "../../ground/outsideText.ts";
import { accounts } from "../schema/schema.ts";
import { collectors, epochs, leaseHistory, leases } from "../schema/internalSchema.ts";
import { columnList } from "../schema/tableRows.ts";

/** How long a lease lasts that is not renewed. */
const TTL = "interval '7 s'";

/** How long epochs that have passed, and who held what, are kept. */
const KEPT = "interval '400 days'";

/** One instant for a whole statement: a lease that it renews must not be of the future in what it sees. */
const NOW = "now as materialized (select clock_timestamp() as at)";

const milliseconds = (interval: string) => `floor(extract(epoch from ${interval}) * 1000)::bigint`;

const list = (fields: string, from: string, order: string) =>
  `(select coalesce(json_agg(json_build_object(${fields}) order by ${order}), '[]') from ${from})`;

/** The epoch that was in force at an instant, and those after it. */
const epochsFrom = (at: string) =>
  list(
    `'number', e.number, 'fromMs', ${milliseconds("e.from_at")}, 'jobsDigest', e.jobs_digest, 'accounts', e.accounts, 'prices', e.prices`,
    `epochs e where e.number >= coalesce((select max(number) from epochs where from_at <= ${at}), 0)`,
    "e.number",
  );

/** The fields of a Look, out of what stands for the two tables. A governor's state stays where it is: it is long. */
const lookAt = (collectorRows: string, leaseRows: string, files = "c.files") => `
  'nowMs', ${milliseconds("now.at")},
  'collectors', ${list(
    `'id', c.id, 'number', c.number, 'name', c.name, 'run', c.run, 'beat', c.beat, 'stopped', c.stopped,
     'seenAgoMs', ${milliseconds("greatest(now.at - c.seen_at, interval '0')")},
     'jobsDigest', c.jobs_digest, 'files', ${files}, 'knows', c.knows, 'clockOffsetMs', c.clock_offset_ms`,
    `${collectorRows} c`,
    "c.number",
  )},
  'leases', ${list(
    `'account', a.name, 'fence', l.fence, 'holder', l.holder, 'run', l.run, 'beat', l.beat, 'released', l.released,
     'expired', l.expires_at <= now.at or l.renewed_at > now.at`,
    `${leaseRows} l join accounts a on a.id = l.account_id`,
    'a.name collate "C"',
  )},
  'epochs', ${epochsFrom("now.at")},
  'drained', (select coalesce(json_agg(name order by name collate "C"), '[]') from accounts where wanted = 'drained')`;

const LOOK = `with ${NOW} select json_build_object(${lookAt("collectors", "leases")}) as look from now`;

/** Leases of $1, the collector, in the run $2 and with the fence that $3, their JSON, says. */
const MINE = `
  json_to_recordset($3) as h (account text, fence bigint, governor jsonb) join accounts a on a.name = h.account
  where l.account_id = a.id and l.fence = h.fence and l.holder = $1 and l.run = $2`;

/**
 * What a statement has written itself it does not see in the tables: the others are from there. Files that are as one's own are
 * left out: an answer that no network buffer holds would keep the rows locked until somebody reads it.
 */
const ROUND = `
  with ${NOW},
  told as (
    update collectors set seen_at = now.at, beat = beat + 1, jobs_digest = $4, files = $5, knows = $6, journal_lag = $7, clock_offset_ms = $8
    from now where id = $1 returning collectors.*
  ),
  renewed as (
    update leases l set beat = l.beat + 1, renewed_at = now.at, expires_at = now.at + ${TTL}, governor = h.governor
    from now, ${MINE} and not l.released
    returning a.name, l.account_id, l.fence, l.holder, l.run, l.beat, l.released, l.renewed_at, l.expires_at
  )
  select json_build_object(${lookAt(
    "(select * from told union all select * from collectors where id <> $1)",
    `(select account_id, fence, holder, run, beat, released, renewed_at, expires_at from renewed
      union all select account_id, fence, holder, run, beat, released, renewed_at, expires_at from leases
      where account_id not in (select account_id from renewed))`,
    "case when c.files <> $5 then c.files end",
  )},
    'renewed', (select coalesce(json_agg(name order by name collate "C"), '[]') from renewed),
    'isKnown', exists (select from told)) as look
  from now`;

/** The lowest number that is free; the host's name, which others on the same host have already. */
const JOIN = `
  insert into collectors as c (${columnList(collectors, "id", "number", "name", "run", "pid", "host", "version", "startedAt", "seenAt", "beat", "stopped", "jobsDigest", "files", "knows", "journalLag", "clockOffsetMs")})
  select $1::uuid, n,
    (select name from unnest(array[$3::text, $3 || '-' || n, $3 || '-' || $1::uuid]) with ordinality as w (name, place)
     where not exists (select from collectors where collectors.name = w.name and id <> $1::uuid) order by place limit 1),
    $2, $4, $3, $5, clock_timestamp(), clock_timestamp(), 0, false, $6, $7, $8, $9, $10
  from coalesce(
    (select number from collectors where id = $1::uuid),
    (select min(n) from generate_series(0, 255) n where not exists (select from collectors where number = n))) n
  where n is not null
  on conflict (id) do update set
    run = excluded.run, pid = excluded.pid, host = excluded.host, version = excluded.version, started_at = excluded.started_at,
    seen_at = excluded.seen_at, beat = c.beat + 1, stopped = false, jobs_digest = excluded.jobs_digest, files = excluded.files,
    knows = excluded.knows, journal_lag = excluded.journal_lag, clock_offset_ms = excluded.clock_offset_ms
  returning number, name, ${epochsFrom("clock_timestamp() - interval '1 day'")} as epochs`;

/** The taker's name; one that was forgotten in this moment has its host's. */
const TAKER = "coalesce((select name from collectors where id = $2), $4)";

/**
 * The accounts that $1, their JSON, names with what was watched of their leases, for collector $2 in run $3 on host $4; $5 are
 * dead runs. An account that the database has never heard of gets the lowest number that is free; where another claim gives it
 * one in the same moment, it is not granted, and claimed again. Rows are locked in one order, so that two claims never wait for
 * each other. A fence is never given twice, not even where a row was deleted.
 */
const CLAIM = `
  with ${NOW},
  given as (select * from json_to_recordset($1) as w (account text, fence bigint, beat bigint)),
  unknown as (
    select account as name, row_number() over (order by account) as place from given
    where not exists (select from accounts where name = account)
  ), placed as (
    insert into accounts (${columnList(accounts, "id", "name")})
    select free.id, unknown.name from unknown join (
      select n as id, row_number() over (order by n) as place from generate_series(2, 32767) as n
      where exists (select from unknown) and not exists (select from accounts where id = n)
    ) free using (place)
    on conflict do nothing returning id, name
  ), wanted as (
    select a.id, g.account, g.fence, g.beat
    from given g join (select id, name from accounts union all select id, name from placed) a on a.name = g.account
  ), before as (
    select l.*, w.account, c.name as previous, case
      when l.released then 'released'
      when l.run = any ($5) then 'restarted'
      when l.fence = w.fence and l.beat = w.beat and (l.expires_at <= now.at or l.renewed_at > now.at) then 'expired' end as how
    from now, wanted w join leases l on l.account_id = w.id left join collectors c on c.id = l.holder
    order by l.account_id for update of l
  ), changed as (
    update leases l set fence = b.fence + 1, holder = $2, run = $3, beat = b.beat + 1, granted_at = now.at,
      renewed_at = now.at, expires_at = now.at + ${TTL}, released = false
    from now, before b where l.account_id = b.account_id and b.how is not null
    returning l.account_id, l.fence, now.at, b.how, b.governor, b.previous, b.renewed_at
  ), made as (
    insert into leases (${columnList(leases, "accountId", "fence", "holder", "run", "beat", "grantedAt", "renewedAt", "expiresAt", "released")})
    select w.id, 1 + coalesce((select max(fence) from lease_history where account_id = w.id), 0), $2, $3, 0, now.at, now.at, now.at + ${TTL}, false
    from now, wanted w where not exists (select from leases where account_id = w.id)
    on conflict (account_id) do nothing
    returning account_id, fence, granted_at
  ), granted as (
    select account_id, fence, at, how, governor, previous, renewed_at from changed
    union all select account_id, fence, granted_at, 'new', null, null, null from made
  ), noted as (
    insert into lease_history (${columnList(leaseHistory, "accountId", "fence", "takenAt", "holder", "collector", "how", "previous")})
    select account_id, fence, at, $2::uuid, ${TAKER}, how, previous from granted
  ), pruned as (
    delete from lease_history h using changed where h.account_id = changed.account_id and h.taken_at < changed.at - ${KEPT}
  )
  select ${list(
    `'account', w.account, 'fence', g.fence, 'how', g.how, 'governor', g.governor,
       'agoMs', case when g.renewed_at is not null then ${milliseconds("greatest(g.at - g.renewed_at, interval '0')")} end,
       'previous', g.previous, 'renewedMs', ${milliseconds("g.renewed_at")}`,
    "granted g join wanted w on w.id = g.account_id",
    'w.account collate "C"',
  )} as granted`;

/** Once more, where the answer was lost, it does the same. */
const RELEASE = `
  with ${NOW},
  stopped as (
    update collectors set stopped = true, seen_at = now.at, beat = beat + 1, journal_lag = $5::bigint
    from now where id = $1 and run = $2 and $4::boolean
  )
  update leases l set released = true, beat = l.beat + 1, renewed_at = now.at, expires_at = now.at, governor = h.governor
  from now, ${MINE} returning a.name`;

const PROPOSE = `
  with ${NOW},
  proposed as (
    insert into epochs (${columnList(epochs, "number", "fromAt", "jobsDigest", "accounts", "prices", "proposedBy")})
    values ($1, to_timestamp($2::float8 / 1000), $3, $4, $5, $6) on conflict (number) do nothing returning number
  ), pruned as (
    delete from epochs using now, proposed
    where from_at < now.at - ${KEPT} and epochs.number < (select max(number) from epochs where from_at <= now.at)
  )
  select number from proposed`;

const digestsTold = z.record(z.string(), z.string()).catch({});
const filesTold = z
  .object({ jobs: digestsTold, accounts: digestsTold, calendar: z.string().catch("") })
  .catch({ jobs: {}, accounts: {}, calendar: "" });
const pricesTold = z
  .object({
    date: z.string(),
    of: z.record(z.string(), z.string()),
    listed: z.record(z.string(), z.array(z.string())).optional(),
  })
  .nullable()
  .catch(null);
const knowsTold = z
  .object({
    refused: z.array(z.string()),
    prices: pricesTold,
    loggedIn: z.array(z.string()).optional().catch(undefined),
  })
  .catch({ refused: [], prices: null });

function readEpoch(epoch: Epoch): Epoch {
  return { ...epoch, prices: pricesTold.parse(epoch.prices) };
}

export function leaseStore(pool: Pick<pg.Pool, "query">): LeaseStore {
  const asked = async <T extends Look>(statement: string, values: unknown[]): Promise<T> => {
    const { rows } = await pool.query<{ look: T }>(statement, values);
    const { look } = rows[0] as { look: T };
    for (const collector of look.collectors) {
      // The columns hold whatever somebody has written there.
      if (collector.files !== null) collector.files = filesTold.parse(collector.files);
      collector.knows = knowsTold.parse(collector.knows);
    }
    return { ...look, epochs: look.epochs.map(readEpoch) };
  };
  return {
    look: () => asked<Look>(LOOK, []),
    join: async ({ id, run, host, pid, version }, telling) => {
      const values = [id, run, host, pid, version, ...columnsOf(telling)];
      for (;;)
        try {
          const [joined] = (await pool.query<Awaited<ReturnType<LeaseStore["join"]>>>(JOIN, values)).rows;
          if (joined) return { ...joined, epochs: joined.epochs.map(readEpoch) };
          throw new QuotekeeperError("COLLECTORS_TOO_MANY", "256 collectors have joined this archive");
        } catch (error) {
          // Another one came at the same moment, and has the number or the name now.
          if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
        }
    },
    round: async ({ id, run }, telling, held) => {
      const values = [id, run, jsonText(held), ...columnsOf(telling)];
      const round = await asked<Awaited<ReturnType<LeaseStore["round"]>>>(ROUND, values);
      for (const collector of round.collectors) collector.files ??= telling.files;
      return round;
    },
    claim: async (claims, { id, run, host }, dead) => {
      const wanted = claims.map(({ account, seen }) => ({ account, fence: seen?.fence, beat: seen?.beat }));
      const values = [jsonText(wanted), id, run, host, dead];
      return (await pool.query<{ granted: Grant[] }>(CLAIM, values)).rows[0]?.granted ?? [];
    },
    release: async ({ id, run }, held, stops) => {
      const values = [id, run, jsonText(held), stops !== null, stops?.journalLag];
      const { rows } = await pool.query<{ name: string }>(RELEASE, values);
      return rows.map(({ name }) => name).toSorted();
    },
    propose: async (after, { fromMs, jobsDigest, accounts, prices }, by) => {
      const values = [after + 1, fromMs, jobsDigest, accounts, jsonText(prices), by];
      return (await pool.query(PROPOSE, values)).rowCount === 1;
    },
  };
}

/** Most that `integer` holds: a clock may be off by years. */
const INTEGER_MAX = 2 ** 31 - 1;

function columnsOf({ jobsDigest, files, knows, journalLag, clockOffsetMs }: CollectorReport): unknown[] {
  const offset =
    clockOffsetMs === null ? null : Math.max(-INTEGER_MAX, Math.min(INTEGER_MAX, Math.round(clockOffsetMs)));
  return [jobsDigest, jsonText(files), jsonText(knows), journalLag, offset];
}
