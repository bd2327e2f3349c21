import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { readRelations } from "../../scripts/docs/columns.ts";
import { databasePage } from "../../scripts/docs/pages.ts";
import {
  DIVIDEND_FIELDS,
  EXTENDED_FIELDS,
  type Field,
  PRICE_FIELDS,
  withElement,
} from "../../src/quotes/fields.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();
const relations = await readRelations(pool);

/** A column with what the database says of it. */
type Said = { column: string; type: string; comment: string };
const columns: Said[] = relations.flatMap(({ name, columns }) =>
  columns.map((one) => ({ column: `${name}.${one.name}`, type: one.type, comment: one.comment ?? "" })),
);
const commentOf = (column: string): string => columns.find((one) => one.column === column)?.comment ?? "";
const without = (words: RegExp, of: readonly string[]): string[] =>
  columns
    .filter(({ type, comment }) => of.includes(type) && !words.test(comment))
    .map(({ column, type, comment }) => `${column} (${type}): ${comment}`);

test("docs/columns.md says what the database says (npm run docs)", async () => {
  const { path, text } = await databasePage(pool);

  expect(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")).toBe(text);
});

test("the database says what every table and view is", () => {
  expect(relations.filter(({ comment }) => comment === null).map(({ name }) => name)).toEqual([]);
});

test("the database says what every function is, and which ones are not for people", async () => {
  const functions = await rowsOfQuery(
    pool,
    `select p.oid::regprocedure::text as name, obj_description(p.oid, 'pg_proc') as comment,
            p.prorettype = 'trigger'::regtype or not has_function_privilege('quotekeeper_reader', p.oid, 'execute') as internal
     from pg_proc p
     where p.pronamespace = 'public'::regnamespace
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  );

  expect(functions.length).toBeGreaterThan(25);
  expect(functions.filter(({ comment }) => comment === null)).toEqual([]);
  const open = functions.filter(
    ({ comment, internal }) => internal && !/^Internal\b/.test(comment as string),
  );
  // For who has changed quotes by hand.
  expect(open.map(({ name }) => name)).toEqual(["recompute_session_bars(date,date)"]);
});

test("the database says what every column is, in sentences that end with its origin", () => {
  expect(columns.length).toBeGreaterThan(300);
  expect(columns.filter(({ comment }) => !/^[^ ].*[^ ][.] Origin: [^ ].*[^ .][.]$/.test(comment))).toEqual(
    [],
  );
  expect(columns.filter(({ comment }) => comment.split("Origin:").length !== 2)).toEqual([]);
});

test("the database says the zone of every time and date", () => {
  expect(without(/\bUTC\b/, ["timestamptz"])).toEqual([]);
  expect(without(/New York/, ["date"])).toEqual([]);
});

test("the database says the unit of every number that has one", () => {
  const counted = /how many|number|counts|calls|version|\.id\b/i;
  const unit =
    /dollar|percent|\d %|ratio|\bshares\b|contracts|units?|bytes|\bms\b|minutes|seconds|years|HTTP/i;

  expect(without(unit, ["numeric", "double precision"])).toEqual([]);
  expect(
    without(new RegExp(`${unit.source}|${counted.source}`, "i"), ["bigint", "integer", "smallint"]),
  ).toEqual([]);
});

test("the database says the service's element of every field of a quote", () => {
  for (const [table, element, fields] of [
    ["quotes", "quote or undlyquote", PRICE_FIELDS],
    ["extended_quotes", "extendedquote", EXTENDED_FIELDS],
    ["dividends", "dividenddata", DIVIDEND_FIELDS],
  ] as const)
    for (const field of withElement<Pick<Field, "element" | "column">>(fields))
      expect(commentOf(`${table}.${field.column}`)).toContain(` Origin: ${field.element} of ${element}`);
});

test("comments in the database name only columns that exist", () => {
  const known = new Set(columns.map(({ column }) => column));
  const tables = new Set(relations.map(({ name }) => name));
  const named = columns.flatMap(({ comment }) =>
    [...comment.matchAll(/\b([a-z_]+)\.(?!yaml)([a-z_]+)\b/g)].filter(([, table = ""]) => tables.has(table)),
  );

  expect(named.length).toBeGreaterThan(50);
  expect(named.map(([column]) => column).filter((column) => !known.has(column))).toEqual([]);
});
