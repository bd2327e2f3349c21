/** `manifest.json`, the last file of an export: what it holds, and how to know that it is whole. */
import { z } from "zod";
import { parsedJson } from "../../ground/outsideText.ts";

/** Its name in the export's directory. */
export const MANIFEST = "manifest.json";

const FORMAT = "quotekeeper-export";

const file = z.object({
  path: z.string().describe("below the export's directory, with /"),
  date: z
    .string()
    .nullable()
    .describe("exchange date of its rows; null where the table is not cut into days"),
  rows: z.number().int(),
  bytes: z.number().int(),
  sha256: z.string().length(64),
});

const table = z.object({
  name: z.string(),
  rows: z.number().int(),
  columns: z.array(
    z.object({ name: z.string(), type: z.string().describe("in SQL's words"), nullable: z.boolean() }),
  ),
  files: z.array(file),
});

export const manifestSchema = z.object({
  kind: z.literal(FORMAT),
  version: z.literal(1),
  program: z.string().describe("quotekeeper and its version"),
  writtenAt: z.string().describe("UTC"),
  format: z.enum(["parquet", "csv"]),
  raw: z.boolean().describe("whether texts of CSV are exact; if not, see docs/export.md, CSV"),
  from: z.string().nullable().describe("first exchange date that was asked for"),
  to: z.string().nullable().describe("last exchange date that was asked for"),
  symbols: z.array(z.string()).nullable().describe("symbols that were asked for; null: all"),
  tables: z.array(table),
});

export type Manifest = z.infer<typeof manifestSchema>;

export type ExportedTable = z.infer<typeof table>;

export type ExportedFile = z.infer<typeof file>;

/** The fixed part of a manifest. */
export const MANIFEST_KIND = { kind: FORMAT, version: 1 } as const;

/** Whether a text is a manifest of this program, of any version. */
export function isManifest(text: string): boolean {
  return (parsedJson(text) as { kind?: unknown } | null)?.kind === FORMAT;
}
