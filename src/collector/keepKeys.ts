/** Rebuilds the keys of months that are over, once a day, beside a collector (archive/schema/denseKeys.ts). */
import type pg from "pg";
import { databaseError } from "../archive/connect/databaseError.ts";
import { rebuildKeys } from "../archive/schema/denseKeys.ts";
import type { Clock } from "../ground/clock.ts";
import type { Log } from "../ground/log.ts";

/** A start has other things to do at first. */
const FIRST_LOOK_MS = 600_000;
const LOOK_EVERY_MS = 86_400_000;

type KeepKeysOptions = { archive: { pool: pg.Pool; address: string }; clock: Clock; log: Log };

/** Begins; `close` ends a rebuild that is under way, which the next look begins again. */
export function keepKeys({ archive, clock, log }: KeepKeysOptions): { close: () => Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;
  const look = async (): Promise<void> => {
    try {
      const keys = await rebuildKeys(archive.pool, { now: clock.now(), signal });
      if (keys.length > 0)
        log.info({ keys }, "the keys of months that are over were rebuilt, and take less room");
    } catch (error) {
      if (!signal.aborted)
        log.warn(
          {},
          `the keys of months that are over stay as they are: ${databaseError(error, archive.address).message}`,
        );
    }
  };
  const running = (async () => {
    await clock.sleep(FIRST_LOOK_MS, signal);
    for (;;) {
      await look();
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  })().catch(() => undefined);
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
