/**
 * The heartbeat of `start` and `collect`: a GET a minute while `status` finds nothing wrong, so that somebody else's machine notices when
 * the GETs stay away.
 */
import { resolve } from "node:path";
import { atMost, type Clock, settledOrAborted } from "../ground/clock.ts";
import { sendBeat } from "../collect/transport/beat.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Log } from "../ground/log.ts";
import type { Archive } from "../archive/openArchive.ts";
import {
  type HeartbeatState,
  type HeartbeatUrls,
  hostOf,
  keepHeartbeatState,
  readHeartbeatState,
} from "./heartbeatState.ts";
import { readStatus } from "./statusReport.ts";
import { VERSION } from "../ground/version.ts";

const BEAT_EVERY_MS = 60_000;

/** The failure's address is asked again after as many beats. */
const FAIL_EVERY_BEATS = 10;

/** A `status` that takes longer, in ms, is not well: its database hangs. */
const LOOK_MS = 15_000;

type HeartbeatOptions = HeartbeatUrls & {
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Whether nothing needs a person. What rejects or hangs is not well. */
  isHealthy: () => Promise<boolean>;
};

type Heartbeat = { close: () => Promise<void> };

type CollectorsHeartbeat = {
  config: Config;
  archive: Archive;
  clock: Clock;
  bootId: string | null;
  log: Log;
};

/** The heartbeat of a collector, whose verdict is that of `status` on its data directory and archive. */
export function collectorsHeartbeat({ config, archive, clock, bootId, log }: CollectorsHeartbeat): Heartbeat {
  const { heartbeatUrl, heartbeatFailUrl } = config;
  const door = { open: async () => archive, close: async () => undefined, readOnly: false };
  return keepHeartbeat({
    heartbeatUrl,
    heartbeatFailUrl,
    clock,
    log,
    dataDir: resolve(config.dataDir),
    isHealthy: async () => (await readStatus({ config, clock, door, bootId })).healthy,
  });
}

/** Begins after a minute: a collector that ends again and again at its start sends none. `close` waits for no answer and for no look. */
export function keepHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { heartbeatUrl, heartbeatFailUrl, dataDir, clock, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let state: HeartbeatState = { sentAt: null, silentSince: null, failed: null };
  let failIn = 0;

  let looking: Promise<boolean> | null = null;
  const isHealthy = async (): Promise<boolean> => {
    // A look that hangs is not joined by another.
    const look = (looking ??= options.isHealthy().finally(() => (looking = null)));
    let healthy = false;
    const looked = look.then(
      (found) => void (healthy = found),
      () => undefined,
    );
    await atMost(LOOK_MS, settledOrAborted(looked, signal), clock);
    return healthy;
  };

  /** @returns whether it was taken */
  const ask = async (url: string): Promise<boolean> => {
    const why = await sendBeat(url, { userAgent: `quotekeeper/${VERSION}`, signal });
    if (signal.aborted) return false;
    const [host, at] = [hostOf(url), clock.now().toISOString()];
    if (why !== null && why !== state.failed?.why)
      log.warn({ host, reason: why }, "the heartbeat was not taken; collection goes on");
    if (why === null && state.failed) log.info({ host }, "the heartbeat is taken again");
    state = { ...state, failed: why === null ? null : { since: state.failed?.since ?? at, host, why } };
    return why === null;
  };

  const beat = async (): Promise<void> => {
    const healthy = await isHealthy();
    if (signal.aborted) return;
    const at = clock.now().toISOString();
    failIn = healthy ? 0 : failIn - 1;
    state = { ...state, silentSince: healthy ? null : (state.silentSince ?? at) };
    if (healthy && heartbeatUrl !== undefined && (await ask(heartbeatUrl)))
      state = { ...state, sentAt: clock.now().toISOString() };
    if (!healthy && heartbeatFailUrl !== undefined && failIn <= 0 && (await ask(heartbeatFailUrl)))
      failIn = FAIL_EVERY_BEATS;
    if (!signal.aborted) await keepHeartbeatState(dataDir, state);
  };

  const running = (async () => {
    state = { ...state, sentAt: (await readHeartbeatState(dataDir))?.sentAt ?? null };
    for (let dueMs = clock.monotonicMs(); ;) {
      dueMs = Math.max(dueMs + BEAT_EVERY_MS, clock.monotonicMs());
      await clock.sleep(dueMs - clock.monotonicMs(), signal);
      await beat();
    }
  })().catch(() => undefined);
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
