/** The completion script of bash, 3.2 and later; it needs no other package. */
import type { OptionWord, Place } from "./words.ts";

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
${valued(places)}
    esac
    case "$at \${COMP_WORDS[i]}" in
${entered(places)}
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

/** The word after an option that wants one is its value, never a command. */
function valued(places: readonly Place[]): string {
  const patterns = places.flatMap(({ path, options }) =>
    options.filter(({ value }) => value.kind !== "none").map(({ flag }) => `"${path} ${flag}"`),
  );
  return `      ${patterns.join(" | ")} | *" =") continue ;;`;
}

function entered(places: readonly Place[]): string {
  return `      ${places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join(" | ")}) at="$at \${COMP_WORDS[i]}" ;;`;
}

function values(places: readonly Place[]): string {
  const act = ({ value }: OptionWord): string => {
    if (value.kind === "choices")
      return `COMPREPLY=($(compgen -W "${value.choices.join(" ")}" -- "$cur")); return`;
    return value.kind === "file" ? `_${places[0]?.path ?? ""}_paths "$cur"; return` : "return";
  };
  return places
    .flatMap(({ path, options }) =>
      options
        .filter(({ value }) => value.kind !== "none")
        .map((option) => `    "${path} ${option.flag}") ${act(option)} ;;`),
    )
    .join("\n");
}

/** Commands before options: who wants an option begins with a dash. */
function wordsOf({ path, commands, options, choices, file }: Place): string {
  const names = [...commands.map(({ name }) => name), ...choices].join(" ");
  const flags = options.map(({ flag }) => flag).join(" ");
  if (names === "" && !file) return `    "${path}") words="${flags}" ;;`;
  const plain = file ? `_${path.split(" ")[0] ?? ""}_paths "$cur"; return` : `words="${names}"`;
  return `    "${path}") if [[ $cur == -* ]]; then words="${flags}"; else ${plain}; fi ;;`;
}
