/** `manifest.json`, the last file of an export: what it holds, and how to know that it is whole. */
import { z } from "zod";
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { isRetryable } from "../archive/connect/databaseError.ts";
import { QuotekeeperError } from "../errors.ts";

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
  try {
    return (JSON.parse(text) as { kind?: unknown } | null)?.kind === FORMAT;
  } catch {
    return false;
  }
}

/** Writes it, and puts it on the disk. */
export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  const written = await createHashedFile(path);
  try {
    await written.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
    await written.finish();
  } finally {
    await written.abandon();
  }
}

// A new file whose bytes are hashed as they are written, and are on the disk when it is closed.

/** What a finished file is. */
export type FileFacts = { bytes: number; sha256: string };

/** A file being written. */
export type HashedFile = {
  /** Resolves when the bytes are written. They may be reused afterwards. */
  write: (bytes: Uint8Array) => Promise<void>;
  /** Puts it on the disk. */
  finish: () => Promise<FileFacts>;
  /** Closes the file as it is. May be called after `finish`. */
  abandon: () => Promise<void>;
};

/** @throws the error of the file system; also when there is such a file already */
export async function createHashedFile(path: string): Promise<HashedFile> {
  const file = await open(path, "wx");
  const hash = createHash("sha256");
  let bytes = 0;
  let isOpen = true;
  return {
    write: async (piece) => {
      hash.update(piece);
      let done = 0;
      while (done < piece.length) done += (await file.write(piece, done, piece.length - done)).bytesWritten;
      bytes += piece.length;
    },
    finish: async () => {
      await file.sync();
      await file.close();
      isOpen = false;
      return { bytes, sha256: hash.digest("hex") };
    },
    abandon: async () => {
      if (isOpen) await file.close().catch(() => undefined);
      isOpen = false;
    },
  };
}

/**
 * Names the directory in errors of writing. Errors of the file system carry the operation that failed, as those of a broken
 * connection do; the database's own do not.
 */
export function namingWrites(
  out: string,
  code: "EXPORT_WRITE_FAILED" | "LAKE_WRITE_FAILED" = "EXPORT_WRITE_FAILED",
): (error: unknown) => never {
  return (error) => {
    const { syscall, code: reason, message } = error as NodeJS.ErrnoException;
    if (error instanceof QuotekeeperError || syscall === undefined || isRetryable(error)) throw error;
    throw new QuotekeeperError(code, `${out}: ${reason ?? message}`, { cause: error });
  };
}
