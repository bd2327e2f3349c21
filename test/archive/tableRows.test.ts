/** Rows are written with the columns of Drizzle's tables, and no statement says them once more. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "@jest/globals";
import { eq, is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import * as backfillSchema from "../../src/archive/schema/backfillSchema.ts";
import * as internalSchema from "../../src/archive/schema/internalSchema.ts";
import * as mainSchema from "../../src/archive/schema/schema.ts";
import { insertAll, tablesOn, upsertAll } from "../../src/archive/schema/tableRows.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const { clockSteps, dividends, dueSets, misses, responses } = mainSchema;
const ARCHIVE = fileURLToPath(new URL("../../src/archive/", import.meta.url));
const TABLES = Object.values<unknown>({ ...mainSchema, ...internalSchema, ...backfillSchema })
  .filter((value): value is PgTable => is(value, PgTable))
  .map((table) => getTableConfig(table).name)
  .concat("intraday_bars");

/** Statements whose rows come whole from a table of the same columns: file, statement, and why no columns are named. */
const WHOLE_ROWS = [
  [
    "export/hotRows.ts",
    "insert into ${table}",
    "the columns are those that the database has, for rows of its own that come back",
  ],
  [
    "tiers/hypertables.ts",
    "insert into ${table}",
    "the table that is filled was made like the one it is filled from",
  ],
] as const;

/** The beginning of a statement that puts rows into one of our tables, or into one whose name stands in a variable. */
const WRITES = new RegExp(
  String.raw`\b(?:insert into|copy) (?:\w+\.)?"?(?:${TABLES.join("|")}|\$\{[^}]*\})"?(?= as| \(| select|$)`,
  "gim",
);

/** That it goes on with the columns of a table of Drizzle's. */
const WITH_COLUMNS = /^(?: as \w+)? \(\$\{(?:columnList|allColumns|lineColumns)\(/;

const { pool } = await freshDatabase();
beforeEach(async () => {
  await pool.query("truncate responses, dividends, clock_steps, misses");
});

test("every statement that writes rows has its columns from Drizzle's tables, or copies whole rows", () => {
  const found = readdirSync(ARCHIVE, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => {
      const text = readFileSync(join(ARCHIVE, file), "utf8");
      return [...text.matchAll(WRITES)]
        .filter(({ 0: statement, index }) => !WITH_COLUMNS.test(text.slice(index + statement.length)))
        .map(([statement]) => `${file.replaceAll("\\", "/")}: ${statement}`);
    });

  expect([...new Set(found)].sort()).toEqual(
    WHOLE_ROWS.map(([file, statement]) => `${file}: ${statement}`).sort(),
  );
});

test("all columns at once are taken only where the values are made from the same table", () => {
  const takers = readdirSync(ARCHIVE, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => readFileSync(join(ARCHIVE, file), "utf8").includes("allColumns("));

  // A staging table is made like its table, and rows come to it in that order.
  expect(takers.sort()).toEqual(["load/staging.ts", "schema/tableRows.ts"]);
});

test.each([
  ["insert into misses (job, slot_at) values ($1, $2)", true],
  ["insert into slots select * from given", true],
  ["insert into sources as kept (id, kind)", true],
  ["copy quotes (observed_at) from stdin", true],
  ["insert into ${name} (observed_at)", true],
  ['insert into misses (${columnList(misses, "job", "slotAt")})', false],
  ['insert into collectors as c (${columnList(collectors, "account")})', false],
])("%s says columns by itself: %p", (statement, does) => {
  const [write] = [...statement.matchAll(WRITES)];

  expect(WITH_COLUMNS.test(statement.slice(write?.[0].length))).toBe(!does);
});

test("a hundred thousand rows go in with one statement, and those that are there are passed over", async () => {
  const rows = Array.from({ length: 100_000 }, (_, place) => ({
    ...{ movedAt: "2026-11-20T14:30:00.000000Z", stepMs: place, kind: "slept" as const },
  }));

  const first = await insertAll(pool, clockSteps, rows.slice(0, 70_000));
  const all = await insertAll(pool, clockSteps, rows);

  expect([first, all]).toEqual([70_000, 30_000]);
});

test("JSON of every kind, absent values and the digits of a number arrive as they are", async () => {
  const answer = {
    ...{ observedAt: "2026-11-20T14:30:00.123456Z", sourceId: 1, requestedAt: "2026-11-20T14:30:00Z" },
    ...{ job: null, httpStatus: 200, outcome: "quotes", responseId: 'a "b", {c}\\', serverDate: null },
    ...{
      rateLimitUsed: 1,
      rateLimitRemaining: null,
      rateLimitLimit: null,
      rateLimitExpire: "1461721950.380",
    },
    ...{ bodyBytes: 1, journalSegment: "one", journalOffset: 2 ** 52, accountId: 1, hasMore: null },
  };
  const requests = [{ a: [1, [2]], b: null }, ["x", ["y"]], "text", 7];

  await insertAll(
    pool,
    responses,
    requests.map((request, place) => ({
      ...answer,
      request,
      requestId: `${place}`.padStart(8, "0") + "-0000-4000-8000-000000000000",
    })),
  );

  const stored = await tablesOn(pool).select().from(responses).orderBy(responses.requestId);
  expect(stored.map(({ request }) => request)).toEqual(requests);
  expect(stored[0]).toMatchObject({
    ...{ ...answer, observedAt: "2026-11-20 14:30:00.123456+00", requestedAt: "2026-11-20 14:30:00+00" },
  });
});

test("a row that is there gets new values, other digits of the same number among them, and else is left alone", async () => {
  const row = { instrumentId: 1, sourceId: 1, exDate: "2026-11-06", yield: null };
  const rows = [
    { ...row, observedAt: "2026-11-20T14:30:00Z", amount: "0.26" },
    { ...row, observedAt: "2026-11-20T14:31:00Z", amount: "0.26" },
  ];
  await insertAll(pool, dividends, rows);

  const written = await upsertAll(
    pool,
    dividends,
    rows.map((one, place) => ({ ...one, amount: place === 0 ? "0.26" : "0.260" })),
  );

  expect(written).toBe(1);
  expect(await rowsOfQuery(pool, "select amount from dividends order by observed_at")).toEqual([
    { amount: "0.26" },
    { amount: "0.260" },
  ]);
});

test("columns of arrays are refused, which would be taken apart", async () => {
  const row = { id: 1, digest: "d", instruments: ["AAPL", "MSFT"] };

  await expect(insertAll(pool, dueSets, [row])).rejects.toThrow("the arrays of instruments");
});

test("the database's errors come with their SQLSTATE, whichever way a statement was written", async () => {
  const refused = { code: "23514", constraint: expect.any(String) };
  const row = { movedAt: "2026-11-20T14:30:00Z", stepMs: 1, kind: "melted" as "slept" };

  await expect(insertAll(pool, clockSteps, [row])).rejects.toMatchObject(refused);
  await expect(tablesOn(pool).insert(clockSteps).values(row)).rejects.toMatchObject(refused);
  await expect(tablesOn(pool).select().from(misses).where(eq(misses.slotAt, "soon"))).rejects.toMatchObject({
    code: "22007",
  });
});
