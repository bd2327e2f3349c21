/** What the page is of: its marks and its footer. */
import type pg from "pg";
import { readHasSimulatedRows } from "../archive/dashboard/quotes.ts";
import type { Log } from "../log.ts";
import type { Meta } from "./api/types.ts";
import type { NowSources } from "./live.ts";

/** Reads the page's frame. An archive that was never read leaves the mark to the feed. */
export function createMetaReader(options: {
  pool: pg.Pool;
  log: Log;
  token: string | null;
  attribution: string | null;
  version: string;
  sources: NowSources;
}): () => Promise<Meta> {
  const { pool, log, token, attribution, version, sources } = options;
  // Rows are not taken out of an archive: once there, the mark stays, also while the database is away.
  let simulated = sources.feed.simulated;
  return async () => {
    simulated ||= await hasSimulatedRows(pool, log);
    return { version, attribution, simulated, live: sources.live() !== null, protected: token !== null };
  };
}

async function hasSimulatedRows(pool: pg.Pool, log: Log): Promise<boolean> {
  return readHasSimulatedRows(pool).catch((error: unknown) => {
    log.debug({ err: error }, "the dashboard could not look for simulated rows");
    return false;
  });
}
