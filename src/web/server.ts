/** The dashboard's server: the latest quotes as a page, and a health check. It reads, and never writes. */
import Fastify from "fastify";
import type pg from "pg";
import { readLatestQuotes } from "../archive/queries.ts";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import type { Log } from "../log.ts";
import { errorPage, quotesPage } from "./page.ts";

/** What the server is made of. */
export type WebOptions = {
  /** A pool of its own that can only read. */
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  host: string;
  port: number;
};

/** A running dashboard. */
export type Web = { address: string; close: () => Promise<void> };

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/**
 * Starts to listen.
 *
 * @throws QuotekeeperError PORT_IN_USE, HTTP_ADDRESS_INVALID
 */
export async function startWeb({ pool, clock, log, host, port }: WebOptions): Promise<Web> {
  const app = Fastify({ logger: false });
  app.get("/", async (_request, reply) => {
    try {
      const quotes = await readLatestQuotes(pool);
      return await reply.headers(HEADERS).send(quotesPage(quotes, clock.now()));
    } catch (error) {
      log.warn({ err: error }, "the dashboard could not read the archive");
      return reply.code(503).headers(HEADERS).send(errorPage());
    }
  });
  app.get("/style.css", async (_request, reply) => {
    const { STYLE } = await import("./style.ts");
    return reply.header("content-type", "text/css; charset=utf-8").send(STYLE);
  });
  app.get("/healthz", async (_request, reply) => reply.send({ status: "alive" }));
  try {
    const address = await app.listen({ host, port });
    return { address, close: () => app.close() };
  } catch (cause) {
    await app.close();
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new QuotekeeperError(
        "PORT_IN_USE",
        `the dashboard cannot listen on ${host}:${port}, which is taken (its port is QUOTEKEEPER_HTTP_PORT)`,
        { cause },
      );
    }
    throw new QuotekeeperError(
      "HTTP_ADDRESS_INVALID",
      `the dashboard cannot listen on ${host}:${port} (${code ?? message})`,
      { cause },
    );
  }
}
