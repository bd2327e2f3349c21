/**
 * Where test files, each in a worker of its own, get their databases: `POST /migrated` or `POST /empty` makes one and
 * answers with its connection string, `DELETE /<name>` drops it. One at a time, so nobody needs a lock.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createPool } from "../../../src/archive/connect.ts";
import { migrate } from "../../../src/archive/migrations.ts";
import { systemClock, instantFromDate } from "../../../src/clock.ts";
import { execute, startTestServer, type TestServer } from "./server.ts";

/** The open desk; `url` is for the test files. */
export type Desk = { url: string; close: () => Promise<void> };

/** How long a worker of the server may take to leave the template, in ms: no bound, it ends what hangs. */
const GONE_WITHIN_MS = 600_000;

/** @param databaseUrl a server to use, whose user may create databases; null: start one when the first is wanted */
export async function openDesk(databaseUrl: string | null): Promise<Desk> {
  const run = randomBytes(4).toString("hex");
  const template = `quotekeeper_test_${run}_template`;
  const made = new Set<string>();
  let server: TestServer | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function serverWithTemplate(): Promise<TestServer> {
    if (server !== null) return server;
    const started = databaseUrl === null ? await startTestServer() : { url: databaseUrl, close: nothing };
    server = started;
    made.add(template);
    await execute(started.url, [`create database ${template}`]);
    const pool = createPool(urlOf(started, template), { max: 1 });
    await migrate(pool, instantFromDate(systemClock.now()));
    await pool.end();
    // TimescaleDB's workers connect to it, and a database in use cannot be copied: those to come, and the one there.
    await execute(started.url, [
      `alter database ${template} allow_connections false`,
      `select pg_terminate_backend(pid, ${GONE_WITHIN_MS}) from pg_stat_activity where datname = '${template}'`,
    ]);
    return started;
  }

  async function answer({ method, url = "" }: IncomingMessage): Promise<string> {
    if (method === "DELETE") {
      if (server !== null && made.delete(url.slice(1))) await execute(server.url, [dropping(url.slice(1))]);
      return "";
    }
    const running = await serverWithTemplate();
    const name = `quotekeeper_test_${run}_${made.size}_${randomBytes(3).toString("hex")}`;
    made.add(name);
    const origin = url === "/empty" ? "template0" : template;
    // Copied as files: half the work of a copy by way of the log, on a server that waits for no disk.
    const strategy = databaseUrl === null ? "strategy file_copy" : "";
    await execute(running.url, [`create database ${name} template ${origin} ${strategy}`]);
    return urlOf(running, name);
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
      if (databaseUrl !== null) await execute(server.url, [...made].map(dropping));
      await server.close();
    },
  };
}

function dropping(name: string): string {
  return `drop database if exists ${name} with (force)`;
}

function urlOf({ url }: TestServer, database: string): string {
  const of = new URL(url);
  of.pathname = `/${database}`;
  return of.href;
}

async function nothing(): Promise<void> {
  // A server that we did not start is not ours to stop.
}
