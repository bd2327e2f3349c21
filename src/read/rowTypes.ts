/** What one journaled answer, or a piece of a file, becomes: rows, dead letters, and what an export brings back. */
import type { Instant } from "../ground/clock.ts";
import type { RecordSource, ResponseRecord } from "../journal/record.ts";
import type { Answer } from "../quotes/answer.ts";
import type { Quote } from "../quotes/document.ts";
import type { DeadReason, MatchedItem } from "../quotes/match.ts";

/** What identifies an instrument in the archive; strikes are canonical text. */
export type InstrumentIdentity = {
  securityType: string;
  symbol: string;
  /** Root of an option's OCC symbol; absent where it is the underlying's own. */
  root?: string | null | undefined;
  expiration: string | null;
  optionType: string | null;
  strike: string | null;
};

export type InstrumentRow = InstrumentIdentity & {
  exchange: string | null;
  description: string | null;
  contractSize: string | null;
  /** Symbol of the underlying, for an option. */
  underlying: string | null;
  /** The security type was not in the answer (ASSUMED_UNDERLYING_TYPE). */
  assumedType: boolean;
  /** The strike as an export has it, where its digits are kept. */
  writtenStrike?: string | null;
};

/** One quote to store, with its extended fields and dividend: the smallest thing that is kept or set aside. */
export type QuoteUnit = {
  observedAt: Instant;
  delayed: boolean;
  instrument: InstrumentRow;
  quote: Quote;
  greeksDelta: string | null;
  fragment: string | null;
  /** Of a row that an export brought back: the source it had, and whether `extended_quotes` had a row of it. */
  restored?: { source: RecordSource; extended: boolean };
  /** Open interest alone: it has a row of `extended_quotes`, and none of `quotes`. */
  interestOnly?: true;
};

/** What could not become a row, or (`odd_field`) a value of one. */
export type DeadLetter = {
  observedAt: Instant;
  ordinal: number;
  instrument: string | null;
  reason: DeadReason | "odd_field" | "refused_by_database";
  detail: string;
  fragment: string | null;
};

export type AnswerRows = {
  record: ResponseRecord;
  position: { segment: string; offset: number };
  answer: Answer;
  /** What became of each instrument asked for; empty when the answer is no quotes document. */
  matched: MatchedItem[];
  units: QuoteUnit[];
  deadLetters: DeadLetter[];
  /** Of plain tables alone: of how many times what is beyond microseconds was left out. */
  cut?: number;
  restored?: RestoredRows;
};

export type RestoredSource = { id: number; source: RecordSource };

/** An instrument with the number it had and the type of its underlying. */
export type RestoredInstrument = {
  id: number;
  row: InstrumentRow;
  underlyingType: string | null;
  firstSeenAt: Instant;
  lastSeenAt: Instant;
  /** When each word of its description was said last; null: when it was seen last, or never. */
  saidAt?: { exchange: Instant | null; description: Instant | null; contractSize: Instant | null };
};

/** A row of `dividends`, which is stored as it is. */
export type RestoredDividend = {
  observedAt: Instant;
  instrument: InstrumentRow;
  source: RecordSource;
  exDate: string | null;
  amount: string | null;
  yield: string | null;
};

export type RestoredRows = {
  sources: RestoredSource[];
  instruments: RestoredInstrument[];
  dividends: RestoredDividend[];
};
