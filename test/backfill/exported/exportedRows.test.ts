/** Files of an export read back, and rows that no archive can hold. */
import { join } from "node:path";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { expect, test } from "@jest/globals";
import type { ExportColumn } from "../../../src/archive/export/tables.ts";
import { bodyOfRows, EXPORT_SOURCE, PIECE_COLUMNS, type PieceRow } from "../../../src/read/exportRows.ts";
import { rowsOf } from "../../../src/read/answerToRows.ts";
import { parquetRows } from "../../../src/backfill/exported/exportedRows.ts";
import { ROW_GROUP_ROWS, writeParquetFile } from "../../../src/export/parquetFile.ts";
import { tempDir } from "../../support/tempDir.ts";

test("rows of several row groups come back in their order, every digit of them", async () => {
  const columns: ExportColumn[] = (
    ["bigint", "decimal", "decimal", "time", "date", "text", "boolean"] as const
  ).map((kind, place) => ({ name: `c${place}`, kind, nullable: place > 0, sql: "" }));
  const count = ROW_GROUP_ROWS + 2;
  const line = (n: number): string =>
    [
      `${n - 9}`,
      n % 3 === 0 ? "\\N" : `-${n}.00000001`,
      n === 0 ? "-12345678901234567890.123456789012345678" : "0.000000000000000001",
      "0001-01-01 00:00:00.000001+00",
      "1969-12-31",
      n % 2 === 0 ? "" : `\uFEFF${n}`,
      n % 2 === 0 ? "t" : "f",
    ].join("\t");
  const zstd = await Zstd.load();
  const path = join(tempDir(), "rows.parquet");
  await writeParquetFile({
    ...{ path, columns, types: { c2: { precision: 38, scale: 18 } }, onRows: () => undefined },
    bytes: (async function* () {
      yield Buffer.from(Array.from({ length: count }, (_, n) => `${line(n)}\n`).join(""));
    })(),
    compress: (bytes) => zstd.compress(bytes),
  });

  const read: PieceRow[] = [];
  for await (const rows of parquetRows(path)) read.push(...rows);

  expect(read).toHaveLength(count);
  const wrong = read.filter(
    (row, n) =>
      row["c0"] !== `${n - 9}` ||
      row["c1"] !== (n % 3 === 0 ? null : `-${n}.00000001`) ||
      row["c5"] !== (n % 2 === 0 ? "" : `\uFEFF${n}`),
  );
  expect(wrong).toEqual([]);
  expect([read[0], read.at(-1)]).toEqual([
    {
      ...{ c0: "-9", c1: null, c2: "-12345678901234567890.123456789012345678", c5: "", c6: "true" },
      ...{ c3: "0001-01-01T00:00:00.000001Z", c4: "1969-12-31" },
    },
    expect.objectContaining({ c0: `${count - 10}`, c2: "0.000000000000000001", c6: "false" }),
  ]);
});

const QUOTE: PieceRow = {
  ...{ security_type: "CS", symbol: "AAPL", expiration: null, option_type: null, strike: null },
  ...{ source_kind: "account", source_name: "account", observed_at: "2026-11-18T14:30:00.000001Z" },
  ...{ delayed: "false", last: "1", extended: "true", volume: "7" },
};

test.each<[string, PieceRow, string]>([
  ["a price that is a word", { last: "1O0" }, 'last is "1O0"'],
  ["a count beyond 64 bits", { volume: "9223372036854775808" }, 'volume is "9223372036854775808"'],
  ["a time of another form", { observed_at: "2026-11-18" }, 'observed_at is "2026-11-18"'],
  ["a day that no calendar has", { observed_at: "2026-02-30T00:00:00.000000Z" }, "observed_at is"],
  ["no time", { observed_at: null }, "observed_at is NULL"],
  ["half a contract", { strike: "150" }, "expiration, option_type and strike go together"],
  ["a source of no kind", { source_kind: "real" }, 'source_kind is "real"'],
])("%s is a dead letter, and no trouble to the loader", (_name, change, problem) => {
  const body = bodyOfRows("quotes", [QUOTE, { ...QUOTE, ...change }]);
  const request = { form: "export", table: "quotes", columns: PIECE_COLUMNS.quotes, rows: 2 };

  const { units, deadLetters } = rowsOf(
    {
      ...{ kind: "response", requestId: "0192f5a0-0000-7000-8000-000000000001", source: EXPORT_SOURCE },
      ...{ observedAt: "2026-11-20T00:00:00.000000Z", requestedAt: "2026-11-20T00:00:00.000000Z" },
      ...{ jobs: [], slotAt: null, request, status: 200, headers: {}, body },
    },
    { segment: "", offset: 0 },
  );

  expect(units).toHaveLength(1);
  expect(deadLetters).toMatchObject([
    {
      reason: "malformed",
      detail: expect.stringContaining(`quotes of an export, row 2 of its piece: ${problem}`),
    },
  ]);
});
