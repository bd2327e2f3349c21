/** An archive with quotes that are old, and its lake. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type pg from "pg";
import { markLate } from "../../../src/archive/schema/lateDays.ts";
import type { DayManifest } from "../../../src/files/lake/lakeFiles.ts";
import { run } from "../../cli/edges.ts";
import { freshDatabase } from "../../support/database.ts";
import { see, type Seen } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";

/** `quotekeeper lake`, with words behind it and `--out` for its directory. */
export type Lake = (
  args?: string,
) => Promise<{ exitCode: number; json: Record<string, unknown>; stderr: string }>;
/** An archive and a lake of it. */
export type World = { pool: pg.Pool; url: string; out: string; lake: Lake };

/** @param out default: a directory that is not there yet */
export function lakeOf(
  { pool, url }: { pool: pg.Pool; url: string },
  out: string = join(tempDir(), "lake"),
): World {
  const lake: Lake = async (args = "") => {
    const words = args.split(" ").filter((word) => word !== "");
    const env = { DATABASE_URL: url, QUOTEKEEPER_LAKE_HOT_DAYS: "30" };
    const { exitCode, stdout, stderr } = await run(["lake", ...words, "--out", out, "--json"], env);
    return { exitCode, stderr, json: stdout === "" ? {} : (JSON.parse(stdout) as Record<string, unknown>) };
  };
  return { pool, url, out, lake };
}

/** A date's manifest. */
export function dayOf(out: string, date: string): DayManifest {
  return JSON.parse(readFileSync(join(out, "days", `${date}.json`), "utf8")) as DayManifest;
}

/**
 * A session a week, of two stocks and months ago, with quotes on both sides of UTC's midnight.
 *
 * @param settle what is said to the database before its first row
 */
export async function old(settle = "select 1"): Promise<World> {
  const database = await freshDatabase();
  await database.pool.query(settle);
  await database.pool.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now()), (2, 'CS', 'MSFT', now(), now())",
  );
  const days = ["2026-01-05", "2026-01-12", "2026-01-31", "2026-02-02"];
  const seen = days.flatMap((day, nth): Seen[] =>
    [1, 2].flatMap((id) =>
      ["09:31:00.000001", "16:00", "19:30"].map((time, place) => ({
        ...{ at: `${day} ${time}`, id, bid: `${100 + nth}.${place}1`, ask: `${100 + nth}.${place}3` },
        ...{
          last: place === 2 ? null : `${100 + nth}.${place}2`,
          volume: String(1_000 * place),
          delta: null,
        },
      })),
    ),
  );
  await see(database.pool, ...seen);
  return lakeOf(database);
}

/** All quotes, as text. */
export const ALL = `select to_jsonb(q)::text || coalesce(to_jsonb(e)::text, '') as row
  from quotes q left join extended_quotes e using (instrument_id, observed_at, source_id) order by 1`;
/** All bars of days and of five minutes, as text. */
export const BARS =
  "select to_jsonb(b)::text as row from bars_1d b union all select to_jsonb(b)::text from bars_5m b order by 1";

/** Notes that rows of dates came late. */
export async function late(pool: pg.Pool, ...dates: string[]): Promise<void> {
  const client = await pool.connect();
  await markLate(client, dates);
  client.release();
}

/** A quote of 12 January comes late. */
export async function lateQuote({ pool }: Pick<World, "pool">): Promise<void> {
  await see(pool, { at: "2026-01-12 12:00", bid: "1.5", ask: "1.6", last: "1.55" });
  await late(pool, "2026-01-12");
}

/** A command that ended with exit code 1 and said this. */
export const refused = (said: string | RegExp): object => {
  const stderr = typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said);
  return expect.objectContaining({ exitCode: 1, stderr: stderr as unknown }) as object;
};

export const MARCH = ["2026-03-02", "2026-03-09"];

/** Quotes of March, which come after all others. */
export async function seeMarch({ pool }: World): Promise<void> {
  await see(
    pool,
    ...MARCH.map((date) => ({ at: `${date} 10:00`, bid: "1.5", ask: "1.6", last: "1.55", volume: "7" })),
  );
}

/** Takes the lake's disk away; gives back how it is mounted again. What was written meanwhile lies beside it then. */
export function unmount({ out }: World): () => string {
  renameSync(out, `${out}.disk`);
  mkdirSync(out);
  return () => {
    renameSync(out, `${out}.bare`);
    renameSync(`${out}.disk`, out);
    return `${out}.bare`;
  };
}

/** A copy of a lake in another directory. */
export function copyOf({ out }: World): string {
  const copy = join(tempDir(), "copy");
  cpSync(out, copy, { recursive: true });
  return copy;
}

/** Takes the id out of a lake, as an earlier program wrote it. */
export function withoutId(out: string): void {
  const path = join(out, "lake.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  delete manifest["id"];
  writeFileSync(path, JSON.stringify(manifest));
}

/** Has the archive know of its lake what an earlier program noted. */
export async function forgetLake({ pool }: World): Promise<void> {
  await pool.query("delete from archive_lake");
  await pool.query("update dropped_days set files = null");
}

/** Leaves a date's manifest in a lake and takes its quotes away, as a second lake has it. */
export function emptyOfQuotes(out: string, date: string): void {
  const day = dayOf(out, date);
  writeFileSync(
    join(out, `days/${date}.json`),
    JSON.stringify({ ...day, tables: day.tables.filter(({ name }) => !name.endsWith("quotes")) }),
  );
  for (const table of ["quotes", "extended_quotes"])
    rmSync(join(out, table, `date=${date}`), { recursive: true });
}

export async function sqlOf({ url }: World, statement: string, ...words: string[]) {
  return run(["sql", "--csv", ...words, statement], { DATABASE_URL: url });
}

export const COUNT = "select count(*) as n from quotes";

/** How many quotes `sql` sees in an archive and a lake of it. */
export const counted = (world: World, lake = world.out) => sqlOf(world, COUNT, "--lake", lake);

/** The line of `status` on the lake. */
export async function lakeStatus({ url, out }: World, env: Record<string, string> = {}) {
  const { stdout } = await run(["status", "--json"], {
    ...{ DATABASE_URL: url, QUOTEKEEPER_LAKE_DIR: out, QUOTEKEEPER_DATA_DIR: tempDir(), ...env },
  });
  const { lines } = JSON.parse(stdout) as { lines: { subject: string; state: string; text: string }[] };
  return lines.find(({ subject }) => subject === "lake");
}

/** How many quotes a run dropped. */
export function quotesDropped(report: Record<string, unknown>): number {
  return (report["dropped"] as { quotes: number }[]).reduce((sum, { quotes }) => sum + quotes, 0);
}

export async function countOf({ pool }: World, table: string): Promise<number> {
  return (await pool.query(`select from ${table}`)).rowCount ?? 0;
}
