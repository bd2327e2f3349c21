/**
 * Where test files, each in a worker of its own, get their databases: `POST /migrated` or `POST /empty` makes one and
 * answers with its connection string, `DELETE /<name>` drops it. One at a time, so nobody needs a lock.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type pg from "pg";
import { createPool } from "../../../src/archive/connect/connect.ts";
import { migrate } from "../../../src/archive/schema/migrations.ts";
import { systemClock, instantFromDate } from "../../../src/ground/clock.ts";
import { citusNodes, joinCitus } from "./citusNodes.ts";
import { startTestServer, type TestServer } from "./server.ts";

/** The open desk; `url` is for the test files. */
export type Desk = { url: string; close: () => Promise<void> };

/** How long a worker of the server may take to leave the template, in ms: no bound, it ends what hangs. */
const GONE_WITHIN_MS = 600_000;

/** SQLSTATE of a database that somebody uses: PostgreSQL, Appendix A. And how often a drop is tried then. */
const [OBJECT_IN_USE, DROPS] = ["55006", 5];

/**
 * @param databaseUrl a server to use, whose user may create databases; null: start one when the first is wanted
 * @param citusUrl a coordinator to use instead: a database is made on each of its nodes, and the archive is moved to Citus in it
 */
export async function openDesk(databaseUrl: string | null, citusUrl: string | null = null): Promise<Desk> {
  const run = randomBytes(4).toString("hex");
  const template = `quotekeeper_test_${run}_template`;
  const empty = citusUrl === null ? "template0" : `quotekeeper_test_${run}_empty`;
  const made = new Set<string>();
  /** A connection to each node, for all that is made and dropped there. */
  let nodes: { url: string; pool: pg.Pool }[] = [];
  let server: TestServer | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function serverWithTemplate(): Promise<TestServer> {
    if (server !== null) return server;
    const given = citusUrl ?? databaseUrl;
    const started = given === null ? await startTestServer() : { url: given, close: nothing };
    server = started;
    const urls = citusUrl === null ? [started.url] : await citusNodes(citusUrl);
    nodes = urls.map((url) => ({ url, pool: createPool(url, { max: 1 }) }));
    if (citusUrl !== null) {
      made.add(empty);
      await everywhere(`create database ${empty}`);
      await joinCitus(nodes.map(({ url }) => urlOf(url, empty)));
      await settle(empty);
    }
    made.add(template);
    await copy(template, citusUrl === null ? "template1" : empty);
    const pool = createPool(urlOf(started.url, template), { max: 1 });
    await migrate(pool, instantFromDate(systemClock.now()), citusUrl === null ? {} : { toCitus: true });
    await pool.end();
    await settle(template);
    return started;
  }

  /** Nobody else may come. TimescaleDB's workers connect to it as well, and a database in use cannot be copied. */
  async function settle(name: string): Promise<void> {
    await everywhere(`alter database ${name} allow_connections false`, ending(name));
  }

  /** Citus's own worker comes back to a template, some seconds after it was ended. */
  async function copy(name: string, origin: string, strategy = ""): Promise<void> {
    const ended = citusUrl === null ? [] : [ending(origin)];
    await everywhere(...ended, `create database ${name} template ${origin} ${strategy}`);
  }

  async function everywhere(...statements: string[]): Promise<void> {
    await Promise.all(
      nodes.map(async ({ pool }) => {
        for (const statement of statements) await pool.query(statement);
      }),
    );
  }

  /**
   * On one node after the other: Citus's own worker may be connecting to another node, which waits while that one drops its
   * database. It may also have come just now; then it is ended with the next attempt.
   */
  async function drop(name: string): Promise<void> {
    for (const { pool } of nodes)
      for (let attempt = 1; ; attempt++)
        try {
          await pool.query(`drop database if exists ${name} with (force)`);
          break;
        } catch (error) {
          if (attempt === DROPS || (error as { code?: string }).code !== OBJECT_IN_USE) throw error;
        }
  }

  async function answer({ method, url = "" }: IncomingMessage): Promise<string> {
    if (method === "DELETE") {
      if (server !== null && made.delete(url.slice(1))) await drop(url.slice(1));
      return "";
    }
    const running = await serverWithTemplate();
    const name = `quotekeeper_test_${run}_${made.size}_${randomBytes(3).toString("hex")}`;
    made.add(name);
    const origin = url === "/empty" ? empty : template;
    // Copied as files: half the work of a copy by way of the log, on a server that waits for no disk.
    const strategy = databaseUrl === null ? "strategy file_copy" : "";
    await copy(name, origin, strategy);
    return urlOf(running.url, name);
  }

  const http = createServer((request, response) => {
    turn = turn
      .then(() => answer(request))
      .then(
        (text) => response.end(text),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  http.unref();
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await turn;
      if (server === null) return;
      if (databaseUrl !== null || citusUrl !== null) for (const name of made) await drop(name);
      await Promise.all(nodes.map(({ pool }) => pool.end()));
      await server.close();
    },
  };
}

function ending(name: string): string {
  return `select pg_terminate_backend(pid, ${GONE_WITHIN_MS}) from pg_stat_activity where datname = '${name}'`;
}

function urlOf(url: string, database: string): string {
  const of = new URL(url);
  of.pathname = `/${database}`;
  return of.href;
}

async function nothing(): Promise<void> {
  // A server that we did not start is not ours to stop.
}
