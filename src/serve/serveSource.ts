/** What `serve` answers from: the archive, or a simulated market. */
import { type Extent, readExtent } from "../archive/ask/pointInTime.ts";
import { engineOf } from "../archive/tiers/citus/door.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Instant } from "../ground/clock.ts";
import { createArchiveSource, KINDS, type RowsKind } from "./archive/archiveSource.ts";
import { NO_WATCHLISTS, readWatchlists } from "./archive/readWatchlists.ts";
import type { Playback } from "./playback.ts";
import { createSimulatedMarket } from "./simulated/market.ts";
import type { QuoteSource } from "./source.ts";
import type { Edges } from "../ground/edges.ts";
import { type Archive, archiveExists, withSchema } from "../archive/openArchive.ts";

type SourceRequest = {
  source: "archive" | "simulated";
  /** Seed of the simulated market. */
  seed: number;
  /** The time to begin at; null: now. */
  asOf: Instant | null;
  /** Seconds played in a second; null: as fast as life. */
  speed: number | null;
  loop: boolean;
  /** Which rows of the archive; null: real ones if there are any. */
  rows: RowsKind | null;
  /** File with watchlists for the archive; null: none. */
  watchlists: string | null;
};

export type OpenSource = {
  source: QuoteSource;
  /** What it is, for people. */
  description: string;
};

type SourceContext = { config: Config; edges: Edges; request: SourceRequest };

/**
 * Runs `work` with the source open.
 *
 * @throws QuotekeeperError USAGE, WATCHLISTS_INVALID, ARCHIVE_EMPTY, DATABASE_*
 */
export async function withSource<T>(
  sourced: SourceContext,
  work: (source: OpenSource) => Promise<T>,
): Promise<T> {
  const { edges, request } = sourced;
  checkUsage(request);
  return request.source === "simulated" ? work(openSimulated(edges, request)) : withArchived(sourced, work);
}

function checkUsage({ source, asOf, speed, loop, rows, watchlists }: SourceRequest): void {
  const usage = (detail: string): QuotekeeperError => new QuotekeeperError("USAGE", detail);
  if (source === "simulated") {
    if (loop) throw usage("--loop is for --source archive: a simulated market has no end to begin again at");
    if (rows !== null) throw usage("--rows is for --source archive");
    if (watchlists !== null) throw usage("--watchlists is for --source archive");
  } else if (speed !== null && asOf === null && !loop) {
    throw usage("--speed needs --as-of, or --loop for the whole archive: what is to come is not in it");
  }
}

function openSimulated({ clock }: Edges, { seed, asOf, speed }: SourceRequest): OpenSource {
  const now = clock.now();
  const playback: Playback | null =
    asOf === null && speed === null
      ? null
      : {
          from: asOf ?? `${now.toISOString().slice(0, -1)}000Z`,
          startedMs: now.getTime(),
          speed: speed ?? 1,
          loopTo: null,
        };
  const pace = playback ? `, from ${playback.from}${atSpeed(playback.speed)}` : "";
  return {
    source: createSimulatedMarket({ seed, playback }),
    description: `SIMULATED market (seed ${seed}, open around the clock${pace})`,
  };
}

async function withArchived<T>(
  { config, edges, request }: SourceContext,
  work: (source: OpenSource) => Promise<T>,
): Promise<T> {
  const watchlists = request.watchlists === null ? NO_WATCHLISTS : readWatchlists(request.watchlists);
  if (!(await archiveExists(config))) {
    throw new QuotekeeperError("ARCHIVE_EMPTY", `there is no archive in ${config.dataDir} yet`);
  }
  return withSchema(config, { clock: edges.clock }, async (archive) => {
    // One statement, asked again and again: planning it anew takes longer than running it.
    const pool = archive.openReader({ plannedOnce: (await engineOf(archive.pool)).plansOnce });
    try {
      const { rows, extent } = await chooseRows(pool, request.rows);
      const playback = playbackOf(request, extent, edges);
      const source = createArchiveSource({ pool, rows, watchlists, playback });
      return await work({ source, description: describe(archive, { rows, extent, playback }) });
    } finally {
      await pool.end();
    }
  });
}

type RowsChoice = { rows: RowsKind; extent: Extent | null };

/** Real rows where there are any, or where simulated ones are not there either: rows may come while it serves. */
async function chooseRows(
  pool: Parameters<typeof readExtent>[0],
  wanted: RowsKind | null,
): Promise<RowsChoice> {
  const extents = {
    real: wanted === "simulated" ? null : await readExtent(pool, KINDS.real),
    simulated: wanted === "real" ? null : await readExtent(pool, KINDS.simulated),
  };
  const rows = wanted ?? (extents.real === null && extents.simulated !== null ? "simulated" : "real");
  return { rows, extent: extents[rows] };
}

function playbackOf(
  { asOf, speed, loop }: SourceRequest,
  extent: Extent | null,
  { clock }: Edges,
): Playback | null {
  if (asOf === null && !loop) return null;
  const startedMs = clock.now().getTime();
  if (!loop) return { from: asOf ?? "", startedMs, speed: speed ?? 1, loopTo: null };
  if (extent === null) throw new QuotekeeperError("ARCHIVE_EMPTY", "there is nothing to play in a loop");
  const from = asOf ?? extent.from;
  if (from > extent.to) {
    throw new QuotekeeperError("USAGE", `--loop: the archive ends at ${extent.to}, before --as-of ${from}`);
  }
  return { from, startedMs, speed: speed ?? 1, loopTo: extent.to };
}

function describe(
  { address }: Archive,
  { rows, extent, playback }: { rows: RowsKind; extent: Extent | null; playback: Playback | null },
): string {
  const what = rows === "simulated" ? "archive of SIMULATED quotes" : "archive";
  const range = extent === null ? "no quotes yet" : `quotes from ${extent.from} to ${extent.to}`;
  const time =
    playback === null
      ? "as of now"
      : `as of ${playback.from}${atSpeed(playback.speed)}${playback.loopTo === null ? "" : ", in a loop"}`;
  return `${what} at ${address} (${range}), ${time}`;
}

function atSpeed(speed: number): string {
  return speed === 1 ? "" : speed === 0 ? ", standing still" : `, ${speed} times as fast`;
}
