/** Columns of an export as Parquet has them: the schema, and each value from PostgreSQL's text. */
import type { SchemaElement } from "hyparquet-writer";
import type { ExportColumn } from "../archive/export/columns.ts";
import { COMMON_DECIMAL, type DecimalType, scaledDecimal } from "./parquetDecimal.ts";

/** Types of the decimal columns that need more than the common one, by column. */
export type DecimalTypes = Readonly<Record<string, DecimalType>>;

/** Columns that are quotients: PostgreSQL gives those of small numbers up to twenty-four places. */
export const QUOTIENTS: DecimalTypes = { mean_spread: { precision: 38, scale: 24 } };

/** What Parquet's writer takes. */
export type ParquetValue = bigint | number | string | boolean | null;

/** Digits that fit into eight bytes; wider decimals take sixteen. */
const INT64_DIGITS = 18;

const DECIMAL_BYTES = 16;

/** The type of a decimal column. */
export function decimalTypeOf(name: string, types: DecimalTypes): DecimalType {
  return types[name] ?? COMMON_DECIMAL;
}

/** The schema of a file, its root first. */
export function parquetSchema(columns: readonly ExportColumn[], types: DecimalTypes): SchemaElement[] {
  return [
    { name: "quotekeeper", num_children: columns.length },
    ...columns.map((column): SchemaElement => ({
      name: column.name,
      repetition_type: column.nullable ? "OPTIONAL" : "REQUIRED",
      ...physical(column, types),
    })),
  ];
}

function physical({ name, kind }: ExportColumn, types: DecimalTypes): Partial<SchemaElement> {
  switch (kind) {
    case "time":
      return {
        type: "INT64",
        converted_type: "TIMESTAMP_MICROS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
      };
    case "date":
      return { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } };
    case "boolean":
      return { type: "BOOLEAN" };
    case "integer":
      return { type: "INT32" };
    case "bigint":
      return { type: "INT64" };
    case "text":
      return { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
    case "decimal": {
      const { precision, scale } = decimalTypeOf(name, types);
      const width =
        precision <= INT64_DIGITS
          ? { type: "INT64" as const }
          : { type: "FIXED_LEN_BYTE_ARRAY" as const, type_length: DECIMAL_BYTES };
      return {
        ...width,
        ...{ converted_type: "DECIMAL", precision, scale },
        logical_type: { type: "DECIMAL", precision, scale },
      };
    }
  }
}

/** What people call the type of a column, in SQL's words. */
export function sqlTypeOf({ name, kind }: ExportColumn, types: DecimalTypes): string {
  switch (kind) {
    case "time":
      return "TIMESTAMP WITH TIME ZONE";
    case "integer":
      return "INTEGER";
    case "text":
      return "VARCHAR";
    case "decimal": {
      const { precision, scale } = decimalTypeOf(name, types);
      return `DECIMAL(${precision},${scale})`;
    }
    default:
      return kind.toUpperCase();
  }
}

/**
 * How a column's values are made of PostgreSQL's text.
 *
 * @returns a function that gives undefined for a decimal that does not fit its type
 */
export function valueReader(
  { name, kind }: ExportColumn,
  types: DecimalTypes,
): (text: string) => ParquetValue | undefined {
  switch (kind) {
    case "time":
      return createTimeReader();
    case "date":
      return (text) => Date.parse(`${text}T00:00:00Z`) / MS_PER_DAY;
    case "boolean":
      return (text) => text === "t";
    case "integer":
      return Number;
    case "bigint":
      return BigInt;
    case "text":
      return (text) => text;
    case "decimal": {
      const type = decimalTypeOf(name, types);
      return (text) => scaledDecimal(text, type) ?? undefined;
    }
  }
}

const MS_PER_DAY = 86_400_000;

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\+00$/;

/** Microseconds since 1970 of `2026-11-20 22:50:00.123456+00`. Rows of a file are mostly of one date. */
function createTimeReader(): (text: string) => bigint {
  let date = "";
  let dateMs = 0;
  return (text) => {
    const match = TIME.exec(text);
    if (!match) throw new RangeError(`"${text}" is no time of the years 0001 to 9999 in UTC`);
    const [, day = "", hour, minute, second, fraction = ""] = match;
    if (day !== date) [date, dateMs] = [day, Date.parse(`${day}T00:00:00Z`)];
    const seconds = dateMs / 1_000 + Number(hour) * 3_600 + Number(minute) * 60 + Number(second);
    return BigInt(seconds) * 1_000_000n + BigInt(Number(fraction.padEnd(6, "0")));
  };
}
