/** The values of a row of CSV. Pure. */
import { type Quote, NO_QUOTE } from "../quotes/document.ts";
import { type Cell, shown, scaledBy } from "./cell.ts";
import { createWrittenReader } from "./cellTime.ts";
import {
  type CsvCall,
  CUT_FIELDS,
  type CsvField,
  DECIMAL_FIELDS,
  INSTANT_FIELDS,
  INTEGER_FIELDS,
} from "./csvCall.ts";
import { type TextOf } from "./rowReader.ts";
import { canonicalDecimal, readWritten } from "../quotes/decimal.ts";
import { NUMBER_KINDS, PRICE_FIELDS } from "../quotes/fields.ts";
import {
  bareNumber,
  heldNumber,
  isPlainNumber,
  numberParts,
  type NumberParts,
  STRIKE,
  UNITS,
} from "../quotes/units.ts";

/** Fields of `quotes` itself; the others are of `extended_quotes`. */
const PRICES: ReadonlySet<string> = new Set(PRICE_FIELDS.map(({ name }) => name));

type NumberCall = Pick<CsvCall, "columns" | "constants" | "decimal" | "numberSigns" | "scale" | "wholePart">;

/** Times, which alone are no quote. */
const INSTANTS: ReadonlySet<string> = new Set(INSTANT_FIELDS);

type QuoteCall = NumberCall & Pick<CsvCall, "time">;

/** A number as it is stored: null where there is none; `cut`: a fraction was left out. */
type NumberRead =
  { ok: true; value: string | null; cut?: boolean } | { ok: false; problem: string; isNumber?: true };

type NumberField = (typeof DECIMAL_FIELDS)[number] | (typeof INTEGER_FIELDS)[number];

/** What was cut off: of how many times, and of how many counts. */
type Cut = { times: number; fractions: number };

/** The values of a row, or why it has none. `odd` says what could not be read. */
type QuoteRead =
  { ok: true; value: Quote; cut: Cut; odd: readonly string[] } | { ok: false; problem: string };

/**
 * Reads the fields that the map gives a column or a constant. A count that cannot be read costs itself, and so do a time beside
 * the row's own, and a number that no column holds. What is no number where a price stands costs the row: the map may be wrong,
 * or the cell another column's.
 *
 * @throws RangeError for a time zone or a pattern nobody knows
 */
export function createQuoteReader(call: QuoteCall): (text: TextOf) => QuoteRead {
  const { columns, constants } = call;
  const isGiven = (field: CsvField): boolean =>
    columns[field] !== undefined || constants[field] !== undefined;
  const fields = [
    ...[...DECIMAL_FIELDS, ...INTEGER_FIELDS]
      .filter(isGiven)
      .map((field) => ({ field, read: createValueReader(call, field) })),
    ...INSTANT_FIELDS.filter(isGiven).map((field) => ({ field, read: createInstantReader(call, field) })),
  ];
  return (text) => {
    const prices: Record<string, string | null> = {};
    const extended: Record<string, string | null> = {};
    const odd: string[] = [];
    let isEmpty = true;
    const cut: Cut = { times: 0, fractions: 0 };
    for (const { field, read } of fields) {
      const given = text(field);
      if (given === null) continue;
      const value = read(given);
      if (!value.ok) {
        if (value.costsRow) return value;
        odd.push(value.problem);
        continue;
      }
      (PRICES.has(field) ? prices : extended)[field] = value.value;
      if (value.value !== null && field !== "contractSize" && !INSTANTS.has(field)) isEmpty = false;
      cut[INSTANTS.has(field) ? "times" : "fractions"] += value.cut ?? 0;
    }
    if (isEmpty) return { ok: false, problem: odd.join("; ") || "it has no value" };
    const quote = { ...NO_QUOTE, ...prices, extended: { ...NO_QUOTE.extended, ...extended } };
    return { ok: true, value: quote as Quote, cut, odd };
  };
}

/** Reads a time beside the row's own, which is written as the row's is. */
function createInstantReader(
  { columns, time }: QuoteCall,
  field: (typeof INSTANT_FIELDS)[number],
): (given: string) => ValueRead {
  const read = createWrittenReader(time);
  return (given) => {
    const at = read(given);
    if (at.ok) return at;
    return {
      ok: false,
      problem: `${columns[field] ?? field} is ${shown(given)}: ${at.problem}`,
      costsRow: false,
    };
  };
}

/** What a row says of a field, or what is wrong with that, and whether it costs the whole row. */
type ValueRead =
  { ok: true; value: string | null; cut?: number } | { ok: false; problem: string; costsRow: boolean };

/** Reads what rows say of a field: null where that stands for no value. Strikes are read as values are. */
export function createValueReader(
  call: NumberCall,
  field: NumberField | "strike",
): (given: string) => ValueRead {
  const read = numberReader(call, field);
  const isCount = isCountField(field);
  return (given) => {
    const value = read(given);
    if (value.ok) return { ok: true, value: value.value, ...(value.cut === true && { cut: 1 }) };
    const costsRow = !isCount && value.isNumber !== true;
    const problem = `${call.columns[field] ?? field} is ${shown(given)}: ${value.problem}`;
    return {
      ok: false,
      problem: value.isNumber === true ? `${problem}; ${MAY_BE_ABSENT}` : problem,
      costsRow,
    };
  };
}

function isCountField(field: CsvField): boolean {
  return INTEGER_FIELDS.some((count) => count === field);
}

const MAY_BE_ABSENT = "list it under `absent` of the map if it stands for no value";

function numberReader(call: NumberCall, field: NumberField | "strike"): (given: string) => NumberRead {
  const { scale = {}, wholePart = [] } = call;
  const kind = field === "strike" ? STRIKE : NUMBER_KINDS[field];
  const factor = scale[field];
  const isCut = CUT_FIELDS.some((count) => count === field && wholePart.includes(count));
  // A factor says all of the unit: maps have `0.01` for numbers that bear a percent sign.
  const written = factor !== undefined && kind.unit === "fraction" ? NUMBER_KINDS.pctChange : kind;
  return (given) => {
    if (factor === undefined && !isCut && call.decimal === "." && isPlainNumber(given, kind))
      return { ok: true, value: given };
    const parts = numberParts(given);
    if (parts === null) return heldNumber(given, kind);
    const digits = digitsOf(parts, call, UNITS[kind.unit].currency);
    if (!digits.ok) return digits;
    const bare = bareNumber({ ...parts, digits: digits.value }, written);
    if (typeof bare !== "string") return bare;
    if (factor === undefined && !isCut) return heldNumber(bare, kind);
    const read = readWritten(bare);
    if (!read.ok || read.value === null) return read;
    const scaled = factor === undefined ? read.value : scaledBy(read.value, factor);
    const [whole = "", fraction] = canonicalDecimal(scaled).split(".");
    return isCut
      ? { ...heldNumber(whole, kind), ...(fraction !== undefined && { cut: true }) }
      : heldNumber(scaled, kind);
  };
}

/** The powers of ten that a letter behind a number stands for. */
const POWERS: Readonly<Record<string, string>> = { K: "E3", M: "E6", B: "E9", T: "E12" };

const FOR_PEOPLE = /^([$€£¥]?)\s?(\d[\d.,]*|[.,]\d+)\s?([KMBT]?)$/u;

/** The digits with a point before the fraction and, with `numberSigns`, `45.33E6` for `$45.33M`. */
function digitsOf(
  { digits, isPercent }: NumberParts,
  { decimal, numberSigns }: NumberCall,
  mayBeCurrency: boolean,
): Cell<string> {
  const [, currency, number, letter = ""] = (numberSigns && !isPercent && FOR_PEOPLE.exec(digits)) || [];
  if (currency && !mayBeCurrency)
    return { ok: false, problem: `${shown(digits)} has a currency's sign, and the column holds none` };
  const text = number ?? digits;
  const pointed = decimal === "," ? withPoint(text) : text;
  if (pointed === null) return { ok: false, problem: "expected a number with a decimal comma" };
  return { ok: true, value: `${pointed}${POWERS[letter] ?? ""}` };
}

/** `1.234,56` as `1234.56`; null where a point is no separator of thousands. */
function withPoint(text: string): string | null {
  const plain = /^[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?$/u.test(text) ? text.replaceAll(".", "") : text;
  return plain.includes(".") ? null : plain.replace(",", ".");
}
