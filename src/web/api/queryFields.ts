/** What queries of the API are made of. */
import { z } from "zod";

/** An exchange date. */
export const date = z.iso.date();

/** Number of an instrument or a source. */
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

/** Name of an instrument. PostgreSQL has no text with a NUL in it, and no name has any other control character. */
export const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "expected no control characters");
