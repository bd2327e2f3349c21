/** Opens an export for import: reads the manifest, and proves that every needed file is as the manifest says. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import {
  type ExportedFile,
  type ExportedTable,
  type Manifest,
  MANIFEST,
  manifestSchema,
} from "../../files/export/manifest.ts";
import { requireParquet } from "../../files/tables/readParquet.ts";
import { parsedJson } from "../../ground/outsideText.ts";
import { openFile, readTextFile } from "../../ground/plainFiles.ts";

/** The tables that are imported. Others are made from them, or belong to the ledger. */
const TAKEN_BACK = ["sources", "instruments", "quotes", "extended_quotes", "dividends"] as const;

export type TakenBack = (typeof TAKEN_BACK)[number];

/** An export whose files are what its manifest says. */
export type OpenedExport = {
  dir: string;
  manifest: Manifest;
  tables: Record<TakenBack, ExportedTable>;
  total: number;
};

/** Where `export` puts a file; other paths of a manifest are refused. */
const OWN_PATH = /^[a-z_]+\/(?:date=\d{4}-\d\d-\d\d\/)?[a-z_]+\.(?:parquet|csv)$/u;

/**
 * @param format what the export has to be
 * @throws QuotekeeperError BACKFILL_EXPORT_INVALID, naming what is wrong; BACKFILL_NOTHING when there is no such directory
 */
export async function openExport(dir: string, format: Manifest["format"]): Promise<OpenedExport> {
  const manifest = await readManifest(dir);
  if (manifest.format !== format)
    throw invalid(`${dir} is an export in ${manifest.format}: give it to --${manifest.format}`);
  const found = TAKEN_BACK.map(
    (name) => [name, manifest.tables.find((table) => table.name === name)] as const,
  );
  const missing = found.flatMap(([name, table]) => (table === undefined ? [name] : []));
  if (missing.length > 0)
    throw invalid(
      `${dir} holds no ${missing.join(", ")}: only an export of ${TAKEN_BACK.join(", ")} is taken back`,
    );
  const tables = Object.fromEntries(found) as OpenedExport["tables"];
  const files = TAKEN_BACK.flatMap((name) => tables[name].files);
  for (const file of files) {
    await verify(dir, file);
    if (format === "parquet") await requireParquet(join(dir, file.path), file.rows).catch(asInvalid);
  }
  return { dir, manifest, tables, total: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

async function readManifest(dir: string): Promise<Manifest> {
  const path = join(dir, MANIFEST);
  const text = await readTextFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new QuotekeeperError(
      "BACKFILL_NOTHING",
      `${path} cannot be read (${cause.code}): every export has one`,
      {
        cause,
      },
    );
  });
  const read = manifestSchema.safeParse(parsedJson(text));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalid(
    `${path} is no manifest of an export: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`,
  );
}

async function verify(dir: string, { path, sha256 }: ExportedFile): Promise<void> {
  if (!OWN_PATH.test(path))
    throw invalid(`${join(dir, MANIFEST)} names ${path}, which is no file of an export`);
  const hash = createHash("sha256");
  try {
    const file = await openFile(join(dir, path), { links: false });
    for await (const chunk of file.createReadStream()) hash.update(chunk as Buffer);
  } catch (cause) {
    throw invalid(`${join(dir, path)} cannot be read (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
  if (hash.digest("hex") !== sha256)
    throw invalid(`${join(dir, path)} is not what the manifest says: its SHA-256 differs`);
}

function asInvalid(error: unknown): never {
  throw error instanceof QuotekeeperError ? invalid(error.detail, error) : error;
}

export function invalid(detail: string, cause?: unknown): QuotekeeperError {
  return new QuotekeeperError("BACKFILL_EXPORT_INVALID", detail, { cause });
}
