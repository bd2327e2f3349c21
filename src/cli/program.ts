/** The command line: names the commands, and loads the file of the given one. */
import { resolve } from "node:path";
import { Command, Help, type Option } from "commander";
import { closest, distance } from "fastest-levenshtein";
import { loadConfig } from "../config/loadEnvironment.ts";
import { exposedSecrets, misspeltSettings } from "../config/settingSources.ts";
import { describeUnknown } from "../config/unknownVariables.ts";
import { closeToOthers } from "../journal/modes.ts";
import type { Edges } from "../ground/edges.ts";
import { dataDirOwned, lakeOwned, refuseOthers } from "../ground/oneOwner.ts";
import { VERSION } from "../ground/version.ts";
import { requireRightClock } from "../status/rightClock.ts";

import { type AddCommand, type Cli, EXIT_CODES } from "./command.ts";
import { complain } from "./terminal/complain.ts";
import { harmlessEdges, say } from "./terminal/harmless.ts";

/** Headings of `--help`, in the order in which a user meets them. */
const FIRST = "First use:";
const COLLECT = "Collect:";
const ASK = "Ask:";
const ARCHIVE = "Archive:";
const OPERATE = "Operate:";

/** What a command does in a line, where it stands in `--help`, a command line to begin with, and its file. */
type KnownCommand = { does: string; group: string; example: string; load: () => Promise<AddCommand> };

/** Only the given command's file is loaded. */
const COMMANDS: Readonly<Record<string, KnownCommand>> = {
  start: {
    does: "everything in one process: migrate, collect, load, dashboard; with nothing configured also an embedded database and a simulated market",
    group: FIRST,
    example: "start",
    load: async () => (await import("./start.ts")).addStart,
  },
  init: {
    does: "asks five questions (symbols, chains, hours, account, database), and writes job files and .env from the answers; it overwrites nothing",
    group: FIRST,
    example: "init --symbols AAPL,MSFT --hours regular",
    load: async () => (await import("./init/init.ts")).addInit,
  },
  collect: {
    does: "the collector alone, without the dashboard",
    group: COLLECT,
    example: "collect",
    load: async () => (await import("./start.ts")).addCollect,
  },
  web: {
    does: "the dashboard alone, over the archive of DATABASE_URL or of the data directory; it only reads",
    group: ASK,
    example: "web",
    load: async () => (await import("./web.ts")).addWeb,
  },
  poll: {
    does: "makes one poll now, keeps it in journal and archive, and prints it as a table; give one of --symbols, --watchlist, --option",
    group: COLLECT,
    example: "poll --symbols AAPL,MSFT",
    load: async () => (await import("./poll.ts")).addPoll,
  },
  login: {
    does: "logs in to an account whose service wants a person each day: prints the address to open, and takes the code from there",
    group: FIRST,
    example: "login --account main",
    load: async () => (await import("./login.ts")).addLogin,
  },
  doctor: {
    does: "tries the account with a few calls, and says what holds of each assumption about the service; exit code 1 when something that is needed does not",
    group: FIRST,
    example: "doctor --report report.txt",
    load: async () => (await import("./doctor.ts")).addDoctor,
  },
  serve: {
    does: "a Market Quotes Service of your own, to point programs at",
    group: ASK,
    example: "serve --source simulated",
    load: async () => (await import("./serve.ts")).addServe,
  },
  "serve keys": {
    does: "who may call the service: keys that outlive a run, sealed in the data directory",
    group: ASK,
    example: "serve keys add notebook",
    load: async () => (await import("./serveKeys.ts")).addServeKeys,
  },
  migrate: {
    does: "brings the database's schema up to date; does nothing if it is",
    group: ARCHIVE,
    example: "migrate",
    load: async () => (await import("./migrate.ts")).addMigrate,
  },
  jobs: {
    does: "the job files",
    group: COLLECT,
    example: "jobs check",
    load: async () => (await import("./jobs.ts")).addJobs,
  },
  plan: {
    does: "the calls and batches that the jobs need at each slot of the session, and what would be missed; exit code 1 when over budget",
    group: COLLECT,
    example: "plan --date 2026-12-18",
    load: async () => (await import("./plan.ts")).addPlan,
  },
  accounts: {
    does: "the accounts that share the jobs: what each does, and who collects it",
    group: COLLECT,
    example: "accounts drain main",
    load: async () => (await import("./accounts.ts")).addAccounts,
  },
  calendar: {
    does: "the exchange's sessions, as the program knows them: date, kind, pre, open, close, post",
    group: COLLECT,
    example: "calendar --from 2026-12-01 --to 2026-12-31",
    load: async () => (await import("./calendar.ts")).addCalendar,
  },
  coverage: {
    does: "what was due and what is stored, by instrument and session, worst first, and why the rest is missing; exit code 1 when something is missing",
    group: ASK,
    example: "coverage --from 2026-12-01 --to 2026-12-04",
    load: async () => (await import("./coverage.ts")).addCoverage,
  },
  journal: {
    does: "the journal's health; no command ever changes a record",
    group: ARCHIVE,
    example: "journal verify",
    load: async () => (await import("./journal.ts")).addJournal,
  },
  backfill: {
    does: "refills the archive from what was once received, because the service itself has no history; give one of --journal, --xml, --csv, --parquet, --symbols-file or --chain, --gaps",
    group: ARCHIVE,
    example: "backfill --gaps --from 2026-12-01 --to 2026-12-04",
    load: async () => (await import("./backfill/backfill.ts")).addBackfill,
  },
  export: {
    does: "the archive as files for other engines, a directory for each exchange date",
    group: ASK,
    example: "export --format csv --out quotes --symbols AAPL",
    load: async () => (await import("./export.ts")).addExport,
  },
  lake: {
    does: "whole days of the archive as proven Parquet files, those that are not there yet; `lake verify` reads them, `lake restore` brings quotes back",
    group: ARCHIVE,
    example: "lake --out lake --through 2026-11-30",
    load: async () => (await import("./lake.ts")).addLake,
  },
  sql: {
    does: "asks the archive in SQL, lake and database as one, with DuckDB; it only reads",
    group: ASK,
    example: "sql 'select * from latest_quotes'",
    load: async () => (await import("./sql.ts")).addSql,
  },
  status: {
    does: "what is healthy, late or lost, a line each; exit code 1 when something needs a person",
    group: OPERATE,
    example: "status",
    load: async () => (await import("./status.ts")).addStatus,
  },
};

/** The whole command line; `done` gets the exit code of the command that ran. */
export async function createProgram(edges: Edges, done: (exitCode: number) => void): Promise<Command> {
  return programWith(Object.keys(COMMANDS), edges, { done });
}

type RunOptions = {
  done: (exitCode: number) => void;
  /** The command line; default: none. With `--json` the caller prints errors as JSON. */
  argv?: readonly string[];
};

/** @param loaded commands with options and arguments; the others have a line of help only */
async function programWith(
  loaded: readonly string[],
  edges: Edges,
  { done, argv = [] }: RunOptions,
): Promise<Command> {
  const asJson = argv.includes("--json");
  const program = new Command("quotekeeper")
    .description(
      "Polls a brokerage's quotes service on a schedule, inside its call limit, and keeps every answer.",
    )
    .version(VERSION, "-V, --version")
    .addHelpText("beforeAll", ({ command }: { command: Command }) => refuseUnknown(command))
    .addHelpText(
      "after",
      `\nSettings come from the environment and from .env: see docs/configuration.md.${EXIT_CODES}`,
    )
    .configureOutput({
      writeOut: (text) => edges.stdout.write(text),
      writeErr: (text) => edges.stderr.write(text),
      // The text repeats what was given, so its line ends are escaped; only commander's advice gets its own line.
      outputError: (text) => asJson || say(edges.stderr, ...text.trimEnd().split(/\n(?=\(Did you mean )/)),
      getOutHelpWidth: () => edges.stdout.columns,
      getErrHelpWidth: () => edges.stderr.columns,
    })
    // Whoever does not give a switch has not switched it on.
    .configureHelp({ optionDescription: describeOption })
    .commandsGroup(OPERATE)
    .exitOverride()
    // An option behind `serve keys add` belongs to `add`, even if `serve` has an option of the same name.
    .enablePositionalOptions()
    .showHelpAfterError(!asJson && "(add --help for what is possible)");
  const run: Cli["run"] = async (work, { readsOnly = false, waitsForClock = false, lake } = {}) => {
    // What is written bears its time.
    if (!readsOnly && !waitsForClock) requireRightClock(edges.clock.now());
    for (const unknown of misspeltSettings(edges.env, edges.directory))
      say(edges.stderr, describeUnknown(unknown));
    const config = loadConfig(edges.env, edges.directory);
    const secrets = exposedSecrets(edges.env, edges.directory);
    const owned = [dataDirOwned(resolve(config.dataDir)), ...(lake ? [lakeOwned(lake(config))] : [])];
    const { uid } = edges;
    if (uid !== undefined && !readsOnly) await refuseOthers(owned, { uid, argv });
    const exposed = [secrets, await closeToOthers(resolve(config.dataDir), config.journalReaders)];
    for (const problem of exposed) if (problem) say(edges.stderr, problem.message);
    done(await work(config));
  };
  for (const [path, { does, group, example, load }] of Object.entries(COMMANDS)) {
    const [name = "", below] = path.split(" ");
    const above = below === undefined ? program : program.commands.find((one) => one.name() === name);
    const command = (above ?? program).command(below ?? name).description(does);
    if (above === program) command.helpGroup(group);
    if (loaded.includes(path)) (await load())(command, { edges, run, done });
    command.addHelpText("after", `\nExample:\n  quotekeeper ${example}`);
    for (const one of [command, ...command.commands]) one.addHelpText("after", EXIT_CODES);
  }
  return program;
}

/** The description of an option, with its choices and its default. A switch has neither. */
function describeOption(option: Option): string {
  return option.defaultValue === false ? option.description : Help.prototype.optionDescription(option);
}

/** Ends with wrong usage, before help is shown, when a word names no command. @returns an empty text to put before the help */
function refuseUnknown(command: Command): string {
  const names = command.commands.map((one) => one.name());
  const [first, second] = command.args;
  const word = first === "help" ? second : first;
  if (names.length === 0 || word === undefined || word.startsWith("-") || [...names, "help"].includes(word))
    return "";
  const near = closest(word, names);
  const meant = distance(word, near) <= 2 ? `\n(Did you mean ${near}?)` : "";
  return command.error(`error: unknown command '${word}'${meant}`, { exitCode: 2 });
}

function namedIn(argv: readonly string[]): string[] {
  const words = argv.filter((word) => !word.startsWith("-"));
  const [first = "", second = ""] = words[0] === "help" ? words.slice(1) : words;
  return [`${first} ${second}` in COMMANDS ? `${first} ${second}` : first];
}

/** Other programs' words for `--version`. */
function isVersion(argv: readonly string[]): boolean {
  return argv.length === 1 && (argv[0] === "version" || argv[0] === "-v");
}

/** Runs one command line; never throws. */
export async function runProgram(argv: readonly string[], outside: Edges): Promise<number> {
  const edges = harmlessEdges(outside);
  let exitCode = 0;
  try {
    const program = await programWith(namedIn(argv), edges, {
      argv,
      done: (code) => (exitCode = code),
    });
    await program.parseAsync(isVersion(argv) ? ["--version"] : [...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return complain(error, argv, edges);
  }
}
