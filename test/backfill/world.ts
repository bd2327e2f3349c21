/** A journal of two sessions, with equities, options, dividends, a malformed instrument and the ledger's notes. */
import { join } from "node:path";
import type pg from "pg";
import { runProgram } from "../../src/cli/program.ts";
import type { Instant } from "../../src/ground/clock.ts";
import type { JournalRecord, ResponseRecord } from "../../src/journal/record.ts";
import { type InstrumentQuote, type Quote, NO_QUOTE } from "../../src/quotes/document.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { capturedEdges } from "../cli/edges.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, symbolsCall } from "../support/journal.ts";
import { settled } from "../support/ledger.ts";
import { tempDir } from "../support/tempDir.ts";

/** An archive and a journal, as commands see them. */
export type BackfillWorld = {
  env: Record<string, string>;
  pool: pg.Pool;
  journalDir: string;
};

/** A fresh database, and a data directory without a journal yet. */
export async function backfillWorld(): Promise<BackfillWorld> {
  const { url, pool } = await freshDatabase();
  const dataDir = tempDir();
  return {
    env: { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_JOBS_DIR: join(dataDir, "jobs") },
    pool,
    journalDir: join(dataDir, "journal"),
  };
}

/** Runs an import, and presses Ctrl-C at the first word on how far it has come. @returns the exit code */
export async function interrupted(
  { env }: Pick<BackfillWorld, "env">,
  argv: readonly string[],
): Promise<number> {
  const { edges, interrupt } = capturedEdges({ env: { ...env, QUOTEKEEPER_LOG_LEVEL: "info" } });
  const stderr = {
    ...edges.stderr,
    write: (text: string): void => {
      if (text.includes('"doing"')) interrupt();
    },
  };
  return runProgram(argv, { ...edges, stderr });
}

/** The minutes 14:30 and 14:31 UTC of two sessions, and one at 20:59 of the second: four answers each. */
export const MINUTES: readonly Instant[] = [
  "2026-11-18T14:30:00.000000Z",
  "2026-11-18T14:31:00.000000Z",
  "2026-11-19T14:30:00.000000Z",
  "2026-11-19T14:31:00.000000Z",
  "2026-11-19T20:59:00.000000Z",
];

/** A record after `seconds` of a minute. */
function after(minute: Instant, seconds: number): Instant {
  return minute.replace(":00.000000Z", `:${String(seconds).padStart(2, "0")}.250001Z`);
}

/** What is journaled in a minute: two answers of equities, one of an option, one that cannot be read, a slot. */
export function recordsOf(minute: Instant): JournalRecord[] {
  const place = MINUTES.indexOf(minute);
  const price = (cents: number): string => ((15_000 + place * 100 + cents) / 100).toFixed(2);
  return [
    answerRecord(
      after(minute, 1),
      writeDocument({ id: "1", instruments: [equity("AAPL", price(0)), equity("MSFT", price(7))] }),
      { request: symbolsCall("AAPL", "MSFT", "GONE") },
    ),
    answerRecord(after(minute, 2), writeDocument({ id: "2", instruments: [call150(price(3), price(0))] }), {
      request: {
        form: "option",
        contract: { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" },
        delayed: false,
      },
    }),
    answerRecord(
      after(minute, 3),
      malformed(writeDocument({ id: "3", instruments: [equity("IBM", "100.00")] })),
      {
        request: symbolsCall("IBM"),
      },
    ),
    settled(
      after(minute, 59),
      minute,
      ["AAPL", "MSFT", "GONE", "IBM"],
      ["GONE absent_from_answer", "IBM malformed"],
    ),
  ];
}

/** The answer to a call for one equity. */
export function answerOf(
  at: Instant,
  symbol: string,
  last: string,
  previousClose = "149.00",
): ResponseRecord {
  const document = writeDocument({ id: "1", instruments: [equity(symbol, last, previousClose)] });
  return answerRecord(at, document, { request: symbolsCall(symbol) });
}

/** Appends records, a segment for each, as if it had been that hour. */
export async function journal(dir: string, minutes: readonly Instant[] = MINUTES): Promise<void> {
  for (const minute of minutes)
    await appendAll(dir, recordsOf(minute), { clock: createTestClock(minute.replace("000000Z", "000Z")) });
}

/** Its instruments have two exchanges, and so are nobody knows what. */
const malformed = (xml: string): string => xml.replace("<exch>", "<exch/><exch>");

/** An equity's element; a dividend that changes once. */
export function equity(symbol: string, last: string, previousClose = "149.00"): InstrumentQuote {
  return {
    instrument: {
      description: `${symbol} COM`,
      ...{ exchange: "NSD", securityType: "CS", symbol, expiration: null, optionType: null, strike: null },
    },
    quote: quote(last, previousClose),
    ...{ greeksDelta: null, underlying: null, underlyingQuote: null, unknownSymbol: false },
  };
}

export function call150(last: string, underlyingLast: string): InstrumentQuote {
  return {
    instrument: {
      ...{ description: null, exchange: null, securityType: "OPT", symbol: "AAPL" },
      ...{ expiration: "2026-12-18", optionType: "CALL", strike: "150" },
    },
    quote: quote(last, null),
    greeksDelta: "0.5312",
    underlying: { description: "AAPL COM", exchange: "NSD", symbol: "AAPL" },
    underlyingQuote: quote(underlyingLast, "149.00"),
    unknownSymbol: false,
  };
}

function quote(last: string, previousClose: string | null): Quote {
  const amount = Number(last) > 152 ? "0.2600" : "0.2400";
  return {
    ...NO_QUOTE,
    ...{ last, bid: last, ask: last, change: "1.00", pctChange: "0.6711" },
    extended: {
      ...NO_QUOTE.extended,
      ...{ previousClose, volume: "1200", dividend: { amount, exDate: "2026-11-06", yield: "0.6100" } },
    },
  };
}
