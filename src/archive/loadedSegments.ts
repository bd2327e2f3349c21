/** What the database knows of a journal, for `journal verify` and `journal accept`: a list that is gone with its directory tells nothing. */
import { join, resolve } from "node:path";
import { databaseError, isDatabaseError } from "./connect/databaseError.ts";
import { serverRuns } from "./embedded/embeddedServer.ts";
import { readFleet } from "./ledger/fleetRows.ts";
import { readPositions } from "./load/loadPosition.ts";
import { currentVersion } from "./schema/migrations.ts";
import { atMost, type Clock } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { type Archive, archiveExists, endPool, openArchive } from "./openArchive.ts";

/** How long the database is asked, in ms: the files can be verified without it. */
const PATIENCE_MS = 5_000;

type LoadedNames = { loaded: string[]; unasked: string | null };

/**
 * The names of the segments that the database has loaded. Starts no embedded server, never rejects.
 *
 * @returns `unasked`: why the database was not asked, or does not know; null: `loaded` is all of it
 */
export async function readLoadedSegments(config: Config, clock: Clock): Promise<LoadedNames> {
  const unasked = (why: string): LoadedNames => ({ loaded: [], unasked: why });
  if (!(await archiveExists(config))) return { loaded: [], unasked: null };
  if (config.databaseUrl === null && !(await serverRuns(join(resolve(config.dataDir), "postgres"))))
    return unasked("the embedded server does not run");
  let archive: Archive | null = null;
  let found = unasked(`it does not answer within ${PATIENCE_MS / 1_000} s`);
  const ask = async (): Promise<void> => {
    archive = await openArchive(config, clock);
    found = await loadedOf(archive);
  };
  const asked = ask().catch((error: unknown) => {
    if (!isDatabaseError(error)) throw error;
    found = unasked(databaseError(error, archive?.address ?? "the archive").message);
  });
  await atMost(PATIENCE_MS, asked, clock);
  const opened = archive as Archive | null;
  if (opened !== null) await endPool(opened.pool, clock, opened.close);
  return found;
}

async function loadedOf({ pool }: Archive): Promise<LoadedNames> {
  if ((await currentVersion(pool)) === 0) return { loaded: [], unasked: null };
  const names = [...(await readPositions(pool))].flatMap(([name, to]) => (to > 0 ? [name] : []));
  const { collectors } = await readFleet(pool);
  if (collectors.length <= 1) return { loaded: names, unasked: null };
  return {
    loaded: [],
    unasked: `${collectors.length} collectors share the archive, and it does not know whose journal holds what`,
  };
}
