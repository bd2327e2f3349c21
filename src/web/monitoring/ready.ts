/**
 * Alive, ready, healthy (docs/monitoring.md): `/healthz` answers while the process does. `/readyz` says whether it does its
 * work now: reads the archive, and where it collects, keeps answers. Whether a person is needed is for `status`.
 */
import type pg from "pg";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { atMost, type Clock } from "../../clock.ts";
import { rememberAnswers } from "../api/rememberAnswers.ts";

type Check = "ok" | "failed";

/** What `/readyz` answers; no detail that anybody could use. */
export type Readiness = { ready: boolean; checks: Readonly<Record<string, Check>> };

type ReadySources = {
  /** Of the dashboard; can only read. */
  pool: pg.Pool;
  clock: Clock;
  /** Newest version of the schema that the program knows. */
  schemaVersion: number;
  /** Null where this process collects nothing. */
  collector: {
    running: () => boolean;
    journalFailing: () => boolean;
    /** Whether the loader gets nothing into the database at the moment. */
    loaderFailing: () => boolean;
  } | null;
};

/** Answers are no older than this, ms: whoever may ask does so as often as he likes. */
const FRESH_MS = 1_000;

/** A database that does not answer within this time is away, ms. */
const DATABASE_MS = 2_000;

/** Looks at most once a second; whoever asks meanwhile gets the same answer. */
export function createReadiness(sources: ReadySources): () => Promise<Readiness> {
  const remember = rememberAnswers(sources.clock, FRESH_MS);
  return () => remember("", () => look(sources));
}

async function look({ pool, clock, schemaVersion, collector }: ReadySources): Promise<Readiness> {
  let database: Check = "failed";
  const asked = currentVersion(pool).then(
    (version) => void (database = version === schemaVersion ? "ok" : "failed"),
    () => undefined,
  );
  await atMost(DATABASE_MS, asked, clock);
  const checks: Record<string, Check> = {
    database,
    ...(collector && {
      collector: collector.running() ? "ok" : "failed",
      journal: collector.journalFailing() ? "failed" : "ok",
      loader: collector.loaderFailing() ? "failed" : "ok",
    }),
  };
  return { ready: Object.values(checks).every((check) => check === "ok"), checks };
}
