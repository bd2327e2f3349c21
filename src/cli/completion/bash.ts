/** The completion script of bash 3.2 and later, without other packages. */
import { enteredPatterns, type OptionWord, type Place, valueCases, valuedPatterns } from "./places.ts";

/** @param places of the program, itself first */
export function bashScript(places: readonly Place[]): string {
  const name = places[0]?.path ?? "";
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
${values(places)}
  esac
  case "$at" in
${places.map(wordsOf).join("\n")}
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

function values(places: readonly Place[]): string {
  const act = ({ value }: OptionWord): string => {
    if (value.kind === "choices")
      return `COMPREPLY=($(compgen -W "${value.choices.join(" ")}" -- "$cur")); return`;
    return value.kind === "file" ? `_${places[0]?.path ?? ""}_paths "$cur"; return` : "return";
  };
  return valueCases(places, act);
}

/** Offers options only behind a dash, else commands. */
function wordsOf({ path, commands, options, choices, file }: Place): string {
  const names = [...commands.map(({ name }) => name), ...choices].join(" ");
  const flags = options.map(({ flag }) => flag).join(" ");
  if (names === "" && !file) return `    "${path}") words="${flags}" ;;`;
  const plain = file ? `_${path.split(" ")[0] ?? ""}_paths "$cur"; return` : `words="${names}"`;
  return `    "${path}") if [[ $cur == -* ]]; then words="${flags}"; else ${plain}; fi ;;`;
}
