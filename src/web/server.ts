/**
 * The dashboard's server: the page, the API it draws from, and a health check. It reads, and writes nothing to the archive; the one
 * thing it can do is a person's login at a service.
 */
import Fastify, { type FastifyReply } from "fastify";
import type pg from "pg";
import { atMost, type Clock, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { createEvents } from "./api/events.ts";
import { addLogins, type BeginLogin } from "./api/loginRoutes.ts";
import { addPacking } from "./api/packing.ts";
import { rememberAnswers } from "./api/rememberAnswers.ts";
import { addApi } from "./api/routes.ts";
import { cannotListen } from "./address.ts";
import { serveAssets } from "./assets.ts";
import { installGuard } from "./guard/guard.ts";
import { createRecords } from "./guard/session.ts";
import { requireToken } from "./guard/hosts.ts";
import { type NowSources, refusal } from "./live.ts";
import { addMachines, type Machines } from "./monitoring/machineRoutes.ts";
import { createNowReader } from "./now.ts";
import { readQuotesSince, readSourcesStored } from "../archive/ask/quotes.ts";
import type { JobsView, Meta } from "./api/types.ts";

type WebOptions = {
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
  /** Directory below the data directory in which logins outlive the process; default: none, and they do not. */
  sessionsDir?: string;
  /** The provider's attribution line; null: none. */
  attribution: string | null;
  version: string;
  /** Names the database in errors; no user, no password. */
  address: string;
  calendar: Calendar;
  sources: NowSources;
  /** The job files and their plan; without it there is no such view. */
  jobs?: () => Promise<JobsView>;
  /** Begins a login at an account's service; without it no login can be made here. */
  beginLogin?: BeginLogin | undefined;
  /** What `/metrics` and `/readyz` answer; without it there is `/healthz` alone. */
  machines?: Machines;
};

/** A running dashboard. */
export type Web = { address: string; close: () => Promise<void> };

function noSchemas(): never {
  throw new Error("a route has a schema, and nothing is there that compiles it");
}

/**
 * Starts to listen.
 *
 * @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID
 */
export async function startWeb(options: WebOptions): Promise<Web> {
  const { pool, clock, log, host, port, token, address, calendar, sources } = options;
  const { names = [], proxies = [], sessionsDir = null, beginLogin } = options;
  requireToken(host, token);
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    trustProxy: proxies.length > 0 && [...proxies],
    // No route has a schema. The libraries that compile them are megabytes, and fastify loads them unless it is given others.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // An address that cannot be decoded comes past every hook; the answer would repeat it.
    frameworkErrors: (_error, _request, reply: FastifyReply) => reply.code(400).send(UNREADABLE),
  });
  const now = createNowReader({ pool, clock, log, sources, calendar });
  const events = createEvents({ clock, log, now, quotesSince: (since) => readQuotesSince(pool, since) });
  const records = createRecords(sessionsDir, log);
  await installGuard(app, { token, names, records, loggedOut: events.endRefused, clock });
  addMachines(app, { machines: options.machines ?? null, log });
  addPacking(app);
  const configured = sources.feed.simulated ? ("simulated" as const) : ("account" as const);
  const { jobs } = options;
  addApi(app, { pool, log, address, now, events, clock, configured, jobs, meta: createMetaReader(options) });
  if (beginLogin) addLogins(app, { begin: beginLogin, guarded: token !== null, clock, log });
  await serveAssets(app);
  try {
    const listening = await app.listen({ host, port });
    return {
      address: listening,
      close: async () => {
        await events.end();
        await app.close();
      },
    };
  } catch (cause) {
    await app.close();
    throw cannotListen(cause, { host, port });
  }
}

const UNREADABLE = refusal("ADDRESS_UNREADABLE", "the address cannot be decoded");

/** How long what the archive says of its sources counts, ms: it is found out by a look at all bars. */
const SOURCES_KNOWN_MS = 60_000;

/** How long the page's frame waits for that, ms. */
const SOURCES_WAIT_MS = 1_000;

/** Reads the page's frame. An archive that was never read leaves the mark to the feed. */
function createMetaReader({ pool, log, clock, token, attribution, version, sources }: WebOptions) {
  // Rows are not taken out of an archive: once there, the mark stays, also while the database is away.
  let simulated = sources.feed.simulated;
  let mixed = false;
  const remember = rememberAnswers(clock, SOURCES_KNOWN_MS);
  const lookAtSources = async (): Promise<void> => {
    if (simulated && mixed) return;
    try {
      const stored = await remember("", () => readSourcesStored(pool));
      simulated ||= stored.some(({ kind }) => kind === "simulated");
      mixed = stored.length > 1;
    } catch (error) {
      log.debug({ err: error }, "the dashboard could not look for the archive's sources");
    }
  };
  return async (): Promise<Meta> => {
    // The page waits for this: a database that does not answer must not keep it away.
    await atMost(SOURCES_WAIT_MS, lookAtSources(), systemClock);
    return {
      version,
      attribution,
      simulated,
      mixed,
      live: sources.live() !== null,
      protected: token !== null,
    };
  };
}
