/**
 * The columns of Drizzle's tables. `numeric`, `bigint` and times are text: a float would lose digits, a Date microseconds.
 */
import { customType, date, numeric, smallint, timestamp } from "drizzle-orm/pg-core";
import { jsonText } from "../../ground/outsideText.ts";
import type { Field } from "../../quotes/fields.ts";

/** A time, as text with its microseconds. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "string" });

export const bigintText = customType<{ data: string; driverData: string }>({ dataType: () => "bigint" });

/** A value as JSON. Its texts may be of outside. */
export const jsonb = customType<{ data: unknown; driverData: string }>({
  dataType: () => "jsonb",
  toDriver: jsonText,
});

export const transactionText = customType<{ data: string; driverData: string }>({ dataType: () => "xid8" });

export const day = (name: string) => date(name, { mode: "string" });

const columnOf = {
  decimal: (name: string) => numeric(name),
  integer: (name: string) => bigintText(name),
  instant,
  date: day,
};

/** A column for each field of a quote. */
export function numberColumns<F extends Field>(fields: readonly F[]) {
  type Columns = { [One in F as One["name"]]: ReturnType<(typeof columnOf)[One["type"]]> };
  return Object.fromEntries(
    fields.map(({ name, type, column }) => [name, columnOf[type](column)]),
  ) as Columns;
}

/** Which account a row is of: a share of a slot, or an answer. */
export const accountId = () => smallint("account_id").notNull().default(1);
