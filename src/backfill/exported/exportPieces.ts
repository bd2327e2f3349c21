/**
 * Cuts an export into pieces for the journal. A piece names instruments and sources by their keys, not by their numbers,
 * because another archive may number them otherwise.
 */
import { join } from "node:path";
import { pipeline } from "node:stream";
import { parse } from "csv-parse";
import {
  bodyOfRows,
  type ExportCall,
  PIECE_COLUMNS,
  type PieceRow,
  type PieceTable,
} from "../../read/exportCall.ts";
import type { Instant } from "../../ground/clock.ts";
import { type Piece, type PieceBatch, uuidOf, hashOf } from "../files/piece.ts";
import type { KnownPiece } from "../../archive/refill/knownPieces.ts";
import { parquetRows } from "../../files/tables/readParquet.ts";
import { exact } from "../../read/formula.ts";
import type { ExportedTable } from "../../files/export/manifest.ts";
import { openFile } from "../../ground/plainFiles.ts";
import { invalid, type OpenedExport, type TakenBack } from "./openExport.ts";

/** Most rows of a piece, and most pieces that are loaded together. */
const PIECE_ROWS = 1_000;
const BATCH_PIECES = 5;

/** Rows of one table, and how many bytes of the export were read so far. */
type TableRows = { table: PieceTable; rows: PieceRow[]; doing: string; done: number };

type PieceOptions = {
  known: Map<string, KnownPiece>;
  /** The time of a new piece; later at each call. */
  observe: () => Instant;
};

/** @throws QuotekeeperError BACKFILL_EXPORT_INVALID for rows that do not belong together */
export async function* exportPieces(
  opened: OpenedExport,
  options: PieceOptions,
): AsyncGenerator<PieceBatch, void> {
  let batch: PieceBatch = { pieces: [], doing: "", done: 0 };
  for await (const { table, rows, doing, done } of inPieces(allRows(opened))) {
    batch = { pieces: [...batch.pieces, pieceOf(table, rows, options)], doing, done };
    if (batch.pieces.length < BATCH_PIECES) continue;
    yield batch;
    batch = { ...batch, pieces: [] };
  }
  yield { ...batch, done: opened.total };
}

function pieceOf(table: PieceTable, rows: readonly PieceRow[], { known, observe }: PieceOptions): Piece {
  const body = bodyOfRows(table, rows);
  const requestId = uuidOf(hashOf(["export", table, body]));
  const found = known.get(requestId);
  const observedAt = found?.observedAt ?? observe();
  if (found === undefined) known.set(requestId, { observedAt, segment: "", rows: rows.length });
  const request: ExportCall = { form: "export", table, columns: PIECE_COLUMNS[table], rows: rows.length };
  return { requestId, observedAt, knownIn: found?.segment ?? null, request, body };
}

/** Regroups rows into pieces; a piece has rows of one file. */
async function* inPieces(read: AsyncIterable<TableRows>): AsyncGenerator<TableRows, void> {
  let rest: TableRows | null = null;
  for await (const next of read) {
    if (rest !== null && (rest.table !== next.table || rest.doing !== next.doing)) {
      yield rest;
      rest = null;
    }
    let rows: PieceRow[] = [...(rest?.rows ?? []), ...next.rows];
    for (; rows.length >= PIECE_ROWS; rows = rows.slice(PIECE_ROWS))
      yield { ...next, rows: rows.slice(0, PIECE_ROWS) };
    rest = rows.length > 0 ? { ...next, rows } : null;
  }
  if (rest !== null) yield rest;
}

/** Sources, then instruments, options last, then each date's quotes and dividends. */
async function* allRows(opened: OpenedExport): AsyncGenerator<TableRows, void> {
  const progress = new Progress(opened);
  const sources = await allOf(progress.rowsOf("sources"));
  yield { table: "sources", rows: sources, ...progress.at };
  const instruments = await allOf(progress.rowsOf("instruments"));
  const directory = new Directory(sources, instruments);
  const isOption = (row: PieceRow): boolean => row["option_type"] !== null;
  const ordered = [...instruments.filter((row) => !isOption(row)), ...instruments.filter(isOption)];
  yield { table: "instruments", rows: ordered.map((row) => directory.instrument(row)), ...progress.at };
  const dates = new Set(progress.datesOf("quotes", "extended_quotes", "dividends"));
  for (const date of [...dates].sort()) {
    const extended = progress.rowsOf("extended_quotes", date);
    for await (const rows of withExtended(progress.rowsOf("quotes", date), extended))
      yield { table: "quotes", rows: rows.map((row) => directory.placed(row)), ...progress.at };
    for await (const rows of progress.rowsOf("dividends", date))
      yield { table: "dividends", rows: rows.map((row) => directory.placed(row)), ...progress.at };
  }
}

async function allOf(read: AsyncIterable<PieceRow[]>): Promise<PieceRow[]> {
  const all: PieceRow[] = [];
  for await (const rows of read) for (const row of rows) all.push(row);
  return all;
}

class Progress {
  readonly #opened: OpenedExport;
  at = { doing: "", done: 0 };

  constructor(opened: OpenedExport) {
    this.#opened = opened;
  }

  datesOf(...names: TakenBack[]): string[] {
    return names.flatMap((name) => this.#opened.tables[name].files.map(({ date }) => date ?? ""));
  }

  /** The rows of a table, or of one of its dates; none without a file. */
  async *rowsOf(name: TakenBack, date: string | null = null): AsyncGenerator<PieceRow[], void> {
    const { dir, manifest, tables } = this.#opened;
    const table = tables[name];
    for (const file of table.files.filter((one) => one.date === date)) {
      const path = join(dir, file.path);
      const read =
        manifest.format === "parquet"
          ? parquetRows(path, file.rows)
          : exportedCsvRows(path, table, manifest.raw);
      if (name !== "extended_quotes") this.at = { ...this.at, doing: file.path };
      yield* read;
      this.at = { ...this.at, done: this.at.done + file.bytes };
    }
  }
}

/**
 * Quotes, each with its row of `extended_quotes` where there is one, and open interest that came without a quote. Both come in the
 * order of their keys.
 *
 * @throws QuotekeeperError BACKFILL_EXPORT_INVALID for any other row of `extended_quotes` that belongs to no quote
 */
async function* withExtended(
  quotes: AsyncIterable<PieceRow[]>,
  extended: AsyncIterable<PieceRow[]>,
): AsyncGenerator<PieceRow[], void> {
  const beside = oneByOne(extended);
  let next = (await beside.next()).value;
  for await (const rows of quotes) {
    const joined: PieceRow[] = [];
    for (const row of rows) {
      for (; next !== null && compareKeys(next, row) < 0; next = (await beside.next()).value)
        joined.push(interestAlone(next));
      const order = next === null ? 1 : compareKeys(next, row);
      joined.push(order === 0 ? { ...next, ...row, extended: "true" } : { ...row, extended: "false" });
      if (order === 0) next = (await beside.next()).value;
    }
    yield joined;
  }
  for (; next !== null; next = (await beside.next()).value) yield [interestAlone(next)];
}

/** Null comes behind the last row. */
async function* oneByOne(read: AsyncIterable<PieceRow[]>): AsyncGenerator<PieceRow, null> {
  for await (const rows of read) yield* rows;
  return null;
}

function interestAlone(row: PieceRow): PieceRow {
  const { instrument_id, observed_at } = row;
  if ((row["open_interest_date"] ?? null) === null)
    throw invalid(`extended_quotes has instrument ${instrument_id} at ${observed_at}, and quotes has not`);
  return { ...row, delayed: "false", extended: "alone" };
}

function compareKeys(a: PieceRow, b: PieceRow): number {
  const difference = (name: string): number => Number(a[name]) - Number(b[name]);
  const [first = "", second = ""] = [a["observed_at"] ?? "", b["observed_at"] ?? ""];
  return (
    difference("instrument_id") || (first < second ? -1 : first > second ? 1 : 0) || difference("source_id")
  );
}

/** The sources and instruments of the export, by number. */
class Directory {
  readonly #sources: ReadonlyMap<string | null, PieceRow>;
  readonly #instruments: ReadonlyMap<string | null, PieceRow>;

  constructor(sources: readonly PieceRow[], instruments: readonly PieceRow[]) {
    const byId = (rows: readonly PieceRow[]) => new Map(rows.map((row) => [row["id"] ?? null, row]));
    this.#sources = byId(sources);
    this.#instruments = byId(instruments);
  }

  /** A row of `instruments` with its underlying's type in place of its number. */
  instrument(row: PieceRow): PieceRow {
    const underlying = row["underlying_id"] ?? null;
    const type = underlying === null ? null : this.#instrument(underlying)["security_type"];
    return { ...row, underlying_type: type ?? null };
  }

  /** A row with instrument and source in place of their numbers. */
  placed(row: PieceRow): PieceRow {
    const source = this.#sources.get(row["source_id"] ?? null);
    if (source === undefined) throw invalid(`a row names source ${row["source_id"]}, and sources has none`);
    const instrument = this.#instrument(row["instrument_id"]);
    return {
      ...row,
      security_type: instrument["security_type"],
      symbol: instrument["symbol"],
      expiration: instrument["expiration"],
      option_type: instrument["option_type"],
      strike: instrument["strike"],
      type_assumed: instrument["type_assumed"],
      root: instrument["root"],
      source_kind: source["kind"] ?? null,
      source_name: source["name"] ?? null,
    } as PieceRow;
  }

  #instrument(id: string | null | undefined): PieceRow {
    const found = this.#instruments.get(id ?? null);
    if (found === undefined) throw invalid(`a row names instrument ${id}, and instruments has none`);
    return found;
  }
}

/** Rows that are yielded together. */
const CSV_ROWS = 1_000;

/** An export writes NULL as nothing, and an empty text as `""` (docs/export.md, CSV). */
const CSV_FORM = {
  record_delimiter: "\r\n",
  cast: (value: string, { quoting }: { quoting: boolean }): string | null =>
    value === "" && !quoting ? null : value,
};

/**
 * The rows of a CSV file, in its order.
 *
 * @param raw whether texts are exact; otherwise some have an apostrophe before them (cell.ts)
 * @throws the file system's errors; the reader's for a file that is no CSV
 */
async function* exportedCsvRows(
  path: string,
  { columns }: Pick<ExportedTable, "columns">,
  raw: boolean,
): AsyncGenerator<PieceRow[], void> {
  const texts = new Set(raw ? [] : columns.flatMap(({ name, type }) => (type === "VARCHAR" ? [name] : [])));
  const input = (await openFile(path, { links: false })).createReadStream();
  // An error of either ends both, and the parser throws it.
  const parser = pipeline(input, parse(CSV_FORM), () => undefined);
  let names: string[] | null = null;
  let rows: PieceRow[] = [];
  for await (const record of parser) {
    const values = record as (string | null)[];
    if (names === null) {
      names = values.map(String);
      continue;
    }
    const entries = names.map((name, place): [string, string | null] => {
      const value = values[place] ?? null;
      return [name, value !== null && texts.has(name) ? exact(value) : value];
    });
    rows.push(Object.fromEntries(entries));
    if (rows.length < CSV_ROWS) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}
