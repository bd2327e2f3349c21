/**
 * The functions of docs/sql.md, each in turn with `latest_quotes` of 500 instruments; what the server does for them; and
 * how many contracts a second one statement knows the implied volatility of.
 */
import { performance } from "node:perf_hooks";
import type pg from "pg";
import { cpuOf } from "../backfill/program.ts";
import { median } from "../ingest/report.ts";
import { CHAIN, INSTRUMENTS } from "./market.ts";

/** How many times as long as `latest_quotes` of 500 instruments a typical call may take. */
const MOST_TIMES = 2;

/** Contracts a second of a statement that computes their volatilities. */
const LEAST_CONTRACTS = 10_000;

const ROUNDS = 5;

const BESIDE = "select * from latest_quotes where option_type is null";

/** One call; `rows` it gives, null where that is a matter of the prices. */
type Call = { name: string; sql: string; rows: number | null };

/** @param dates exchange dates that are filled, ascending; functions that need more of them are asked for what is there */
function calls(dates: readonly string[]): Call[] {
  const last = dates.at(-1) ?? "";
  const at = `'${dates[Math.floor(dates.length / 2)] ?? last} 12:00 America/New_York'`;
  const days = (count: number): string =>
    `'${dates.at(-count) ?? dates[0]} America/New_York', '${last} 18:00 America/New_York'`;
  const contract =
    "(select instrument_name(symbol, expiration, option_type, strike) from instruments where expiration > now() limit 1)";
  const bars = (width: string, count: number, rows: number | null): Call => ({
    name: `bars of ${width}, ${count === 1 ? "a day" : `${count} days`}`,
    sql: `select * from bars('S250', '${width}', ${days(count)})`,
    rows,
  });
  const all = dates.length;
  return [
    {
      name: "quotes_at, 500 of the instruments",
      sql: `select * from quotes_at(${at}) where option_type is null`,
      rows: INSTRUMENTS,
    },
    { name: "asof, three symbols", sql: `select * from asof(${at}, '{S001,S250,S500}')`, rows: 3 },
    { name: "asof, a contract", sql: `select * from asof(now(), array[${contract}])`, rows: 1 },
    { name: `chain_at, ${CHAIN} contracts`, sql: `select * from chain_at('S250', ${at})`, rows: CHAIN },
    { name: `chain_at, ${CHAIN} contracts now`, sql: "select * from chain_at('S250', now())", rows: CHAIN },
    { name: `surface_at, ${CHAIN} contracts`, sql: `select * from surface_at('S250', ${at})`, rows: CHAIN },
    bars("1 minute", 1, 390),
    bars("5 minutes", 1, 78),
    bars("7 minutes", 1, 56),
    bars("30 minutes", Math.min(20, all), 13 * Math.min(20, all)),
    bars("1 hour", Math.min(20, all), 7 * Math.min(20, all)),
    bars("1 day", all, all),
    bars("7 days", all, null),
    bars("1 month", all, null),
    {
      name: "returns of 30 minutes, 5 days",
      sql: `select * from returns('S250', '30 minutes', ${days(5)})`,
      rows: 65,
    },
    {
      name: `returns of 1 day, ${all} days`,
      sql: `select * from returns('S250', '1 day', ${days(all)})`,
      rows: all,
    },
    { name: "spread_stats, a day", sql: `select * from spread_stats('S250', ${days(1)})`, rows: 1 },
    { name: "spread_stats, 5 days", sql: `select * from spread_stats('S250', ${days(5)})`, rows: 1 },
  ];
}

/** Volatilities of what was stored: the newest contracts' mids, beside the underlying's price of the same minute. */
function stored(dates: readonly string[]): string {
  return `
  select count(implied_volatility(c.option_type, (q.bid + q.ask)::float8 / 2, (u.bid + u.ask)::float8 / 2, c.strike::float8,
           extract(epoch from (c.expiration + time '16:00') at time zone 'America/New_York' - q.observed_at)::float8 / (365 * 86400),
           0.04)) as found, count(*) as contracts
  from instruments c
  join quotes q on q.instrument_id = c.id
  join quotes u on u.instrument_id = c.underlying_id and u.source_id = q.source_id
    and u.observed_at = date_trunc('minute', q.observed_at) + (c.underlying_id / 100) * interval '200 ms'
  where c.option_type is not null and q.observed_at >= '${dates.at(-8) ?? dates[0]} America/New_York'`;
}

/** @returns how many functions take too long */
export async function askFunctions(database: pg.Pool, dates: readonly string[]): Promise<number> {
  let missed = 0;
  for (const call of calls(dates)) {
    const [times, beside]: [number[], number[]] = [[], []];
    // The first round warms the caches.
    for (let round = 0; round <= ROUNDS; round++) {
      const [before, took] = [
        await timed(database, { name: "latest_quotes", sql: BESIDE, rows: INSTRUMENTS }),
        await timed(database, call),
      ];
      if (round > 0) [before, took].forEach((ms, place) => (place === 0 ? beside : times).push(ms));
    }
    const ratio = median(times) / median(beside);
    if (ratio > MOST_TIMES) missed += 1;
    const figures = `${median(times).toFixed(1)} ms beside ${median(beside).toFixed(1)} ms`;
    console.log(
      `${call.name.padEnd(40)}${figures.padStart(26)}${ratio.toFixed(2).padStart(8)} times as long`,
    );
  }
  return missed + (await askVolatilities(database, dates));
}

/** What the server does for each of the functions, as it says it. */
export async function printPlans(database: pg.Pool, dates: readonly string[]): Promise<void> {
  for (const { name, sql } of calls(dates)) {
    const { rows } = await database.query<{ "QUERY PLAN": string }>(
      `explain (analyze, buffers, costs off) ${sql}`,
    );
    console.log(`\n${name}\n${rows.map((row) => row["QUERY PLAN"]).join("\n")}`);
  }
}

async function askVolatilities(database: pg.Pool, dates: readonly string[]): Promise<number> {
  const at = `${dates[Math.floor(dates.length / 2)]} 12:00 America/New_York`;
  // One process of the server, whose processor time is looked at.
  await database.query(`set quotekeeper.as_of = '${at}'; set max_parallel_workers_per_gather = 0`);
  const asked = [
    { name: "implied_volatility of stored mids", sql: stored(dates) },
    {
      name: "option_surface, three each",
      sql: "select count(iv_mid) as found, count(*) as contracts from option_surface",
    },
  ];
  let missed = 0;
  for (const { name, sql } of asked) {
    const [rates, rested]: [number[], number[]] = [[], []];
    let said = "";
    for (let round = 0; round <= ROUNDS; round++) {
      const [begun, cpuMs] = [performance.now(), await serverCpuMs(database)];
      const { rows } = await database.query<{ found: string; contracts: string }>(sql);
      const [tookMs, tookCpuMs] = [performance.now() - begun, (await serverCpuMs(database)) - cpuMs];
      const { found, contracts } = rows[0] ?? { found: "0", contracts: "0" };
      said = `${found} of ${contracts}`;
      if (round === 0) continue;
      rates.push((1_000 * Number(contracts)) / tookMs);
      rested.push((1_000 * Number(contracts)) / tookCpuMs);
    }
    // On a machine with other work the time on the wall says most about that work.
    const best = Number.isNaN(median(rested)) ? median(rates) : median(rested);
    if (best < LEAST_CONTRACTS) missed += 1;
    console.log(
      `${name.padEnd(40)}${said.padStart(26)}${whole(median(rates)).padStart(10)} contracts a second, ${whole(median(rested))} a second of a processor`,
    );
  }
  await database.query("reset quotekeeper.as_of; reset max_parallel_workers_per_gather");
  return missed;
}

/** The processor time of the connection's process so far; NaN where the server is elsewhere. The pool has one connection. */
async function serverCpuMs(database: pg.Pool): Promise<number> {
  const { rows } = await database.query<{ pid: number }>("select pg_backend_pid() as pid");
  return (await cpuOf(rows[0]?.pid ?? 0)) ?? NaN;
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString("en");
}

async function timed(database: pg.Pool, { name, sql, rows }: Call): Promise<number> {
  const begun = performance.now();
  const { rowCount } = await database.query(sql);
  const took = performance.now() - begun;
  if (rows !== null && rowCount !== rows) throw new Error(`${name}: ${rowCount} rows, expected ${rows}`);
  return took;
}
