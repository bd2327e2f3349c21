/** `quotekeeper web`: the dashboard alone, over an archive that another process may fill. */
import { command } from "./command.ts";
import { requireToken } from "../web/guard/hosts.ts";
import { untilInterrupted } from "../ground/edges.ts";
import { requireArchive, withArchive } from "../archive/openArchive.ts";
import { createLogger } from "./terminal/logger.ts";
import { calmLog } from "../ground/calmLog.ts";
import { openWeb } from "../collector/page/openWeb.ts";
import { say } from "./terminal/harmless.ts";

/** Serves until Ctrl-C or SIGTERM; polls nothing and writes nothing to the archive. */
export const web = command({
  // Logins are kept in the data directory by who may write there: root could, and its owner could not read them.
  readsOnly: ({ uid }) => uid !== 0,
  run: async (config, edges) => {
    const { clock, bootId, stdout } = edges;
    requireToken(config.httpHost, config.webToken ?? null);
    await requireArchive(config);
    const log = calmLog(await createLogger(config.logLevel, edges.stderr, edges.env), clock);
    const interrupted = untilInterrupted(edges, (message) => log.warn({}, message));
    return withArchive(config, { clock }, async (archive) => {
      const reader = archive.openReader();
      try {
        const running = await openWeb(
          { config, archive, reader, clock, bootId, collection: () => null },
          log,
        );
        say(
          stdout,
          `Dashboard  ${running.address}`,
          `Database   ${archive.address} (read only)`,
          "Ctrl-C ends it.",
        );
        await interrupted;
        await running.close();
        return 0;
      } finally {
        await reader.end().catch(() => undefined);
      }
    });
  },
});
