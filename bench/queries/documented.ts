/**
 * `npm run bench:queries -- --documented`: every question of docs/sql.md over a million rows, beside `latest_quotes` of 500
 * instruments in the same run.
 */
import { performance } from "node:perf_hooks";
import { readFileSync } from "node:fs";
import type pg from "pg";
import { median } from "../ingest/report.ts";
import { readQuestions } from "../../scripts/sql/page.ts";

/** Rows that the questions are asked of: five sessions of 500 instruments, one quote a minute. */
export const DOCUMENTED_ROWS = 975_000;

/** How many times as long as `latest_quotes` a question may take. */
const MOST_TIMES = 10;

const ROUNDS = 5;

/** @returns how many questions take too long */
export async function askDocumented(database: pg.Pool): Promise<number> {
  const times = (sql: string) => medianOf(database, sql);
  const latest = await times("select * from latest_quotes where option_type is null");
  console.log(`latest_quotes of 500 instruments: ${latest.toFixed(1)} ms`);
  let missed = 0;
  for (const { title, sql } of documentedQuestions()) {
    const ratio = (await times(sql)) / latest;
    if (ratio > MOST_TIMES) missed += 1;
    console.log(`${title.padEnd(64)}${ratio.toFixed(1).padStart(8)} times as long`);
  }
  return missed;
}

/** The page's questions, which every archive answers. */
export function documentedQuestions(): { title: string; sql: string }[] {
  return readQuestions(readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8"));
}

async function medianOf(database: pg.Pool, sql: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const begun = performance.now();
    await database.query(sql);
    // The first round warms the caches.
    if (round > 0) times.push(performance.now() - begun);
  }
  return median(times);
}
