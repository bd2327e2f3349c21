/** `quotekeeper backfill --parquet`, and `--csv` with a directory: imports an export. */
import type pg from "pg";
import { EXPORT_SOURCE } from "../../read/exportCall.ts";
import { exportPieces } from "../../backfill/exported/exportPieces.ts";
import { openExport } from "../../backfill/exported/openExport.ts";
import { readKnownPieces, timesBehind } from "../../archive/refill/knownPieces.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { createObserver } from "../../ground/clock.ts";
import type { Edges } from "../../ground/edges.ts";
import { importFile } from "./importing.ts";
import type { CommonRequest } from "./report.ts";

type ExportedRequest = CommonRequest & {
  format: "parquet" | "csv";
  directory: string;
};

/** @returns 0; 1 when a row could not be stored */
export async function backfillExported(
  config: Config,
  edges: Edges,
  { format, directory, dryRun, printJson }: ExportedRequest,
): Promise<number> {
  const opened = await openExport(directory, format);
  const { total, manifest } = opened;
  const { name } = EXPORT_SOURCE;
  const read = async function* (pool: pg.Pool | null): AsyncGenerator<PieceBatch, void> {
    const known = await readKnownPieces(pool, name, "export");
    yield* exportPieces(opened, { known, observe: timesBehind(known, createObserver(edges.clock)) });
  };
  const asked = { kind: format, directory, writtenAt: manifest.writtenAt };
  const remarks = [`Export    of ${manifest.writtenAt}, by ${manifest.program}; its rows keep their sources`];
  const shown = { config, edges, title: "reading an export", printJson, remarksOf: () => remarks };
  return importFile(shown, { asked, name, dryRun, total, read });
}
