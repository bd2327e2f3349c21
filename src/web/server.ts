/**
 * The dashboard's server: the page, the API it draws from, and a health check. It reads, and writes nothing to the archive; the one
 * thing it can do is a person's login at a service.
 */
import Fastify, { type FastifyReply } from "fastify";
import type pg from "pg";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Log } from "../ground/log.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { addLogins, type BeginLogin } from "./api/loginRoutes.ts";
import { addPacking } from "./api/packing.ts";
import { addApi } from "./api/routes.ts";
import { cannotListen } from "./address.ts";
import { builtScript, serveAssets } from "./assets.ts";
import { installGuard } from "./guard/guard.ts";
import { requireToken } from "./guard/hosts.ts";
import { type NowSources, refusal } from "./live.ts";
import { addMachines, type Machines } from "./monitoring/machineRoutes.ts";
import { createNowReader } from "./now.ts";
import type { JobsView } from "./api/types.ts";

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
  /** Directory below the data directory in which the key of logins is kept; default: none, and they end with the process. */
  loginsDir?: string | null;
  /** The provider's attribution line; null: none. */
  attribution: string | null;
  version: string;
  /** Names the database in errors; no user, no password. */
  address: string;
  calendar: Calendar;
  sources: NowSources;
  /** The job files and their plan; default: they are not known. */
  jobs?: () => Promise<JobsView>;
  /** Begins a login at an account's service; without it no login can be made here. */
  beginLogin?: BeginLogin | undefined;
  /** What `/metrics` and `/readyz` answer; without it there is `/healthz` alone. */
  machines?: Machines;
};

export type Web = { address: string; close: () => Promise<void> };

function noSchemas(): never {
  throw new QuotekeeperError("UNEXPECTED", "a route has a schema, and nothing is there that compiles it");
}

/**
 * Starts to listen.
 *
 * @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID
 */
export async function startWeb(options: WebOptions): Promise<Web> {
  const { pool, clock, log, host, port, token, address, calendar, sources } = options;
  const { names = [], proxies = [], loginsDir = null, beginLogin } = options;
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
  const { attribution, version } = options;
  const page = { version, script: builtScript(), attribution, protected: token !== null };
  const { jobs = async () => null } = options;
  const now = createNowReader({ pool, clock, log, sources, calendar, page, jobs });
  await installGuard(app, { token, names, loginsDir, clock, log });
  addMachines(app, { machines: options.machines ?? null, log });
  addPacking(app);
  addApi(app, { pool, log, address, now, clock });
  if (beginLogin) addLogins(app, { begin: beginLogin, guarded: token !== null, clock, log });
  await serveAssets(app);
  try {
    const listening = await app.listen({ host, port });
    return { address: listening, close: () => app.close() };
  } catch (cause) {
    await app.close();
    throw cannotListen(cause, { host, port });
  }
}

const UNREADABLE = refusal("ADDRESS_UNREADABLE", "the address cannot be decoded");
