/** How a piece of a CSV file is to be read: kept beside it in the journal, so that nothing else is needed to read it. */
import { fieldNames } from "../quotes/fields.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { DayVolumes } from "./dayVolumes.ts";
import type { Ambiguous } from "./wallTime.ts";

/** What names the instrument of a row. */
export const NAME_FIELDS = [
  "symbol",
  "occ",
  "underlying",
  "root",
  "expiration",
  "type",
  "strike",
  "securityType",
  "exchange",
  "description",
] as const;

export const DECIMAL_FIELDS = fieldNames("decimal");

export const INTEGER_FIELDS = fieldNames("integer");

/** Times beside that of the row, written as the row's time is. */
export const INSTANT_FIELDS = fieldNames("instant");

/** Names of securities, of which a prefix and a suffix can be taken off. */
export const SYMBOL_FIELDS = ["symbol", "occ", "underlying"] as const;

/** Numbers, which can be multiplied. */
export const NUMBER_FIELDS = ["strike", ...DECIMAL_FIELDS, ...INTEGER_FIELDS] as const;

/** Counts of which a fraction can be cut off. */
export const CUT_FIELDS = ["bidSize", "askSize", "volume", "sessionVolume"] as const;

export type CsvField =
  | (typeof NAME_FIELDS)[number]
  | (typeof DECIMAL_FIELDS)[number]
  | (typeof INTEGER_FIELDS)[number]
  | (typeof INSTANT_FIELDS)[number]
  | "delayed";

/** What is taken off a name where it is there: the first of each that fits. */
export type Affixes = { prefix: string[]; suffix: string[] };

/** How a vendor's names of securities become those of the archive; each step goes on with what the one before has made. */
export type SymbolNames = {
  /** Whether names are put into capitals. */
  upper?: true;
  /** What stands between a stock and the letter of its class, where the archive has a point: `-` of `BRK-B`. */
  classMark?: string;
  /** Names that are others in the archive. */
  rename?: Record<string, string>;
};

/** How to read every piece of a file: all that a map says. */
export type CsvReading = Omit<CsvCall, "firstLine" | "rows" | "dayVolumes" | "replaces">;

/** A column: its name in the header, or its number, from 1 on. */
export type CsvColumn = string | number;

/** Where an import of CSV stands in place of a call. Plain JSON. */
export type CsvCall = {
  form: "csv";
  file: string;
  /** The line of the file, from 1 on, at which the first row of the piece begins. */
  firstLine: number;
  rows: number;
  /** Of rows that do not say it themselves. */
  delayed: boolean;
  /** Whether the body begins with the file's header line. */
  header: boolean;
  delimiter: string;
  encoding: "utf-8" | "windows-1252";
  /** What stands before the fraction. */
  decimal: "." | ",";
  /** Further texts that stand for no value. */
  absent: string[];
  columns: Partial<Record<CsvField, CsvColumn>>;
  constants: Partial<Record<CsvField, string>>;
  time: {
    /** Columns that make the time, joined by a space. */
    columns: CsvColumn[];
    /** `iso`, `excel`, a unit since 1970, or a pattern. */
    format: string;
    /** Of times without their offset; null where each has its own. */
    timezone: string | null;
    ambiguous: Ambiguous;
    /** Follows what the columns say, after a space: a time of day for files that have dates alone. */
    constant?: string;
    /** When the values were known, as the map says it (knownAt.ts). Absent: at the time itself. */
    knownAt?: string;
    /** With `knownAt`: days that differ from the exchange's rules. Absent: none. */
    calendar?: CalendarOverride[];
  };
  /** `iso`, `excel` or a pattern. */
  expirationFormat: string;
  /** Whether an apostrophe before a formula belongs to the text (`exact` in cell.ts). Absent: it does not. */
  raw?: true;
  strip?: Partial<Record<(typeof SYMBOL_FIELDS)[number], Affixes>>;
  /** What numbers are multiplied by, decimals. */
  scale?: Partial<Record<(typeof NUMBER_FIELDS)[number], string>>;
  /** Counts of which the fraction is cut off. */
  wholePart?: (typeof CUT_FIELDS)[number][];
  symbols?: SymbolNames;
  /** Whether its rows take the place of earlier ones that say something else (`backfill --csv --replace`). Absent: they do not. */
  replace?: true;
  /** Whether numbers may have the sign of a currency before them, and K, M, B or T behind. */
  numberSigns?: true;
  /** Whose the volume of a row is: its bar's own. Absent: the day's, so far. */
  volumeOf?: "bar";
  /** With `volumeOf`: what the rows before the piece have come to. */
  dayVolumes?: DayVolumes;
  /** With `replace`: the rows of the piece, each by its time and the name of its instrument. */
  replaces?: string[];
};

/** Units since 1970 in which times may be given, in microseconds each; of `ns` three digits are cut, which `cut` says. */
export const EPOCH_UNITS: Readonly<Record<string, { scale: bigint; divisor: bigint }>> = {
  s: { scale: 1_000_000n, divisor: 1n },
  ms: { scale: 1_000n, divisor: 1n },
  us: { scale: 1n, divisor: 1n },
  ns: { scale: 1n, divisor: 1_000n },
};

/** Whether a record's request is one. */
export function isCsvCall(request: unknown): request is CsvCall {
  return (request as { form?: unknown } | null | undefined)?.form === "csv";
}
