import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { createPool } from "../../src/archive/connect/connect.ts";
import {
  collectingGoesOn,
  databaseError,
  isDatabaseError,
  isRetryable,
} from "../../src/archive/connect/databaseError.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { describeDatabase } from "../../src/config/databaseUrl.ts";
import { ERRORS } from "../../src/ground/errors.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";

const coded = (code: string) => Object.assign(new Error("an error of the database"), { code });

test.each([
  ..."08000 08006 40001 40P01 53100 53300 57014 57P01 57P03".split(" ").map((code) => [code, true] as const),
  ..."22003 22P02 23505 23514 42501 42P01 28P01 3D000 54000 XX000"
    .split(" ")
    .map((code) => [code, false] as const),
  ..."ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH EAI_AGAIN"
    .split(" ")
    .map((code) => [code, true] as const),
])("%s is tried again: %p", (code, isTried) => {
  expect(isRetryable(coded(code))).toBe(isTried);
});

test("a statement is tried again if a real server ends the session or does not answer", async () => {
  const { pool } = await freshDatabase();
  const closed = createPool(`postgresql://someone@127.0.0.1:${await closedPort()}/db`);

  const ended = await pool
    .query("select pg_terminate_backend(pg_backend_pid())")
    .catch((error: unknown) => error);
  const refused = await closed.query("select 1").catch((error: unknown) => error);
  const away = createPool(`postgresql://someone@/db?host=${tempDir()}`);
  const noSocket = await away.query("select 1").catch((error: unknown) => error);

  expect(ended).toBeInstanceOf(Error);
  expect(isRetryable(ended)).toBe(true);
  expect(isRetryable(refused)).toBe(true);
  expect(noSocket).toMatchObject({ code: "ENOENT" });
  expect(isRetryable(noSocket)).toBe(true);
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});

test("a statement is tried again if the connection of a client in use has broken", async () => {
  const { pool } = await freshDatabase();
  const client = await pool.connect();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const broken = once(client, "error");
  await pool.query("select pg_terminate_backend($1::int)", [rows[0]?.pid]);
  await broken;

  const error: unknown = await client.query("select 1").catch((reason: unknown) => reason);
  client.release(true);

  expect(error).toMatchObject({ message: expect.stringContaining("not queryable") });
  expect(error).not.toHaveProperty("code");
  expect(isDatabaseError(error)).toBe(true);
  expect(isRetryable(error)).toBe(true);
});

test("a file that is not there and an error of our own are not tried again", () => {
  const missing = Object.assign(new Error("no such file"), { code: "ENOENT", syscall: "open" });

  for (const error of [missing, new TypeError("x is not a function")]) expect(isRetryable(error)).toBe(false);
});

test("a statement that was ended because it took too long is DATABASE_SLOW, and no server that is away", () => {
  const error = databaseError(coded("57014"), "127.0.0.1:5432/quotes");

  expect(error).toMatchObject({ code: "DATABASE_SLOW" });
});

test("a server's full disk is DISK_FULL, which is tried again", () => {
  const error = databaseError(coded("53100"), "127.0.0.1:5432/quotes");

  expect(error).toMatchObject({
    code: "DISK_FULL",
    detail: "127.0.0.1:5432/quotes: 53100 an error of the database",
  });
  expect(ERRORS[error.code].retryable).toBe(true);
});

test("an error of the database is named by what can be done about it, with the address and never the password", async () => {
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

test("a server that wants a password, where there is none, refuses us in plain words", async () => {
  const { url } = await freshDatabase();
  const login = new URL(url);
  if (login.password === "") return;
  login.password = "";
  const pool = poolOn(login.href);

  const error: unknown = await pool.query("select 1").catch((reason: unknown) => reason);

  expect(isDatabaseError(error)).toBe(true);
  expect(isRetryable(error)).toBe(false);
  expect(databaseError(error, "here")).toMatchObject({
    code: "DATABASE_REFUSED",
    detail: "here: the server wants a password, and there is none in DATABASE_URL, PGPASSWORD and ~/.pgpass",
  });
});

test.each(["42P05", "26000"])("SQLSTATE %s of a prepared statement is a pooler's doing", (code) => {
  expect(databaseError(coded(code), "db").code).toBe("DATABASE_POOLED");
});

test.each([
  ...["53100", "53300", "57P03", "58P01", "58030", "XX001", "F0000", "0A000", "25006", "42501", "42703"].map(
    (code) => [code, true] as const,
  ),
  ...["28P01", "3D000", "42P05"].map((code) => [code, false] as const),
])("collecting goes on, and begins, while SQLSTATE %s lasts: %p", (code, goesOn) => {
  expect(collectingGoesOn(databaseError(coded(code), "db"))).toBe(goesOn);
});

test.each(["53200", "53300", "58P01", "58030", "F0000", "XX000", "XX001", "XX002"])(
  "SQLSTATE %s is the database server's own trouble, and no defect of the program",
  (code) => {
    const error = databaseError(coded(code), "db");

    expect(error.code).toBe("DATABASE_TROUBLED");
    expect(error.message).toMatch(new RegExp(`^DATABASE_TROUBLED: db: ${code} .*server's own trouble`));
  },
);

test("a library that the server cannot load is the server's trouble, which is named, and a collector goes on", async () => {
  const { url, pool } = await freshDatabase();
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  await pool.query(`alter database "${name}" set session_preload_libraries = 'not_installed_any_more'`);

  const refused: unknown = await createPool(url)
    .query("select 1")
    .catch((error: unknown) => error);
  const error = databaseError(refused, "db");

  expect(error.message).toMatch(/^DATABASE_TROUBLED: db: 58P01 .*not_installed_any_more.*restart it/s);
  expect(collectingGoesOn(error)).toBe(true);
});

test("a host's name that does not resolve is tried again, and the resolver is named", async () => {
  const refused: unknown = await createPool("postgresql://someone@no-such-host.invalid/db")
    .query("select 1")
    .catch((error: unknown) => error);
  const error = databaseError(refused, "no-such-host.invalid:5432/db");

  expect(isRetryable(refused)).toBe(true);
  expect(collectingGoesOn(error)).toBe(true);
  expect(error.message).toMatch(
    /^DATABASE_UNREACHABLE: no-such-host\.invalid:5432\/db: .*resolver of this machine/,
  );
});
