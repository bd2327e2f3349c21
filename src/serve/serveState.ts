/** What `serve` keeps under the data directory: the keys of its callers, and the nonces and budgets they used. */
import { join, resolve } from "node:path";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { ensureDataDir } from "../journal/dataDir.ts";
import { makeDirectories } from "../journal/makeDirectories.ts";
import type { NonceMemory } from "../services/oauth/nonces.ts";
import { newNonceMemory } from "./authenticate.ts";
import type { BudgetMemory } from "./budgets.ts";
import type { ServiceKey } from "./keys/key.ts";
import { listKeys, type KeyPlace } from "./keys/keyStore.ts";
import { followKeys } from "./keys/followKeys.ts";
import { NonceLog } from "./nonceLog.ts";
import type { ServiceLog } from "./quoteService.ts";
import type { Edges } from "../ground/edges.ts";

type ServeState = {
  /** The keys of this moment: those of the file, and those of the run. */
  keys: () => readonly ServiceKey[];
  /** How many keys the file had at the start. */
  storedCount: number;
  nonces: NonceMemory;
  budgets: BudgetMemory;
  /** See `QuoteServiceOptions.persistUsed`. */
  persistUsed: () => void;
  close: () => void;
};

type ServeStateOptions = {
  /** Keys given for this run. */
  given: readonly ServiceKey[];
  /** A key made for this run, which nobody has after it. */
  made: ServiceKey | null;
  windowSeconds: number;
  log: ServiceLog;
};

export function keyPlace(config: Config, { clock }: Pick<Edges, "clock">): KeyPlace {
  return { dir: join(resolve(config.dataDir), "serve"), clock };
}

/**
 * Opens the state of a service.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE, KEYS_UNREADABLE, NONCES_UNWRITABLE
 */
export async function openServeState(
  config: Config,
  edges: Pick<Edges, "clock" | "uptimeSeconds">,
  { given, made, windowSeconds, log }: ServeStateOptions,
): Promise<ServeState> {
  const place = keyPlace(config, edges);
  const dir = join(place.dir, "nonces");
  await ensureDataDir(resolve(config.dataDir));
  try {
    await makeDirectories(dir, 0o700);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new QuotekeeperError("DATA_DIR_UNWRITABLE", `${dir} cannot be made: ${code ?? message}`, { cause });
  }
  const keys = followKeys(place, made ? [...given, made] : given, (err) =>
    log.error({ err }, "the keys cannot be read; those from before stay"),
  );
  const nonceLog = new NonceLog({
    dir,
    clock: edges.clock,
    windowSeconds,
    uptimeSeconds: edges.uptimeSeconds(),
    limitWindowMs: config.limitWindowMs,
  });
  const { remembered, horizon, windows } = nonceLog;
  const nonces = newNonceMemory({
    windowSeconds,
    remembered,
    horizon,
    onFresh: (used, of) => {
      // What was signed with a key that dies with this run cannot be sent to another one.
      if (of.token !== made?.accessToken) nonceLog.append(used, of);
    },
  });
  const budgets: BudgetMemory = {
    kept: windows,
    onChange: (window, { accessToken }) => {
      if (accessToken !== made?.accessToken) nonceLog.note(window);
    },
  };
  return {
    keys,
    storedCount: listKeys(place).length,
    nonces,
    budgets,
    persistUsed: () => nonceLog.write(),
    close: () => nonceLog.close(),
  };
}
