/** DuckDB in a process of its own, which can be killed: an interrupt does not reach it while it plans. */
import { once } from "node:events";
import { type ErrorCode, QuotekeeperError } from "../../ground/errors.ts";
import { startBeside } from "../../ground/processes.ts";
import { type Duck, type DuckRequest, ownDuck } from "./duckdb.ts";

/** Memory that the process may take, in bytes: twice what DuckDB's tables take before they go to the disk. */
const MOST_BYTES = 2_000_000_000;

type DuckAnswer = { value?: unknown } | { error: { code: ErrorCode; detail: string } } | { beyond: true };

/**
 * Starts the process at once, which loads DuckDB. Where the program runs from its sources there is no
 * file for it, and DuckDB is in this one.
 *
 * @param options.file the process's program, compiled
 * @param options.most memory that it may take, in bytes
 * @returns a Duck that also throws QuotekeeperError SQL_FAILED, when the process has ended
 */
export function startDuck({
  file = import.meta.url.endsWith(".ts") ? null : new URL("../files/sql/duckChild.js", import.meta.url),
  most = MOST_BYTES,
}: { file?: URL | null; most?: number } = {}): Duck {
  if (file === null) return ownDuck();
  const child = startBeside(file, String(most));
  let waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void } | null = null;
  let ended: Error | null = null;
  const settle = (how: (of: NonNullable<typeof waiting>) => void): void => {
    const of = waiting;
    waiting = null;
    if (of) how(of);
  };
  const fail = (why: string): void => {
    const error = (ended ??= new QuotekeeperError("SQL_FAILED", why));
    settle(({ reject }) => reject(error));
  };
  child.on("message", (said: DuckAnswer) => {
    if ("beyond" in said) fail(`the statement takes more than ${most / 1e9} GB of memory, and was ended`);
    else if ("error" in said) settle(({ reject }) => reject(errorOf(said.error)));
    else settle(({ resolve }) => resolve(said.value));
  });
  // What it said last comes before its channel is closed, and perhaps after its exit.
  const gone = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(
    ([[code, signal]]) => fail(`the statement's process has ended (${String(signal ?? code)})`),
    (error: NodeJS.ErrnoException) =>
      fail(`the statement's process cannot be started (${error.code ?? error.message})`),
  );
  // One that comes later is of a process that has ended by then.
  child.on("error", () => undefined);
  const ask = (of: DuckRequest["ask"], text = ""): Promise<never> =>
    new Promise((resolve, reject) => {
      if (ended) return reject(ended);
      waiting = { resolve: resolve as (value: unknown) => void, reject };
      // Whatever goes wrong here is an exit as well.
      child.send({ ask: of, text } satisfies DuckRequest, () => undefined);
    });
  return {
    open: (tempDir) => ask("open", tempDir),
    run: (statements) => ask("run", statements),
    begin: (statement) => ask("begin", statement),
    next: () => ask("next"),
    close: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** An error's detail has its problems below it, each two characters to the right. */
function errorOf({ code, detail }: { code: ErrorCode; detail: string }): QuotekeeperError {
  const [first = "", ...problems] = detail.split("\n");
  return new QuotekeeperError(code, first, { problems: problems.map((problem) => problem.slice(2)) });
}
