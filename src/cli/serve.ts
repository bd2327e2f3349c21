/** `quotekeeper serve`: a Market Quotes Service of one's own, from the archive or from a simulated market. */
import type { Logger } from "pino";
import { TIMESTAMP_WINDOW_SECONDS } from "../services/oauth/verifyRequest.ts";
import { parseInstant, parseKey, parsePublicUrl, parseSpeed, parseWhole } from "./arguments.ts";
import { choice, command, flag, type Given, option, required, withDefault } from "./command.ts";
import { resolve } from "node:path";
import type { Config } from "../config/loadEnvironment.ts";
import type { Credentials } from "../services/oauth/signature.ts";
import { listKeys } from "../serve/keys/keyStore.ts";
import { SERVICE_LIMITS } from "../serve/limits.ts";
import type { PublicAddress } from "../serve/authenticate.ts";
import { createQuoteService } from "../serve/quoteService.ts";
import { lockDataDir, SERVING, thisProcess } from "../collector/beside/lock.ts";
import { type Edges, untilInterrupted } from "../ground/edges.ts";
import { randomCredentials } from "../collector/feed.ts";
import { keyLines } from "./terminal/keyLines.ts";
import { createLogger } from "./terminal/logger.ts";
import { type OpenSource, withSource } from "../serve/serveSource.ts";
import { keyPlace, openServeState } from "../serve/serveState.ts";
import { say } from "./terminal/harmless.ts";

/** Default of `--port`; the dashboard has another one. */
const SERVE_PORT = 8090;

const options = {
  source: required(choice("<source>", "where its quotes come from; required", ["archive", "simulated"])),
  asOf: option(
    "<time>",
    "the time to begin at, with its offset, such as 2026-11-17T10:00:00-05:00; default: now",
    parseInstant,
  ),
  speed: option(
    "<number>",
    "seconds played in a second: 60 makes a minute of an hour, 0 stands still; default: 1",
    parseSpeed,
  ),
  loop: flag("when the archive ends, begin again at --as-of (or at the archive's beginning)"),
  rows: choice("<kind>", "which quotes of the archive; default: real ones if it has any", [
    "real",
    "simulated",
  ]),
  watchlists: option("<file>", "YAML file of watchlists for the archive: ids, each with its symbols"),
  host: withDefault("127.0.0.1", option("<address>", "address to listen on")),
  port: withDefault(
    SERVE_PORT,
    option("<number>", "port to listen on; 0 takes any free one", parseWhole(0, 65_535)),
  ),
  seed: withDefault(1, option("<number>", "seed of the simulated market", parseWhole(0, 2 ** 31 - 1))),
  key: option(
    "<key>",
    "credentials that may call in this run, as consumerKey:consumerSecret:token:tokenSecret; repeatable; default: those of `serve keys`, or else one is made and shown",
    (text, before: Credentials[] = []) => [...before, parseKey(text)],
  ),
  timestampWindow: withDefault(
    TIMESTAMP_WINDOW_SECONDS,
    option("<seconds>", "how far the timestamp of a call may be off", parseWhole(1, 86_400)),
  ),
  publicUrl: option(
    "<url>",
    "how callers reach it, when a proxy stands before it; it is part of what they sign; default: http and the Host header",
    parsePublicUrl,
  ),
};

type ServeOptions = Given<typeof options>;

/** Serves until Ctrl-C or SIGTERM. SERVE_RUNNING when another process serves from the data directory. */
export const serve = command({
  options,
  run: async (config, edges, given) => {
    const { clock } = edges;
    const log = await createLogger(config.logLevel, edges.stderr, edges.env);
    const warn = (message: string): void => log.warn(message);
    const locking = { clock, self: await thisProcess(), work: SERVING, warn };
    return withSource({ config, edges, request: given }, async (opened) => {
      const lock = await lockDataDir(resolve(config.dataDir), locking);
      await lock.forgetDead();
      return serveFrom(opened, { config, edges, given, log }).finally(() => lock.release());
    });
  },
});

type ServeContext = {
  config: Config;
  edges: Edges;
  given: ServeOptions;
  log: Logger;
};

async function serveFrom(
  { source, description }: OpenSource,
  { config, edges, given, log }: ServeContext,
): Promise<number> {
  const { host, port, timestampWindow: windowSeconds, publicUrl } = given;
  const keys = given.key ?? [];
  const { clock, stdout } = edges;
  const interrupted = untilInterrupted(edges, (message) => log.warn(message));
  const made =
    keys.length === 0 && listKeys(keyPlace(config, edges)).length === 0 ? randomCredentials(clock) : null;
  const state = await openServeState(config, edges, { given: keys, made, windowSeconds, log });
  const service = createQuoteService({
    source,
    keys: state.keys,
    nonces: state.nonces,
    budgets: state.budgets,
    persistUsed: state.persistUsed,
    windowSeconds,
    ...(publicUrl && { address: addressOf(publicUrl) }),
    clock,
    limits: { ...SERVICE_LIMITS, quotes: config.limit, windowMs: config.limitWindowMs },
    logger: log,
  });
  try {
    const baseUrl = await service.listen({ host, port });
    say(stdout, `Market Quotes Service, ${description}`);
    say(stdout, `QUOTES_BASE_URL=${publicUrl?.origin ?? baseUrl}`);
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
