/**
 * Cuts a CSV file into the pieces that the journal keeps. A piece is known by its rows: where rows begin like a piece
 * that was imported before, it is taken up again as it was, however much has been added to the file behind it. So of
 * a file that has grown only the new rows go to the journal.
 */
import type { Hash } from "node:crypto";
import type { CsvCall, CsvReading } from "../../read/csvCall.ts";
import { csvRows, createUnitReader } from "../../read/csvRows.ts";
import { replacedName } from "../../archive/load/replaceQuotes.ts";
import type { RawRow } from "../../read/splitRows.ts";
import type { Instant } from "../../clock.ts";
import { recordOf, type Piece, type PieceBatch, addPart, uuidOf, hashOf } from "../files/piece.ts";
import type { KnownPiece } from "../../archive/refill/knownPieces.ts";
import { dayOf, DaySums, type DayVolume, type DayVolumes } from "../../read/dayVolumes.ts";
import { createRowReader } from "../../read/rowReader.ts";
import type { ReadRows } from "./readRows.ts";

const PIECE_ROWS = 1_000;
const PIECE_BYTES = 1_000_000;

/** Empty lines that a piece keeps between two rows, at most, so that its lines are the file's. */
const MOST_EMPTY_LINES = 1_000;

/** Pieces that are journaled and loaded together, in one transaction: its statements cost the same for few rows and many. */
const BATCH_PIECES = 16;

type CutOptions = {
  call: CsvReading;
  name: string;
  known: Map<string, KnownPiece>;
  /** When a new piece is imported; each time a later one. */
  observe: () => Instant;
  /** Whether a row is wanted; null: all are. */
  wanted: ((row: Buffer, header: Buffer | null) => boolean) | null;
  doing: string;
};

/** The pieces of a file, some at a time. */
export async function* cutPieces(
  { call, name, known, observe, wanted, doing }: CutOptions,
  read: AsyncIterable<ReadRows>,
): AsyncGenerator<PieceBatch, void> {
  const cutter = new Cutter({ call, name, known, observe });
  let header: Buffer | null = null;
  let mark: ReturnType<typeof createVolumeMarker> | null = null;
  let pieces: Piece[] = [];
  let done = 0;
  for await (const { rows, done: bytes } of read) {
    done = bytes;
    if (rows.length === 0) continue;
    let given = rows;
    if (call.header && header === null) {
      header = rows[0]?.bytes ?? null;
      cutter.begin(header);
      given = rows.slice(1);
    }
    mark ??= createVolumeMarker(call, header);
    // Rows that are not wanted count as well.
    const marked = given.map(mark);
    cutter.add(wanted === null ? marked : marked.filter((row) => wanted(row.bytes, header)));
    for (let piece = cutter.take(false); piece !== null; piece = cutter.take(false)) {
      pieces.push(piece);
      if (pieces.length < BATCH_PIECES) continue;
      yield { pieces, doing, done };
      pieces = [];
    }
  }
  for (let piece = cutter.take(true); piece !== null; piece = cutter.take(true)) pieces.push(piece);
  yield { pieces, doing, done };
}

class Cutter {
  readonly #options: Pick<CutOptions, "call" | "name" | "known" | "observe">;
  #header: Buffer | null = null;
  #rows: CutRow[] = [];
  /** How many rows known pieces have: nearly all the same. */
  readonly #lengths: Set<number>;

  constructor(options: Pick<CutOptions, "call" | "name" | "known" | "observe">) {
    this.#options = options;
    this.#lengths = new Set([...options.known.values()].map(({ rows }) => rows));
  }

  begin(header: Buffer | null): void {
    this.#header = header;
  }

  add(rows: readonly CutRow[]): void {
    for (const row of rows) this.#rows.push(row);
  }

  take(ended: boolean): Piece | null {
    const length = this.#lengthOfNext(ended);
    if (length === null || length === 0) return null;
    const { known, observe, call } = this.#options;
    const { count, requestId } = this.#choose(length);
    const rows = this.#rows.slice(0, count);
    this.#rows = this.#rows.slice(count);
    const found = known.get(requestId);
    const observedAt = found?.observedAt ?? observe();
    if (found === undefined) {
      known.set(requestId, { observedAt, segment: "", rows: count });
      this.#lengths.add(count);
    }
    const volumes = call.volumeOf === "bar" && { dayVolumes: volumesBefore(rows) };
    const request: CsvCall = { ...call, firstLine: rows[0]?.line ?? 1, rows: count, ...volumes };
    const body = bodyOf(this.#header, rows);
    const piece = { requestId, observedAt, knownIn: found?.segment ?? null, request, headers: {}, body };
    return call.replace === true
      ? { ...piece, request: { ...request, replaces: this.#rowsOf(piece) } }
      : piece;
  }

  #rowsOf(piece: Piece): string[] {
    return csvRows(recordOf(piece, this.#options.name)).units.map(replacedName);
  }

  /**
   * How many rows the next piece has at most; null: perhaps more are to come. A row with a quote that nobody closes
   * is its piece's last: what the piece's reader takes for a row must not depend on rows that came later.
   */
  #lengthOfNext(ended: boolean): number | null {
    let bytes = 0;
    for (const [index, { bytes: row, line, broken }] of this.#rows.entries()) {
      const gap = line - (this.#rows[index - 1]?.line ?? line);
      if (index > 0 && (index === PIECE_ROWS || bytes + row.length > PIECE_BYTES || gap > MOST_EMPTY_LINES))
        return index;
      if (broken) return index + 1;
      bytes += row.length;
    }
    return ended ? this.#rows.length : null;
  }

  /** The longest known piece that the next rows begin like; a new one of `length` rows when there is none. */
  #choose(length: number): { count: number; requestId: string } {
    const { name, call, known } = this.#options;
    const hash: Hash = hashOf(["csv", name, mapText(call), this.#header ?? ""]);
    let chosen = { count: length, requestId: "" };
    for (let count = 1; count <= length; count++) {
      const { bytes = "", day } = this.#rows[count - 1] ?? {};
      addPart(hash, bytes);
      // The same rows behind other ones come to other sums.
      if (day) addPart(hash, day.before?.join(" ") ?? "");
      if (count < length && !this.#lengths.has(count)) continue;
      const requestId = uuidOf(hash);
      if (known.has(requestId) || (count === length && chosen.requestId === ""))
        chosen = { count, requestId };
    }
    return chosen;
  }
}

/** All of a map that says what rows mean; the file's name does not. */
function mapText({ file: _file, ...call }: CsvReading): string {
  return JSON.stringify(call);
}

/** The header, then the rows, with the empty lines between them: each row stands at its line. */
function bodyOf(header: Buffer | null, rows: readonly RawRow[]): Buffer {
  const parts: Buffer[] = header === null ? [] : [header, NEWLINE];
  let line = rows[0]?.line ?? 1;
  for (const row of rows) {
    for (; line < row.line; line++) parts.push(NEWLINE);
    parts.push(row.bytes, NEWLINE);
    line += linesOf(row.bytes);
  }
  return Buffer.concat(parts);
}

const NEWLINE = Buffer.from("\n");

function linesOf(bytes: Buffer): number {
  let lines = 1;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

/** A row that is to be cut into a piece. `day`: of its instrument, and what the rows before have come to; null: nothing yet. */
type CutRow = RawRow & { day?: { name: string; before: DayVolume | null } };

/** Says it of the rows of a file, in their order. @param header as `createRowReader` */
function createVolumeMarker(call: CsvReading, header: Buffer | null): (row: RawRow) => CutRow {
  if (call.volumeOf !== "bar") return (row) => row;
  const unitOf = createUnitReader(call, createRowReader(call, header));
  const sums = new DaySums();
  return (row) => {
    const read = unitOf(row);
    if (!read.ok) return row;
    const name = dayOf(read);
    const before = sums.sumOf(name);
    sums.add(read);
    return { ...row, day: { name, before } };
  };
}

/** What a piece that begins with these rows has to be told of the rows before it. */
function volumesBefore(rows: readonly CutRow[]): DayVolumes {
  const days = new Map<string, DayVolume | null>();
  for (const { day } of rows) if (day && !days.has(day.name)) days.set(day.name, day.before);
  return Object.fromEntries([...days].flatMap(([name, before]) => (before === null ? [] : [[name, before]])));
}
