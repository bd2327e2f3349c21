/** `quotekeeper completion`: a script that completes commands, options, choices and paths in a shell. */
import type { Command } from "commander";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { type Place, placesOf } from "./completion/words.ts";
import { zshScript } from "./completion/zsh.ts";
import type { Edges } from "../run/edges.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  (places: readonly Place[]) => string
>;

/** A shell that completion is made for. */
export type Shell = keyof typeof SCRIPTS;

/** All of them. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[];

/** Prints the script of a shell, made from the program as it is. @returns 0 */
export function completion(program: Command, { stdout }: Edges, shell: Shell): number {
  stdout.write(SCRIPTS[shell](placesOf(program)));
  return 0;
}
