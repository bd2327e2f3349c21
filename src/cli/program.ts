/** The command line: makes commander's commands of ours, and runs the given one. */
import { resolve } from "node:path";
import { Argument, Command, Option } from "commander";
import { closest, distance } from "fastest-levenshtein";
import { loadConfig } from "../config/loadEnvironment.ts";
import { exposedSecrets, misspeltSettings } from "../config/settingSources.ts";
import { describeUnknown } from "../config/unknownVariables.ts";
import { closeToOthers } from "../journal/modes.ts";
import type { Edges } from "../ground/edges.ts";
import { dataDirOwned, lakeOwned, refuseOthers } from "../ground/oneOwner.ts";
import { VERSION } from "../ground/version.ts";
import { requireRightClock } from "../status/rightClock.ts";

import { type CommandOfAnyType, flag, flagOf, type Given, type Input } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { complain } from "./terminal/complain.ts";
import { harmlessEdges, say } from "./terminal/harmless.ts";

const EXIT_CODES = "\nExit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.";

const KNOWN = Object.entries(COMMANDS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([words, known]) => ({ group, words, ...known })),
);

/** The whole command line; `done` gets the exit code of the command that ran. */
export async function createProgram(edges: Edges, done: (exitCode: number) => void): Promise<Command> {
  return programWith(
    KNOWN.map(({ words }) => words),
    { edges, done, argv: [] },
  );
}

type ProgramRun = {
  edges: Edges;
  done: (exitCode: number) => void;
  /** The command line. With `--json` the caller prints errors as JSON. */
  argv: readonly string[];
};

/** @param loaded commands with options and arguments; the others have a line of help only */
async function programWith(loaded: readonly string[], context: ProgramRun): Promise<Command> {
  const { edges, argv } = context;
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
    .exitOverride()
    // An option behind `serve keys add` belongs to `add`, even if `serve` has an option of the same name.
    .enablePositionalOptions()
    .showHelpAfterError(!asJson && "(add --help for what is possible)");
  for (const { group, words, does, example, load } of KNOWN) {
    const [name = "", below] = words.split(" ");
    const above = below === undefined ? program : program.commands.find((one) => one.name() === name);
    const command = (above ?? program).command(below ?? name).description(does);
    if (above === program) command.helpGroup(group);
    if (loaded.includes(words)) addValue(command, await load(), context);
    command.addHelpText("after", `\nExample:\n  quotekeeper ${example}`);
    for (const one of [command, ...command.commands]) one.addHelpText("after", EXIT_CODES);
  }
  return program;
}

/** Adds options, words, commands and work to one of commander's commands. */
function addValue(command: Command, value: CommandOfAnyType, context: ProgramRun): void {
  const { options = {}, json, more, commands = {} } = value;
  const inputs = Object.entries(json ? { ...options, json: options.json ?? flag("print JSON") } : options);
  for (const [name, input] of inputs)
    if (input.isWord) command.addArgument(argumentOf(input));
    else command.addOption(optionOf(name, input));
  if (value.noWords) command.allowExcessArguments();
  for (const [name, below] of Object.entries(commands))
    addValue(command.command(name).description(below.does ?? ""), below, context);
  if (more !== undefined) command.addHelpText("after", `\n${more}`);
  if (!value.run && !value.runWithoutSettings) return;
  command.action(async () => {
    const wrong = (what: string): never => command.error(`error: ${what}`, { exitCode: 2 });
    if (value.noWords && command.args.length > 0) wrong(value.noWords(command.args));
    const words = command.processedArgs.values();
    const found = inputs.map(([name, input]) => {
      const given: unknown = input.isWord ? words.next().value : command.getOptionValue(name);
      // Commander would require an option of `serve` for `serve keys` too.
      if (input.isRequired && given === undefined)
        wrong(`required option '${flagOf(name)} ${input.takes}' not specified`);
      return [name, given ?? input.otherwise] as const;
    });
    const given = Object.fromEntries(found);
    const problem = value.check?.(given, context.edges) ?? null;
    if (problem !== null) wrong(problem);
    context.done(await runValue(value, given, context));
  });
}

function optionOf(name: string, input: Input<unknown>): Option {
  const { takes, help, parse, choices, otherwise, conflicts } = input;
  const option = new Option(`${flagOf(name)} ${takes}`.trim(), help);
  if (parse) option.argParser(parse as (text: string, before: unknown) => unknown);
  if (choices) option.choices(choices);
  if (otherwise !== null && otherwise !== false) option.default(otherwise);
  return conflicts ? option.conflicts([...conflicts]) : option;
}

function argumentOf({ takes, help, parse }: Input<unknown>): Argument {
  const argument = new Argument(takes, help);
  return parse ? argument.argParser(parse as (text: string) => unknown) : argument;
}

/** Reads the settings, refuses users who do not own the directories, and runs the command. @returns its exit code */
async function runValue(
  value: CommandOfAnyType,
  given: Given<NonNullable<CommandOfAnyType["options"]>>,
  { edges, argv }: ProgramRun,
): Promise<number> {
  if (!value.run) return (await value.runWithoutSettings?.(edges, given)) ?? 0;
  const readsOnly = typeof value.readsOnly === "function" ? value.readsOnly(edges) : value.readsOnly;
  // What is written bears its time.
  if (!readsOnly && !value.waitsForClock) requireRightClock(edges.clock.now());
  for (const unknown of misspeltSettings(edges.env, edges.directory))
    say(edges.stderr, describeUnknown(unknown));
  const config = loadConfig(edges.env, edges.directory);
  const secrets = exposedSecrets(edges.env, edges.directory);
  const lake = value.lake ? [lakeOwned(value.lake(config, edges, given))] : [];
  const { uid } = edges;
  if (uid !== undefined && !readsOnly)
    await refuseOthers([dataDirOwned(resolve(config.dataDir)), ...lake], { uid, argv });
  const exposed = [secrets, await closeToOthers(resolve(config.dataDir), config.journalReaders)];
  for (const problem of exposed) if (problem) say(edges.stderr, problem.message);
  const printJson = given.json
    ? (document: unknown) => edges.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    : null;
  return value.run(config, edges, { ...given, printJson });
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
  const both = `${first} ${second}`;
  return [KNOWN.some((known) => known.words === both) ? both : first];
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
    const program = await programWith(namedIn(argv), { edges, argv, done: (code) => (exitCode = code) });
    await program.parseAsync(isVersion(argv) ? ["--version"] : [...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return complain(error, argv, edges);
  }
}
