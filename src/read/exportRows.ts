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
import { shown } from "./cell.ts";
import type { ExportCall, PieceRow } from "./exportCall.ts";

const READERS = { sources: sourceOf, instruments: instrumentOf, quotes: unitOf, dividends: dividendOf };

/** The rows and dead letters of a piece. Never throws. */
export function exportRows(
  record: ResponseRecord,
): Pick<AnswerRows, "units" | "deadLetters"> & { restored: RestoredRows } {
  const { table, columns } = record.request as ExportCall;
  const units: QuoteUnit[] = [];
  const deadLetters: DeadLetter[] = [];
  const restored: RestoredRows = { sources: [], instruments: [], dividends: [] };
  const kept: Record<ExportCall["table"], unknown[]> = { ...restored, quotes: units };
  const lines = Buffer.from(record.body).toString("utf8").split("\n");
  for (const [place, line] of lines.filter((text) => text !== "").entries()) {
    const die = (problem: string, reason: "malformed" | "odd_field"): void => {
      const detail = `${table} of an export, row ${place + 1} of its piece: ${problem}`;
      const letter = { observedAt: record.observedAt, ordinal: deadLetters.length, detail, fragment: line };
      deadLetters.push({ ...letter, instrument: null, reason });
    };
    const row = new RowValues(line, columns);
    const read = Object.hasOwn(READERS, table) ? READERS[table](row) : null;
    const problem = read === null ? `no table ${shown(table)} is known` : row.problem;
    if (problem !== null) {
      die(problem, "malformed");
      continue;
    }
    kept[table].push(read);
    for (const problem of row.odd) die(problem, "odd_field");
  }
  return { units, deadLetters, restored };
}

/** The values of a row. The first that no archive can hold is the row's problem; nothing of such a row is kept. */
class RowValues {
  problem: string | null = null;
  /** Which values are null here because no archive holds them: archives of older releases held more. */
  readonly odd: string[] = [];
  readonly #row: PieceRow;

  constructor(line: string, columns: readonly string[]) {
    const values = parsedJson(line);
    const isRow =
      Array.isArray(values) && values.every((value) => value === null || typeof value === "string");
    const texts = isRow ? (values as (string | null)[]) : [];
    this.#row = Object.fromEntries(columns.map((name, place) => [name, texts[place] ?? null]));
    if (!isRow) this.refuse("it is no row");
  }

  refuse(problem: string): null {
    this.problem ??= problem;
    return null;
  }

  text(name: string): string | null {
    return this.#row[name] ?? null;
  }

  maybe(name: string, is: (text: string) => boolean): string | null {
    const value = this.text(name);
    return value === null || is(value) ? value : this.refuse(`${name} is ${shown(value)}`);
  }

  given(name: string, is: (text: string) => boolean = () => true): string {
    return this.maybe(name, is) ?? this.refuse(`${name} is NULL`) ?? "";
  }

  value({ column, unit, signed }: Pick<Field, "column" | "unit" | "signed">): string | null {
    const text = this.text(column);
    if (text === null) return null;
    const held = (is: boolean): string | null => (is ? text : null);
    const value =
      unit === "date"
        ? held(isDateText(text))
        : unit === "instant"
          ? held(isTime(text))
          : heldNumber(text, { unit, ...(signed && { signed }) });
    if (value === null) this.odd.push(`${column} is ${shown(text)}`);
    return value;
  }
}

function sourceOf(row: RowValues): RestoredSource {
  const beside = (name: string): string | undefined => cleanText(row.text(name) ?? "") || undefined;
  // Exports of older versions have no feeds.
  const [spot, interest] = [beside("spot"), beside("interest")];
  return {
    id: Number(row.given("id", isInteger(2 ** 15))),
    source: { ...recordSource(row, "kind", "name"), ...(spot && { spot }), ...(interest && { interest }) },
  };
}

function recordSource(row: RowValues, kind: string, name: string): RecordSource {
  const isKind = (text: string): boolean => ["account", "simulated", "import"].includes(text);
  return { kind: row.given(kind, isKind) as RecordSource["kind"], name: cleanText(row.given(name)) };
}

function identityOf(row: RowValues): InstrumentRow {
  const expiration = row.maybe("expiration", isDateText);
  const optionType = row.maybe("option_type", (text) => text === "CALL" || text === "PUT");
  const strike = row.maybe("strike", (text) => heldNumber(text, STRIKE) !== null);
  const parts = [expiration, optionType, strike].filter((part) => part !== null).length;
  if (parts !== 0 && parts !== 3) row.refuse("expiration, option_type and strike go together");
  const symbol = archivedSymbol(row.given("symbol"));
  return {
    securityType: row.given("security_type"),
    symbol,
    expiration,
    optionType,
    // Exports of older versions have no roots.
    root: row.text("root") ?? undefined,
    strike: strike === null ? null : canonicalDecimal(strike),
    exchange: null,
    description: null,
    contractSize: null,
    // Exports of older versions do not say it: the types of theirs stay as they are.
    assumedType: row.maybe("type_assumed", isFlag) === "true",
    underlying: optionType === null ? null : symbol,
  };
}

function instrumentOf(row: RowValues): RestoredInstrument {
  const described = { exchange: row.text("exchange"), description: row.text("description") };
  const contractSize = row.maybe("contract_size", isInteger(2n ** 63n));
  const underlyingType = row.text("underlying_type");
  const saidAt = {
    exchange: row.maybe("exchange_at", isTime),
    description: row.maybe("description_at", isTime),
    contractSize: row.maybe("contract_size_at", isTime),
  };
  return {
    id: Number(row.given("id", isInteger(2 ** 31))),
    row: { ...identityOf(row), ...described, contractSize, writtenStrike: row.text("strike") },
    underlyingType,
    firstSeenAt: row.given("first_seen_at", isTime),
    lastSeenAt: row.given("last_seen_at", isTime),
    ...(Object.values(saidAt).some((at) => at !== null) && { saidAt }),
  };
}

function unitOf(row: RowValues): QuoteUnit {
  const value = (field: Field): string | null => row.value(field);
  const quote = {
    ...valuesByName(PRICE_FIELDS, value),
    extended: { ...NO_QUOTE.extended, ...valuesByName(EXTENDED_FIELDS, value) },
  };
  const extended = row.given("extended", (text) => text === "alone" || isFlag(text));
  return {
    observedAt: row.given("observed_at", isTime),
    delayed: row.given("delayed", isFlag) === "true",
    instrument: identityOf(row),
    quote,
    greeksDelta: null,
    fragment: null,
    restored: { source: recordSource(row, "source_kind", "source_name"), extended: extended !== "false" },
    ...(extended === "alone" && { interestOnly: true }),
  };
}

function dividendOf(row: RowValues): RestoredDividend {
  return {
    observedAt: row.given("observed_at", isTime),
    instrument: identityOf(row),
    source: recordSource(row, "source_kind", "source_name"),
    exDate: row.maybe("ex_date", isDateText),
    amount: row.value(AMOUNT),
    yield: row.value(YIELD),
  };
}

const [, AMOUNT, YIELD] = DIVIDEND_FIELDS;

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
