/**
 * The process in which DuckDB works on a statement. Its parent may kill it at any time (duckProcess.ts). Where it takes too
 * much memory it ends itself, and says so first: DuckDB bounds its tables, and not the values that it computes.
 */
import { QuotekeeperError } from "../../ground/errors.ts";
import { type DuckRequest, ownDuck } from "./duckdb.ts";

const WATCH_EVERY_MS = 25;

/** Bytes that this process may have in memory. */
const most = Number(process.argv[2]);
// It is loaded while the parent opens the archive's database; a request is answered with what is wrong with it.
const loaded = import("@duckdb/node-api");
loaded.catch(() => undefined);
const duck = ownDuck(() => loaded);

// The terminal sends Ctrl-C to its parent as well, which decides.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);
process.on("disconnect", end);
process.on("message", (request: DuckRequest) => void answer(request));
// DuckDB's threads are not this one, so that the timer goes off whatever they do.
setInterval(() => {
  if (process.memoryUsage.rss() > most) process.send?.({ beyond: true }, end);
}, WATCH_EVERY_MS);

async function answer({ ask, text }: DuckRequest): Promise<void> {
  try {
    process.send?.({ value: await duck[ask](text) });
  } catch (error) {
    const { code, detail } =
      error instanceof QuotekeeperError ? error : { code: "UNEXPECTED", detail: (error as Error).message };
    process.send?.({ error: { code, detail } });
  }
}

/** Without a word to DuckDB, which would finish first. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}
