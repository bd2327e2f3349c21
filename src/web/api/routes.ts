/** The JSON API that the page draws from, and its files. Every route here reads; logins are in `loginRoutes.ts`. */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { z } from "zod";
import { readBars } from "../../archive/ask/bars.ts";
import { readChain, readChainKeys, readTerm } from "../../archive/ask/chainRows.ts";
import { readCoverageView, readMisses } from "../../archive/ask/coverageView.ts";
import { findInstruments } from "../../archive/ask/findInstruments.ts";
import { mapInTurns } from "../../archive/ask/mapInTurns.ts";
import { readMissedBars } from "../../archive/ask/missedBars.ts";
import { readQuotes } from "../../archive/ask/quotes.ts";
import { INTERVALS } from "../../archive/ask/widths.ts";
import { databaseError, isRetryable } from "../../archive/connect/databaseError.ts";
import { explain } from "../../archive/connect/explain.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { type Clock, systemClock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { problemOf, refusal } from "../live.ts";
import { barsCsv, chainCsv } from "./csvFiles.ts";
import { CsvFile, csvName } from "./csvText.ts";
import { type Get, inWhole, newsRoutes } from "./news.ts";
import { MOST_NAMES, QUOTE_COLUMNS, splitNames, tableOf } from "./quoteTable.ts";
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
const FRESH_MS = { misses: 10_000, chain: 10_000, coverage: 15_000, chains: 30_000, term: 60_000 } as const;

export function addApi(app: FastifyInstance, options: ApiOptions): void {
  const { pool, log, address, now, clock } = options;
  const get: Get = (path, schema, answer) =>
    void app.get(path, async (request, reply) => {
      reply.header("cache-control", "no-store");
      const query = schema?.safeParse(request.query);
      if (query && !query.success) return reply.code(400).send(refused(query.error));
      try {
        const told = await inTime(answer(query?.data as never), address);
        if (told instanceof CsvFile)
          return reply
            .type("text/csv; charset=utf-8")
            .header("content-disposition", `attachment; filename="${told.name}"`)
            .send(told.text);
        return reply.type("application/json; charset=utf-8").send(await jsonInTurns(told));
      } catch (error) {
        const why = await inTime(whyUnreadable(pool, error), address).catch(() => error);
        if (why === "empty") return reply.code(503).send(nothingYet(address));
        log.warn(
          isTold(error) ? { reason: (error as Error).message } : { err: error, path },
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
    freshMs: FRESH_MS.misses,
  });
}

function addBars(get: Get, view: ReturnType<typeof newsRoutes>, pool: pg.Pool): void {
  view("/api/bars", barsQuery, {
    ofAnswers: true,
    // What is new changes the bars of its date, and of no earlier one.
    read: (query, since) => bars(pool, query, since === null ? null : exchangeDate(new Date(since))),
  });
  view("/api/bars/misses", missedBarsQuery, {
    read: (query) => inWhole(readMissedBars(pool, query)),
    freshMs: FRESH_MS.misses,
  });
  get("/api/bars.csv", barsQuery, (query) => barsFile(pool, query));
}

/** @throws QuotekeeperError DATABASE_UNREACHABLE */
async function inTime<Answer>(work: Promise<Answer>, address: string): Promise<Answer> {
  const done = new AbortController();
  const silence = systemClock.sleep(SILENT_MS, done.signal).then(() => {
    throw new QuotekeeperError(
      "DATABASE_UNREACHABLE",
      `${address}: timeout: no answer in ${SILENT_MS / 1_000} s`,
    );
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

/** Whether an error says all that there is to know: of a database that is away, or does not answer. */
function isTold(error: unknown): boolean {
  return error instanceof QuotekeeperError || isRetryable(error);
}

/** Nothing there yet, or somebody else's tables in its place, or the error with what can be found out about it. */
async function whyUnreadable(pool: pg.Pool, error: unknown): Promise<unknown> {
  if (isTold(error)) return error;
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

/** JSON text of long answers in parts, with a turn of the event loop after each. @returns what `JSON.stringify` returns */
async function jsonInTurns(value: unknown): Promise<string> {
  if (Array.isArray(value)) {
    const texts = await mapInTurns(value, (entry) => JSON.stringify(entry) ?? "null");
    return `[${texts.join()}]`;
  }
  const isPlain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return JSON.stringify(value);
  const fields: string[] = [];
  for (const [key, field] of Object.entries(value))
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${await jsonInTurns(field)}`);
  return `{${fields.join()}}`;
}

function bars(
  pool: pg.Pool,
  { instrument, source, delayed, from, to, ...rest }: z.infer<typeof barsQuery>,
  since: string | null,
): ReturnType<typeof readBars> {
  const dates =
    from === undefined && to === undefined ? null : { from: from ?? "0001-01-01", to: to ?? "9999-12-31" };
  return readBars(pool, { instrumentId: instrument, sourceId: source, delayed }, { ...rest, dates, since });
}

async function barsFile(pool: pg.Pool, query: z.infer<typeof barsQuery>): Promise<CsvFile> {
  const { view: all } = await bars(pool, query, null);
  const [from, to] = [all.bars[0]?.date, all.bars.at(-1)?.date];
  const { misses } =
    from === undefined || to === undefined
      ? { misses: [] }
      : await readMissedBars(pool, { ...query, interval: all.interval, from, to });
  return new CsvFile(csvName([all.instrument, all.interval], all.source), barsCsv(all, misses));
}

const date = z.iso.date();

const id = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);

/** Yes or no; without it no. */
const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((text) => text === "true");

/** Name of an instrument, a job or a reason. PostgreSQL has no text with a NUL in it, and no name has any other control character. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "expected no control characters");

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

const isInOrder = ({ from, to }: { from?: string | undefined; to?: string | undefined }): boolean =>
  from === undefined || to === undefined || from <= to;

const barsFields = z.object({
  instrument: id,
  source: id,
  delayed: flag,
  interval: z.enum(INTERVALS).default("1m"),
  /** The newest dates with quotes; `from` and `to` take their place. */
  sessions: z.coerce.number().int().min(1).max(10_000).default(1),
  from: date.optional(),
  to: date.optional(),
});

const barsQuery = barsFields.refine(isInOrder, "from is later than to");

const missedBarsQuery = barsFields
  .pick({ instrument: true, source: true, interval: true })
  .extend({ from: date, to: date })
  .refine(isInOrder, "from is later than to");

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
  .refine(isInOrder, "from is later than to")
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= MOST_DAYS * 86_400_000,
    `expected at most ${MOST_DAYS} days`,
  );

const missesQuery = z.object({ date, instrument: name, source: z.enum(["account", "simulated", "import"]) });
