/** libpq's words for TLS and for Unix sockets, against a PostgreSQL with a certificate of our making. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { chownSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { tlsOf } from "../../src/archive/connect/tls.ts";
import { describeDatabase } from "../../src/config/databaseUrl.ts";
import { freshDatabase } from "../support/database.ts";
import { selfSigned } from "../support/selfSigned.ts";
import { execute, makeServerDir, openOwnServer, type OwnServer } from "../support/postgres/server.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

let dir: string;
let server: OwnServer;
/** The server's own certificate, which is its own authority. */
let own: string;
/** Another one of our making, that the server does not have. */
let other: string;
const warnings = jest.spyOn(process, "emitWarning");

beforeAll(async () => {
  dir = makeServerDir();
  server = await openOwnServer(dir);
  other = join(dir, "other.crt");
  writeFileSync(other, selfSigned().cert);
});

afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

/** @returns the path of the certificate */
async function useCertificate({ key, cert }: { key: string; cert: string }): Promise<string> {
  const cluster = join(dir, "postgres");
  const { uid, gid } = statSync(cluster);
  for (const [name, text] of Object.entries({ "server.key": key, "server.crt": cert })) {
    writeFileSync(join(cluster, name), text, { mode: 0o600 });
    chownSync(join(cluster, name), uid, gid);
  }
  await execute(server.url, ["alter system set ssl = on", "select pg_reload_conf()"]);
  const copy = join(dir, "server.crt");
  writeFileSync(copy, cert);
  return copy;
}

/** Whether a connection is encrypted, or the error in its place. */
async function encrypted(url: string, parameters?: string): Promise<unknown> {
  const pool = createPool(parameters === undefined ? url : `${url}?${parameters}`);
  try {
    const { rows } = await pool.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()");
    return rows[0]?.ssl;
  } catch (error) {
    return error;
  } finally {
    await pool.end();
  }
}

/** The reload takes a moment. */
async function untilCertificateIs(cert: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({
      connectionString: server.url,
      ssl: { ca: cert, checkServerIdentity: () => undefined },
    });
    const reached = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (reached) return;
  }
}

describe("a server with a self-signed certificate", () => {
  beforeAll(async () => {
    const key = selfSigned();
    own = await useCertificate(key);
    await untilCertificateIs(key.cert);
  });

  test.each([
    ["sslmode=disable", false],
    ["sslmode=prefer", true],
    ["sslmode=require", true],
    ["sslmode=no-verify", true],
    ["ssl=0", false],
    ["", false],
  ])(
    "a connection with %s to a server with a self-signed certificate is encrypted: %s",
    async (parameters, expected) => {
      expect(await encrypted(server.url, parameters)).toBe(expected);
    },
  );

  test.each(["verify-full", "verify-ca", "require"])(
    "sslmode=%s reaches a self-signed server when its authority is named, and refuses it when another is",
    async (mode) => {
      const refused = await encrypted(server.url, `sslmode=${mode}&sslrootcert=${other}`);

      expect(await encrypted(server.url, `sslmode=${mode}&sslrootcert=${own}`)).toBe(true);
      expect(refused).toMatchObject({ code: "DATABASE_TLS_FAILED" });
      expect(String(refused)).toContain(`sslmode=${mode}`);
      expect(String(refused)).toContain("sslrootcert=FILE");
    },
  );

  test("sslmode=verify-full refuses a self-signed server when no authority is named", async () => {
    expect(String(await encrypted(server.url, "sslmode=verify-full"))).toContain(
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    );
    expect(String(await encrypted(server.url, "ssl=true"))).toContain("sslmode=verify-full");
  });

  test("a file of certificates that is not there is named", () => {
    const missing = join(dir, "missing.crt");

    expect(() => createPool(`${server.url}?sslmode=require&sslrootcert=${missing}`)).toThrow(
      `CONFIG_INVALID: DATABASE_URL names ${missing} as sslrootcert, which cannot be read (ENOENT)`,
    );
  });
});

test("a certificate for another name is good enough for verify-ca, and refused by verify-full", async () => {
  const key = selfSigned("db.example");
  const file = await useCertificate(key);
  await untilCertificateIs(key.cert);

  expect(await encrypted(server.url, `sslmode=verify-ca&sslrootcert=${file}`)).toBe(true);
  expect(String(await encrypted(server.url, `sslmode=verify-full&sslrootcert=${file}`))).toMatch(
    /DATABASE_TLS_FAILED.*sslmode=verify-full.*ERR_TLS_CERT_ALTNAME_INVALID/,
  );
});

/** Citus gives its nodes TLS by itself. */
const testWithout = unlessOnCitus("whose nodes have TLS: a server without it.");

testWithout(
  "a server without TLS is reached with sslmode=prefer, and refused by the modes that insist",
  async () => {
    const { url } = await freshDatabase({ migrated: false });

    expect(await encrypted(url, "sslmode=prefer")).toBe(false);
    for (const mode of ["require", "verify-full", "no-verify"]) {
      const refused = await encrypted(url, `sslmode=${mode}`);
      expect(refused).toMatchObject({ code: "DATABASE_TLS_FAILED" });
      expect(String(refused)).toContain(`sslmode=${mode} asks for TLS, and the server offers none`);
    }
  },
);

test("libpq's own form of a Unix socket is reached, whatever it says of TLS", async () => {
  const { username, password, port } = new URL(server.url);
  const sockets = join(dir, "postgres");
  const login = `${username}:${password}@/quotekeeper?host=${sockets}&port=${port}`;

  expect(await encrypted(`postgresql://${login}`)).toBe(false);
  expect(await encrypted(`postgresql://${login}&sslmode=require`)).toBe(false);
  expect(describeDatabase(`postgresql://${login}`)).toBe(`${sockets}:${port}/quotekeeper`);
});

test("TLS is preferred on the way to another machine, and left out on this one and on a Unix socket", () => {
  expect(tlsOf("postgresql://db.example/quotes", "db.example")?.mode).toBe("prefer");
  expect(tlsOf("postgresql://127.0.0.1/quotes", "127.0.0.1")).toBeNull();
  expect(tlsOf("postgresql:///quotes?host=/run/postgresql&sslmode=require", "/run/postgresql")).toBeNull();
});

test("the driver warns of none of this", () => {
  expect(warnings).not.toHaveBeenCalled();
});
