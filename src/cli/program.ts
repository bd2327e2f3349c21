/** The command line: parses and dispatches only. */
import { resolve } from "node:path";
import { Argument, Command, Option } from "commander";
import { type Config, exposedSecrets, loadConfig, misspeltSettings } from "../config/loadEnvironment.ts";
import { FIRST_BATCH_SIZE } from "../collect/batchSize.ts";
import { describeUnknown } from "../config/unknownVariables.ts";
import type { Instant } from "../clock.ts";
import { closeToOthers } from "../journal/modes.ts";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import type { OptionContract } from "../market/instrument.ts";
import type { RowsKind } from "../serve/archive/source.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import { TIMESTAMP_WINDOW_SECONDS } from "../quotes-api/oauth/verify.ts";
import type { QuoteCall } from "../quotes-api/request.ts";
import {
  parseContract,
  parseDate,
  parseInstant,
  parseKey,
  parsePublicUrl,
  parseSpeed,
  parseSymbols,
  parseWatchlist,
  parseWhole,
} from "./arguments.ts";
import { addBackfill } from "./backfill/program.ts";
import { completion, type Shell, SHELLS } from "./completion.ts";
import type { Edges } from "../run/edges.ts";
import { addExport } from "./exportProgram.ts";
import { complain } from "./terminal/complain.ts";
import { VERSION } from "../run/version.ts";
import { addServeKeys } from "./serveKeysProgram.ts";
import { harmlessEdges, say } from "./terminal/harmless.ts";

const EXIT_CODES = "\nExit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.";

/** Port of `serve` where none is given; beside the dashboard's. */
const SERVE_PORT = 8090;

/** How often `status --watch` looks where nothing else is said, in seconds. */
const WATCH_SECONDS = 5;

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
      // It repeats what was given, which may come from a file; only its own advice stands in a line of its own.
      outputError: (text) => say(edges.stderr, ...text.trimEnd().split(/\n(?=\(Did you mean )/)),
      getOutHelpWidth: () => edges.stdout.columns,
      getErrHelpWidth: () => edges.stderr.columns,
    })
    .exitOverride()
    // What stands behind `serve keys add` belongs to it, also where `serve` has an option of the same name.
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for what is possible)");
  const run: Run = async (work) => {
    for (const unknown of misspeltSettings(edges.env, edges.directory))
      say(edges.stderr, describeUnknown(unknown));
    const config = loadConfig(edges.env, edges.directory);
    const exposed = [
      exposedSecrets(edges.env, edges.directory),
      await closeToOthers(resolve(config.dataDir), config.journalReaders),
    ];
    for (const problem of exposed) if (problem) say(edges.stderr, problem.message);
    done(await work(config));
  };
  addCollecting(program, run, edges);
  addPoll(program, run, edges);
  addServe(program, run, edges);
  addLooking(program, run, edges);
  addPlanning(program, run, edges);
  addJournal(program, run, edges);
  addBackfill(program, run, edges);
  addExport(program, run, edges);
  addCompletion(program, edges, done);
  for (const command of program.commands) command.addHelpText("after", EXIT_CODES);
  return program;
}

function addCollecting(program: Command, run: Run, edges: Edges): void {
  program
    .command("start")
    .description(
      "everything in one process: migrate, collect, load, dashboard; with nothing configured also an embedded database and a simulated market",
    )
    .action(() => run(async (config) => (await import("./start.ts")).start(config, edges, { web: true })));
  program
    .command("collect")
    .description("the collector alone, without the dashboard")
    .action(() => run(async (config) => (await import("./start.ts")).start(config, edges, { web: false })));
  program
    .command("web")
    .description(
      "the dashboard alone, over the archive of DATABASE_URL or of the data directory; it only reads",
    )
    .action(() => run(async (config) => (await import("./web.ts")).web(config, edges)));
}

type PollOptions = {
  symbols?: string[];
  watchlist?: string;
  option?: OptionContract[];
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
      conflicting(
        new Option("--symbols <list>", "symbols, separated by commas; repeatable").argParser(
          (text, before: string[] = []) => [...new Set([...before, ...parseSymbols(text)])],
        ),
      ),
    )
    .addOption(
      conflicting(new Option("--watchlist <id>", "a watchlist of the account").argParser(parseWatchlist)),
    )
    .addOption(
      conflicting(
        new Option(
          "--option <contract>",
          "an option contract, as UNDERLYING:YYYY-MM-DD:CALL|PUT:STRIKE; repeatable, a call each",
        ).argParser((text, before: OptionContract[] = []) => [...before, parseContract(text)]),
      ),
    )
    .option("--delayed", "ask for delayed quotes", false)
    .option("--json", "print JSON", false)
    .action((options: PollOptions, command: Command) => {
      const calls = callsOf(options);
      if (calls.length === 0)
        command.error("error: give one of --symbols, --watchlist or --option", { exitCode: 2 });
      return run(async (config) =>
        (await import("./poll.ts")).poll(config, edges, { calls, json: options.json }),
      );
    });
}

function callsOf({ symbols, watchlist, option, delayed }: PollOptions): QuoteCall[] {
  if (symbols) return symbolCalls(symbols, delayed);
  if (watchlist !== undefined) return [{ form: "watchlist", watchlist, delayed }];
  return (option ?? []).map((contract) => ({ form: "option", contract, delayed }));
}

function symbolCalls(symbols: readonly string[], delayed: boolean): QuoteCall[] {
  const calls: QuoteCall[] = [];
  for (let start = 0; start < symbols.length; start += FIRST_BATCH_SIZE) {
    calls.push({ form: "symbols", symbols: symbols.slice(start, start + FIRST_BATCH_SIZE), delayed });
  }
  return calls;
}

type ServeOptions = {
  source: "archive" | "simulated";
  host: string;
  port: number;
  seed: number;
  asOf?: Instant;
  speed?: number;
  loop: boolean;
  rows?: RowsKind;
  watchlists?: string;
  faults?: string;
  key: Credentials[];
  timestampWindow: number;
  publicUrl?: URL;
};

function addServe(program: Command, run: Run, edges: Edges): void {
  const command = program
    .command("serve")
    .enablePositionalOptions()
    .description("a Market Quotes Service of your own, to point programs at")
    .addOption(
      // Asked for in the action: commander would ask `serve keys` for it as well.
      new Option("--source <source>", "where its quotes come from; required").choices([
        "archive",
        "simulated",
      ]),
    )
    .addOption(
      new Option(
        "--as-of <time>",
        "the time to begin at, with its offset, such as 2026-11-17T10:00:00-05:00; default: now",
      ).argParser(parseInstant),
    )
    .addOption(
      new Option(
        "--speed <number>",
        "seconds played in a second: 60 makes a minute of an hour, 0 stands still; default: 1",
      ).argParser(parseSpeed),
    )
    .option("--loop", "begin again at --as-of (or the archive's beginning) where the archive ends", false)
    .addOption(
      new Option("--rows <kind>", "which quotes of the archive; default: real ones if it has any").choices([
        "real",
        "simulated",
      ]),
    )
    .option("--watchlists <file>", "YAML file of watchlists for the archive: ids, each with its symbols")
    .option(
      "--faults <faults>",
      "faults to make on purpose, such as latency=200ms..2s,429=5%,truncate=2%,500=1%,skew=11s,reorder, or a YAML file of them",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .addOption(
      new Option("--port <number>", "port to listen on; 0 takes any free one")
        .default(SERVE_PORT)
        .argParser(parseWhole(0, 65_535)),
    )
    .addOption(
      new Option("--seed <number>", "seed of the simulated market and of --faults")
        .default(1)
        .argParser(parseWhole(0, 2 ** 31 - 1)),
    )
    .addOption(
      new Option(
        "--key <key>",
        "credentials that may call in this run, as consumerKey:consumerSecret:token:tokenSecret; repeatable; default: those of `serve keys`, or else one is made and shown",
      )
        .default([], "none")
        .argParser(parseKey),
    )
    .addOption(
      new Option("--timestamp-window <seconds>", "how far the timestamp of a call may be off")
        .default(TIMESTAMP_WINDOW_SECONDS)
        .argParser(parseWhole(1, 86_400)),
    )
    .addOption(
      new Option(
        "--public-url <url>",
        "how callers reach it, when a proxy stands before it; it is part of what they sign; default: http and the Host header",
      ).argParser(parsePublicUrl),
    )
    .action(
      (
        { key, asOf, speed, rows, watchlists, faults, publicUrl, ...options }: ServeOptions,
        self: Command,
      ) => {
        if (options.source === undefined)
          self.error("error: required option '--source <source>' not specified", { exitCode: 2 });
        return run(async (config) =>
          (await import("./serve.ts")).serve(config, edges, {
            ...options,
            asOf: asOf ?? null,
            speed: speed ?? null,
            rows: rows ?? null,
            watchlists: watchlists ?? null,
            faults: faults ?? null,
            publicUrl: publicUrl ?? null,
            keys: key,
          }),
        );
      },
    );
  addServeKeys(command, run, edges, EXIT_CODES);
}

type JsonOption = { json: boolean };

function addLooking(program: Command, run: Run, edges: Edges): void {
  program
    .command("status")
    .description(
      "what is healthy, late or lost, in ten lines at most; exit code 1 when something needs a person",
    )
    .addOption(
      new Option("--watch [seconds]", "look again and again, until Ctrl-C; with --json a document a line")
        .preset(String(WATCH_SECONDS))
        .argParser(parseWhole(1, 86_400)),
    )
    .option("--json", "print JSON", false)
    .action(({ json, watch }: JsonOption & { watch?: number }) =>
      run(async (config) =>
        (await import("./status.ts")).status(config, edges, { json, watchEverySeconds: watch ?? null }),
      ),
    );
  program
    .command("migrate")
    .description("brings the database's schema up to date; harmless when it is")
    .option("--json", "print JSON", false)
    .option("--to-timescaledb", "moves a database that holds rows to TimescaleDB as well", false)
    .action(({ json, toTimescaledb }: JsonOption & { toTimescaledb: boolean }) =>
      run(async (config) => (await import("./migrate.ts")).migrate(config, edges, { json, toTimescaledb })),
    );
  const jobs = program.command("jobs").description("the job files");
  jobs
    .command("check")
    .description(
      "validates the job files, all problems at once with file and line; exit code 2 when there are any",
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", EXIT_CODES)
    .action(({ json }: JsonOption) =>
      run(async (config) => (await import("./jobsCheck.ts")).jobsCheck(config, edges, { json })),
    );
}

function addJournal(program: Command, run: Run, edges: Edges): void {
  const journal = program
    .command("journal")
    .description("the journal's health; nothing of it is ever changed");
  type Work = "journalList" | "journalVerify" | "journalRepair";
  const add = (name: string, description: string, work: Work): void =>
    void journal
      .command(name)
      .description(description)
      .option("--json", "print JSON", false)
      .addHelpText("after", EXIT_CODES)
      .action(({ json }: JsonOption) =>
        run(async (config) => (await import("./journal.ts"))[work](config, edges, { json })),
      );
  add("list", "its segments, oldest first", "journalList");
  add(
    "verify",
    "reads every record and proves it, and names segments that are missing or do not belong here; exit code 1 when there is damage that has not been set aside, or such a segment",
    "journalVerify",
  );
  journal
    .command("accept")
    .description(
      "says of segments that `verify` names that it is meant so: they were moved elsewhere, or belong here",
    )
    .argument("[segments...]", "names as `verify` gives them")
    .option(
      "--before <date>",
      "everything missing or foreign that was begun before this day (UTC)",
      parseDate,
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", EXIT_CODES)
    .action((names: string[], { before = null, json }: JsonOption & { before?: string | null }) =>
      run(async (config) =>
        (await import("./journal.ts")).journalAccept(config, edges, { names, before, json }),
      ),
    );
  add("repair", "copies damaged bytes aside; harmless beside a running collector", "journalRepair");
}

function addCompletion(program: Command, edges: Edges, done: (exitCode: number) => void): void {
  program
    .command("completion")
    .description("a script that completes commands, options and their values in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      [
        "\nFor this shell:   source <(quotekeeper completion bash)      # or zsh",
        "                  quotekeeper completion fish | source",
        "To have it always, put that line into ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.",
      ].join("\n"),
    )
    .action((shell: Shell) => done(completion(program, edges, shell)));
}

type DateOptions = { from?: string; to?: string; json: boolean };

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
      run(async (config) => (await import("./plan.ts")).plan(config, edges, { date: date ?? null, json })),
    );
  program
    .command("calendar")
    .description("the sessions it believes in: date, kind, pre, open, close, post")
    .addOption(dateOption("--from <date>", "first exchange date, YYYY-MM-DD; default: today"))
    .addOption(dateOption("--to <date>", "last exchange date, YYYY-MM-DD; default: 30 days after the first"))
    .option("--closed", "list the days without a session as well", false)
    .option("--json", "print JSON", false)
    .action(({ closed, json, ...given }: DateOptions & { closed: boolean }, command: Command) => {
      const from = given.from ?? exchangeDate(edges.clock.now());
      const dates = checkOrder({ from, to: given.to ?? addDays(from, 30) }, command);
      return run(async (config) =>
        (await import("./calendar.ts")).calendar(config, edges, { ...dates, closed, json }),
      );
    });
  program
    .command("coverage")
    .description(
      "expected against stored, per instrument and session, worst first, and why not; exit code 1 when something is missing",
    )
    .addOption(
      dateOption("--from <date>", "first exchange date, YYYY-MM-DD; default: six days before the last"),
    )
    .addOption(dateOption("--to <date>", "last exchange date, YYYY-MM-DD; default: today"))
    .option("--json", "print JSON", false)
    .action(({ json, ...given }: DateOptions, command: Command) => {
      const to = given.to ?? exchangeDate(edges.clock.now());
      const dates = checkOrder({ from: given.from ?? addDays(to, -6), to }, command);
      return run(async (config) =>
        (await import("./coverage.ts")).coverage(config, edges, { ...dates, json }),
      );
    });
}

type Dates = { from: string; to: string };

function checkOrder({ from, to }: Dates, command: Command): Dates {
  if (from > to) command.error(`error: --from ${from} is later than --to ${to}`, { exitCode: 2 });
  return { from, to };
}

/** Runs one command line; never throws. */
export async function runProgram(argv: readonly string[], outside: Edges): Promise<number> {
  const edges = harmlessEdges(outside);
  let exitCode = 0;
  const program = createProgram(edges, (code) => (exitCode = code));
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return complain(error, argv, edges);
  }
}
