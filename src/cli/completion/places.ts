/** What can stand on the command line, read from the program itself, so that completion is never outdated. Pure. */
import type { Argument, Command, Option } from "commander";

/** What follows an option: `none`: nothing, `free`: any text, `file`: a path, `choices`: one of them. */
type Value = { kind: "none" | "free" | "file" } | { kind: "choices"; choices: readonly string[] };

export type OptionWord = { flag: string; description: string; value: Value };

export type Place = {
  /** The words up to here: `quotekeeper serve keys`. */
  path: string;
  commands: { name: string; description: string }[];
  options: OptionWord[];
  /** Choices of the arguments, and whether an argument is a path. */
  choices: string[];
  file: boolean;
};

export function placesOf(program: Command): Place[] {
  const below = (command: Command, above: string): Place[] => {
    const path = `${above} ${command.name()}`.trim();
    const help = command.createHelp();
    const commands = help.visibleCommands(command).filter((one) => one.name() !== "help");
    const args = command.registeredArguments;
    const place = {
      path,
      commands: commands.map((one) => ({ name: one.name(), description: brief(one.description()) })),
      options: help.visibleOptions(command).flatMap(optionWord),
      choices: args.flatMap(({ argChoices }) => argChoices ?? []),
      file: args.some(isPath),
    };
    return [place, ...commands.flatMap((one) => below(one, path))];
  };
  return below(program, "");
}

function optionWord(option: Option): OptionWord[] {
  const { long, description } = option;
  return long ? [{ flag: long, description: brief(description), value: valueOf(option) }] : [];
}

function valueOf({ flags, required, argChoices }: Option): Value {
  if (argChoices) return { kind: "choices", choices: argChoices };
  if (/[<[][^>\]]*(file|dir(ectory)?|path)\b/i.test(flags)) return { kind: "file" };
  return { kind: required ? "free" : "none" };
}

function isPath(argument: Argument): boolean {
  return /file|dir|path/i.test(argument.name());
}

/** A description up to the first semicolon: shells show one line. */
function brief(description: string): string {
  return description.split(/[;\n]/)[0]?.trim() ?? "";
}

/** Patterns of bash and zsh for options with a value: the next word is the value, not a command. */
export function valuedPatterns(places: readonly Place[]): string {
  return valuedOptions(places)
    .map(({ path, option }) => `"${path} ${option.flag}"`)
    .join(" | ");
}

/** Patterns of bash and zsh for commands. */
export function enteredPatterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join(" | ");
}

/** A line of `case` in bash and zsh for each option with a value. @param act the commands of the line */
export function valueCases(places: readonly Place[], act: (option: OptionWord) => string): string {
  return valuedOptions(places)
    .map(({ path, option }) => `    "${path} ${option.flag}") ${act(option)} ;;`)
    .join("\n");
}

function valuedOptions(places: readonly Place[]): { path: string; option: OptionWord }[] {
  return places.flatMap(({ path, options }) =>
    options.filter(({ value }) => value.kind !== "none").map((option) => ({ path, option })),
  );
}
