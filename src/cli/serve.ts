/** `quotekeeper serve`: a Market Quotes Service of one's own, from the archive or from a simulated market. */
import type { Logger } from "pino";
import { type Command, Option } from "commander";
import { TIMESTAMP_WINDOW_SECONDS } from "../services/oauth/verifyRequest.ts";
import { parseInstant, parseKey, parsePublicUrl, parseSpeed, parseWhole } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
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
import { type OpenSource, type SourceRequest, withSource } from "../serve/serveSource.ts";
import { keyPlace, openServeState } from "../serve/serveState.ts";
import { say } from "./terminal/harmless.ts";

/** Default of `--port`; the dashboard has another one. */
const SERVE_PORT = 8090;

type ServeOptions = SourceRequest & {
  host: string;
  port: number;
  /** Keys of this run. Without them and without stored keys, a key is made for the run and shown. */
  key: Credentials[];
  /** Most difference of a call's timestamp, seconds. */
  timestampWindow: number;
  publicUrl?: URL;
};

export const addServe: AddCommand = (command, { run, edges }) => {
  command.enablePositionalOptions();
  addSource(command);
  addCallers(command).action((options: ServeOptions, self: Command) => {
    if (options.source === undefined)
      self.error("error: required option '--source <source>' not specified", { exitCode: 2 });
    return run((config) => serve(config, edges, options));
  });
};

function addSource(command: Command): Command {
  return command
    .addOption(
      // The action requires it: commander would require it of `serve keys` too.
      new Option("--source <source>", "where its quotes come from; required").choices([
        "archive",
        "simulated",
      ]),
    )
    .option(
      "--as-of <time>",
      "the time to begin at, with its offset, such as 2026-11-17T10:00:00-05:00; default: now",
      parseInstant,
    )
    .option(
      "--speed <number>",
      "seconds played in a second: 60 makes a minute of an hour, 0 stands still; default: 1",
      parseSpeed,
    )
    .option("--loop", "when the archive ends, begin again at --as-of (or at the archive's beginning)", false)
    .addOption(
      new Option("--rows <kind>", "which quotes of the archive; default: real ones if it has any").choices([
        "real",
        "simulated",
      ]),
    )
    .option("--watchlists <file>", "YAML file of watchlists for the archive: ids, each with its symbols");
}

function addCallers(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes any free one", parseWhole(0, 65_535), SERVE_PORT)
    .option("--seed <number>", "seed of the simulated market", parseWhole(0, 2 ** 31 - 1), 1)
    .addOption(
      new Option(
        "--key <key>",
        "credentials that may call in this run, as consumerKey:consumerSecret:token:tokenSecret; repeatable; default: those of `serve keys`, or else one is made and shown",
      )
        .default([], "none")
        .argParser(parseKey),
    )
    .option(
      "--timestamp-window <seconds>",
      "how far the timestamp of a call may be off",
      parseWhole(1, 86_400),
      TIMESTAMP_WINDOW_SECONDS,
    )
    .option(
      "--public-url <url>",
      "how callers reach it, when a proxy stands before it; it is part of what they sign; default: http and the Host header",
      parsePublicUrl,
    );
}

/**
 * Serves until Ctrl-C or SIGTERM; returns 0 then.
 *
 * @throws QuotekeeperError SERVE_RUNNING when another process serves from the data directory
 */
async function serve(config: Config, edges: Edges, request: ServeOptions): Promise<number> {
  const { clock } = edges;
  const log = await createLogger(config.logLevel, edges.stderr, edges.env);
  const warn = (message: string): void => log.warn(message);
  const options = { clock, self: await thisProcess(), work: SERVING, warn };
  return withSource({ config, edges, request }, async (opened) => {
    const lock = await lockDataDir(resolve(config.dataDir), options);
    await lock.forgetDead();
    return serveFrom(opened, { config, edges, request, log }).finally(() => lock.release());
  });
}

type ServeContext = {
  config: Config;
  edges: Edges;
  request: ServeOptions;
  log: Logger;
};

async function serveFrom(
  { source, description }: OpenSource,
  { config, edges, request, log }: ServeContext,
): Promise<number> {
  const { host, port, key: keys, timestampWindow: windowSeconds, publicUrl } = request;
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
