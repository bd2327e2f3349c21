/** The command line: parses and dispatches only. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type Config, loadConfig } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import type { OptionContract } from "../market/instrument.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import type { QuoteCall } from "../quotes-api/request.ts";
import { parseContract, parseDate, parseKey, parseSymbols, parseWatchlist, parseWhole } from "./arguments.ts";
import { calendar } from "./calendar.ts";
import { coverage } from "./coverage.ts";
import type { Edges } from "./edges.ts";
import { jobsCheck } from "./jobsCheck.ts";
import { journalList, journalRepair, journalVerify } from "./journal.ts";
import { migrate } from "./migrate.ts";
import { VERSION } from "./parts/version.ts";
import { plan } from "./plan.ts";
import { poll, symbolCalls } from "./poll.ts";
import { serve } from "./serve.ts";
import { start } from "./start.ts";
import { status } from "./status.ts";

const EXIT_CODES = "\nExit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.";

/** Port of `serve` where none is given; beside the dashboard's. */
const SERVE_PORT = 8090;

type Run = (work: (config: Config) => Promise<number>) => Promise<void>;

/** The whole command line; `done` gets the exit code of the command that ran. */
export function createProgram(edges: Edges, done: (exitCode: number) => void): Command {
  const program = new Command("quotekeeper")
    .description(
      "Polls a brokerage's Market Quotes Service on a schedule, inside its call limit, and keeps every answer.",
    )
    .version(VERSION, "-V, --version")
    .addHelpText(
      "after",
      `\nSettings come from the environment and from .env: see docs/configuration.md.${EXIT_CODES}`,
    )
    .configureOutput({
      writeOut: (text) => edges.stdout.write(text),
      writeErr: (text) => edges.stderr.write(text),
      getOutHelpWidth: () => edges.stdout.columns,
      getErrHelpWidth: () => edges.stderr.columns,
    })
    .exitOverride()
    .showHelpAfterError("(add --help for what is possible)");
  const run: Run = async (work) => done(await work(loadConfig(edges.env, edges.directory)));
  addCollecting(program, run, edges);
  addPoll(program, run, edges);
  addServe(program, run, edges);
  addLooking(program, run, edges);
  addPlanning(program, run, edges);
  addJournal(program, run, edges);
  for (const command of program.commands) command.addHelpText("after", EXIT_CODES);
  return program;
}

function addCollecting(program: Command, run: Run, edges: Edges): void {
  program
    .command("start")
    .description(
      "everything in one process: migrate, collect, load, dashboard; with nothing configured also an embedded database and a simulated market",
    )
    .action(() => run((config) => start(config, edges, { web: true })));
  program
    .command("collect")
    .description("the collector alone, without the dashboard")
    .action(() => run((config) => start(config, edges, { web: false })));
}

type PollOptions = {
  symbols?: string[];
  watchlist?: string;
  option?: OptionContract;
  delayed: boolean;
  json: boolean;
};

function addPoll(program: Command, run: Run, edges: Edges): void {
  const forms = ["symbols", "watchlist", "option"];
  const conflicting = (option: Option): Option =>
    option.conflicts(forms.filter((name) => name !== option.attributeName()));
  program
    .command("poll")
    .description(
      "one poll now, through journal and archive, printed as a table; give one of --symbols, --watchlist, --option",
    )
    .addOption(
      conflicting(new Option("--symbols <list>", "symbols, separated by commas").argParser(parseSymbols)),
    )
    .addOption(
      conflicting(new Option("--watchlist <id>", "a watchlist of the account").argParser(parseWatchlist)),
    )
    .addOption(
      conflicting(
        new Option(
          "--option <contract>",
          "an option contract, as UNDERLYING:YYYY-MM-DD:CALL|PUT:STRIKE",
        ).argParser(parseContract),
      ),
    )
    .option("--delayed", "ask for delayed quotes", false)
    .option("--json", "print JSON", false)
    .action((options: PollOptions, command: Command) => {
      const calls = callsOf(options);
      if (calls.length === 0)
        command.error("error: give one of --symbols, --watchlist or --option", { exitCode: 2 });
      return run((config) => poll(config, edges, { calls, json: options.json }));
    });
}

function callsOf({ symbols, watchlist, option, delayed }: PollOptions): QuoteCall[] {
  if (symbols) return symbolCalls(symbols, delayed);
  if (watchlist !== undefined) return [{ form: "watchlist", watchlist, delayed }];
  return option ? [{ form: "option", contract: option, delayed }] : [];
}

type ServeOptions = { host: string; port: number; seed: number; key: Credentials[] };

function addServe(program: Command, run: Run, edges: Edges): void {
  program
    .command("serve")
    .description("a Market Quotes Service of your own, to point programs at")
    .addOption(
      new Option("--source <source>", "where its quotes come from")
        .choices(["simulated"])
        .makeOptionMandatory(),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .addOption(
      new Option("--port <number>", "port to listen on; 0 takes any free one")
        .default(SERVE_PORT)
        .argParser(parseWhole(0, 65_535)),
    )
    .addOption(
      new Option("--seed <number>", "seed of the simulated market")
        .default(1)
        .argParser(parseWhole(0, 2 ** 31 - 1)),
    )
    .addOption(
      new Option(
        "--key <key>",
        "credentials that may call, as consumerKey:consumerSecret:token:tokenSecret; repeatable; default: one is made and shown",
      )
        .default([], "none")
        .argParser(parseKey),
    )
    .action(({ host, port, seed, key }: ServeOptions) =>
      run((config) => serve(config, edges, { host, port, seed, keys: key })),
    );
}

type JsonOption = { json: boolean };

function addLooking(program: Command, run: Run, edges: Edges): void {
  program
    .command("status")
    .description("what is healthy, late or lost; exit code 1 when something needs a person")
    .option("--json", "print JSON", false)
    .action(({ json }: JsonOption) => run((config) => status(config, edges, { json })));
  program
    .command("migrate")
    .description("brings the database's schema up to date; harmless when it is")
    .option("--json", "print JSON", false)
    .option("--to-timescaledb", "moves a database that holds rows to TimescaleDB as well", false)
    .action(({ json, toTimescaledb }: JsonOption & { toTimescaledb: boolean }) =>
      run((config) => migrate(config, edges, { json, toTimescaledb })),
    );
  const jobs = program.command("jobs").description("the job files");
  jobs
    .command("check")
    .description(
      "validates the job files, all problems at once with file and line; exit code 2 when there are any",
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", EXIT_CODES)
    .action(({ json }: JsonOption) => run((config) => jobsCheck(config, edges, { json })));
}

function addJournal(program: Command, run: Run, edges: Edges): void {
  const journal = program
    .command("journal")
    .description("the journal's health; nothing of it is ever changed");
  const add = (name: string, description: string, act: typeof journalList): void =>
    void journal
      .command(name)
      .description(description)
      .option("--json", "print JSON", false)
      .addHelpText("after", EXIT_CODES)
      .action(({ json }: JsonOption) => run((config) => act(config, edges, { json })));
  add("list", "its segments, oldest first", journalList);
  add(
    "verify",
    "reads every record and proves it; exit code 1 when there is damage that has not been set aside",
    journalVerify,
  );
  add("repair", "copies damaged bytes aside; harmless beside a running collector", journalRepair);
}

type DateOptions = { from: string; to: string; json: boolean };

function addPlanning(program: Command, run: Run, edges: Edges): void {
  const dateOption = (flag: string, text: string): Option => new Option(flag, text).argParser(parseDate);
  program
    .command("plan")
    .description(
      "what the jobs cost: calls at each slot of the session, batches, who would starve; exit code 1 when over budget",
    )
    .addOption(
      dateOption("--date <date>", "exchange date, YYYY-MM-DD; default: the session under way, or the next"),
    )
    .option("--json", "print JSON", false)
    .action(({ date, json }: { date?: string; json: boolean }) =>
      run((config) => plan(config, edges, { date: date ?? null, json })),
    );
  program
    .command("calendar")
    .description("the sessions it believes in: date, kind, pre, open, close, post")
    .addOption(dateOption("--from <date>", "first exchange date, YYYY-MM-DD").makeOptionMandatory())
    .addOption(dateOption("--to <date>", "last exchange date, YYYY-MM-DD").makeOptionMandatory())
    .option("--closed", "list the days without a session as well", false)
    .option("--json", "print JSON", false)
    .action((options: DateOptions & { closed: boolean }, command: Command) => {
      checkOrder(options, command);
      return run((config) => calendar(config, edges, options));
    });
  program
    .command("coverage")
    .description(
      "expected against stored, per instrument and session, worst first, and why not; exit code 1 when something is missing",
    )
    .addOption(dateOption("--from <date>", "first exchange date, YYYY-MM-DD").makeOptionMandatory())
    .addOption(dateOption("--to <date>", "last exchange date, YYYY-MM-DD").makeOptionMandatory())
    .option("--json", "print JSON", false)
    .action((options: DateOptions, command: Command) => {
      checkOrder(options, command);
      return run((config) => coverage(config, edges, options));
    });
}

function checkOrder({ from, to }: DateOptions, command: Command): void {
  if (from > to) command.error(`error: --from ${from} is later than --to ${to}`, { exitCode: 2 });
}

/** Runs one command line; never throws. Errors of ours are one message on stderr, others come with their stack. */
export async function runProgram(argv: readonly string[], edges: Edges): Promise<number> {
  let exitCode = 0;
  const program = createProgram(edges, (code) => (exitCode = code));
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return exitCodeOf(error, edges);
  }
}

function exitCodeOf(error: unknown, { stderr }: Edges): number {
  // Commander has printed its message already; help and version end with exit code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof InvalidArgumentError) return 2;
  if (error instanceof QuotekeeperError) {
    stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
  stderr.write(
    `An unexpected error, which is a defect of quotekeeper: ${(error as Error).stack ?? String(error)}\n`,
  );
  return 1;
}
