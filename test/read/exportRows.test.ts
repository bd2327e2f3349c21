/** Pieces of an export that is taken back: what their rows become, and rows that no archive can hold. */
import { expect, test } from "@jest/globals";
import { rowsOf } from "../../src/read/answerToRows.ts";
import {
  bodyOfRows,
  EXPORT_SOURCE,
  type ExportCall,
  isExportCall,
  PIECE_COLUMNS,
  type PieceRow,
  type PieceTable,
} from "../../src/read/exportCall.ts";
import { NO_QUOTE } from "../../src/quotes/document.ts";
import { answerRecord, at } from "../support/journal.ts";

/** What the lines of a piece become. */
function piece(
  table: PieceTable,
  body: string | Buffer,
  columns: ExportCall["columns"] = PIECE_COLUMNS[table],
) {
  const request: ExportCall = { form: "export", table, columns, rows: 1 };
  return rowsOf(
    { ...answerRecord(at(0), ""), source: EXPORT_SOURCE, request, body: Buffer.from(body) },
    { segment: "", offset: 0 },
  );
}

/** What rows of a table become. */
const rowsFor = (table: PieceTable, ...rows: PieceRow[]) => piece(table, bodyOfRows(table, rows));

const SECURITY: PieceRow = { security_type: "CS", symbol: "AAPL" };
const CONTRACT: PieceRow = {
  ...{
    security_type: "OPT",
    symbol: "AAPL",
    expiration: "2026-12-18",
    option_type: "CALL",
    strike: "150.50",
  },
};
const KEY: PieceRow = {
  ...{ source_kind: "account", source_name: "account", observed_at: "2026-11-18T14:30:00.000001Z" },
};
const QUOTE: PieceRow = {
  ...{ ...SECURITY, ...KEY, delayed: "false", extended: "true", last: "1", volume: "7" },
};
const INSTRUMENT: PieceRow = {
  ...{ ...SECURITY, id: "7", exchange: "NSD", description: "APPLE INC" },
  ...{ first_seen_at: "2026-11-18T14:30:00.000001Z", last_seen_at: "2026-11-20T14:30:00.000000Z" },
};

const READ_SECURITY = {
  ...{ securityType: "CS", symbol: "AAPL", expiration: null, optionType: null, strike: null },
  ...{ exchange: null, description: null, contractSize: null, assumedType: false, underlying: null },
};
const READ_CONTRACT = {
  ...{ ...READ_SECURITY, securityType: "OPT", underlying: "AAPL" },
  ...{ expiration: "2026-12-18", optionType: "CALL", strike: "150.5" },
};

test("a row of an export is a source with the number that it had", () => {
  const { restored, units, deadLetters } = rowsFor(
    "sources",
    { id: "3", kind: "import", name: "csv" },
    { id: "-1", kind: "simulated", name: "seed 1" },
  );

  expect({ units, deadLetters }).toEqual({ units: [], deadLetters: [] });
  expect(restored).toEqual({
    ...{ instruments: [], dividends: [] },
    sources: [
      { id: 3, source: { kind: "import", name: "csv" } },
      { id: -1, source: { kind: "simulated", name: "seed 1" } },
    ],
  });
});

test("a row of an export is an instrument, and keeps the digits of its strike", () => {
  const contract = { ...INSTRUMENT, ...CONTRACT, contract_size: "100", underlying_type: "CS" };

  expect(rowsFor("instruments", INSTRUMENT, contract).restored?.instruments).toEqual([
    {
      ...{ id: 7, underlyingType: null },
      row: { ...READ_SECURITY, exchange: "NSD", description: "APPLE INC", writtenStrike: null },
      ...{ firstSeenAt: "2026-11-18T14:30:00.000001Z", lastSeenAt: "2026-11-20T14:30:00.000000Z" },
    },
    {
      ...{ id: 7, underlyingType: "CS" },
      row: {
        ...{ ...READ_CONTRACT, exchange: "NSD", description: "APPLE INC" },
        ...{ contractSize: "100", writtenStrike: "150.50" },
      },
      ...{ firstSeenAt: "2026-11-18T14:30:00.000001Z", lastSeenAt: "2026-11-20T14:30:00.000000Z" },
    },
  ]);
});

test("a row of an export is a quote with the source that it had", () => {
  const { units, answer, matched } = rowsFor("quotes", QUOTE, {
    ...{ ...QUOTE, ...CONTRACT, option_type: "PUT" },
    ...{ delayed: "true", extended: "false", change: "-0.5", delta: "0.25" },
  });

  expect({ answer, matched }).toMatchObject({ answer: { outcome: "quotes" }, matched: [] });
  const source = { kind: "account", name: "account" };
  const shared = { observedAt: "2026-11-18T14:30:00.000001Z", greeksDelta: null, fragment: null };
  expect(units).toEqual([
    {
      ...{ ...shared, delayed: false, instrument: READ_SECURITY },
      quote: { ...NO_QUOTE, last: "1", extended: { ...NO_QUOTE.extended, volume: "7" } },
      restored: { source, extended: true },
    },
    {
      ...{ ...shared, delayed: true, instrument: { ...READ_CONTRACT, optionType: "PUT" } },
      quote: {
        ...{ ...NO_QUOTE, last: "1", change: "-0.5" },
        extended: { ...NO_QUOTE.extended, volume: "7", delta: "0.25" },
      },
      restored: { source, extended: false },
    },
  ]);
});

test("a row of an export is a dividend as it stands there", () => {
  const dividend = { ...SECURITY, ...KEY, ex_date: "2026-11-12", amount: "0.0450", yield: "2.68" };

  expect(rowsFor("dividends", dividend, { ...SECURITY, ...KEY }).restored?.dividends).toEqual([
    {
      ...{ observedAt: "2026-11-18T14:30:00.000001Z", instrument: READ_SECURITY },
      ...{ source: { kind: "account", name: "account" } },
      ...{ exDate: "2026-11-12", amount: "0.0450", yield: "2.68" },
    },
    expect.objectContaining({ exDate: null, amount: null, yield: null }),
  ]);
});

test("a row of an export may have its columns in another order, and fewer of them", () => {
  const { restored } = piece("sources", '["csv","3","import","more"]\n\n["x","4","account"]', [
    "name",
    "id",
    "kind",
  ]);

  expect(restored?.sources).toEqual([
    { id: 3, source: { kind: "import", name: "csv" } },
    { id: 4, source: { kind: "account", name: "x" } },
  ]);
});

test.each([
  ...["1.5", "0", "1".repeat(15), "0.12345678901234567890123", "150.0000000000000000000000000000"].map(
    (last) => ({ last }),
  ),
  ...["9223372036854775807", "0"].map((volume) => ({ volume })),
])("a row of an export holds whatever number an archive holds: %j", (number) => {
  const { quote } = rowsFor("quotes", { ...QUOTE, ...number }).units[0] ?? {};

  expect({ ...quote?.extended, ...quote }).toMatchObject(number);
});

test.each<[PieceTable, string, string]>([
  ["quotes", "last", "NaN"],
  ["quotes", "last", "-Infinity"],
  ["quotes", "last", "1".repeat(309)],
  ["quotes", "last", "1O0"],
  ["quotes", "last", " 1"],
  ["quotes", "last", "1E5"],
  ["quotes", "last", "1."],
  ["quotes", "last", "1,000"],
  ["quotes", "delta", `0.${"0".repeat(323)}49`],
  ["quotes", "volume", "1.5"],
  ["quotes", "volume", "x1"],
  ["quotes", "volume", "1x"],
  ["quotes", "volume", "9223372036854775808"],
  ["quotes", "volume", "-9223372036854775809"],
  ["quotes", "volume", "-1"],
  ["quotes", "last", "-999"],
  ["dividends", "amount", "-0.5"],
  ["dividends", "amount", "a lot"],
  ["dividends", "yield", "%"],
])(
  "a row of an export of %s of which no archive holds the %s %s is stored without it",
  (table, column, text) => {
    const row = {
      ...(table === "quotes" ? QUOTE : { ...SECURITY, ...KEY }),
      bid: "1",
      ex_date: "2026-11-25",
    };

    const { units, restored, deadLetters } = rowsFor(table, { ...row, [column]: text });

    const kept = { ...units[0]?.quote.extended, ...units[0]?.quote, ...restored?.dividends[0] };
    expect(kept).toMatchObject({
      ...(table === "quotes" ? { bid: "1" } : { exDate: "2026-11-25" }),
      [column]: null,
    });
    expect(deadLetters).toMatchObject([
      { reason: "odd_field", detail: expect.stringContaining(`row 1 of its piece: ${column} is "`) },
    ]);
  },
);

/** What is told of a row, and that nothing else comes of it. */
function problem(table: PieceTable, row: PieceRow): string | undefined {
  const { units, deadLetters, restored } = rowsFor(table, row);
  const kept = [units, restored?.sources, restored?.instruments, restored?.dividends].flat();
  expect([kept.length, deadLetters.length]).toEqual([0, 1]);
  return deadLetters[0]?.detail.replace(`${table} of an export, row 1 of its piece: `, "");
}

test.each<[string, PieceRow, string]>([
  ["a time of another form", { observed_at: "2026-11-18" }, 'observed_at is "2026-11-18"'],
  ["a time with more behind it", { observed_at: "2026-11-18T14:30:00.000001ZZ" }, "observed_at is"],
  ["a time with more before it", { observed_at: "+2026-11-18T14:30:00.000001Z" }, "observed_at is"],
  ["a time with a blank behind it", { observed_at: "2026-11-18T14:30:00.000001Z " }, "observed_at is"],
  ["an hour that no day has", { observed_at: "2026-11-18T25:30:00.000001Z" }, "observed_at is"],
  ["a day that no calendar has", { observed_at: "2026-02-30T00:00:00.000000Z" }, "observed_at is"],
  ["no time", { observed_at: null }, "observed_at is NULL"],
  ["no word on delay", { delayed: null }, "delayed is NULL"],
  ["another word on delay", { delayed: "t" }, 'delayed is "t"'],
  ["no word on its extended fields", { extended: "" }, 'extended is ""'],
  ["half a contract", { strike: "150" }, "expiration, option_type and strike go together"],
  ["a contract without its strike", { ...CONTRACT, strike: null }, "expiration, option_type and strike go"],
  ["a contract of no type", { ...CONTRACT, option_type: "C" }, 'option_type is "C"'],
  ["a contract of no date", { ...CONTRACT, expiration: "2026-02-30" }, 'expiration is "2026-02-30"'],
  ["a contract of no number", { ...CONTRACT, strike: "x" }, 'strike is "x"'],
  ["a contract of too large a number", { ...CONTRACT, strike: "1".repeat(16) }, "strike is"],
  ["no symbol", { symbol: null }, "symbol is NULL"],
  ["no security type", { security_type: null }, "security_type is NULL"],
  ["a source of no kind", { source_kind: "real" }, 'source_kind is "real"'],
  ["a source without a name", { source_name: null }, "source_name is NULL"],
])(
  "a row that no archive can hold is a dead letter, and no trouble to the loader: %s, of a quote",
  (_name, change, told) => {
    expect(problem("quotes", { ...QUOTE, ...change })).toContain(told);
  },
);

test.each<[PieceTable, PieceRow, string]>([
  ["sources", { id: "32768", kind: "import", name: "csv" }, 'id is "32768"'],
  ["sources", { id: null, kind: "import", name: "csv" }, "id is NULL"],
  ["instruments", { ...INSTRUMENT, id: "2147483648" }, 'id is "2147483648"'],
  ["instruments", { ...INSTRUMENT, contract_size: "many" }, 'contract_size is "many"'],
  ["instruments", { ...INSTRUMENT, first_seen_at: null }, "first_seen_at is NULL"],
  ["instruments", { ...INSTRUMENT, last_seen_at: "today" }, 'last_seen_at is "today"'],
  ["dividends", { ...SECURITY, ...KEY, ex_date: "never" }, 'ex_date is "never"'],
])("a row of %s: %j", (table, row, told) => {
  expect(problem(table, row)).toBe(told);
});

test.each(["{}", "null", "7", "[1,2,3]", '["3","import"', '["3",{},"csv"]', "x"])(
  "a line that is no row: %s",
  (line) => {
    const good = '["3","import","csv"]';

    const rows = piece("sources", `${good}\n${line}\n${line}\n${good}\n`);

    expect(rows.restored?.sources).toHaveLength(2);
    expect(rows.deadLetters).toEqual(
      [0, 1].map((ordinal) => ({
        ...{ observedAt: at(0), ordinal, instrument: null, reason: "malformed", fragment: line },
        detail: `sources of an export, row ${ordinal + 2} of its piece: it is no row`,
      })),
    );
  },
);

test("a row of a table that no archive has", () => {
  const rows = piece("secrets" as PieceTable, '["1"]\n', ["id"]);

  expect(rows.deadLetters).toMatchObject([
    { detail: expect.stringContaining('no table "secrets" is known') },
  ]);
});

test("an export's call is told from any other by its form", () => {
  expect(isExportCall({ form: "export" })).toBe(true);
  for (const other of [{ form: "csv" }, {}, null, undefined, "export"])
    expect(isExportCall(other)).toBe(false);
});
