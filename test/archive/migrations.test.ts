import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import {
  currentVersion,
  migrate,
  MIGRATIONS_DIR,
  readMigrations,
} from "../../src/archive/schema/migrations.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

const NOW = "2026-11-20T22:50:00.000000Z";
const empty = () => freshDatabase({ migrated: false });

/** What the schema consists of: every relation, column, constraint, index and what was applied. */
async function shapeOf({ pool }: { pool: Awaited<ReturnType<typeof empty>>["pool"] }): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull
     from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'public'::regnamespace
     union all select conname, contype, pg_get_constraintdef(oid), null, null from pg_constraint
       where connamespace = 'public'::regnamespace
     union all select name, 'm', sha256, version::text, null from schema_migrations
     order by 1, 2, 3`,
  );
  return rows;
}

describe("migrating", () => {
  test("brings an empty database to the newest version", async () => {
    const { pool } = await empty();
    const files = await readMigrations();

    expect(await currentVersion(pool)).toBe(0);
    const report = await migrate(pool, NOW);

    const applied = files.map(({ name }) => name);
    expect(report).toEqual({ version: files.at(-1)?.version, applied, warnings: [] });
    expect(await currentVersion(pool)).toBe(report.version);
  });

  test("a second time changes nothing", async () => {
    const database = await empty();
    await migrate(database.pool, NOW);
    const before = await shapeOf(database);

    const report = await migrate(database.pool, NOW);

    expect(report.applied).toEqual([]);
    expect(await shapeOf(database)).toEqual(before);
  });

  test("from twenty connections at once is done by one of them", async () => {
    const database = await empty();
    const pools = Array.from({ length: 20 }, () => poolOn(database.url, { max: 1 }));

    const reports = await Promise.all(pools.map((pool) => migrate(pool, NOW)));

    expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
    const alone = await empty();
    await migrate(alone.pool, NOW);
    expect(await shapeOf(database)).toEqual(await shapeOf(alone));
  });

  test("asks of the present version change nothing in a database that was never migrated", async () => {
    const { pool } = await empty();

    await currentVersion(pool);

    expect((await pool.query("select to_regclass('schema_migrations') as there")).rows).toEqual([
      { there: null },
    ]);
  });
});

describe("a migration is refused", () => {
  test("when the database is newer than the program, and nothing is changed", async () => {
    const { pool } = await freshDatabase();
    await pool.query(
      "insert into schema_migrations (version, name, sha256) values (9999, '9999_future.sql', '')",
    );

    await expect(migrate(pool, NOW)).rejects.toMatchObject({
      code: "DATABASE_NEWER",
      message: expect.stringContaining("9999"),
    });
    await expect(migrate(pool, NOW)).rejects.toMatchObject({ code: "DATABASE_NEWER" });
  });

  test("when a file was edited after it was applied, and the file is named", async () => {
    const { pool } = await freshDatabase();
    const dir = tempDir();
    cpSync(MIGRATIONS_DIR, dir, { recursive: true });
    const [first = ""] = readdirSync(dir)
      .filter((name) => name.endsWith(".sql"))
      .sort();
    writeFileSync(join(dir, first), `${readFileSync(join(dir, first), "utf8")}-- edited\n`);

    await expect(migrate(pool, NOW, { files: await readMigrations(dir) })).rejects.toMatchObject({
      code: "MIGRATION_CHANGED",
      message: expect.stringContaining(first),
    });
  });

  test("not by a text of migration 25 that failed in some archives and did the same in others", async () => {
    const { pool } = await freshDatabase();
    await pool.query(
      "update schema_migrations set sha256 = 'e8b4ff2ba215532952c0aecabee5b0638c52ab523c5c2a895f6e60d47ac85b2f' where version = 25",
    );

    await expect(migrate(pool, NOW)).resolves.toMatchObject({ applied: [] });
  });

  test("as a whole when one of its statements fails: the files before it stay, it is tried again the next time", async () => {
    const { pool } = await empty();
    const files = await readMigrations();
    const next = { version: 5000, name: "5000_half.sql", sha256: "half" };
    const half = { ...next, sql: "create table half (id int); select 1 / 0" };

    await expect(migrate(pool, NOW, { files: [...files, half] })).rejects.toMatchObject({ code: "22012" });

    expect(await currentVersion(pool)).toBe(files.at(-1)?.version);
    expect((await pool.query("select to_regclass('half') as there")).rows).toEqual([{ there: null }]);
    const whole = { ...next, sql: "create table half (id int)" };
    expect((await migrate(pool, NOW, { files: [...files, whole] })).applied).toEqual(["5000_half.sql"]);
  });
});

describe("the files of the history", () => {
  const sqlFiles = readdirSync(MIGRATIONS_DIR).filter((name) => name.endsWith(".sql"));

  test("are the ones whose SHA-256 stands in migrations/checksums.txt: a merged file is never edited", () => {
    const kept = readFileSync(join(MIGRATIONS_DIR, "checksums.txt"), "utf8").trim().split("\n");

    const found = sqlFiles.sort().map((name) => {
      const sha256 = createHash("sha256")
        .update(readFileSync(join(MIGRATIONS_DIR, name)))
        .digest("hex");
      return `${sha256}  ${name}`;
    });

    expect(found).toEqual(kept);
  });

  test("are numbered from 1 without a gap, and each says in its first line why it is there", async () => {
    const files = await readMigrations();

    expect(files).toHaveLength(sqlFiles.length);
    expect(files.map(({ version }) => version)).toEqual(files.map((_, index) => index + 1));
    for (const { sql } of files) expect(sql).toMatch(/^-- \S.{10,}\n/);
  });
});

describe("to several collectors", () => {
  /** A database of the version before, with a collector that has just renewed; `onWait` happens in each second of waiting. */
  async function before(onWait: string) {
    const { pool, url } = await empty();
    const files = await readMigrations();
    await migrate(pool, NOW, { files: files.filter(({ version }) => version < 16) });
    await pool.query(
      `insert into collectors (account, holder, fence, beat, pid, host, granted_at, renewed_at, released)
       values ('key', 'run', 1, 1, 4711, 'quotes-1', now(), clock_timestamp(), false);
       create function pg_sleep(integer) returns void language sql as
         $$update public.collectors set renewed_at = ${onWait}$$`,
    );
    return poolOn(url);
  }

  test("waits for one of an older version that was killed", async () => {
    const pool = await before("renewed_at - interval '1 second'");

    await migrate(pool, NOW);

    expect(await currentVersion(pool)).toBeGreaterThanOrEqual(16);
  });

  test("is refused as long as one of an older version goes on, which is named", async () => {
    const pool = await before("clock_timestamp()");

    await expect(migrate(pool, NOW)).rejects.toMatchObject({
      message: "a collector of an older version is running: process 4711 on quotes-1",
      hint: "End it, then start this version.",
    });

    expect(await currentVersion(pool)).toBe(15);
  });
});
