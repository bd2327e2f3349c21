/** What became of a lake: `quotekeeper lake`, `lake verify` and `lake restore` print it with `--json`. */
import { z } from "zod";

const count = z.int().nonnegative();
const date = z.iso.date();
const period = { from: z.string(), to: z.string() };

const missing = z.array(date);

const written = z.strictObject({
  written: z.array(date),
  rewritten: z.array(date),
  kept: z.array(date),
  waiting: z.array(date),
  missing,
  leftOut: z.array(
    z.strictObject({
      date: date.nullable(),
      table: z.string(),
      why: z.string(),
    }),
  ),
  files: count,
  rows: count,
  bytes: count,
  through: date.nullable(),
});

const dropped = z.strictObject({
  dropped: z.array(z.strictObject({ ...period, quotes: count })),
  notDropped: z.array(z.strictObject({ ...period, why: z.string() })),
});

const verified = z.strictObject({
  dates: count,
  files: count,
  rows: count,
  bytes: count,
  unfinished: z.array(date),
  faults: z.array(z.strictObject({ path: z.string(), what: z.string() })),
});

const restored = z.strictObject({
  dates: z.array(date),
  missing,
  rows: z.strictObject({ quotes: count, extended_quotes: count }),
});

export type LakeReport = z.infer<typeof written>;
export type DropReport = z.infer<typeof dropped>;
export type VerifyReport = z.infer<typeof verified>;
export type RestoreReport = z.infer<typeof restored>;

const out = z.string();

export const lakeJson = z.strictObject({ out, ...written.shape, ...dropped.shape });
export const lakeVerifyJson = z.strictObject({ out, ...verified.shape });
export const lakeRestoreJson = z.strictObject({ out, ...restored.shape });
