/**
 * The dashboard's Health over four weeks of a collector that makes 60 calls a minute: 2.4 million answers, and the ledger of
 * its slots. Beside it a plain count of the same answers, by outcome and hour.
 */
import { performance } from "node:perf_hooks";
import type pg from "pg";
import { readHealth } from "../../src/archive/ask/healthRows.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { instantFromDate } from "../../src/clock.ts";

const DAY_MS = 86_400_000;
const DAYS = 28;
const ROUNDS = 5;

/** Prints it. @param database where the reader's pool and the owner's lead to; migrated, without answers */
export async function askHealth(database: pg.Pool, reader: pg.Pool): Promise<void> {
  const until = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
  await fillAnswers(database, until);
  console.log("Health, the median of 5        answers    a plain count");
  for (const days of [1, 7, DAYS]) {
    const span = { from: new Date(until.getTime() - days * DAY_MS).toISOString(), to: until.toISOString() };
    let answers = 0;
    const health = await median(async () => {
      const { calls } = await readHealth(reader, span, { configured: "simulated" });
      answers = calls.reduce((all, each) => all + each.calls, 0);
    });
    const plain = await median(() => reader.query(PLAIN, [span.from, span.to]));
    console.log(
      `${days} days`.padEnd(14) +
        `${health.toFixed(0)} ms`.padStart(9) +
        answers.toLocaleString("en").padStart(15) +
        `${plain.toFixed(0)} ms`.padStart(17),
    );
  }
}

const PLAIN = `select date_trunc('hour', observed_at), source_id, outcome, count(*) from responses
  where observed_at >= $1 and observed_at < $2 group by 1, 2, 3`;

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
}

/** A call a second: a list of symbols each minute, and contracts of two jobs. */
async function fillAnswers(database: pg.Pool, until: Date): Promise<void> {
  const from = new Date(until.getTime() - DAYS * DAY_MS);
  const client = await database.connect();
  try {
    await client.query("begin");
    await ensurePartitions(client, instantFromDate(from), instantFromDate(until));
    await client.query("commit");
    for (let dayMs = from.getTime(); dayMs < until.getTime(); dayMs += DAY_MS)
      await client.query(ANSWERS_OF_A_DAY, [new Date(dayMs)]);
    await client.query(
      "insert into due_sets (id, digest, instruments) select 1, 'health', array_agg('S' || n) from generate_series(1, 100) n",
    );
    await client.query(SLOTS, [from, until]);
    await client.query(MISSES);
  } finally {
    client.release();
  }
  await database.query("vacuum analyze");
}

const ANSWERS_OF_A_DAY = `
  insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, server_date,
    rate_limit_used, rate_limit_remaining, rate_limit_limit, rate_limit_expire, body_bytes, journal_segment, journal_offset)
  select at + interval '180 milliseconds' + n % 97 * interval '1 ms', 2, gen_random_uuid(), at,
    case when n % 60 = 0 then 'equities' when n % 2 = 0 then 'calls' else 'puts' end,
    case when n % 60 = 0 then jsonb_build_object('form', 'symbols', 'symbols', (select jsonb_agg('S' || s) from generate_series(1, 100) s), 'delayed', false)
      else jsonb_build_object('form', 'option', 'underlying', 'AAPL', 'expiration', '2026-12-18', 'type', 'CALL', 'strike', 100 + n % 60, 'delayed', false) end,
    200, case when n % 1009 = 0 then 'quota_fault' when n % 4001 = 0 then 'server_error' else 'quotes' end, date_trunc('second', at),
    n % 60, 60 - n % 60, 60, extract(epoch from at), 1800, to_char(at, 'YYYY-MM-DD"T"HH24') || '.log', n % 3600 * 2000
  from generate_series(0, 86399) n, lateral (select $1::timestamptz + n * interval '1 s' as at) t`;

const SLOTS = `
  insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
  select job, at, 2, due, due - missed, missed, 1
  from generate_series($1::timestamptz, $2::timestamptz - interval '1 s', interval '1 minute') at,
    (values ('equities', 100), ('calls', 30), ('puts', 30)) j (job, due),
    lateral (select case when extract(epoch from at)::bigint / 60 % 500 = 0 then due
      when extract(epoch from at)::bigint / 60 % 11 = 0 then 3 else 0 end as missed) m`;

const MISSES = `
  insert into misses (job, slot_at, source_id, instrument, reason)
  select job, slot_at, 2, '*', 'down' from slots where missed = due
  union all
  select job, slot_at, 2, 'S' || n, case when n = 1 then 'budget' else 'transport' end
  from slots, generate_series(1, missed) n where missed > 0 and missed < due`;
