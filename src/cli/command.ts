/**
 * A command is one value: what it takes, the JSON that it prints, and its work. The program, `--help`, docs/cli.md and docs/json.md
 * all read it. Its line in `--help`, its group and its example stand in commands.ts, because `--help` shows those of every
 * command and loads the file of none.
 */
import type { z } from "zod";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../ground/edges.ts";

/** An option, or a word behind the command. `Value` is the type of what the command gets. */
export type Input<Value> = {
  /** What stands behind the flag, or is the word: `<date>`, `[seconds]`, `<paths...>`. A switch takes nothing. */
  takes: string;
  help: string;
  /** The value when nothing is given. */
  otherwise: Value;
  /** A word has no flag. The flag of an option is its name: `asOf` is `--as-of`. */
  isWord?: true;
  /** Throws InvalidArgumentError. An option that is given again gets what it was before. */
  parse?: (text: string, before?: never) => unknown;
  choices?: readonly string[];
  isRequired?: true;
  /** Options that cannot be given with it, by name. */
  conflicts?: readonly string[];
};

type Inputs = Readonly<Record<string, Input<unknown>>>;

export type Given<Options extends Inputs> = { [Name in keyof Options]: Options[Name]["otherwise"] };

/** Prints a document of the schema; null: `--json` is not given. */
export type PrintJson<Schema extends z.ZodType> = ((document: z.input<Schema>) => void) | null;

type Printing<Schema> = Schema extends z.ZodType ? { printJson: PrintJson<Schema> } : unknown;

type CommandValue<Options extends Inputs, Schema extends z.ZodType | null> = {
  /** What a command of a group does, in a line. */
  does?: string;
  options?: Options;
  /** What it prints with `--json`, an option that all commands with a schema have. */
  json?: Schema;
  /** A paragraph below the options. */
  more?: string;
  /** What is wrong with the options together; null: nothing. It is asked before the settings are read. */
  check?: (given: Given<Options>, edges: Edges) => string | null;
  /** What is wrong with words behind a command that takes none, if more can be said than that. */
  noWords?: (words: readonly string[]) => string;
  /** The command leaves the data directory as it is: then the modes of the files decide who may run it (ground/oneOwner.ts). */
  readsOnly?: boolean | ((edges: Edges) => boolean);
  /** The command waits by itself for a clock that is right. */
  waitsForClock?: boolean;
  /** The lake that the command writes to. */
  lake?: (config: Config, edges: Edges, given: Given<Options>) => string;
  /** @returns the exit code */
  run?: (config: Config, edges: Edges, given: Given<Options> & Printing<Schema>) => Promise<number>;
  /** As `run`, for a command that is there to make the settings. */
  runWithoutSettings?: (edges: Edges, given: Given<Options>) => Promise<number>;
  /** The commands of a group, by name. */
  commands?: Readonly<Record<string, CommandOfAnyType>>;
};

export type CommandOfAnyType = CommandValue<Inputs, z.ZodType | null>;

/** A command, whose work gets the options with the types that they have. */
export function command<Options extends Inputs = Inputs, Schema extends z.ZodType | null = null>(
  value: CommandValue<Options, Schema>,
): CommandOfAnyType & { json: Schema } {
  return value as unknown as CommandOfAnyType & { json: Schema };
}

/** `timePattern` is `--time-pattern`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A switch. */
export function flag(help: string): Input<boolean> {
  return { takes: "", help, otherwise: false };
}

/** What is given without a parser. */
type Text<Takes extends string> = Takes extends `${string}...${string}` ? string[] : string;

/** An option whose value stands in `[]` may be given without one, and is true then. */
type Optional<Takes extends string, Value> = Input<
  (Takes extends `[${string}` ? Value | true : Value) | null
>;

/** An option with a value. */
export function option<Takes extends string>(takes: Takes, help: string): Optional<Takes, Text<Takes>>;
export function option<Takes extends string, Value>(
  takes: Takes,
  help: string,
  parse: (text: string, before?: Value) => Value,
): Optional<Takes, Value>;
export function option(takes: string, help: string, parse?: Input<unknown>["parse"]): Input<null> {
  return { takes, help, otherwise: null, parse };
}

/** A word that stands in `<>` has to be given; of `[words...]` there may be none. */
type Word<Takes extends string, Value> = Input<
  Takes extends `<${string}` | `${string}...]` ? Value : Value | null
>;

/** A word behind the command. */
export function word<Takes extends string>(takes: Takes, help: string): Word<Takes, Text<Takes>>;
export function word<Takes extends string, Value>(
  takes: Takes,
  help: string,
  parse: (text: string) => Value,
): Word<Takes, Value>;
export function word(takes: string, help: string, parse?: Input<unknown>["parse"]): Input<unknown> {
  return { takes, help, otherwise: takes.includes("...") ? [] : null, isWord: true, parse };
}

/** An option whose value is one of some words. */
export function choice<const Choices extends readonly string[]>(
  takes: string,
  help: string,
  choices: Choices,
): Input<Choices[number] | null> {
  return { takes, help, otherwise: null, choices };
}

export function required<Value>(input: Input<Value>): Input<NonNullable<Value>> {
  return { ...input, otherwise: input.otherwise as NonNullable<Value>, isRequired: true };
}

/** The option with a default, which help shows. */
export function withDefault<Value>(
  otherwise: NonNullable<Value>,
  input: Input<Value>,
): Input<NonNullable<Value>> {
  return { ...input, otherwise };
}

/** @param names options that cannot be given with it */
export function without<Value>(names: readonly string[], input: Input<Value>): Input<Value> {
  return { ...input, conflicts: names };
}
