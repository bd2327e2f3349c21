import { describe, expect, test } from "@jest/globals";
import { createPool, databaseError, describeDatabase, isRetryable } from "../../src/archive/connect.ts";
import { ERRORS } from "../../src/errors.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";

const coded = (code: string) => Object.assign(new Error("an error of the database"), { code });

describe("trying again", () => {
  test.each(["08000", "08006", "40001", "40P01", "53100", "53300", "57014", "57P01", "57P03"])(
    "helps with SQLSTATE %s",
    (code) => {
      expect(isRetryable(coded(code))).toBe(true);
    },
  );

  test.each(["22003", "22P02", "23505", "23514", "42501", "42P01", "28P01", "3D000", "54000", "XX000"])(
    "does not help with SQLSTATE %s",
    (code) => {
      expect(isRetryable(coded(code))).toBe(false);
    },
  );

  test.each(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "EAI_AGAIN"])(
    "helps with %s of a socket",
    (code) => {
      expect(isRetryable(coded(code))).toBe(true);
    },
  );

  test("helps when a real server ends the session, or does not answer", async () => {
    const { pool } = await freshDatabase();
    const closed = createPool(`postgresql://someone@127.0.0.1:${await closedPort()}/db`);

    const ended = await pool
      .query("select pg_terminate_backend(pg_backend_pid())")
      .catch((error: unknown) => error);
    const refused = await closed.query("select 1").catch((error: unknown) => error);

    expect(ended).toBeInstanceOf(Error);
    expect(isRetryable(ended)).toBe(true);
    expect(isRetryable(refused)).toBe(true);
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  test("does not help with an error of our own", () => {
    expect(isRetryable(new TypeError("x is not a function"))).toBe(false);
  });
});

describe("an error of the database", () => {
  test("for want of space on its disk says so, and that it is tried again", () => {
    const error = databaseError(coded("53100"), "127.0.0.1:5432/quotes");

    expect(error).toMatchObject({
      code: "DISK_FULL",
      detail: "127.0.0.1:5432/quotes: 53100 an error of the database",
    });
    expect(ERRORS[error.code].retryable).toBe(true);
  });

  test("is named by what can be done about it, with the address and never the password", async () => {
    const url = `postgresql://someone:s3cret@127.0.0.1:${await closedPort()}/quotes`;
    const refused = await createPool(url)
      .query("select 1")
      .catch((error: unknown) => error);

    const error = databaseError(refused, describeDatabase(url));

    expect(error.code).toBe("DATABASE_UNREACHABLE");
    expect(error.message).toContain("/quotes");
    expect(`${error.message} ${describeDatabase(url)}`).not.toMatch(/s3cret|someone/);
    expect(databaseError(coded("28P01"), "db").code).toBe("DATABASE_REFUSED");
  });
});

describe("a session", () => {
  test("speaks UTC, and gives decimals, counts, dates and times as text", async () => {
    const { pool } = await freshDatabase();
    await pool.query("set datestyle to iso");

    const [row] = await rowsOfQuery(
      pool,
      `select 0.0450::numeric as price, 9007199254740993::bigint as volume, date '2026-11-12' as day,
         timestamptz '2026-11-20 17:50:00.123456-05' as time`,
    );

    expect(row).toEqual({
      price: "0.0450",
      volume: "9007199254740993",
      day: "2026-11-12",
      time: "2026-11-20 22:50:00.123456+00",
    });
  });

  test("of a reader cannot write", async () => {
    const { url } = await freshDatabase();
    const reader = poolOn(url, { readOnly: true });

    expect(await rowsOfQuery(reader, "select * from latest_quotes")).toEqual([]);
    await expect(reader.query("delete from quotes")).rejects.toMatchObject({ code: "25006" });
  });
});

describe("the role quotekeeper_reader", () => {
  test("reads every table and view of the archive, and writes none", async () => {
    const { pool } = await freshDatabase();
    const relations = await rowsOfQuery(
      pool,
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition`,
    );
    const client = await pool.connect();
    await client.query("set role quotekeeper_reader");

    try {
      expect(relations.length).toBeGreaterThan(9);
      for (const { name } of relations) {
        await client.query(`select * from ${String(name)}`);
        // 42501: no right to; 55000: a view of several tables, which nobody can.
        await expect(client.query(`delete from ${String(name)}`)).rejects.toMatchObject({
          code: expect.stringMatching(/^(42501|55000)$/),
        });
      }
      await expect(client.query("create table mine (id int)")).rejects.toMatchObject({ code: "42501" });
    } finally {
      await client.query("reset role");
      client.release();
    }
  });
});

test("a lasting connection that breaks is not replaced: what a second one would find is not what it held", async () => {
  const { url, pool } = await freshDatabase();
  const lasting = createPool(url, { max: 1, lasting: true });
  try {
    const { rows } = await lasting.query<{ pid: number }>("select pg_backend_pid() as pid");
    await pool.query("select pg_terminate_backend($1, 10000)", [rows[0]?.pid]);

    // The first use meets the broken connection, if the pool has not heard of it yet.
    await lasting.query("select 1").catch(() => undefined);
    await expect(lasting.query("select 1")).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" });
  } finally {
    await lasting.end();
  }
});
