import { expect, test } from "@jest/globals";
import {
  databaseUrlProblem,
  describeDatabase,
  withoutPassword,
  withSslMode,
} from "../../src/config/databaseUrl.ts";

test.each([
  ["postgresql://user@/db?host=/var/run/postgresql", "/var/run/postgresql:5432/db"],
  ["postgresql:///db?host=/var/run/postgresql&user=me@home", "/var/run/postgresql:5432/db"],
  ["postgresql://me@%2Fvar%2Frun%2Fpostgresql/db", "/var/run/postgresql:5432/db"],
  ["postgresql://me:p%2Fw%40x%23@db.example:5433/quotes", "db.example:5433/quotes"],
  ["postgresql://me:a:b@db.example/quotes", "db.example:5432/quotes"],
  ["postgresql://me:pw@db.example", "db.example:5432/me"],
  ["postgres://[::1]:5433/quotes?sslmode=prefer", "::1:5433/quotes"],
  [
    "postgresql://db.example/quotes?sslmode=require&options=-c%20search_path%3Dquotes",
    "db.example:5432/quotes",
  ],
])("an address in libpq's form %s is taken, and shown as %s", (url, shown) => {
  expect(databaseUrlProblem(url)).toBeNull();
  expect(describeDatabase(url)).toBe(shown);
});

test("require_auth of an address is scram-sha-256 and nothing weaker", () => {
  const url = "postgresql://me:s3cret@db/quotes?require_auth=";
  expect(databaseUrlProblem(`${url}scram-sha-256`)).toBeNull();
  expect(databaseUrlProblem(`${url}md5`)).toMatch(/require_auth is "md5": expected scram-sha-256/);
});

test.each(["allow", "Require", "very-safe", "c4nary"])(
  "an address in libpq's form with sslmode=%s is refused, and the error lists the allowed words",
  (mode) => {
    const problem = databaseUrlProblem(`postgresql://me:s3cret@db/quotes?sslmode=${mode}`);

    expect(problem).toMatch(/sslmode is .*: expected one of disable, prefer, require/);
    expect(problem).not.toMatch(/s3cret|c4nary/);
  },
);

test("an address in libpq's form that asks to verify an authority and names none is refused", () => {
  expect(databaseUrlProblem("postgresql://db/quotes?sslmode=verify-ca")).toContain("sslrootcert=FILE");
  expect(databaseUrlProblem("postgresql://db/quotes?sslmode=verify-ca&sslrootcert=ca.pem")).toBeNull();
});

test("an address in libpq's form with several hosts is refused", () => {
  for (const hosts of ["a.example,b.example", "me:pw@a.example:5432,b.example:5433"])
    expect(databaseUrlProblem(`postgresql://${hosts}/quotes`)).toContain("one host");
});

const passwords = [
  "can/ary",
  "12/canary",
  "can@ary",
  "12/can@ary",
  "can#ary",
  "can?ary",
  "12?a=canary",
  "can%ary",
  "/canary",
];

test.each(passwords)(
  "a password with raw special characters such as %s is refused, and no part of it is shown",
  (password) => {
    const problem = databaseUrlProblem(`postgresql://me:${password}@db.example/quotes`);

    expect(problem).toMatch(/^expected special characters in user name and password percent-encoded/);
    expect(problem).not.toMatch(/can|ary|12/);
  },
);

test("an address for people's tools has neither a password nor what unlocks a key", () => {
  const url =
    "postgresql://me:s3cret@db.example/quotes?sslmode=require&sslpassword=s3cret&sslkey=my.key&password=s3cret";

  expect(withoutPassword(url)).toBe("postgresql://me@db.example/quotes?sslmode=require");
  expect(withoutPassword("postgresql://me:s3cret@/quotes?host=/run/postgresql")).toBe(
    "postgresql://me@/quotes?host=/run/postgresql",
  );
});

test("PGSSLMODE counts where the address says nothing of TLS", () => {
  expect(withSslMode("postgresql://db/quotes", "require")).toBe("postgresql://db/quotes?sslmode=require");
  expect(withSslMode("postgresql://db/quotes?a=b", "require")).toBe(
    "postgresql://db/quotes?a=b&sslmode=require",
  );
  expect(withSslMode("postgresql://db/quotes?sslmode=verify-full", "disable")).toContain(
    "sslmode=verify-full",
  );
  expect(withSslMode("postgresql://db/quotes", undefined)).toBe("postgresql://db/quotes");
});
