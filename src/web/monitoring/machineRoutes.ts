/**
 * What machines ask (docs/monitoring.md). `/healthz` answers while the process does. `/readyz` says whether it does its work
 * now: reads the archive, and where it collects, keeps answers. Whether a person is needed is for `status`. `/metrics`.
 */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { Log } from "../../ground/log.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { atMost, type Clock } from "../../ground/clock.ts";
import { rememberAnswers } from "../api/rememberAnswers.ts";

export type Machines = {
  metrics: { contentType: string; text: () => Promise<string> };
  ready: () => Promise<Readiness>;
};

/** Adds the routes. Without `machines` the process can only say that it lives. */
export function addMachines(
  app: FastifyInstance,
  { machines, log }: { machines: Machines | null; log: Log },
): void {
  app.get("/healthz", { config: { open: true } }, async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "alive" }),
  );
  if (!machines) return;
  app.get("/readyz", async (_request, reply) => {
    const { ready, checks } = await machines.ready();
    return reply
      .code(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: ready ? "ready" : "not ready", checks });
  });
  app.get("/metrics", async (_request, reply) => {
    try {
      const text = await machines.metrics.text();
      return await reply
        .header("content-type", machines.metrics.contentType)
        .header("cache-control", "no-store")
        .send(text);
    } catch (error) {
      log.warn({ err: error }, "the metrics could not be put together");
      return reply.code(500).send({ status: "failed" });
    }
  });
}

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
