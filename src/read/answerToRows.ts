/**
 * From one journaled answer to the rows it becomes. Pure: the same answer always gives the same rows, so that
 * loading it again adds nothing.
 */
import { instrumentName, type InstrumentKey, option } from "../market/instrument.ts";
import type { ResponseRecord } from "../journal/record.ts";
import type { Answer } from "../quotes/answer.ts";
import { canonicalDecimal, isNoValue } from "../quotes/decimal.ts";
import {
  type DividendData,
  type InstrumentQuote,
  MAX_FRAGMENT,
  plainDocument,
  type Quote,
} from "../quotes/document.ts";
import { matchCall, type MatchedItem, NOT_ASKED } from "../quotes/match.ts";
import { NO_RATE_LIMIT } from "../quotes/rateLimit.ts";
import { askedInstruments, type QuoteCall, type SavedCall } from "../quotes/call.ts";
import { isPlainCall, isYamlPiece } from "./plainCall.ts";
import { plainRows } from "./plainRows.ts";
import { exportRows } from "./exportRows.ts";
import { isExportCall } from "./exportCall.ts";
import type { InstrumentIdentity, InstrumentRow, QuoteUnit, DeadLetter, AnswerRows } from "./rowTypes.ts";
import { counted, someNames } from "../ground/figures.ts";
import { cutText } from "../ground/outsideText.ts";
import { answerOf, serviceNamed } from "../services/registry.ts";

/**
 * Assumed: the underlying of an option is a common stock unless the archive knows it as something else, or an answer says so
 * later; the `underlying` element has no security type.
 */
const ASSUMED_UNDERLYING_TYPE = "CS";

/** Assumed: an instrument without `sectyp` that is not an option has this type until an answer says which it has. */
export const UNKNOWN_SECURITY_TYPE = "UNKNOWN";

/** A piece of a file is no answer of the service; its rows are quotes all the same. */
const PIECE_ANSWER: Answer = { outcome: "quotes", document: plainDocument([]) };

/** Reads one journaled answer into rows. Never throws on account of the answer's content. */
export function rowsOf(record: ResponseRecord, position: { segment: string; offset: number }): AnswerRows {
  if (isPlainCall(record.request))
    return { record, position, answer: PIECE_ANSWER, matched: [], ...plainRows(record) };
  if (isYamlPiece(record.request)) return yamlPiece(record, position);
  if (isExportCall(record.request))
    return { record, position, answer: PIECE_ANSWER, matched: [], ...exportRows(record) };
  const call = record.request as QuoteCall | SavedCall;
  const answer = answerOf(record);
  const rows: AnswerRows = { record, position, answer, matched: [], units: [], deadLetters: [] };
  // A saved answer that is empty cannot be asked for again.
  const isLost = record.source.kind === "import" && answer.outcome === "server_error";
  if (answer.outcome === "malformed" || isLost) {
    addDead(rows, {
      instrument: null,
      reason: "malformed",
      detail: answer.detail,
      fragment: startOf(record.body),
    });
  }
  if (answer.outcome !== "quotes") return rows;
  rows.matched = matchCall(call, answer.document.items);
  const offers: Offer[] = [];
  addDeadMatches(rows);
  for (const match of rows.matched) {
    if (match.fate !== "stored") continue;
    addOddFields(rows, match);
    addOffers(offers, match, { observedAt: record.observedAt, delayed: call.delayed });
  }
  rows.units = withoutRepeated(offers, askedInstruments(call) === null);
  const { interests = [] } = answer.document;
  for (const item of interests) {
    const unit = { observedAt: record.observedAt, delayed: false, quote: item.quote, fragment: null };
    rows.units.push({ ...unit, instrument: instrumentRow(item), greeksDelta: null, interestOnly: true });
  }
  return rows;
}

/** Its rows stay where they are in an archive already. */
function yamlPiece(record: ResponseRecord, position: AnswerRows["position"]): AnswerRows {
  const rows: AnswerRows = {
    record,
    position,
    answer: PIECE_ANSWER,
    matched: [],
    units: [],
    deadLetters: [],
  };
  addDead(rows, {
    instrument: null,
    reason: "malformed",
    detail: `${String((record.request as { file?: unknown }).file)}: ${YAML_PIECE}`,
    fragment: null,
  });
  return rows;
}

const YAML_PIECE =
  "a piece of a file that a YAML map describes, of a program before 0.9.0: nothing reads it any more";

type StoredMatch = Extract<MatchedItem, { fate: "stored" }>;

/** Instruments that nobody asked for, of one answer, that have a dead letter each: a service that answers something else does so at each slot. */
const MOST_STRANGERS = 5;

function addDeadMatches(rows: AnswerRows): void {
  const dead = rows.matched.filter((match) => match.fate === "dead");
  const strangers = dead.filter(({ reason }) => reason === "not_asked");
  // One that is likely what was asked for says more than the rest.
  strangers.sort((a, b) => Number(a.detail === NOT_ASKED) - Number(b.detail === NOT_ASKED));
  const untold = strangers.splice(MOST_STRANGERS);
  for (const match of [...dead.filter(({ reason }) => reason !== "not_asked"), ...strangers])
    addDead(rows, { ...match, instrument: match.name });
  if (untold.length === 0) return;
  const names = untold.flatMap(({ name }) => name ?? []);
  addDead(rows, {
    instrument: null,
    reason: "not_asked",
    detail: `${counted(untold.length, "more instrument")} that the call did not ask for`,
    fragment: someNames(names, MOST_STRANGERS),
  });
}

const OF_UNDERLYING = /^(?:underlying|undlyquote)\//;

/** A dead letter for each field that could not be read: its instrument's row has NULL there. */
function addOddFields(rows: AnswerRows, { name, item, oddFields }: StoredMatch): void {
  for (const { element, text, problem } of oddFields) {
    const instrument = OF_UNDERLYING.test(element) ? (item.underlying?.symbol ?? name) : name;
    addDead(rows, { instrument, reason: "odd_field", detail: problem, fragment: text });
  }
}

/** A unit that an item of the answer gives; of several for one instrument one is stored. */
type Offer = {
  unit: QuoteUnit;
  /** It was asked for by name, and did not come along with an option. */
  isAsked: boolean;
  oddFields: number;
};

function addOffers(
  offers: Offer[],
  { item, oddFields }: StoredMatch,
  given: Pick<QuoteUnit, "observedAt" | "delayed">,
): void {
  const { observedAt } = given;
  const delayed = item.delayed ?? given.delayed;
  const oddOfUnderlying = oddFields.filter(({ element }) => OF_UNDERLYING.test(element)).length;
  const unit = {
    observedAt,
    delayed,
    instrument: instrumentRow(item),
    quote: item.quote,
    greeksDelta: item.greeksDelta,
    fragment: null,
  };
  offers.push({ unit, isAsked: true, oddFields: oddFields.length - oddOfUnderlying });
  if (!item.underlying || !item.underlyingQuote) return;
  const itsUnderlying = {
    observedAt,
    delayed,
    // Named one by one, in the order of `instrumentRow`: spreading costs a tenth of the time of reading an option.
    instrument: {
      securityType: ASSUMED_UNDERLYING_TYPE,
      symbol: item.underlying.symbol,
      root: undefined,
      expiration: null,
      optionType: null,
      strike: null,
      exchange: item.underlying.exchange,
      description: item.underlying.description,
      contractSize: null,
      underlying: null,
      assumedType: true,
    },
    quote: item.underlyingQuote,
    greeksDelta: null,
    fragment: null,
  };
  offers.push({ unit: itsUnderlying, isAsked: false, oddFields: oddOfUnderlying });
}

function instrumentRow(item: InstrumentQuote): InstrumentRow {
  const { securityType, symbol, root, exchange, description, expiration, optionType, strike } =
    item.instrument;
  return {
    securityType: securityType ?? UNKNOWN_SECURITY_TYPE,
    symbol,
    root,
    expiration,
    optionType,
    strike: strike === null ? null : canonicalDecimal(strike),
    exchange,
    description,
    contractSize: item.quote.extended.contractSize,
    underlying: optionType === null ? null : (item.underlying?.symbol ?? symbol),
    assumedType: securityType === null,
  };
}

/**
 * The underlying of several options comes several times in one answer, and may have been asked for itself: one row
 * each, the quote asked for by name before one that came along, a whole one before one with odd fields.
 */
function withoutRepeated(offers: readonly Offer[], areNamed: boolean): QuoteUnit[] {
  // Items that name themselves were matched by their own names, each once.
  if (areNamed && offers.every(({ isAsked }) => isAsked)) return offers.map(({ unit }) => unit);
  const kept = new Map<string, Offer>();
  for (const offer of offers) {
    const name = unitName(offer.unit);
    const first = kept.get(name);
    if (!first || isBetter(offer, first)) kept.set(name, offer);
  }
  return [...kept.values()].map(({ unit }) => unit);
}

function isBetter(a: Offer, b: Offer): boolean {
  return a.isAsked === b.isAsked ? a.oddFields < b.oddFields : a.isAsked;
}

function addDead(
  rows: AnswerRows,
  dead: Pick<DeadLetter, "instrument" | "reason" | "detail" | "fragment">,
): void {
  const { instrument, reason, detail, fragment } = dead;
  const { observedAt } = rows.record;
  rows.deadLetters.push({
    observedAt,
    ordinal: rows.deadLetters.length,
    instrument,
    reason,
    detail,
    fragment: fragment === null ? null : cutText(fragment, MAX_FRAGMENT),
  });
}

/** The name of a unit's instrument, `AAPL` or `AAPL:2026-12-18:CALL:150`. */
export function unitName({ instrument }: QuoteUnit): string {
  return instrumentName(identityKey(instrument));
}

function identityKey({ symbol, root, expiration, optionType, strike }: InstrumentIdentity): InstrumentKey {
  if (expiration === null || optionType === null || strike === null) return { kind: "security", symbol };
  return option({
    underlying: symbol,
    root: root ?? undefined,
    expiration,
    optionType: optionType as "CALL" | "PUT",
    strike,
  });
}

/** The dividend to compare and store; null when the element says nothing. The yield of no value becomes null. */
export function dividendOf({ extended }: Quote): DividendData | null {
  const { dividend } = extended;
  if (dividend === null) return null;
  const { amount, exDate } = dividend;
  const paid = dividend.yield !== null && !isNoValue(dividend.yield) ? dividend.yield : null;
  return amount === null && exDate === null && paid === null ? null : { amount, exDate, yield: paid };
}

export function headerColumns({ headers, service }: ResponseRecord): {
  serverDate: string | null;
  rateLimitUsed: number | null;
  rateLimitRemaining: number | null;
  rateLimitLimit: number | null;
  rateLimitExpire: string | null;
} {
  const known = serviceNamed(service);
  const { used, remaining, limit } = known?.rateLimit(headers) ?? NO_RATE_LIMIT;
  const expire = known?.limitEnd(headers) ?? "";
  return {
    serverDate: serverDate(headers["date"]),
    rateLimitUsed: int4(used),
    rateLimitRemaining: int4(remaining),
    rateLimitLimit: int4(limit),
    rateLimitExpire: /^-?\d{1,15}(\.\d{1,20})?$/.test(expire) ? expire : null,
  };
}

/** `Date` as a time that `timestamptz` takes; null for anything else, which must not keep the answer out. */
function serverDate(text = ""): string | null {
  const date = new Date(text);
  const iso = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return /^(?!0000)\d{4}-/.test(iso) ? iso : null;
}

function int4(value: number | null): number | null {
  return (value ?? 0) < 2 ** 31 ? value : null;
}

function startOf(body: Uint8Array): string {
  return Buffer.from(body.subarray(0, MAX_FRAGMENT)).toString("utf8");
}
