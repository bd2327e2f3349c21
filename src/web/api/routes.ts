/** The JSON API that the page draws from. Every route reads; none writes. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type pg from "pg";
import { z } from "zod";
import { databaseError, DatabaseProblem, isRetryable } from "../../archive/databaseError.ts";
import { explain } from "../../archive/explain.ts";
import { currentVersion } from "../../archive/migrations.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { problemOf, refusal } from "../live.ts";
import { readBars } from "../../archive/dashboard/bars.ts";
import { readChain, readChainKeys } from "../../archive/dashboard/chainRows.ts";
import { readCoverageView, readMisses } from "../../archive/dashboard/coverageView.ts";
import { readNames, readQuotes } from "../../archive/dashboard/quotes.ts";
import type { ApiError, Bar, Interval, Meta, NowView, SourceKind } from "./types.ts";
import { harmless } from "../../read/cell.ts";
import { addOperatorRoutes, type OperatorOptions } from "./operatorRoutes.ts";

/** What the routes are made of. */
type ApiOptions = {
  pool: pg.Pool;
  log: Log;
  /** Names the database in an error; no user, no password. */
  address: string;
  meta: () => Promise<Meta>;
  now: () => Promise<NowView>;
  operator: Omit<OperatorOptions, "pool">;
};

/** Adds the routes below `/api/`. */
export function addApi(app: FastifyInstance, { pool, log, address, meta, now, operator }: ApiOptions): void {
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
    readBars(pool, { instrumentId: instrument, sourceId: source, delayed }, { interval, sessions }),
  );
  get("/api/bars.csv", barsQuery, async ({ instrument, source, delayed, interval, sessions }, reply) => {
    const series = { instrumentId: instrument, sourceId: source, delayed };
    const { bars } = await readBars(pool, series, { interval, sessions });
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
  addOperatorRoutes(get, { pool, ...operator });
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

const HEADING =
  "instrument,source,delayed,interval,date,session,bar_at,open,high,low,close,bid,ask,mean_spread,quote_count,volume";

/** A line for each bar; every one says where its prices come from. Absent values are empty. */
export function barsCsv(
  bars: readonly Bar[],
  of: { instrument: string; source: SourceKind; delayed: boolean; interval: Interval },
): string {
  const { instrument, source, delayed, interval } = of;
  const lines = bars.map(({ date, session, at, open, high, low, close, bid, ask, ...rest }) =>
    [
      ...[harmless(instrument), source, String(delayed), interval, date, session, at],
      ...[open, high, low, close, bid, ask, rest.meanSpread, rest.quoteCount, rest.volume],
    ]
      .map(field)
      .join(","),
  );
  return `${[HEADING, ...lines].join("\r\n")}\r\n`;
}

/** The file's name: simulated prices say so there too. */
export function csvName(of: { instrument: string; source: SourceKind; interval: Interval }): string {
  const name = `${of.instrument}-${of.interval}${of.source === "simulated" ? "-SIMULATED" : ""}`;
  return `${name.replace(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}

function field(text: string | null): string {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const date = z.iso.date();
const id = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((text) => text === "true");
// PostgreSQL has no text with a NUL in it, and no name has any other control character.
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "expected no control characters");

/** Which bars. */
const barsQuery = z.object({
  instrument: id.describe("id of the instrument"),
  source: id.describe("id of the source"),
  delayed: flag,
  interval: z.enum(["1m", "5m", "1h", "1d"]).default("1m"),
  sessions: z.coerce.number().int().min(1).max(10_000).default(1),
});

/** Which chain, and when. */
const chainQuery = z.object({
  symbol: name,
  expiration: date,
  source: id,
  delayed: flag,
  at: z.iso.datetime({ offset: true }).optional(),
});

/** Coverage of the exchange dates from one to another. */
const coverageQuery = z
  .object({ from: date, to: date })
  .refine(({ from, to }) => from <= to, "from is later than to")
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= 400 * 86_400_000,
    "expected at most 400 days",
  );

/** Which cell of the coverage. */
const missesQuery = z.object({
  date,
  instrument: name,
  source: z.enum(["account", "simulated", "import"]),
});
