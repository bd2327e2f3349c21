/** The dashboard's server: the page, the API it draws from, and a health check. It reads, and never writes. */
import Fastify, { type FastifyReply } from "fastify";
import type pg from "pg";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { addEvents } from "./api/events.ts";
import { addApi } from "./api/routes.ts";
import { serveAssets } from "./assets.ts";
import { installGuard } from "./guard/guard.ts";
import { requireToken } from "./guard/hosts.ts";
import { type NowSources, refusal } from "./live.ts";
import { addMachines, type Machines } from "./monitoring/machineRoutes.ts";
import { createNowReader } from "./now.ts";
import { readHasSimulatedRows, readQuotesSince } from "../archive/dashboard/quotes.ts";
import type { JobsView } from "./api/operatorTypes.ts";
import type { Meta } from "./api/types.ts";

/** What the server is made of. */
export type WebOptions = {
  /** A pool of its own that can only read. */
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  host: string;
  port: number;
  /** Null: no token is asked for, and the host must be this machine's own. */
  token: string | null;
  /** Names the dashboard has besides this machine's own, in small letters, such as a proxy's. */
  names?: readonly string[];
  /** Addresses and networks of proxies, whose word counts for where a request comes from. */
  proxies?: readonly string[];
  /** The provider's attribution line; null: none. */
  attribution: string | null;
  version: string;
  /** Names the database in errors; no user, no password. */
  address: string;
  /** The exchange's hours. */
  calendar: Calendar;
  /** The Now view's facts. */
  sources: NowSources;
  /** The job files and their plan; without it there is no such view. */
  jobs?: () => Promise<JobsView>;
  /** What `/metrics` and `/readyz` answer; without it there is `/healthz` alone. */
  machines?: Machines;
};

/** A running dashboard. */
export type Web = { address: string; close: () => Promise<void> };

/**
 * Starts to listen.
 *
 * @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID
 */
export async function startWeb(options: WebOptions): Promise<Web> {
  const { pool, clock, log, host, port, token, address, calendar, sources } = options;
  const { names = [], proxies = [] } = options;
  requireToken(host, token);
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    trustProxy: proxies.length > 0 && [...proxies],
    // An address that cannot be decoded comes past every hook; the answer would repeat it.
    frameworkErrors: (_error, _request, reply: FastifyReply) => reply.code(400).send(UNREADABLE),
  });
  const now = createNowReader({ pool, clock, log, sources, calendar });
  await installGuard(app, { token, names, clock });
  addMachines(app, { machines: options.machines ?? null, log });
  const configured = sources.feed.simulated ? ("simulated" as const) : ("account" as const);
  const operator = { clock, configured, jobs: options.jobs ?? null };
  addApi(app, { pool, log, address, now, operator, meta: createMetaReader(options) });
  const endEvents = addEvents(app, { clock, log, now, quotesSince: (since) => readQuotesSince(pool, since) });
  await serveAssets(app);
  try {
    const listening = await app.listen({ host, port });
    return {
      address: listening,
      close: async () => {
        await endEvents();
        await app.close();
      },
    };
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

const UNREADABLE = refusal("ADDRESS_UNREADABLE", "the address cannot be decoded");

/** Reads the page's frame. An archive that was never read leaves the mark to the feed. */
function createMetaReader(options: {
  pool: pg.Pool;
  log: Log;
  token: string | null;
  attribution: string | null;
  version: string;
  sources: NowSources;
}): () => Promise<Meta> {
  const { pool, log, token, attribution, version, sources } = options;
  // Rows are not taken out of an archive: once there, the mark stays, also while the database is away.
  let simulated = sources.feed.simulated;
  return async () => {
    simulated ||= await hasSimulatedRows(pool, log);
    return { version, attribution, simulated, live: sources.live() !== null, protected: token !== null };
  };
}

async function hasSimulatedRows(pool: pg.Pool, log: Log): Promise<boolean> {
  return readHasSimulatedRows(pool).catch((error: unknown) => {
    log.debug({ err: error }, "the dashboard could not look for simulated rows");
    return false;
  });
}
