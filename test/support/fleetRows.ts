/** Collectors that have told of themselves, for whoever reads the tables. */
import type pg from "pg";

/** One that has joined; `seen`: how long ago, as an interval. @returns its id */
export async function joinFleet(
  pool: Pick<pg.Pool, "query">,
  one: {
    number: number;
    name?: string;
    seen?: string;
    stopped?: boolean;
    digest?: string;
    lag?: number | null;
    offsetMs?: number | null;
  },
): Promise<string> {
  const { number, seen = "1 s", stopped = false, digest = "files", lag = null, offsetMs = null } = one;
  const id = `00000000-0000-4000-8000-00000000000${number}`;
  await pool.query(
    `insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows, journal_lag, clock_offset_ms)
     values ($1, $2, $3, 'r', 1, 'h', '1', now(), clock_timestamp() - $4::interval, 0, $5, $6, '{}', '{}', $7, $8)`,
    [id, number, one.name ?? `quotes-${number}`, seen, stopped, digest, lag, offsetMs],
  );
  return id;
}
