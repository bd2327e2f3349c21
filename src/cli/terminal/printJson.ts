/** JSON on stdout. The schema is what `docs/json.md` promises: a value that differs from it does not compile. */
import type { z } from "zod";
import type { Sink } from "../../run/edges.ts";

/** One document, indented. */
export function printJson<S extends z.ZodType>(stdout: Sink, _schema: S, value: z.input<S>): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** One document on one line, for output that goes on. */
export function printJsonLine<S extends z.ZodType>(stdout: Sink, _schema: S, value: z.input<S>): void {
  stdout.write(`${JSON.stringify(value)}\n`);
}
