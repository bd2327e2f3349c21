/** The completion script of fish. */
import type { OptionWord, Place } from "./places.ts";

/** @param places of the program, itself first */
export function fishScript(places: readonly Place[]): string {
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
        .map(({ path }) => quoted(path))
        .join(" ")}
        set at "$at $word"
      case ${valued(places)}
        set skip 1
    end
  end
  test "$at" = "$argv[1]"
end
complete -c ${name} -f
${places.flatMap((place) => linesOf(name, place)).join("\n")}
`;
}

function valued(places: readonly Place[]): string {
  return places
    .flatMap(({ path, options }) =>
      options.filter(({ value }) => value.kind !== "none").map(({ flag }) => quoted(`${path} ${flag}`)),
    )
    .join(" ");
}

function linesOf(name: string, { path, commands, options, choices, file }: Place): string[] {
  const start = `complete -c ${name} -n ${quoted(`__${name}_at '${path}'`)}`;
  return [
    ...commands.map((one) => `${start} -a ${one.name} -d ${quoted(one.description)}`),
    ...choices.map((choice) => `${start} -a ${choice}`),
    ...(file ? [`${start} -F`] : []),
    ...options.map((option) => `${start} -l ${option.flag.slice(2)}${valueFlags(option)}`),
  ];
}

function valueFlags({ value, description }: OptionWord): string {
  const about = ` -d ${quoted(description)}`;
  if (value.kind === "choices") return ` -x -a ${quoted(value.choices.join(" "))}${about}`;
  return `${{ none: "", free: " -x", file: " -r -F" }[value.kind]}${about}`;
}

/** fish has two escapes in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
