/** What can stand on the command line, read from the program itself, so that no completion goes stale. Pure. */
import type { Argument, Command, Option } from "commander";

/** What follows an option: `none` nothing, `free` a value nobody can guess, `file` a path, else one of the choices. */
type Value = { kind: "none" | "free" | "file" } | { kind: "choices"; choices: readonly string[] };

/** An option as it is typed. */
export type OptionWord = { flag: string; description: string; value: Value };

/** Everything that can follow one command. */
export type Place = {
  /** The words up to here, `quotekeeper serve keys`. */
  path: string;
  commands: { name: string; description: string }[];
  options: OptionWord[];
  /** Choices of its arguments, and whether one of them is a path. */
  choices: string[];
  file: boolean;
};

/** Every place of a program, the program itself first. */
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

/** Up to the first semicolon: shells show one line. */
function brief(description: string): string {
  return description.split(/[;\n]/)[0]?.trim() ?? "";
}

/** Options that want a value, as patterns of bash and zsh: the word after one is its value, never a command. */
export function valuedPatterns(places: readonly Place[]): string {
  return valuedOptions(places)
    .map(({ path, option }) => `"${path} ${option.flag}"`)
    .join(" | ");
}

/** Commands, as patterns of bash and zsh. */
export function enteredPatterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join(" | ");
}

/** A line of `case` for each option that wants a value, in bash and zsh. @param act what is done for it */
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
