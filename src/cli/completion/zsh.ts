/** The completion script of zsh: sourced, or saved as `_quotekeeper` in a directory of `fpath`. */
import { enteredPatterns, type OptionWord, type Place, valueCases, valuedPatterns } from "./places.ts";

/** @param places of the program, itself first */
export function zshScript(places: readonly Place[]): string {
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
${values(places)}
  esac
  case "$at" in
${places.map(wordsOf).join("\n")}
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

function values(places: readonly Place[]): string {
  const act = ({ value }: OptionWord): string => {
    if (value.kind === "choices") return `compadd -- ${value.choices.join(" ")}; return`;
    return value.kind === "file" ? "_files; return" : "return";
  };
  return valueCases(places, act);
}

function wordsOf({ path, commands, options, choices, file }: Place): string {
  const entry = (word: string, description: string): string =>
    quoted(`${word.replaceAll(":", "\\:")}:${description}`);
  const names = [
    ...commands.map(({ name, description }) => entry(name, description)),
    ...choices.map((choice) => quoted(choice)),
  ];
  const flags = options.map(({ flag, description }) => entry(flag, description));
  const paths = file ? ` [[ "\${words[CURRENT]}" != -* ]] && { _files; return };` : "";
  return `    "${path}")${paths} commands=(${names.join(" ")}); options=(${flags.join(" ")}) ;;`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
