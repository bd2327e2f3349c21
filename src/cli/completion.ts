/** `quotekeeper completion`: a script that completes commands, options, choices and paths in a shell. */
import { readFile } from "node:fs/promises";
import { Argument } from "commander";
import { completionScript, type Shell, SHELLS } from "./completionScripts.ts";
import type { AddCommand } from "./command.ts";

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
      edges.stdout.write(await builtScript(shell).catch(async () => completionScript(shell, await whole())));
      done(0);
    });
};

/** The script that the build has made (scripts/build.js): shells ask for it at every start. @throws without a build */
async function builtScript(shell: Shell): Promise<string> {
  return readFile(new URL(`../completion/${shell}`, import.meta.url), "utf8");
}
