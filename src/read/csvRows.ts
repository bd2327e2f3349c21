/** From a journaled piece of a CSV file to the rows it becomes. Pure: the map travels with the piece. */
import type { ResponseRecord } from "../journal/record.ts";
import type { Quote } from "../quotes-api/document.ts";
import type { AnswerRows, Cut, DeadLetter, QuoteUnit } from "./rowTypes.ts";
import { type Cell, shown } from "./cell.ts";
import type { CsvCall } from "./csvCall.ts";
import { createInstrumentReader } from "./csvInstrument.ts";
import { createQuoteReader, saysTheSame } from "./csvQuote.ts";
import { createRowReader, type RowReader, type TextOf } from "./rowReader.ts";
import { type RawRow, RowSplitter } from "./splitRows.ts";

type PieceRows = Pick<AnswerRows, "units" | "deadLetters" | "cut">;

/** The units and dead letters of a piece. A bad row costs itself alone. Never throws. */
export function csvRows(record: ResponseRecord): PieceRows {
  try {
    return readPiece(record);
  } catch (error) {
    // A map that this version or this machine cannot follow, such as a zone that it does not know.
    const { observedAt } = record;
    const detail = `the map of the import: ${(error as Error).message}`;
    const letter = { observedAt, ordinal: 0, instrument: null, reason: "malformed" as const, detail };
    return { units: [], deadLetters: [{ ...letter, fragment: null }] };
  }
}

function readPiece(record: ResponseRecord): PieceRows {
  const call = record.request as CsvCall;
  const { header, rows } = rowsOfBody(record.body, call);
  const readUnit = unitReader(call, createRowReader(call, header));
  const units: QuoteUnit[] = [];
  const deadLetters: DeadLetter[] = [];
  const kept = new Map<string, Quote>();
  const cut = { times: 0, fractions: 0 };
  const die = (row: RawRow, why: string, letter: Pick<DeadLetter, "reason" | "instrument">): void => {
    const [detail, fragment] = [`${call.file} line ${row.line}: ${why}`, row.bytes.toString("utf8")];
    const ordinal = deadLetters.length;
    deadLetters.push({ observedAt: record.observedAt, ordinal, ...letter, detail, fragment });
  };
  for (const row of rows) {
    const read = readUnit(row);
    if (!read.ok) {
      die(row, read.problem, { reason: "malformed", instrument: read.name });
      continue;
    }
    const { unit, key } = read;
    const first = kept.get(key);
    // A row that says the same again is a repetition, for the database to pass over; another one is set aside.
    if (first !== undefined && !saysTheSame(first, unit.quote)) {
      const why = `another row has other values at ${unit.observedAt}`;
      die(row, why, { reason: "answered_twice", instrument: unit.instrument.symbol });
      continue;
    }
    kept.set(key, unit.quote);
    units.push(unit);
    cut.times += read.cut.times;
    cut.fractions += read.cut.fractions;
  }
  return { units, deadLetters, cut };
}

function rowsOfBody(
  body: Uint8Array,
  { header, delimiter, firstLine }: CsvCall,
): { header: Buffer | null; rows: RawRow[] } {
  const splitter = new RowSplitter(delimiter);
  const found = [...splitter.push(Buffer.from(body)), ...splitter.finish()];
  const rows = header ? found.slice(1) : found;
  // The header stands before the piece's first row, wherever in the file that was.
  const moved = firstLine - (rows[0]?.line ?? firstLine);
  const placed = rows.map((row) => ({ ...row, line: row.line + moved }));
  return { header: header ? (found[0]?.bytes ?? Buffer.alloc(0)) : null, rows: placed };
}

type UnitRead =
  | { ok: true; unit: QuoteUnit; /** Of its instrument and time. */ key: string; cut: Cut }
  | { ok: false; name: string | null; problem: string };

function unitReader(call: CsvCall, reader: RowReader): (row: RawRow) => UnitRead {
  const { file } = call;
  const instrumentOf = createInstrumentReader(call);
  const quoteOf = createQuoteReader(call);
  return ({ bytes, line }) => {
    const cells = reader.fieldsOf(bytes);
    if (!cells.ok) return { ...cells, name: null };
    const text = reader.textOf(cells.value);
    const failed = ({ problem }: { problem: string }): UnitRead => {
      return { ok: false, name: text("symbol") ?? text("occ") ?? text("underlying"), problem };
    };
    const instrument = instrumentOf(text);
    if (!instrument.ok) return failed(instrument);
    const time = reader.timeOf(cells.value);
    if (!time.ok) return failed(time);
    const quote = quoteOf(text);
    if (!quote.ok) return failed(quote);
    const delayed = delayedOf(call, text);
    if (!delayed.ok) return failed(delayed);
    const { row, key } = instrument.value;
    const { contractSize } = quote.value.extended;
    const unit = {
      ...{ observedAt: time.value, delayed: delayed.value, greeksDelta: null },
      instrument: contractSize === null ? row : { ...row, contractSize },
      quote: quote.value,
      fragment: `${file} line ${line}`,
    };
    const cut = { times: time.cut ?? 0, fractions: quote.cut ?? 0 };
    return { ok: true, unit, key: `${unit.observedAt} ${key}`, cut };
  };
}

/** Whether a row's quote is delayed, by itself or else by the map. */
function delayedOf(call: CsvCall, text: TextOf): Cell<boolean> {
  const given = text("delayed");
  if (given === null) return { ok: true, value: call.delayed };
  if (/^(true|t|yes|y|1)$/iu.test(given)) return { ok: true, value: true };
  if (/^(false|f|no|n|0)$/iu.test(given)) return { ok: true, value: false };
  const column = call.columns.delayed ?? "delayed";
  return { ok: false, problem: `${column} is ${shown(given)}: expected true or false` };
}
