/**
 * Cuts a table into the pieces that the journal keeps. A piece is known by its rows: where rows begin like a piece
 * that was imported before, it is taken up again as it was, however much has been added to the file behind it. So of
 * a file that has grown only the new rows go to the journal.
 */
import type { Hash } from "node:crypto";
import { replacedName } from "../../archive/load/replaceQuotes.ts";
import type { KnownPiece } from "../../archive/refill/knownPieces.ts";
import type { Instant } from "../../ground/clock.ts";
import type { PlainCall } from "../../read/plainCall.ts";
import { plainRows } from "../../read/plainRows.ts";
import type { RawRow } from "../../read/splitRows.ts";
import { recordOf, type Piece, type PieceBatch, addPart, uuidOf, hashOf } from "../files/piece.ts";
import type { TableRows } from "./readRows.ts";

const PIECE_ROWS = 1_000;
const PIECE_BYTES = 1_000_000;

/** Empty lines that a piece keeps between two rows, at most, so that its lines are the file's. */
const MOST_EMPTY_LINES = 1_000;

/** Pieces that are journaled and loaded together, in one transaction: its statements cost the same for few rows and many. */
const BATCH_PIECES = 16;

type CutOptions = {
  /** Base name of the file. */
  file: string;
  /** The source's. */
  name: string;
  /** Whether a map made the rows, which name their own places. */
  isMapped: boolean;
  replace: boolean;
  known: Map<string, KnownPiece>;
  /** When a new piece is imported; each time a later one. */
  observe: () => Instant;
  /** Whether a row is wanted; null: all are. */
  wanted: ((row: RawRow, header: Buffer) => boolean) | null;
};

/** The pieces of a file, some at a time. */
export async function* cutPieces(
  options: CutOptions,
  read: AsyncIterable<TableRows>,
): AsyncGenerator<PieceBatch, void> {
  const { file, wanted } = options;
  const cutter = new Cutter(options);
  let pieces: Piece[] = [];
  let done = 0;
  const take = (ended: boolean): void => {
    for (let piece = cutter.take(ended); piece !== null; piece = cutter.take(ended)) pieces.push(piece);
  };
  for await (const { header, rows, done: bytes } of read) {
    done = bytes;
    if (cutter.isBelow(header)) take(true);
    cutter.begin(header);
    cutter.add(wanted === null ? rows : rows.filter((row) => wanted(row, header)));
    take(false);
    for (; pieces.length >= BATCH_PIECES; pieces = pieces.slice(BATCH_PIECES))
      yield { pieces: pieces.slice(0, BATCH_PIECES), doing: file, done };
  }
  take(true);
  yield { pieces, doing: file, done };
}

class Cutter {
  readonly #options: CutOptions;
  #header: Buffer = Buffer.alloc(0);
  #rows: RawRow[] = [];
  /** How many rows known pieces have: nearly all the same. */
  readonly #lengths: Set<number>;

  constructor(options: CutOptions) {
    this.#options = options;
    this.#lengths = new Set([...options.known.values()].map(({ rows }) => rows));
  }

  /** Whether rows of another header wait. */
  isBelow(header: Buffer): boolean {
    return !this.#header.equals(header);
  }

  begin(header: Buffer): void {
    this.#header = header;
  }

  add(rows: readonly RawRow[]): void {
    for (const row of rows) this.#rows.push(row);
  }

  take(ended: boolean): Piece | null {
    const length = this.#lengthOfNext(ended);
    if (length === null || length === 0) return null;
    const { known, observe, file, isMapped, replace } = this.#options;
    const { count, requestId } = this.#choose(length);
    const rows = this.#rows.slice(0, count);
    this.#rows = this.#rows.slice(count);
    const found = known.get(requestId);
    const observedAt = found?.observedAt ?? observe();
    if (found === undefined) {
      known.set(requestId, { observedAt, segment: "", rows: count });
      this.#lengths.add(count);
    }
    const firstLine = isMapped ? null : (rows[0]?.line ?? 1);
    const request: PlainCall = { form: "plain", file, firstLine, rows: count };
    const body = bodyOf(this.#header, rows);
    const piece = { requestId, observedAt, knownIn: found?.segment ?? null, request, body };
    return replace
      ? { ...piece, request: { ...request, replace: true as const, replaces: this.#rowsOf(piece) } }
      : piece;
  }

  #rowsOf(piece: Piece): string[] {
    return plainRows(recordOf(piece, this.#options.name)).units.map(replacedName);
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
    const { name, replace, known } = this.#options;
    const hash: Hash = hashOf(["plain", name, replace ? "replace" : "", this.#header]);
    let chosen = { count: length, requestId: "" };
    for (let count = 1; count <= length; count++) {
      addPart(hash, this.#rows[count - 1]?.bytes ?? "");
      if (count < length && !this.#lengths.has(count)) continue;
      const requestId = uuidOf(hash);
      if (known.has(requestId) || (count === length && chosen.requestId === ""))
        chosen = { count, requestId };
    }
    return chosen;
  }
}

/** The header, then the rows, with the empty lines between them: each row stands at its line. */
function bodyOf(header: Buffer, rows: readonly RawRow[]): Buffer {
  const parts: Buffer[] = [header, NEWLINE];
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
