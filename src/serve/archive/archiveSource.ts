/** The archive as a source of quotes: what had arrived at a past moment, or what has arrived now. */
import type pg from "pg";
import {
  type PointInTimeRow,
  type Question,
  readPointInTime,
  readState,
  type SourceKind,
} from "../../archive/ask/pointInTime.ts";
import { databaseError } from "../../archive/connect/databaseError.ts";
import { instantFromDate, instantOf, microsOf } from "../../ground/clock.ts";
import type { InstrumentKey } from "../../market/instrument.ts";
import {
  type InstrumentQuote,
  type DividendData,
  makeQuote,
  type Quote,
  unknownQuote,
} from "../../quotes/document.ts";
import { type Playback, playedAt } from "../playback.ts";
import { type SourceQuestion, DELAY_MS, type QuoteSource } from "../source.ts";
import { UNKNOWN_SECURITY_TYPE } from "../../read/answerToRows.ts";
import { NUMBER_FIELDS, valuesByName } from "../../quotes/fields.ts";
import { type Lookup, sharedLookups } from "./lookups.ts";
import type { Watchlists } from "./readWatchlists.ts";

/** Which rows are played: those of the market, or simulated ones. Never both. */
export type RowsKind = "real" | "simulated";

/** Kinds of sources; of two rows of one time the first kind counts. */
export const KINDS: Readonly<Record<RowsKind, readonly SourceKind[]>> = {
  real: ["account", "import"],
  simulated: ["simulated"],
};

type ArchiveSourceOptions = {
  pool: pg.Pool;
  rows: RowsKind;
  watchlists: Watchlists;
  /** Null: the present, with rows as they arrive. */
  playback: Playback | null;
};

/**
 * An instrument that was first seen after the moment played is answered with `unknownsymbol` true, as an unknown one: a
 * program that is tried against the past must not learn what came later.
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
    { now, delayed }: SourceQuestion,
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
  };
}

/**
 * Which rows `delayed` picks at a moment. false: rows that were asked for as real-time. true: rows that were asked for as
 * delayed, or real-time rows that are as old as delayed ones, whichever came later. null: the newest rows.
 */
function questionOf({ key, at, delayed }: Lookup): Question {
  if (delayed === null) return { key, realTimeAt: at, delayedAt: at };
  if (!delayed) return { key, realTimeAt: at, delayedAt: null };
  return { key, realTimeAt: instantOf(microsOf(at) - BigInt(DELAY_MS) * 1_000n), delayedAt: at };
}

/** @throws QuotekeeperError the database is away, or too slow */
async function reading<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    throw databaseError(cause, "the archive's database did not answer");
  }
}

/** SQLSTATE class 22: an invalid value, such as an impossible date in a watchlist. */
function isDataError(error: unknown): boolean {
  return /^22/.test((error as { code?: string } | undefined)?.code ?? "");
}

/**
 * Assumed: a dividend of 0 without a yield came with the yield that means "no dividend" (field notes, "Answers"). The
 * archive keeps that yield as NULL, so it is written again.
 */
const NO_DIVIDEND_YIELD = "4.9E-324";

/**
 * The quote of a row. NULL becomes an empty element. `underlying` is present if the archive knows the underlying,
 * `undlyquote` if the underlying's quote came in the same answer.
 */
function quoteFromRow(row: PointInTimeRow): InstrumentQuote {
  const isOption = row.option_type !== null;
  // A root says nothing without its underlying.
  const underlying = isOption ? (row.underlying_symbol ?? (row.root === null ? null : row.symbol)) : null;
  return {
    instrument: {
      description: row.description,
      exchange: row.exchange,
      securityType: row.security_type === UNKNOWN_SECURITY_TYPE ? null : row.security_type,
      symbol: row.symbol,
      root: row.root ?? undefined,
      expiration: row.expiration,
      optionType: row.option_type,
      strike: row.strike,
    },
    quote: readQuote(row, "q"),
    greeksDelta: isOption ? row.q_delta : null,
    underlying:
      underlying === null
        ? null
        : {
            description: row.underlying_description,
            exchange: row.underlying_exchange,
            symbol: underlying,
          },
    underlyingQuote: underlying !== null && row.u_found ? readQuote(row, "u") : null,
    unknownSymbol: false,
  };
}

const COLUMNS = { q: columnsOf("q"), u: columnsOf("u") };

function columnsOf<Of extends "q" | "u">(of: Of) {
  return valuesByName(NUMBER_FIELDS, ({ column }) => `${of}_${column}` as const);
}

function readQuote(row: PointInTimeRow, of: "q" | "u"): Quote {
  return makeQuote(
    ({ name }) => row[COLUMNS[of][name]],
    () => (row[`${of}_dividend_found`] ? readDividend(row, of) : null),
  );
}

function readDividend(row: PointInTimeRow, of: "q" | "u"): DividendData {
  const amount = row[`${of}_amount`];
  const isNone = amount !== null && /^0(\.0*)?$/.test(amount);
  return {
    amount,
    exDate: row[`${of}_ex_date`],
    yield: row[`${of}_yield`] ?? (isNone ? NO_DIVIDEND_YIELD : null),
  };
}
