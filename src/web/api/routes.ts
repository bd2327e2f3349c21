/** The JSON API that the page draws from. Every route reads; none writes. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type pg from "pg";
import type { z } from "zod";
import { DatabaseProblem, databaseError, isRetryable } from "../../archive/databaseError.ts";
import { explain } from "../../archive/explain.ts";
import { currentVersion } from "../../archive/migrate.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { problemOf } from "../live.ts";
import { readBars } from "../../archive/dashboard/bars.ts";
import { readChain, readChainKeys } from "../../archive/dashboard/chain.ts";
import { readCoverageView, readMisses } from "../../archive/dashboard/coverageView.ts";
import { readNames, readQuotes } from "../../archive/dashboard/quotes.ts";
import { barsCsv, csvName } from "./csv.ts";
import { barsQuery, chainQuery, coverageQuery, missesQuery } from "./query.ts";
import type { ApiError, Meta, NowView } from "./types.ts";

/** What the routes are made of. */
export type ApiOptions = {
  pool: pg.Pool;
  log: Log;
  /** Names the database in an error; no user, no password. */
  address: string;
  meta: () => Promise<Meta>;
  now: () => Promise<NowView>;
};

/** Adds the routes below `/api/`. */
export function addApi(app: FastifyInstance, { pool, log, address, meta, now }: ApiOptions): void {
  const get = <Schema extends z.ZodType>(
    path: string,
    schema: Schema | null,
    answer: (query: z.infer<Schema>, reply: FastifyReply) => Promise<unknown>,
  ): void =>
    void app.get(path, async (request, reply) => {
      reply.header("cache-control", "no-store");
      const query = schema?.safeParse(request.query);
      if (query && !query.success) return reply.code(400).send(refused(query.error));
      try {
        return await answer(query?.data as z.infer<Schema>, reply);
      } catch (error) {
        const why = await whyUnreadable(pool, error);
        if (why === "empty") return reply.code(503).send(nothingYet(address));
        log.warn({ err: error, path }, "the dashboard could not read the archive");
        return reply.code(503).send(unavailable(why, address));
      }
    });

  get("/api/meta", null, meta);
  get("/api/now", null, now);
  get("/api/quotes", null, () => readQuotes(pool));
  get("/api/chains", null, () => readChainKeys(pool));
  get("/api/bars", barsQuery, ({ instrument, source, delayed, interval, sessions }) =>
    readBars(pool, { instrumentId: instrument, sourceId: source, delayed }, interval, sessions),
  );
  get("/api/bars.csv", barsQuery, async ({ instrument, source, delayed, interval, sessions }, reply) => {
    const series = { instrumentId: instrument, sourceId: source, delayed };
    const { bars } = await readBars(pool, series, interval, sessions);
    const of = { ...(await readNames(pool, instrument, source)), delayed, interval };
    return reply
      .type("text/csv; charset=utf-8")
      .header("content-disposition", `attachment; filename="${csvName(of)}"`)
      .send(barsCsv(bars, of));
  });
  get("/api/chain", chainQuery, ({ symbol, expiration, source, delayed, at }) =>
    readChain(pool, { symbol, expiration, sourceId: source, delayed, at: at ?? null }),
  );
  get("/api/coverage", coverageQuery, ({ from, to }) => readCoverageView(pool, from, to));
  get("/api/misses", missesQuery, (query) => readMisses(pool, query));
}

function refused({ issues }: z.ZodError): ApiError {
  const detail = issues.map(({ path, message }) => `${path.join(".") || "query"}: ${message}`).join("; ");
  return { error: { code: "QUERY_INVALID", detail, hint: "Correct the address.", person: true } };
}

/** Nothing there yet, or somebody else's tables in its place, or the error with what can be found out about it. */
async function whyUnreadable(pool: pg.Pool, error: unknown): Promise<unknown> {
  if (isRetryable(error)) return error;
  const version = await currentVersion(pool).catch((reason: unknown) => reason);
  if (version === 0 && isMissingTable(error)) return "empty";
  return version instanceof DatabaseProblem ? version : explain(pool, error);
}

/** SQLSTATE 42P01, undefined_table. */
function isMissingTable(error: unknown): boolean {
  return (error as { code?: string }).code === "42P01";
}

/** A database that was never migrated. No fault: whoever collects into it migrates it. */
function nothingYet(address: string): ApiError {
  const empty = new QuotekeeperError("ARCHIVE_EMPTY", `${address} holds no archive yet`);
  return { error: { ...problemOf(empty), person: false } };
}

/** Errors of the database with their remedies; nothing of a statement or of a password is in them. */
function unavailable(error: unknown, address: string): ApiError {
  return { error: problemOf(error instanceof QuotekeeperError ? error : databaseError(error, address)) };
}
