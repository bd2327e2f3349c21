/** How a route of the API is added, and what its query is made of. */
import { z } from "zod";

/** Adds a route whose answer is JSON, unless it is a `CsvFile`. `schema` null: it takes no query. */
export type Get = <Schema extends z.ZodType>(
  path: string,
  schema: Schema | null,
  answer: (query: z.infer<Schema>) => Promise<unknown>,
) => void;

export const date = z.iso.date();

export const id = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);

/** Yes or no; without it no. */
export const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((text) => text === "true");

/** Name of an instrument, a job or a reason. PostgreSQL has no text with a NUL in it, and no name has any other control character. */
export const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "expected no control characters");

/** Whether a time is no longer than so many days. */
export const isWithin =
  (days: number) =>
  ({ from, to }: { from: string; to: string }): boolean =>
    Date.parse(to) - Date.parse(from) <= days * 86_400_000;
