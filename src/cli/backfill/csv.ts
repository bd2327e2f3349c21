/** `quotekeeper backfill --csv`: tables of quotes, as they are or by a map; and, with `--parquet` too, exports. */
import { basename, extname, resolve } from "node:path";
import type pg from "pg";
import { readKnownPieces, timesBehind } from "../../archive/refill/knownPieces.ts";
import type { BackfillReport } from "../../archive/refill/backfillReport.ts";
import { cutPieces } from "../../backfill/csv/pieces.ts";
import { exportPieces } from "../../backfill/exported/exportPieces.ts";
import { openExport } from "../../backfill/exported/openExport.ts";
import { EXPORT_SOURCE } from "../../read/exportCall.ts";
import { readRows, sizeOf, type TableRows } from "../../backfill/csv/readRows.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import { createObserver } from "../../ground/clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { counted } from "../../ground/figures.ts";
import type { TimeRange } from "../../journal/record.ts";
import { isDirectory } from "../../ground/plainFiles.ts";
import { createRowReader } from "../../read/plainRows.ts";
import { columnProblems, splitHeader } from "../../read/plainTable.ts";
import type { RawRow } from "../../read/splitRows.ts";
import type { Edges } from "../../ground/edges.ts";
import { importFile } from "./importing.ts";
import { openMap } from "./map.ts";
import type { CommonRequest } from "./report.ts";

type CsvRequest = CommonRequest &
  TimeRange & {
    files: readonly string[];
    /** Null: the files have the columns of the archive. */
    map: string | null;
    /** The source's name in the archive; null: what the map says, or the name of the file or of the map, without its ending. */
    name: string | null;
    replace: boolean;
  };

/** @returns 0; 1 when a row could not be stored */
export async function backfillCsv(config: Config, edges: Edges, request: CsvRequest): Promise<number> {
  const { from, to, dryRun, printJson, replace } = request;
  const files = request.files.map((file) => resolve(edges.directory, file));
  const [first = ""] = files;
  if (await isDirectory(first).catch(() => false))
    return backfillDirectory(config, edges, { ...request, directory: first });
  const map =
    request.map === null ? null : await openMap(config, edges, resolve(edges.directory, request.map));
  if (map === null && files.length > 1 && request.name === null)
    throw new QuotekeeperError("USAGE", "several files need --name: it is the source of all their rows");
  const name = request.name ?? map?.source ?? sourceName(map?.file ?? first);
  const sizes = await Promise.all(files.map((file) => sizeOf(file)));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const range = isWithin({ from, to, isMapped: map !== null });
  const read = async function* (pool: pg.Pool | null, signal: AbortSignal): AsyncGenerator<PieceBatch, void> {
    const known = await readKnownPieces(pool, name, "plain");
    const observe = timesBehind(known, createObserver(edges.clock));
    const cut = {
      name,
      replace,
      known,
      observe,
      wanted: range?.wanted ?? null,
      isMapped: map !== null,
    };
    let [pieces, before] = [0, 0];
    const tables =
      map === null
        ? files.map((file) => ({ file, rows: readRows(file) }))
        : [{ file: map.file, rows: map.rowsOf(files, signal) }];
    for (const [place, { file, rows }] of tables.entries()) {
      const checked = requireColumns(rows, { file, isMapped: map !== null });
      for await (const batch of cutPieces({ ...cut, file: basename(file) }, checked)) {
        pieces += batch.pieces.length;
        yield { ...batch, done: before + batch.done };
      }
      before += sizes[place] ?? 0;
    }
    if (pieces === 0 && (range?.outside() ?? 0) === 0)
      throw new QuotekeeperError("BACKFILL_NOTHING", `${files.join(", ")}: there is no row`);
  };
  const asked = { kind: "csv" as const, files, map: map?.sql ?? null, name, replace, from, to };
  const remarksOf = ({ cutTimes }: BackfillReport): string[] => [
    `Source    ${name}, of kind import`,
    ...(cutTimes > 0
      ? [
          `Cut       ${counted(cutTimes, "time")} to microseconds: what they say beyond that is in the journal`,
        ]
      : []),
    ...(range && range.outside() > 0
      ? [`Outside   ${counted(range.outside(), "row")} outside --from and --to`]
      : []),
  ];
  const shown = { config, edges, title: "reading rows", printJson, remarksOf };
  return importFile(shown, { asked, name, dryRun, total, read });
}

/** `quotes` of `quotes.csv.gz`. */
function sourceName(file: string): string {
  const packed = basename(file).replace(/\.gz$/iu, "");
  return basename(packed, extname(packed));
}

/**
 * @throws QuotekeeperError BACKFILL_COLUMNS, of a map BACKFILL_MAP_INVALID, for a table without what each row needs, or with a
 *   column that nobody knows
 */
async function* requireColumns(
  rows: AsyncIterable<TableRows>,
  { file, isMapped }: { file: string; isMapped: boolean },
): AsyncGenerator<TableRows, void> {
  let isRead = false;
  for await (const some of rows) {
    const columns = splitHeader(some.header);
    // What a map's engine has refused comes behind the map's own table.
    const problems = isRead || columns.includes("refused") ? [] : columnProblems(columns, isMapped);
    if (problems.length > 0)
      throw isMapped
        ? new QuotekeeperError("BACKFILL_MAP_INVALID", `${file}: its columns do not fit`, { problems })
        : new QuotekeeperError("BACKFILL_COLUMNS", `${file}: its first line does not fit`, { problems });
    isRead = true;
    yield some;
  }
}

function backfillDirectory(
  config: Config,
  edges: Edges,
  { files, map, name, replace, from, to, dryRun, printJson, directory }: CsvRequest & { directory: string },
): Promise<number> {
  const given = Object.entries({ map, name, replace, from, to }).find(
    ([, value]) => value !== null && value !== false,
  );
  if (given !== undefined)
    throw new QuotekeeperError(
      "USAGE",
      `--${given[0]} does not go with --csv and a directory, which is an export's`,
    );
  if (files.length > 1) throw new QuotekeeperError("USAGE", "give one directory of an export at a time");
  return backfillExported(config, edges, { format: "csv", directory, dryRun, printJson });
}

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

/** Whether a row's time is in the range. A row without a readable time counts as in it, so that it is reported. */
function isWithin({ from, to, isMapped }: TimeRange & { isMapped: boolean }) {
  if (from === null && to === null) return null;
  let below: Buffer | null = null;
  let readRow: ReturnType<typeof createRowReader> | null = null;
  let outside = 0;
  return {
    outside: () => outside,
    wanted: (row: RawRow, header: Buffer): boolean => {
      if (header !== below)
        readRow = createRowReader(splitHeader(header), { file: "", firstLine: isMapped ? null : 1 });
      below = header;
      const found = readRow?.(row).found;
      const at = found?.ok === true ? found.unit.observedAt : null;
      const is = at === null || ((from === null || at >= from) && (to === null || at < to));
      if (!is) outside += 1;
      return is;
    },
  };
}
