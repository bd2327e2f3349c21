/** `quotekeeper serve`: a Market Quotes Service of one's own, from the archive or from a simulated market. */
import { resolve } from "node:path";
import type { Config } from "../config/loadEnvironment.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import { listKeys } from "../serve/keys/keyStore.ts";
import { SERVICE_LIMITS } from "../serve/limits.ts";
import { createFaults } from "../serve/faults/edge.ts";
import type { FaultConfig } from "../serve/faults/faults.ts";
import { readFaults } from "../serve/faults/file.ts";
import type { PublicAddress } from "../serve/authenticate.ts";
import { createQuoteService } from "../serve/quoteService.ts";
import { lockDataDir, SERVING, thisProcess } from "../run/beside/lock.ts";
import type { Edges } from "../run/edges.ts";
import { randomCredentials } from "../run/feed.ts";
import { keyLines } from "./terminal/keyLines.ts";
import { createLogger } from "./terminal/logger.ts";
import { type OpenSource, openSource, type SourceRequest } from "../run/serveSource.ts";
import { keyPlace, openServeState } from "../run/serveState.ts";
import { say } from "./terminal/harmless.ts";

/** What to serve, and to whom. */
export type ServeRequest = SourceRequest & {
  host: string;
  port: number;
  /** Keys of this run. When neither these nor stored ones are there, one is made for the run and shown. */
  keys: Credentials[];
  /** How far the timestamp of a call may be off, seconds. */
  timestampWindow: number;
  /** How callers reach it through a proxy; null: directly. */
  publicUrl: URL | null;
  /** Faults to make, or the file with them; null: none. */
  faults: string | null;
};

/**
 * Serves until Ctrl-C or SIGTERM; returns 0 then.
 *
 * @throws QuotekeeperError SERVE_RUNNING when another process serves from the data directory
 */
export async function serve(config: Config, edges: Edges, request: ServeRequest): Promise<number> {
  const faults = request.faults === null ? null : readFaults(request.faults);
  const { clock } = edges;
  const log = createLogger(config.logLevel, edges.stderr, edges.env);
  const warn = (message: string): void => log.warn(message);
  const options = { clock, self: await thisProcess(), work: SERVING, warn };
  const opened = await openSource(config, edges, request);
  try {
    const lock = await lockDataDir(resolve(config.dataDir), options);
    try {
      return await serveFrom(opened, { config, edges, request, faults, log });
    } finally {
      await lock.release();
    }
  } finally {
    await opened.close();
  }
}

type Serving = {
  config: Config;
  edges: Edges;
  request: ServeRequest;
  faults: FaultConfig | null;
  log: ReturnType<typeof createLogger>;
};

async function serveFrom(
  { source, description }: OpenSource,
  { config, edges, request, faults, log }: Serving,
): Promise<number> {
  const { host, port, keys, timestampWindow: windowSeconds, publicUrl, seed } = request;
  const { clock } = edges;
  const { stdout } = edges;
  const interrupted = new Promise<string>((resolve) => void edges.onInterrupt(resolve));
  const made =
    keys.length === 0 && listKeys(keyPlace(config, edges)).length === 0 ? randomCredentials(clock) : null;
  const state = await openServeState(config, edges, { given: keys, made, windowSeconds, log });
  const service = createQuoteService({
    source,
    keys: state.keys,
    nonces: state.nonces,
    budgets: state.budgets,
    keepUsed: state.keepUsed,
    windowSeconds,
    ...(publicUrl && { address: addressOf(publicUrl) }),
    clock,
    limits: { ...SERVICE_LIMITS, quotes: config.limit, windowMs: config.limitWindowMs },
    logger: log,
    ...(faults && { faults: createFaults(faults, { seed, clock }) }),
  });
  try {
    const baseUrl = await service.listen({ host, port });
    say(stdout, `Market Quotes Service, ${description}`);
    say(stdout, `QUOTES_BASE_URL=${publicUrl?.origin ?? baseUrl}`);
    if (faults) say(stdout, `Faults on purpose (seed ${seed}): ${request.faults}`);
    if (publicUrl) say(stdout, `It listens on ${baseUrl}.`);
    if (state.storedCount > 0) say(stdout, `Keys added with \`serve keys\`: ${state.storedCount}.`);
    if (made) stdout.write(keyLines(made));
    say(stdout, "Ctrl-C ends it.");
    await interrupted;
    await service.close();
  } finally {
    state.close();
  }
  return 0;
}

function addressOf({ protocol, host }: URL): PublicAddress {
  return { scheme: protocol === "https:" ? "https" : "http", authority: host };
}
