/** The kinds of value that the JSON output is made of. */
import { z } from "zod";

/** A time in UTC, ISO 8601, with milliseconds or microseconds. */
export const instant = z.iso.datetime();

/** A day of the exchange, `YYYY-MM-DD`. */
export const exchangeDay = z.iso.date();

export const count = z.int().nonnegative();

/** A price or a count as decimal text, digit by digit as the service sent it. */
export const decimalText = z.string().regex(/^-?\d+(\.\d+)?$/);

export const countsByName = z.record(z.string(), count);

/** A `Date`, which JSON writes as a time in UTC with milliseconds. */
export const date = z.union([z.date(), instant]);

/** How a database stores the archive (`Tier`). */
export const storageTier = z.strictObject({
  name: z.enum(["plain", "apache", "community", "citus"]),
  postgres: z.string(),
  timescaledb: z.string().nullable(),
  citus: z.strictObject({ version: z.string(), workers: count }).nullable(),
  canMove: z.boolean(),
});
