/** `quotekeeper backfill --parquet`, and `--csv` with a directory: imports an export. */
import type pg from "pg";
import { EXPORT_SOURCE } from "../../read/exportCall.ts";
import { exportPieces } from "../../backfill/exported/exportPieces.ts";
import { openExport } from "../../backfill/exported/openExport.ts";
import { readKnownPieces, timesBehind } from "../../archive/refill/knownPieces.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { createObserver } from "../../clock.ts";
import type { Edges } from "../../run/edges.ts";
import { backfilling } from "./display.ts";
import { runImport } from "./importing.ts";
import { type CommonRequest, printReport } from "./report.ts";

type ExportedRequest = CommonRequest & {
  format: "parquet" | "csv";
  directory: string;
};

/** @returns 0; 1 when a row could not be stored */
export async function backfillExported(
  config: Config,
  edges: Edges,
  { format, directory, dryRun, json }: ExportedRequest,
): Promise<number> {
  const opened = await openExport(directory, format);
  const { total, manifest } = opened;
  const { name } = EXPORT_SOURCE;
  const read = async function* ([pool]: readonly pg.Pool[]): AsyncGenerator<PieceBatch, void> {
    const known = pool === undefined ? new Map() : await readKnownPieces(pool, name, "export");
    yield* exportPieces(opened, { known, observe: timesBehind(known, createObserver(edges.clock)) });
  };
  const asked = { kind: format, directory, writtenAt: manifest.writtenAt };
  const { resumed, report } = await backfilling({ config, edges, title: "reading an export" }, (backfill) =>
    runImport(backfill, { asked, name, dryRun, total, read }),
  );
  const remarks = [`Export    of ${manifest.writtenAt}, by ${manifest.program}; its rows keep their sources`];
  printReport(edges, { kind: format, dryRun, resumed, report, remarks }, json);
  return report.deadLetters.length > 0 ? 1 : 0;
}
