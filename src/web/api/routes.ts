/** The JSON API that the page draws from. Every route here reads; logins are in `loginRoutes.ts`. */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { z } from "zod";
import { readAccountsView } from "../../archive/ask/accountsView.ts";
import { readHealth } from "../../archive/ask/healthRows.ts";
import { readHoles, readSlot } from "../../archive/ask/holeRows.ts";
import { databaseError, DatabaseProblem, isRetryable } from "../../archive/connect/databaseError.ts";
import { explain } from "../../archive/connect/explain.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
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
import type { ApiError, JobsView, Meta, NowView } from "./types.ts";
import { date, flag, type Get, id, name } from "./queryFields.ts";
import { MOST_NAMES, QUOTE_COLUMNS, tableOf } from "./quoteTable.ts";
import { rememberAnswers } from "./rememberAnswers.ts";

type ApiOptions = {
  pool: pg.Pool;
  log: Log;
  /** Names the database in an error; no user, no password. */
  address: string;
  meta: () => Promise<Meta>;
  now: () => Promise<NowView>;
  events: Events;
  clock: Clock;
  /** Which market the configuration names. */
  configured: LedgerSource;
  /** The job files and their plan; without it there is no such route. */
  jobs: (() => Promise<JobsView>) | undefined;
};

export function addApi(app: FastifyInstance, options: ApiOptions): void {
  const { pool, log, address, meta, now, events } = options;
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
  get("/api/chain", chainQuery, (query) => readChain(pool, query));
  get("/api/chain/term", chainQuery, (query) => readTerm(pool, query));
  get("/api/chain.csv", chainFileQuery, async (query, reply) => sendCsv(reply, await chainCsv(pool, query)));
  get("/api/coverage", coverageQuery, ({ from, to }) => readCoverageView(pool, from, to));
  get("/api/misses", missesQuery, (query) => readMisses(pool, query));
  addOperatorRoutes(get, options);
}

/** A month of health takes seconds to add up: whoever asks within so many ms gets the same answer. */
const HEALTH_FRESH_MS = 60_000;

/** Every page that shows the accounts asks every other second. */
const ACCOUNTS_FRESH_MS = 1_000;

/** The routes of Health and its holes, of Jobs and of Accounts. */
function addOperatorRoutes(get: Get, { pool, clock, configured, jobs }: ApiOptions): void {
  const health = rememberAnswers(clock, HEALTH_FRESH_MS);
  const accounts = rememberAnswers(clock, ACCOUNTS_FRESH_MS);
  get("/api/health", spanQuery, ({ from, to, source }) =>
    health(`${from} ${to} ${source}`, () =>
      readHealth(pool, { from, to }, { configured, source: source ?? null }),
    ),
  );
  get("/api/holes", spanQuery, ({ from, to, source = configured, reason = null }) =>
    readHoles(pool, { from, to }, { source, reason }),
  );
  get("/api/slot", slotQuery, async (key, reply) => {
    const slot = await readSlot(pool, key);
    return (
      slot ?? reply.code(404).send(refusal("QUERY_INVALID", `${key.job} has no settled slot at ${key.at}`))
    );
  });
  get("/api/accounts", null, () => accounts("", () => readAccountsView(pool, configured, clock.now())));
  if (jobs) get("/api/jobs", null, jobs);
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
/** Each column once: an answer is no longer than its table has columns. */
const columns = z
  .string()
  .transform((text) => [...new Set(text.split(",").filter(Boolean))])
  .pipe(z.array(z.enum(QUOTE_COLUMNS)).max(QUOTE_COLUMNS.length));

const quotesQuery = z.object({ names: names.optional(), columns: columns.optional() });

/** Which quotes come as events: those of some instruments, or `all`; default: none. Whether no other page gives way. */
const eventsQuery = z.object({
  quotes: z.union([z.literal("all"), names]).optional(),
  columns: columns.optional(),
  yields: flag,
});

const searchQuery = z.object({ search: z.union([z.literal(""), name]).default("") });

const kind = z.enum(["account", "simulated", "import"]);

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

/** Whether a time is no longer than so many days. */
const isWithin =
  (days: number) =>
  ({ from, to }: { from: string; to: string }): boolean =>
    Date.parse(to) - Date.parse(from) <= days * 86_400_000;

const coverageQuery = z
  .object({ from: date, to: date })
  .refine(({ from, to }) => from <= to, "from is later than to")
  .refine(isWithin(400), "expected at most 400 days");

const missesQuery = z.object({ date, instrument: name, source: kind });

/** Most days at once: each day of the busiest collector has 86,400 answers. */
const MOST_DAYS = 100;

const instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .refine((text) => text >= "2000" && text < "2200", "expected a time between 2000 and 2200");

/** Which time, of which market; of the holes those with misses for one reason. */
const spanQuery = z
  .object({ from: instant, to: instant, source: kind.optional(), reason: name.optional() })
  .refine(({ from, to }) => from < to, "from is not before to")
  .refine(isWithin(MOST_DAYS), `expected at most ${MOST_DAYS} days`);

const slotQuery = z.object({ job: name, at: z.iso.datetime({ offset: true }), source: kind });
