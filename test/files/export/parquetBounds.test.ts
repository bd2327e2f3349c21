/** Parquet files that stand for more than their bytes: each is refused before it is read. */
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { expect, jest, test } from "@jest/globals";
import { parquetMetadataAsync } from "hyparquet";
import { rawColumns } from "../../../src/files/tables/readParquet.ts";
import { requireFrame, requirePages } from "../../../src/files/tables/parquetBounds.ts";
import { MOST_GROUP_ROWS } from "../../../src/files/tables/parquetBounds.ts";
import { remembered } from "../../../src/ground/remembered.ts";
import { run } from "../../cli/edges.ts";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { duckdbRows } from "./duckdb.ts";
import { exportableArchive } from "./world.ts";

// Files of a million rows are made, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

const MANY = 4_000_000;

/** A file of a few hundred bytes with four million equal rows; made once, because it takes seconds. */
const bomb = remembered(2, async (groupRows: number) => {
  const path = join(tempDir(), "bomb.parquet");
  await duckdbRows(
    `copy (select 1 as id, 'simulated' as name, 'simulated' as kind from range(${MANY}))
     to '${path}' (format parquet, row_group_size ${groupRows}, compression zstd)`,
  );
  return path;
});

async function read(path: string, expected: number): Promise<number> {
  let rows = 0;
  for await (const group of rawColumns(path, expected)) rows += group.rows;
  return rows;
}

/** Puts a file in the place of another, and its bytes and digest into what names that one. */
function replace(manifestPath: string, file: string, by: string): void {
  const manifest = JSON.parse(readFileSync(manifestPath, "utf8")) as {
    tables: ({ files?: Named[] } & Named)[];
  };
  const bytes = readFileSync(by);
  const named = manifest.tables
    .flatMap((table) => table.files ?? [table])
    .find(({ path }) => file.endsWith(path));
  if (!named) throw new Error(`${file} is not named`);
  Object.assign(named, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") });
  writeFileSync(file, bytes);
  writeFileSync(manifestPath, JSON.stringify(manifest));
}

type Named = { path: string; bytes: number; sha256: string };

test("a row group of more rows than ours have, and more rows than the manifest says, are refused unread", async () => {
  const path = await bomb(MANY);

  expect(statSync(path).size).toBeLessThan(2_000);
  await expect(read(path, 2)).rejects.toMatchObject({
    code: "PARQUET_INVALID",
    detail: `${path}: a row group has ${MANY} rows, and quotekeeper writes ${MOST_GROUP_ROWS} at most`,
  });
  await expect(read(path, MANY)).rejects.toMatchObject({ code: "PARQUET_INVALID" });
  await expect(read(await bomb(20_480), 2)).rejects.toMatchObject({
    detail: expect.stringContaining(`it has ${MANY} rows, and its manifest says 2`),
  });
});

test("pages of more values than their row group has rows are refused by their headers", async () => {
  const bytes = readFileSync(await bomb(MANY));
  const slice = (from: number, to = bytes.length) =>
    Promise.resolve(Uint8Array.from(bytes.subarray(from, to)).buffer);
  const { row_groups } = await parquetMetadataAsync({ byteLength: bytes.length, slice });
  const [group] = row_groups;
  if (!group) throw new Error("no row group");

  const [first, second] = group.columns.map(({ meta_data }) => meta_data);
  if (!first || !second) throw new Error("no columns");
  // The pages of two columns as those of one: each of them has as many as there are rows.
  const together = {
    ...first,
    total_compressed_size: first.total_compressed_size + second.total_compressed_size,
  };

  await expect(requirePages({ ...group, num_rows: 2n }, slice)).rejects.toThrow(
    /has more values than its 2 rows/,
  );
  const ofTwo = { ...group, columns: [{ ...group.columns[0], meta_data: together }] } as typeof group;
  await expect(requirePages(ofTwo, slice)).rejects.toThrow(`has more values than its ${MANY} rows`);
});

test("a page that unpacks to more than its header says is refused packed", async () => {
  const zstd = await Zstd.load();

  for (const size of [1, 255, 256, 65_791, 65_792, 300_000]) {
    const frame = zstd.compress(new Uint8Array(size));
    expect(requireFrame(frame, size)).toBe(frame);
    expect(() => requireFrame(frame, size - 1)).toThrow(expect.objectContaining({ code: "PARQUET_INVALID" }));
  }
  expect(() => requireFrame(new Uint8Array(8), 8)).toThrow(
    expect.objectContaining({ code: "PARQUET_INVALID" }),
  );
});

test("an export and a lake that hold such a file are refused, and nothing is changed", async () => {
  const { url } = await exportableArchive();
  const dir = tempDir();
  const [out, lake] = [join(dir, "out"), join(dir, "lake")];
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: join(dir, "data") };
  await run(["export", "--format", "parquet", "--out", out], env);
  await run(["lake", "--out", lake, "--through", "2026-11-20"], env);
  const path = await bomb(MANY);

  replace(join(out, "manifest.json"), join(out, "sources", "sources.parquet"), path);
  replace(
    join(lake, "days", "2026-11-20.json"),
    join(lake, "quotes", "date=2026-11-20", "quotes.parquet"),
    path,
  );
  const imported = await run(["backfill", "--parquet", out, "--dry-run"], env);
  const verified = await run(["lake", "verify", "--out", lake], env);
  const restored = await run(
    ["lake", "restore", "--out", lake, "--from", "2026-11-20", "--to", "2026-11-20"],
    env,
  );

  expect([imported.exitCode, imported.stderr]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`BACKFILL_EXPORT_INVALID: .*sources\\.parquet: a row group has ${MANY} rows`),
    ),
  ]);
  expect([verified.exitCode, verified.stdout]).toEqual([
    1,
    expect.stringMatching(new RegExp(`quotes\\.parquet: cannot be read: .*a row group has ${MANY} rows`)),
  ]);
  expect([restored.exitCode, restored.stderr]).toEqual([
    1,
    expect.stringMatching(new RegExp(`LAKE_UNPROVEN: .*quotes\\.parquet: a row group has ${MANY} rows`)),
  ]);
});
