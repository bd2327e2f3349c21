/** Files of an export read back. */
import { join } from "node:path";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { expect, test } from "@jest/globals";
import { to as copyTo } from "pg-copy-streams";
import type { ExportColumn } from "../../../src/archive/export/exportColumns.ts";
import type { PieceRow } from "../../../src/read/exportCall.ts";
import { parquetRows } from "../../../src/files/tables/readParquet.ts";
import { ROW_GROUP_ROWS, writeParquetFile } from "../../../src/files/tables/parquetFile.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";

test("rows of several row groups come back in their order, every digit of them", async () => {
  const columns: ExportColumn[] = (
    ["bigint", "decimal", "decimal", "time", "date", "text", "boolean"] as const
  ).map((kind, place) => ({ name: `c${place}`, kind, nullable: place > 0, sql: "" }));
  const count = ROW_GROUP_ROWS + 2;
  const rows = `select n - 9, case when n % 3 > 0 then -n - 0.00000001 end,
    case when n = 0 then -12345678901234567890.123456789012345678 else 0.000000000000000001 end,
    '0001-01-01 00:00:00.000001+00'::timestamptz, '1969-12-31'::date,
    case when n % 2 = 0 then '' else U&'\\FEFF' || n end, n % 2 = 0
    from generate_series(0::bigint, ${count - 1}) n`;
  const client = await (await freshDatabase({ migrated: false })).pool.connect();
  const zstd = await Zstd.load();
  const path = join(tempDir(), "rows.parquet");
  await writeParquetFile({
    ...{ path, columns, types: { c2: { precision: 38, scale: 18 } }, onRows: () => undefined },
    bytes: client.query(copyTo(`copy (${rows}) to stdout with (format binary)`)),
    compress: (bytes) => zstd.compress(bytes),
  });
  client.release();

  const read: PieceRow[] = [];
  for await (const rows of parquetRows(path, count)) read.push(...rows);

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
