/** The archive as a source of quotes: what it had received at a moment of its past, or has received by now. */
import type pg from "pg";
import {
  type PointInTimeRow,
  type Question,
  readPointInTime,
  readState,
  type SourceKind,
} from "../../archive/ask/pointInTime.ts";
import { instantFromDate, instantOf, microsOf } from "../../clock.ts";
import { type InstrumentKey, isKeptSymbol, isWatchlistId } from "../../market/instrument.ts";
import type { InstrumentQuote } from "../../quotes-api/document.ts";
import { type Playback, playedAt } from "../playback.ts";
import { type Asked, DELAY_MS, type QuoteSource, unknownQuote } from "../source.ts";
import { type Asking, sharedLookups } from "./lookups.ts";
import { quoteFromRow } from "./fromRow.ts";
import { z } from "zod";
import { parsePlainYaml } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";

/** Rows that are played together: what was received from the market, or from simulated ones. Never both. */
export type RowsKind = "real" | "simulated";

/** The kinds of sources behind it; of two rows of one time the first counts. */
export const KINDS: Readonly<Record<RowsKind, readonly SourceKind[]>> = {
  real: ["account", "import"],
  simulated: ["simulated"],
};

/** What the source is made of. */
type ArchiveSourceOptions = {
  /** Reads only; with a limit on the time of a statement. */
  pool: pg.Pool;
  rows: RowsKind;
  watchlists: Watchlists;
  /** What is played; null: the present, which moves on as rows arrive. */
  playback: Playback | null;
};

/**
 * Makes the source. An instrument that the archive does not know, and one it had not seen at the moment played, are
 * both answered with `unknownsymbol` true: at that moment the archive knew neither, and a program that is tried against
 * the past is not to learn from an answer what came later.
 */
export function createArchiveSource({ pool, rows, watchlists, playback }: ArchiveSourceOptions): QuoteSource {
  const lookUp = sharedLookups({
    read: (asked) => reading(readPointInTime(pool, asked.map(questionOf), KINDS[rows])),
    readState: () => reading(readState(pool)),
    atOnce: pool.options.max,
    isOfOneCall: (error) => isDataError((error as Error).cause),
  });
  const known = new WeakMap<PointInTimeRow, InstrumentQuote>();
  const quoteOf = (row: PointInTimeRow): InstrumentQuote => {
    const quote = known.get(row) ?? quoteFromRow(row);
    known.set(row, quote);
    return quote;
  };

  async function quotes(
    keys: readonly InstrumentKey[],
    { now, delayed }: Asked,
  ): Promise<readonly InstrumentQuote[]> {
    const at = playback ? playedAt(playback, now) : instantFromDate(now);
    const found = await lookUp(keys, { at, delayed });
    return keys.map((key, place) => {
      const row = found[place];
      return row ? quoteOf(row) : unknownQuote(key);
    });
  }
  return {
    name: rows === "simulated" ? "simulated" : "archive",
    watchlist: (id) => watchlists.get(id) ?? null,
    quotes,
    quote: async (key, at) => {
      const [only] = await quotes([key], { now: at, delayed: null });
      return only ?? unknownQuote(key);
    },
  };
}

/**
 * Which rows `delayed` picks at a moment. false: those asked for as real-time ones. true: those asked for as delayed
 * ones, or real-time ones that are by then as old as delayed ones are, whichever came later. Not said: whatever came
 * last.
 */
function questionOf({ key, at, delayed }: Asking): Question {
  if (delayed === null) return { key, realTimeAt: at, delayedAt: at };
  if (!delayed) return { key, realTimeAt: at, delayedAt: null };
  return { key, realTimeAt: instantOf(microsOf(at) - BigInt(DELAY_MS) * 1_000n), delayedAt: at };
}

/** A database that is away, or too slow, is a fault of the service's own for the moment: HTTP 503. */
async function reading<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    throw Object.assign(new Error("the archive's database did not answer", { cause }), { statusCode: 503 });
  }
}

/** SQLSTATE class 22: a value that the database cannot take, such as a date of a watchlist that does not exist. */
function isDataError(error: unknown): boolean {
  return /^22/.test((error as { code?: string } | undefined)?.code ?? "");
}

// Watchlists from a file: ids, each with its symbols.

/** Symbols by the id of their watchlist. */
type Watchlists = ReadonlyMap<string, readonly string[]>;

/** No watchlists. */
export const NO_WATCHLISTS: Watchlists = new Map();

const SYMBOL = z
  .string()
  .refine(
    (text) => isKeptSymbol(text, 64),
    "a symbol is text without blanks; quote what looks like a number",
  );

/** `DEFAULT: [AAPL, MSFT]`, or `DEFAULT: AAPL, MSFT`. */
const FILE = z.record(
  z.string().refine(isWatchlistId, "an id is words with one blank between them, and no commas"),
  z.union([
    z.array(SYMBOL).min(1),
    z
      .string()
      .transform((list) => list.split(",").map((symbol) => symbol.trim()))
      .pipe(z.array(SYMBOL).min(1)),
  ]),
);

/**
 * Reads a YAML file such as
 *
 *     DEFAULT: [AAPL, MSFT, BRK.B]
 *     my tech stocks: [AAPL, MSFT]
 *     options: [AAPL261218C00150000, "AAPL:2026-12-18:PUT:150"]
 *
 * @throws QuotekeeperError WATCHLISTS_INVALID with every problem
 */
export function readWatchlists(file: string): Watchlists {
  let content: unknown;
  try {
    content = parsePlainYaml(readTextFileSync(file).text);
  } catch (error) {
    // Without its cause: a parser's own message quotes the file, whatever that is.
    const { code } = error as { code: string };
    throw new QuotekeeperError("WATCHLISTS_INVALID", `${file} cannot be read (${code})`);
  }
  const read = FILE.safeParse(content ?? {});
  if (read.success) return new Map(Object.entries(read.data));
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join(".") || "the file"}: ${message}`,
  );
  throw new QuotekeeperError("WATCHLISTS_INVALID", `${file}: ${problems.join("; ")}`);
}
