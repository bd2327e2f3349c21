/**
 * The completion scripts of three shells. What can stand on the command line is read from the program itself, so that
 * completion is never outdated. Pure.
 */
import type { Argument, Command, Option } from "commander";
import { OptionWithWords } from "./command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export type Shell = keyof typeof SCRIPTS;

export const SHELLS = Object.keys(SCRIPTS) as Shell[];

/** The script of a shell. @param program the whole program */
export function completionScript(shell: Shell, program: Command): string {
  return SCRIPTS[shell](placesOf(program));
}

/** What follows an option: `none`: nothing, `free`: any text, `file`: a path, `choices`: one of them. */
type Value = { kind: "none" | "free" | "file" } | { kind: "choices"; choices: readonly string[] };

type OptionWord = { flag: string; description: string; value: Value };

type Place = {
  /** The words up to here: `quotekeeper serve keys`. */
  path: string;
  commands: { name: string; description: string }[];
  options: OptionWord[];
  /** Choices of the arguments, and whether an argument is a path. */
  choices: string[];
  file: boolean;
};

function placesOf(program: Command): Place[] {
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

function valueOf(option: Option): Value {
  const { flags, required, argChoices } = option;
  if (option instanceof OptionWithWords) return { kind: "choices", choices: option.words };
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
function valuedPatterns(places: readonly Place[]): string {
  return valuedOptions(places)
    .map(({ path, option }) => `"${path} ${option.flag}"`)
    .join(" | ");
}

/** Patterns of bash and zsh for commands. */
function enteredPatterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join(" | ");
}

/** A line of `case` in bash and zsh for each option with a value. @param offer the command that offers choices, or paths */
function valueCases(
  places: readonly Place[],
  offer: { choices: (words: string) => string; paths: string },
): string {
  const act = ({ value }: OptionWord): string => {
    if (value.kind === "choices") return `${offer.choices(value.choices.join(" "))}; return`;
    return value.kind === "file" ? `${offer.paths}; return` : "return";
  };
  return valuedOptions(places)
    .map(({ path, option }) => `    "${path} ${option.flag}") ${act(option)} ;;`)
    .join("\n");
}

function valuedOptions(places: readonly Place[]): { path: string; option: OptionWord }[] {
  return places.flatMap(({ path, options }) =>
    options.filter(({ value }) => value.kind !== "none").map((option) => ({ path, option })),
  );
}

/** For bash 3.2 and later, without other packages. */
function bashScript(places: readonly Place[]): string {
  const name = places[0]?.path ?? "";
  const choices = (words: string): string => `COMPREPLY=($(compgen -W "${words}" -- "$cur"))`;
  const offer = { choices, paths: `_${name}_paths "$cur"` };
  return `# Completion of ${name} for bash: source <(${name} completion bash)
_${name}() {
  local cur prev at i words
  COMPREPLY=()
  cur=\${COMP_WORDS[COMP_CWORD]}
  prev=\${COMP_WORDS[COMP_CWORD - 1]}
  # --option=value arrives as three words.
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $prev == "=" ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  at="${name}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i - 1]}" in
      ${valuedPatterns(places)} | *" =") continue ;;
    esac
    case "$at \${COMP_WORDS[i]}" in
      ${enteredPatterns(places)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $prev" in
${valueCases(places, offer)}
  esac
  case "$at" in
${places.map(bashWords).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
_${name}_paths() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$1"))
  compopt -o filenames 2> /dev/null
}
complete -F _${name} ${name}
`;
}

/** Offers options only behind a dash, else commands. */
function bashWords({ path, commands, options, choices, file }: Place): string {
  const names = [...commands.map(({ name }) => name), ...choices].join(" ");
  const flags = options.map(({ flag }) => flag).join(" ");
  if (names === "" && !file) return `    "${path}") words="${flags}" ;;`;
  const plain = file ? `_${path.split(" ")[0] ?? ""}_paths "$cur"; return` : `words="${names}"`;
  return `    "${path}") if [[ $cur == -* ]]; then words="${flags}"; else ${plain}; fi ;;`;
}

/** For zsh: sourced, or saved as `_quotekeeper` in a directory of `fpath`. */
function zshScript(places: readonly Place[]): string {
  const name = places[0]?.path ?? "";
  return `#compdef ${name}
# Completion of ${name} for zsh: source <(${name} completion zsh)
_${name}() {
  local at prev
  local -a commands options
  integer i
  at="${name}"
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i-1]}" in
      ${valuedPatterns(places)}) continue ;;
    esac
    case "$at \${words[i]}" in
      ${enteredPatterns(places)}) at="$at \${words[i]}" ;;
    esac
  done
  prev="\${words[CURRENT-1]}"
  if [[ "\${words[CURRENT]}" == --*=* ]]; then
    prev="\${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$at $prev" in
${valueCases(places, { choices: (words) => `compadd -- ${words}`, paths: "_files" })}
  esac
  case "$at" in
${places.map(zshWords).join("\n")}
  esac
  if [[ "\${words[CURRENT]}" != -* ]] && (( \${#commands} )); then
    _describe -t commands command commands
  else
    _describe -o option options
  fi
}
if [[ "\${funcstack[1]}" == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function zshWords({ path, commands, options, choices, file }: Place): string {
  const entry = (word: string, description: string): string =>
    zshQuoted(`${word.replaceAll(":", "\\:")}:${description}`);
  const names = [
    ...commands.map(({ name, description }) => entry(name, description)),
    ...choices.map((choice) => zshQuoted(choice)),
  ];
  const flags = options.map(({ flag, description }) => entry(flag, description));
  const paths = file ? ` [[ "\${words[CURRENT]}" != -* ]] && { _files; return };` : "";
  return `    "${path}")${paths} commands=(${names.join(" ")}); options=(${flags.join(" ")}) ;;`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishScript(places: readonly Place[]): string {
  const name = places[0]?.path ?? "";
  return `# Completion of ${name} for fish: ${name} completion fish | source
function __${name}_at
  set -l at ${name}
  set -l skip 0
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    if test $skip -eq 1
      set skip 0
      continue
    end
    switch "$at $word"
      case ${places
        .slice(1)
        .map(({ path }) => fishQuoted(path))
        .join(" ")}
        set at "$at $word"
      case ${valuedOptions(places)
        .map(({ path, option }) => fishQuoted(`${path} ${option.flag}`))
        .join(" ")}
        set skip 1
    end
  end
  test "$at" = "$argv[1]"
end
complete -c ${name} -f
${places.flatMap((place) => fishLines(name, place)).join("\n")}
`;
}

function fishLines(name: string, { path, commands, options, choices, file }: Place): string[] {
  const start = `complete -c ${name} -n ${fishQuoted(`__${name}_at '${path}'`)}`;
  return [
    ...commands.map((one) => `${start} -a ${one.name} -d ${fishQuoted(one.description)}`),
    ...choices.map((choice) => `${start} -a ${choice}`),
    ...(file ? [`${start} -F`] : []),
    ...options.map((option) => `${start} -l ${option.flag.slice(2)}${valueFlags(option)}`),
  ];
}

function valueFlags({ value, description }: OptionWord): string {
  const about = ` -d ${fishQuoted(description)}`;
  if (value.kind === "choices") return ` -x -a ${fishQuoted(value.choices.join(" "))}${about}`;
  return `${{ none: "", free: " -x", file: " -r -F" }[value.kind]}${about}`;
}

/** fish has two escapes in single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
