/** A database in which something stands that is not quotekeeper's. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { databaseError } from "../../src/archive/connect/databaseError.ts";
import { readHistory } from "../../src/archive/schema/history.ts";
import { currentVersion, migrate } from "../../src/archive/schema/migrations.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { at } from "../support/journal.ts";

const empty = () => freshDatabase({ migrated: false });

const IN_THE_WAY: [thing: string, sql: string, undo: string, named: string][] = [
  ["table", "create table quotes (x int)", "drop table quotes", "a table called quotes that is not"],
  ["view", "create view bars_1d as select 1 as x", "drop view bars_1d", "a view called bars_1d that is not"],
  ["type", "create type slots as enum ('a')", "drop type slots", "a type called slots that is not"],
  ["sequence", "create sequence misses", "drop sequence misses", "a sequence called misses that is not"],
  [
    "function",
    "create function recompute_session_bars() returns int language sql as 'select 1'",
    "drop function recompute_session_bars",
    "a function called recompute_session_bars that is not",
  ],
  [
    "index",
    "create table mine (x int); create index slots_slot_at on mine (x)",
    "drop table mine",
    "an index called slots_slot_at that is not",
  ],
  [
    "table of migrations",
    "create table schema_migrations (version varchar primary key)",
    "drop table schema_migrations",
    "a table called schema_migrations that is not",
  ],
];

describe("of a name that is needed", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    ({ pool } = await empty());
  });

  test.each(IN_THE_WAY)(
    "a %s of a name that the archive needs is named, and left alone",
    async (_thing, sql, undo, named) => {
      await pool.query(sql);

      const refused = await migrate(pool, at(0)).catch((error: unknown) => error);
      const looked = await currentVersion(pool).catch((error: unknown) => error);

      for (const error of [refused, looked]) {
        const { code, message } = databaseError(error, "127.0.0.1:5432/app");
        expect(code).toBe("DATABASE_OCCUPIED");
        expect(message).toContain(
          `127.0.0.1:5432/app: ${named} quotekeeper's is in the way. Give quotekeeper a`,
        );
        expect(message).not.toContain("defect");
      }
      // It fails where it is not there any more.
      await pool.query(undo);
    },
  );

  test("a database that was refused for its names is left empty, and gets the schema once they are free", async () => {
    expect(await currentVersion(pool)).toBe(0);
    expect((await migrate(pool, at(0))).version).toBeGreaterThan(4);
  });
});

test("several things in the way are counted, and the rows of a foreign table stay as they are", async () => {
  const { pool } = await empty();
  await pool.query("create table quotes (x int); insert into quotes values (7)");
  await pool.query("create table sources (x int); create table slots (x int); create table fills (x int)");

  const error = await currentVersion(pool).catch((reason: unknown) => reason);
  await migrate(pool, at(0)).catch(() => undefined);

  expect(error).toMatchObject({
    code: "DATABASE_OCCUPIED",
    detail: expect.stringMatching(
      /^a table called fills, .* and 1 more that are not quotekeeper's are in the way$/,
    ),
  });
  expect(await rowsOfQuery(pool, "select * from quotes")).toEqual([{ x: 7 }]);
});

test("a person's table in the way of a later migration of an archive is named, and nothing is applied", async () => {
  const { pool } = await freshDatabase();
  await pool.query("create table things (x int); insert into things values (7)");
  const history = await readHistory();
  const next = {
    version: 5000,
    name: "5000_things.sql",
    sha256: "things",
    sql: "create table things (y text)",
  };

  const migrating = migrate(pool, at(0), {
    files: { ...history, migrations: [...history.migrations, next] },
  });

  await expect(migrating).rejects.toMatchObject({
    code: "DATABASE_OCCUPIED",
    detail: "a table called things that is not quotekeeper's is in the way",
  });
  expect(await rowsOfQuery(pool, "select * from things")).toEqual([{ x: 7 }]);
  expect(await currentVersion(pool)).toBe(history.migrations.at(-1)?.version);
});

test("a view of the archive's own is not in the way of a later migration that makes it again", async () => {
  const { pool } = await freshDatabase();
  const sql = "drop view dividend_calendar;\ncreate view dividend_calendar as select 1 as one";
  const next = { version: 5000, name: "5000_anew.sql", sha256: "anew", sql };

  const history = await readHistory();
  const report = await migrate(pool, at(0), {
    files: { ...history, migrations: [...history.migrations, next] },
  });

  expect(report.applied).toEqual(["5000_anew.sql"]);
});

test("other tables, and tables of the same names in another schema, are not in the way", async () => {
  const { pool } = await empty();
  await pool.query("create table orders (x int); create schema app; create table app.quotes (x int)");

  expect(await currentVersion(pool)).toBe(0);
  expect((await migrate(pool, at(0))).version).toBeGreaterThan(4);
});

test("a table of the archive's that a person altered is DATABASE_FAILED, not DATABASE_OCCUPIED", () => {
  const altered = Object.assign(new Error('column "bid" does not exist'), { code: "42703" });

  expect(databaseError(altered, "db").code).toBe("DATABASE_FAILED");
});
