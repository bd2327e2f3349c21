/** Instruments and their descriptions as parallel arrays, for unnest. */
import type { InstrumentRow } from "../../read/rowTypes.ts";
import type { instruments } from "../schema/schema.ts";
import { clean } from "../schema/tableRows.ts";
import { DESCRIBED, saidOf, type SeenInstrument } from "./seen.ts";

type InstrumentField = keyof InstrumentRow & keyof typeof instruments.$inferSelect;

export const IDENTITY = [
  "securityType",
  "symbol",
  "expiration",
  "optionType",
  "strike",
  "root",
] as const satisfies readonly InstrumentField[];

export function instrumentColumns(
  rows: readonly InstrumentRow[],
  fields: readonly InstrumentField[] = IDENTITY,
): (string | null)[][] {
  return fields.map((field) => rows.map((row) => clean(row[field])));
}

/** What is said of instruments, and when each word of it was said last: names and types of parallel arrays. */
export const DESCRIPTION =
  "exchange, description, contract_size, exchange_at, description_at, contract_size_at";

/** The types of these arrays as parameters. @param from the number of the first */
export function descriptionTypes(from: number): string {
  const types = ["text[]", "text[]", "bigint[]", "timestamptz[]", "timestamptz[]", "timestamptz[]"];
  return types.map((type, place) => `$${from + place}::${type}`).join(", ");
}

export function descriptions(seen: readonly SeenInstrument[]): (string | null)[][] {
  return [
    ...instrumentColumns(
      seen.map(({ row }) => row),
      DESCRIBED,
    ),
    ...DESCRIBED.map((field) => seen.map((entry) => saidOf(field, entry))),
  ];
}

export const WORDS = DESCRIPTION.split(", ").slice(0, DESCRIBED.length);

/** The security `u` of which something holds. Of several types one that is said goes first, then the first by its letters. */
export function securityOf(which: string): string {
  return `(select u.id from instruments u where ${which} and u.option_type is null
     order by u.symbol collate "C", u.type_assumed, u.security_type collate "C" limit 1)`;
}
