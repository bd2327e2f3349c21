/** The JSON API that the page draws from. Every route here reads; logins are in `loginRoutes.ts`. */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { z } from "zod";
import { readChain, readChainKeys, readTerm } from "../../archive/ask/chainRows.ts";
import { readCoverageView, readMisses } from "../../archive/ask/coverageView.ts";
import { findInstruments } from "../../archive/ask/findInstruments.ts";
import { readQuotes } from "../../archive/ask/quotes.ts";
import { databaseError, isRetryable } from "../../archive/connect/databaseError.ts";
import { explain } from "../../archive/connect/explain.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { type Clock, systemClock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import { problemOf, refusal } from "../live.ts";
import { addBars } from "./barsRoutes.ts";
import { chainCsv } from "./chainCsv.ts";
import { CsvFile, sendCsv } from "./csvText.ts";
import { splitNames } from "./nameList.ts";
import { jsonInTurns } from "./jsonInTurns.ts";
import { inWhole, newsRoutes } from "./news.ts";
import { date, flag, type Get, id, isWithin, name } from "./queryFields.ts";
import { MOST_NAMES, QUOTE_COLUMNS, tableOf } from "./quoteTable.ts";
import type { ApiError, NowView } from "./types.ts";

type ApiOptions = {
  pool: pg.Pool;
  log: Log;
  /** Names the database in an error; no user, no password. */
  address: string;
  now: () => Promise<NowView>;
  clock: Clock;
};

/** A database that is frozen answers nothing, not even that a statement takes too long: nobody waits for it longer, ms. */
const SILENT_MS = 8_000;

/** How long answers that take long in the reading are the same for everybody, ms. */
const FRESH_MS = { chain: 10_000, coverage: 15_000, chains: 30_000, term: 60_000 } as const;

export function addApi(app: FastifyInstance, options: ApiOptions): void {
  const { pool, log, address, now, clock } = options;
  const get: Get = (path, schema, answer) =>
    void app.get(path, async (request, reply) => {
      reply.header("cache-control", "no-store");
      const query = schema?.safeParse(request.query);
      if (query && !query.success) return reply.code(400).send(refused(query.error));
      try {
        const told = await inTime(answer(query?.data as never));
        if (told instanceof CsvFile) return sendCsv(reply, told);
        return reply.type("application/json; charset=utf-8").send(await jsonInTurns(told));
      } catch (error) {
        const why = await inTime(whyUnreadable(pool, error)).catch(() => error);
        if (why === "empty") return reply.code(503).send(nothingYet(address));
        log.warn(
          isRetryable(error) ? { reason: (error as Error).message } : { err: error, path },
          "the dashboard could not read the archive",
        );
        return reply.code(503).send(unavailable(why, address));
      }
    });
  const view = newsRoutes(get, pool, clock);

  get("/api/now", null, now);
  get("/api/instruments", searchQuery, ({ search }) => findInstruments(pool, search));
  view("/api/quotes", quotesQuery, {
    ofAnswers: true,
    read: async ({ names, columns }, since) => ({
      view: tableOf(await readQuotes(pool, { names, since }), columns),
      whole: since === null,
    }),
  });
  addBars(get, view, pool);
  view("/api/chains", z.object({}), { read: () => inWhole(readChainKeys(pool)), freshMs: FRESH_MS.chains });
  view("/api/chain", chainQuery, {
    read: (query) => inWhole(readChain(pool, query)),
    freshMs: FRESH_MS.chain,
  });
  view("/api/chain/term", chainQuery, {
    read: (query) => inWhole(readTerm(pool, query)),
    freshMs: FRESH_MS.term,
  });
  get("/api/chain.csv", chainFileQuery, (query) => chainCsv(pool, query));
  view("/api/coverage", coverageQuery, {
    read: ({ from, to }) => inWhole(readCoverageView(pool, from, to)),
    freshMs: FRESH_MS.coverage,
  });
  view("/api/misses", missesQuery, {
    read: (query) => inWhole(readMisses(pool, query)),
    freshMs: FRESH_MS.chain,
  });
}

/** @throws an error of a connection that does not answer */
async function inTime<Answer>(work: Promise<Answer>): Promise<Answer> {
  const done = new AbortController();
  const silence = systemClock.sleep(SILENT_MS, done.signal).then(() => {
    throw new Error(`timeout: no answer in ${SILENT_MS / 1_000} s`);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    done.abort();
    silence.catch(() => undefined);
    // Nobody waits for an answer that comes too late.
    work.catch(() => undefined);
  }
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
  return version instanceof QuotekeeperError ? version : explain(pool, error);
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
  return { error: problemOf(databaseError(error, address)) };
}

const names = z
  .string()
  .transform((text) => splitNames(text.toUpperCase()))
  .pipe(z.array(name).max(MOST_NAMES));
/** Each column once: an answer is no longer than its table has columns. */
const columns = z
  .string()
  .transform((text) => [...new Set(text.split(",").filter(Boolean))])
  .pipe(z.array(z.enum(QUOTE_COLUMNS)).max(QUOTE_COLUMNS.length));

const quotesQuery = z.object({ names: names.optional(), columns: columns.default([...QUOTE_COLUMNS]) });

const searchQuery = z.object({ search: z.union([z.literal(""), name]).default("") });

const chainFields = z.object({
  symbol: name,
  source: id,
  delayed: flag,
  at: z.iso.datetime({ offset: true }).nullable().default(null),
});

/** The source goes by its id in the archive. */
const ofSource = <Fields extends { source: number }>({ source, ...fields }: Fields) => ({
  ...fields,
  sourceId: source,
});

const chainQuery = chainFields.extend({ expiration: date }).transform(ofSource);

const chainFileQuery = chainFields.extend({ expiration: date.nullable().default(null) }).transform(ofSource);

const MOST_DAYS = 400;

/** Exchange dates, both included. */
const coverageQuery = z
  .object({ from: date, to: date })
  .refine(({ from, to }) => from <= to, "from is later than to")
  .refine(isWithin(MOST_DAYS), `expected at most ${MOST_DAYS} days`);

const missesQuery = z.object({ date, instrument: name, source: z.enum(["account", "simulated", "import"]) });
