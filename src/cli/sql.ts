/** `quotekeeper sql`: one statement, or a prompt for many, over lake and database as one archive. */
import { open, rename, rm } from "node:fs/promises";
import { dirname, join, basename, resolve } from "node:path";
import type pg from "pg";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Instant } from "../ground/clock.ts";
import { syncDirectory } from "../journal/fs.ts";
import { LakeFiles } from "../files/lake/lakeFiles.ts";
import { someOf } from "../files/lake/whichLake.ts";
import { askSql } from "../files/sql/askSql.ts";
import type { Duck } from "../files/sql/duckdb.ts";
import { startDuck } from "../files/sql/duckProcess.ts";
import { readTextFile } from "../ground/plainFiles.ts";
import { PROCESSES } from "../ground/processes.ts";
import { archiveExists, withSchema } from "../archive/openArchive.ts";
import { type Edges, Interrupted, READER_GONE } from "../ground/edges.ts";
import { parseInstant } from "./arguments.ts";
import { command, flag, type Given, option, without, word } from "./command.ts";
import { showAnswer, type SqlFormat, sqlJson } from "./sqlAnswer.ts";
import { openSqlDirs } from "./sqlDirs.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { SHOW_EVERY_MS, StatusLine } from "./terminal/statusLine.ts";
import { counted } from "../ground/figures.ts";

const options = {
  statement: word("[statement]", "what to ask; without it, it is read from standard input, or asked for"),
  file: option("<file>", "read the statement from a file"),
  lake: option("<directory>", "the lake's directory; default: QUOTEKEEPER_LAKE_DIR"),
  lakeOnly: flag("ask the lake alone, without the database"),
  asOf: option(
    "<time>",
    "the time for which option_chain_latest shows contracts, with its offset; default: now",
    parseInstant,
  ),
  json: without(["csv", "parquet"], flag("print JSON")),
  csv: without(["parquet"], flag("print CSV")),
  raw: flag("in CSV write every text exactly as it is, even if a spreadsheet would run it as a formula"),
  parquet: option("<file>", "write a Parquet file; it appears when it is whole"),
};

type Options = Given<typeof options>;

export const sql = command({
  options,
  json: sqlJson,
  readsOnly: true,
  check: ({ statement, file, raw, csv }) => {
    if (statement !== null && file !== null) return "give the statement or --file, not both";
    return raw && !csv ? "--raw is for --csv" : null;
  },
  run: async (config, edges, options) => {
    const text = await statementOf(edges, options);
    const dir = lakeDirOf(config, edges, options);
    const lake = dir === null ? null : new LakeFiles(dir);
    if (lake === null) {
      if (options.lakeOnly)
        throw new QuotekeeperError(
          "USAGE",
          "--lake-only: name the lake's directory, by --lake or QUOTEKEEPER_LAKE_DIR",
        );
      if (edges.stderr.isTTY && text === null)
        say(edges.stderr, "No lake: only the database is queried (--lake or QUOTEKEEPER_LAKE_DIR adds one).");
    }
    const ducks = startAhead();
    const ask = (pool: pg.Pool | null): Promise<number> =>
      askAll({ pool, lake, edges, options, text, ducks, dataDir: resolve(config.dataDir) });
    try {
      if (options.lakeOnly) return await ask(null);
      if (!(await archiveExists(config)))
        throw new QuotekeeperError(
          "ARCHIVE_EMPTY",
          `${resolve(config.dataDir)} holds no archive${lake === null ? "" : "; with --lake-only the lake alone is asked"}`,
        );
      return await withSchema(config, { clock: edges.clock }, ({ pool }) => ask(pool));
    } catch (error) {
      if (lake !== null && error instanceof QuotekeeperError && error.code === "DATABASE_UNREACHABLE")
        throw new QuotekeeperError(error.code, `${error.detail}; with --lake-only the lake alone is asked`, {
          cause: error,
        });
      throw error;
    } finally {
      await ducks.close();
    }
  },
});

/** Each statement has a DuckDB of its own, which starts while the database is opened, or while a person types. */
function startAhead() {
  let ahead: Duck | null = startDuck();
  return {
    take: (): Duck => {
      const duck = ahead ?? startDuck();
      ahead = null;
      return duck;
    },
    startNext: (): void => void (ahead ??= startDuck()),
    close: async (): Promise<void> => ahead?.close(),
  };
}

function lakeDirOf({ lakeDir }: Config, { directory }: Edges, { lake }: Options): string | null {
  const given = lake ?? lakeDir ?? null;
  return given === null ? null : resolve(directory, given);
}

/** @returns null: a person at a terminal is asked */
async function statementOf(edges: Edges, { statement, file }: Options): Promise<string | null> {
  if (statement !== null) return statement;
  if (file !== null) {
    const path = resolve(edges.directory, file);
    return readTextFile(path).catch((error: NodeJS.ErrnoException) => {
      throw new QuotekeeperError("USAGE", `--file ${path} cannot be read (${error.code ?? error.message})`);
    });
  }
  const stdin = edges.stdin?.();
  if (!stdin) throw new QuotekeeperError("USAGE", "give a statement, or --file");
  if (stdin.isTTY) return null;
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Buffer));
  return Buffer.concat(pieces).toString("utf8");
}

type SqlTarget = {
  pool: pg.Pool | null;
  lake: LakeFiles | null;
  edges: Edges;
  options: Options;
  ducks: ReturnType<typeof startAhead>;
  text: string | null;
  /** The data directory, absolute, which has the cache. */
  dataDir: string;
};

async function askAll({ text, ...asked }: SqlTarget): Promise<number> {
  if (text !== null) {
    await askOne(text, asked);
    return 0;
  }
  const { prompt } = await import("./sqlPrompt.ts");
  return prompt(asked.edges, (statement, edges) =>
    askOne(statement, { ...asked, edges }).finally(asked.ducks.startNext),
  );
}

/** @throws Interrupted after Ctrl-C; QuotekeeperError */
async function askOne(
  text: string,
  { pool, lake, edges, options, ducks, dataDir }: Omit<SqlTarget, "text">,
): Promise<void> {
  const { json, csv, raw, parquet, asOf } = options;
  const ended = new AbortController();
  const stopListening = edges.onInterrupt((signal) => ended.abort(new Interrupted(signal)));
  const out = parquet === null ? null : resolve(edges.directory, parquet);
  // In the directory of `out`, so that a rename puts the whole file there.
  const draft = out === null ? null : join(dirname(out), `.${basename(out)}.partial-${PROCESSES.pid}`);
  const dirs = await openSqlDirs(pool && dataDir, edges.uid);
  const progress = createProgress(edges);
  const format: SqlFormat = json ? "json" : csv ? (raw ? "raw csv" : "csv") : "table";
  try {
    await askSql(
      text,
      {
        duck: ducks.take(),
        pool,
        lake,
        dir: dirs.temp,
        places: dirs.places,
        asOf,
        signal: ended.signal,
        parquet: draft,
        onRows: progress.rows,
      },
      async (answer) => {
        progress.end();
        if (answer.asOf !== null) say(edges.stderr, freshness(answer.asOf, dirs.why));
        if (answer.behind.length > 0)
          say(
            edges.stderr,
            `${someOf(answer.behind)}: read as the lake has them, without rows that came since; the next \`quotekeeper lake\` adds these.`,
          );
        if (draft === null || out === null) return showAnswer(answer, format, edges);
        const file = await open(draft, "r+");
        await file.sync().finally(() => file.close());
        await rename(draft, out);
        await syncDirectory(dirname(out));
        const rows = Number((await answer.next())?.[0]?.[0]);
        say(edges.stdout, `${counted(rows, "row")}: ${oneLine(out)}`);
      },
    );
  } catch (error) {
    const reason: unknown = ended.signal.reason;
    // The reader of the answer has closed it.
    if (reason instanceof Interrupted && reason.message === READER_GONE) return;
    throw ended.signal.aborted ? reason : namingWrites(error, out);
  } finally {
    progress.end();
    stopListening();
    if (draft !== null) await rm(draft, { force: true });
    await dirs.close();
  }
}

/** @param why why the rows were kept for no other statement */
function freshness(asOf: Instant, why: string | null): string {
  const at = `${asOf.slice(0, 10)} ${asOf.slice(11, 19)} UTC`;
  return `The database's rows are those of ${at}${why === null ? "" : `, copied for this statement alone: ${why}`}.`;
}

/** Names the file that the file system refuses; DuckDB's own errors name theirs. */
function namingWrites(error: unknown, out: string | null): unknown {
  const { syscall, code, message } = error as NodeJS.ErrnoException;
  if (out === null || error instanceof QuotekeeperError || (syscall !== "rename" && syscall !== "open"))
    return error;
  return new QuotekeeperError("USAGE", `--parquet ${out} cannot be written (${code ?? message})`, {
    cause: error,
  });
}

/** Shows on a terminal how many rows of the database were read. */
function createProgress({ stderr, clock }: Edges) {
  const line = new StatusLine(stderr, clock);
  const startedAtMs = clock.monotonicMs();
  let [sum, shown] = [0, false];
  return {
    rows: (table: string, count: number): void => {
      sum += count;
      // A quick statement leaves no line behind.
      if (!stderr.isTTY || clock.monotonicMs() - startedAtMs < SHOW_EVERY_MS) return;
      shown = true;
      line.progress(() => `reading the database's ${table} | ${counted(sum, "row")}`);
    },
    end: (): void => {
      if (shown) line.end();
      shown = false;
    },
  };
}
