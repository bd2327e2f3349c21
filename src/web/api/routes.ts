/** The JSON API that the page draws from. Every route reads; none writes. */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { z } from "zod";
import { databaseError, DatabaseProblem, isRetryable } from "../../archive/connect/databaseError.ts";
import { explain } from "../../archive/connect/explain.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { problemOf, refusal } from "../live.ts";
import { readChain, readChainKeys, readTerm } from "../../archive/ask/chainRows.ts";
import { readCoverageView, readMisses } from "../../archive/ask/coverageView.ts";
import { findInstruments } from "../../archive/ask/findInstruments.ts";
import { readQuotes } from "../../archive/ask/quotes.ts";
import { addBars } from "./barsRoutes.ts";
import { chainCsv } from "./chainCsv.ts";
import { sendCsv } from "./csvText.ts";
import type { Events } from "./events.ts";
import { splitNames } from "./nameList.ts";
import { addOperatorRoutes, type OperatorOptions } from "./operatorRoutes.ts";
import { date, flag, type Get, id, name } from "./queryFields.ts";
import { MOST_NAMES, QUOTE_COLUMNS, tableOf } from "./quoteTable.ts";
import type { ApiError, Meta, NowView } from "./types.ts";

type ApiOptions = {
  pool: pg.Pool;
  log: Log;
  /** Names the database in an error; no user, no password. */
  address: string;
  meta: () => Promise<Meta>;
  now: () => Promise<NowView>;
  events: Events;
  operator: Omit<OperatorOptions, "pool">;
};

export function addApi(app: FastifyInstance, options: ApiOptions): void {
  const { pool, log, address, meta, now, events, operator } = options;
  const get: Get = (path, schema, answer) =>
    void app.get(path, async (request, reply) => {
      reply.header("cache-control", "no-store");
      const query = schema?.safeParse(request.query);
      if (query && !query.success) return reply.code(400).send(refused(query.error));
      try {
        return await answer(query?.data as never, reply);
      } catch (error) {
        const why = await whyUnreadable(pool, error);
        if (why === "empty") return reply.code(503).send(nothingYet(address));
        log.warn(
          isRetryable(error) ? { reason: (error as Error).message } : { err: error, path },
          "the dashboard could not read the archive",
        );
        return reply.code(503).send(unavailable(why, address));
      }
    });

  get("/api/meta", null, meta);
  get("/api/now", null, now);
  get("/api/quotes", quotesQuery, async ({ names, columns }) => {
    const rows = await readQuotes(pool, names);
    return columns ? tableOf(rows, columns) : rows;
  });
  get("/api/instruments", searchQuery, ({ search }) => findInstruments(pool, search));
  addEventsRoute(app, events);
  get("/api/chains", null, () => readChainKeys(pool));
  addBars(get, pool);
  get("/api/chain", chainQuery, ({ symbol, expiration, source, delayed, at }) =>
    readChain(pool, { symbol, expiration, sourceId: source, delayed, at: at ?? null }),
  );
  get("/api/chain/term", chainQuery, ({ symbol, expiration, source, delayed, at }) =>
    readTerm(pool, { symbol, expiration, sourceId: source, delayed, at: at ?? null }),
  );
  get("/api/chain.csv", chainFileQuery, async ({ source, expiration, at, ...query }, reply) => {
    const of = { ...query, sourceId: source, expiration: expiration ?? null, at: at ?? null };
    return sendCsv(reply, await chainCsv(pool, of));
  });
  get("/api/coverage", coverageQuery, ({ from, to }) => readCoverageView(pool, from, to));
  get("/api/misses", missesQuery, (query) => readMisses(pool, query));
  addOperatorRoutes(get, { pool, ...operator });
}

function addEventsRoute(app: FastifyInstance, { listen }: Events): void {
  app.get("/api/events", async (request, reply) => {
    const query = eventsQuery.safeParse(request.query);
    if (!query.success) return reply.code(400).send(refused(query.error));
    const { quotes, columns = QUOTE_COLUMNS, yields } = query.data;
    const wanted = quotes === undefined ? null : { names: quotes, columns };
    const headers = reply.getHeaders() as Record<string, string>;
    const accepted = request.headers["accept-encoding"] as string | undefined;
    const { ip, isStillAllowed } = request;
    const full = listen(reply.raw, { wanted, headers, accepted, ip, yields, isStillAllowed });
    return full ? reply.code(503).send(full) : reply.hijack();
  });
}

function refused({ issues }: z.ZodError): ApiError {
  const detail = issues.map(({ path, message }) => `${path.join(".") || "query"}: ${message}`).join("; ");
  return refusal("QUERY_INVALID", detail);
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

const names = z
  .string()
  .transform((text) => splitNames(text.toUpperCase()))
  .pipe(z.array(name).max(MOST_NAMES));
const columns = z
  .string()
  .transform((text) => text.split(",").filter(Boolean))
  .pipe(z.array(z.enum(QUOTE_COLUMNS)));

const quotesQuery = z.object({ names: names.optional(), columns: columns.optional() });

/** Which quotes come as events: those of some instruments, or `all`; default: none. Whether no other page gives way. */
const eventsQuery = z.object({
  quotes: z.union([z.literal("all"), names]).optional(),
  columns: columns.optional(),
  yields: flag,
});

const searchQuery = z.object({ search: z.union([z.literal(""), name]).default("") });

const chainQuery = z.object({
  symbol: name,
  expiration: date,
  source: id,
  delayed: flag,
  at: z.iso.datetime({ offset: true }).optional(),
});

const chainFileQuery = chainQuery.partial({ expiration: true });

const coverageQuery = z
  .object({ from: date, to: date })
  .refine(({ from, to }) => from <= to, "from is later than to")
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= 400 * 86_400_000,
    "expected at most 400 days",
  );

const missesQuery = z.object({
  date,
  instrument: name,
  source: z.enum(["account", "simulated", "import"]),
});
