/**
 * From a journaled piece of an export to the rows it becomes. Pure. Whoever wrote the piece may have been anybody: a row
 * that no archive can hold is set aside here, so that none of them stops the loader.
 */
import { isDateText } from "../market/calendar/dates.ts";
import { archivedSymbol } from "../market/root.ts";
import type { RecordSource, ResponseRecord } from "../journal/record.ts";
import { cleanText, parsedJson } from "../ground/outsideText.ts";
import { canonicalDecimal } from "../quotes/decimal.ts";
import {
  DIVIDEND_FIELDS,
  EXTENDED_FIELDS,
  PRICE_FIELDS,
  valuesByName,
  type Field,
} from "../quotes/fields.ts";
import { type NumberKind, readNumber, STRIKE } from "../quotes/units.ts";
import { NO_QUOTE } from "../quotes/document.ts";
import type {
  AnswerRows,
  DeadLetter,
  InstrumentRow,
  QuoteUnit,
  RestoredRows,
  RestoredDividend,
  RestoredInstrument,
  RestoredSource,
} from "./rowTypes.ts";
import { type Cell, shown } from "./cell.ts";
import { PIECE_COLUMNS, type PieceRow, type ExportCall } from "./exportCall.ts";

/** A value that no archive can hold, by its column. */
class Unfit extends Error {}

/** The rows and dead letters of a piece. Never throws. */
export function exportRows(
  record: ResponseRecord,
): Pick<AnswerRows, "units" | "deadLetters"> & { restored: RestoredRows } {
  const { table } = record.request as ExportCall;
  const units: QuoteUnit[] = [];
  const deadLetters: DeadLetter[] = [];
  const restored: RestoredRows = { sources: [], instruments: [], dividends: [] };
  const take: Record<ExportCall["table"], (row: PieceRow, odd: string[]) => void> = {
    sources: (row) => restored.sources.push(sourceOf(row)),
    instruments: (row) => restored.instruments.push(instrumentOf(row)),
    quotes: (row, odd) => units.push(unitOf(row, odd)),
    dividends: (row, odd) => restored.dividends.push(dividendOf(row, odd)),
  };
  for (const [place, line] of linesOf(record.body).entries()) {
    const die = (problem: string, reason: "malformed" | "odd_field"): void => {
      const detail = `${table} of an export, row ${place + 1} of its piece: ${problem}`;
      const letter = { observedAt: record.observedAt, ordinal: deadLetters.length, detail, fragment: line };
      deadLetters.push({ ...letter, instrument: null, reason });
    };
    const read = rowOf(line, record.request as ExportCall);
    try {
      if (!read.ok) throw new Unfit(read.problem);
      const odd: string[] = [];
      take[table](read.value, odd);
      for (const problem of odd) die(problem, "odd_field");
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      die(error.message, "malformed");
    }
  }
  return { units, deadLetters, restored };
}

function linesOf(body: Uint8Array): string[] {
  return Buffer.from(body)
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
}

function rowOf(line: string, { table, columns }: ExportCall): Cell<PieceRow> {
  if (!(table in PIECE_COLUMNS)) return { ok: false, problem: `no table ${shown(table)} is known` };
  const values = parsedJson(line);
  if (!Array.isArray(values) || !values.every((value) => value === null || typeof value === "string"))
    return { ok: false, problem: "it is no row" };
  const texts = values as (string | null)[];
  return { ok: true, value: Object.fromEntries(columns.map((name, place) => [name, texts[place] ?? null])) };
}

function sourceOf(row: PieceRow): RestoredSource {
  return { id: Number(given(row, "id", isInteger(2 ** 15))), source: recordSource(row, "kind", "name") };
}

function recordSource(row: PieceRow, kind: string, name: string): RecordSource {
  const isKind = (text: string): boolean => ["account", "simulated", "import"].includes(text);
  return { kind: given(row, kind, isKind) as RecordSource["kind"], name: cleanText(given(row, name)) };
}

function identityOf(row: PieceRow): InstrumentRow {
  const expiration = maybe(row, "expiration", isDateText);
  const optionType = maybe(row, "option_type", (text) => text === "CALL" || text === "PUT");
  const strike = maybe(row, "strike", (text) => heldNumber(text, STRIKE) !== null);
  const parts = [expiration, optionType, strike].filter((part) => part !== null).length;
  if (parts !== 0 && parts !== 3) throw new Unfit("expiration, option_type and strike go together");
  const symbol = archivedSymbol(given(row, "symbol"));
  return {
    securityType: given(row, "security_type"),
    symbol,
    expiration,
    optionType,
    // Exports of older versions have no roots.
    root: row["root"] ?? undefined,
    strike: strike === null ? null : canonicalDecimal(strike),
    exchange: null,
    description: null,
    contractSize: null,
    // Exports of older versions do not say it: the types of theirs stay as they are.
    assumedType: maybe(row, "type_assumed", isFlag) === "true",
    underlying: optionType === null ? null : symbol,
  };
}

function instrumentOf(row: PieceRow): RestoredInstrument {
  const described = { exchange: row["exchange"] ?? null, description: row["description"] ?? null };
  const contractSize = maybe(row, "contract_size", isInteger(2n ** 63n));
  const underlyingType = row["underlying_type"] ?? null;
  const saidAt = {
    exchange: maybe(row, "exchange_at", isTime),
    description: maybe(row, "description_at", isTime),
    contractSize: maybe(row, "contract_size_at", isTime),
  };
  return {
    id: Number(given(row, "id", isInteger(2 ** 31))),
    row: { ...identityOf(row), ...described, contractSize, writtenStrike: row["strike"] ?? null },
    underlyingType,
    firstSeenAt: given(row, "first_seen_at", isTime),
    lastSeenAt: given(row, "last_seen_at", isTime),
    ...(Object.values(saidAt).some((at) => at !== null) && { saidAt }),
  };
}

function unitOf(row: PieceRow, odd: string[]): QuoteUnit {
  const value = (field: Field): string | null => valueOf(row, field, odd);
  const quote = {
    ...valuesByName(PRICE_FIELDS, value),
    extended: { ...NO_QUOTE.extended, ...valuesByName(EXTENDED_FIELDS, value) },
  };
  const extended = given(row, "extended", isFlag) === "true";
  return {
    observedAt: given(row, "observed_at", isTime),
    delayed: given(row, "delayed", isFlag) === "true",
    instrument: identityOf(row),
    quote,
    greeksDelta: null,
    fragment: null,
    restored: { source: recordSource(row, "source_kind", "source_name"), extended },
  };
}

function dividendOf(row: PieceRow, odd: string[]): RestoredDividend {
  return {
    observedAt: given(row, "observed_at", isTime),
    instrument: identityOf(row),
    source: recordSource(row, "source_kind", "source_name"),
    exDate: maybe(row, "ex_date", isDateText),
    amount: valueOf(row, AMOUNT, odd),
    yield: valueOf(row, YIELD, odd),
  };
}

function given(row: PieceRow, name: string, is: (text: string) => boolean = () => true): string {
  const value = maybe(row, name, is);
  if (value === null) throw new Unfit(`${name} is NULL`);
  return value;
}

function maybe(row: PieceRow, name: string, is: (text: string) => boolean): string | null {
  const value = row[name] ?? null;
  if (value !== null && !is(value)) throw new Unfit(`${name} is ${shown(value)}`);
  return value;
}

const [, AMOUNT, YIELD] = DIVIDEND_FIELDS;

/** A value; null with what is wrong in `odd` where no archive holds it: archives of older releases held more. */
function valueOf(
  row: PieceRow,
  { column, unit, signed }: Pick<Field, "column" | "unit" | "signed">,
  odd: string[],
): string | null {
  const text = row[column] ?? null;
  if (text === null) return null;
  const isTimed = unit === "instant" || unit === "date";
  const value = isTimed
    ? isTime(text)
      ? text
      : null
    : heldNumber(text, { unit, ...(signed && { signed }) });
  if (value === null) odd.push(`${column} is ${shown(text)}`);
  return value;
}

/** A number as `numeric` writes it, as far as an archive holds it. */
function heldNumber(text: string, kind: NumberKind): string | null {
  const read = /^-?\d+(?:\.\d+)?$/u.test(text) ? readNumber(text, kind) : null;
  return read?.ok ? read.value : null;
}

function isInteger(bound: number | bigint): (text: string) => boolean {
  return (text) =>
    /^-?\d{1,19}$/u.test(text) && BigInt(text) < BigInt(bound) && BigInt(text) >= -BigInt(bound);
}

function isFlag(text: string): boolean {
  return text === "true" || text === "false";
}

function isTime(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/u.test(text) &&
    isDateText(text.slice(0, "2026-11-18".length)) &&
    !Number.isNaN(Date.parse(text))
  );
}
