/** How a route of the API is added, and what its query is made of. */
import type { FastifyReply } from "fastify";
import { z } from "zod";

/** Adds a route whose answer is JSON, unless it says otherwise by the reply. `schema` null: it takes no query. */
export type Get = <Schema extends z.ZodType>(
  path: string,
  schema: Schema | null,
  answer: (query: z.infer<Schema>, reply: FastifyReply) => Promise<unknown>,
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
