/** Prints JSON. `docs/json.md` promises the schema: a value that differs from the schema does not compile. */
import type { z } from "zod";
import type { Sink } from "../../ground/edges.ts";

export function printJson<S extends z.ZodType>(stdout: Sink, _schema: S, value: z.input<S>): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** One document on one line, for output of many documents. */
export function printJsonLine<S extends z.ZodType>(stdout: Sink, _schema: S, value: z.input<S>): void {
  stdout.write(`${JSON.stringify(value)}\n`);
}
