/** The query strings of the API, one schema each. */
import { z } from "zod";

const date = z.iso.date();
const id = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((text) => text === "true");
// PostgreSQL has no text with a NUL in it, and no name has any other control character.
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "expected no control characters");

/** Which bars. */
export const barsQuery = z.object({
  instrument: id.describe("id of the instrument"),
  source: id.describe("id of the source"),
  delayed: flag,
  interval: z.enum(["1m", "5m", "1h", "1d"]).default("1m"),
  sessions: z.coerce.number().int().min(1).max(10_000).default(1),
});

/** Which chain, and when. */
export const chainQuery = z.object({
  symbol: name,
  expiration: date,
  source: id,
  delayed: flag,
  at: z.iso.datetime({ offset: true }).optional(),
});

/** Coverage of the exchange dates from one to another. */
export const coverageQuery = z
  .object({ from: date, to: date })
  .refine(({ from, to }) => from <= to, "from is later than to")
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= 400 * 86_400_000,
    "expected at most 400 days",
  );

/** Which cell of the coverage. */
export const missesQuery = z.object({
  date,
  instrument: name,
  source: z.enum(["account", "simulated", "import"]),
});
