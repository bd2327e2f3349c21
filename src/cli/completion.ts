/** `quotekeeper completion`: a script that completes commands, options, choices and paths in a shell. */
import { readFile } from "node:fs/promises";
import { Argument } from "commander";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { type Place, placesOf } from "./completion/places.ts";
import { zshScript } from "./completion/zsh.ts";
import type { AddCommand } from "./command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  (places: readonly Place[]) => string
>;

type Shell = keyof typeof SCRIPTS;

const SHELLS = Object.keys(SCRIPTS) as Shell[];

export const addCompletion: AddCommand = (command, { edges, done, whole }) => {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      [
        "\nFor this shell:   source <(quotekeeper completion bash)      # or zsh",
        "                  quotekeeper completion fish | source",
        "To have it always, put that line into ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.",
      ].join("\n"),
    )
    .action(async (shell: Shell) => {
      edges.stdout.write(await builtScript(shell).catch(async () => SCRIPTS[shell](placesOf(await whole()))));
      done(0);
    });
};

/** The script that the build has made (scripts/build.js): shells ask for it at every start. @throws without a build */
async function builtScript(shell: Shell): Promise<string> {
  return readFile(new URL(`../completion/${shell}`, import.meta.url), "utf8");
}
