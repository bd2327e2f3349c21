/** Completion, in the shells themselves; a shell that is not installed is left out, and the run says so. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

const SHELLS = ["bash", "zsh", "fish"];

const dir = tempDir();
mkdirSync(join(dir, "files"));
for (const name of ["lists.yaml", "my lists.yaml"]) writeFileSync(join(dir, "files", name), "");
for (const shell of SHELLS)
  writeFileSync(join(dir, `script.${shell}`), (await run(["completion", shell])).stdout);

const installed = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;
const inShell = (shell: string): typeof test => (installed(shell) ? test : (test.skip as typeof test));

function ask(shell: string, script: string): string[] {
  const text = execFileSync(shell, ["-c", script], { cwd: join(dir, "files"), encoding: "utf8" });
  return text.split("\n").filter((line) => line !== "");
}

/** What bash offers for a line whose last word is being typed. */
function inBash(...words: string[]): string[] {
  const line = ["quotekeeper", ...words].map((word) => `'${word}'`).join(" ");
  return ask(
    "bash",
    `source ../script.bash; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _quotekeeper; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
}

inShell("bash").each([
  ["commands by their first letters", ["sta"], ["start", "status"]],
  ["commands below a command", ["journal", ""], ["list", "verify", "accept", "repair"]],
  ["commands two levels down", ["serve", "keys", "re"], ["revoke"]],
  ["options of the command", ["poll", "--w"], ["--watchlist"]],
  ["options behind a value that is a command's name", ["poll", "--watchlist", "serve", "--j"], ["--json"]],
  ["the choices of an option", ["serve", "--source", ""], ["archive", "simulated"]],
  [
    "words of an option that takes other texts too",
    ["init", "--account", "tr"],
    ["tradier", "tradier-sandbox"],
  ],
  ["the choices behind an equals sign", ["serve", "--source", "=", "arch"], ["archive"]],
  ["the choices of an argument", ["completion", ""], ["bash", "zsh", "fish"]],
  ["paths where a file is wanted", ["serve", "--watchlists", "l"], ["lists.yaml"]],
  ["a path with a blank as one", ["serve", "--watchlists", "my"], ["my lists.yaml"]],
  ["nothing where nobody can guess", ["poll", "--symbols", ""], []],
])("%s are offered", (_title, words, offered) => {
  expect(inBash(...words)).toEqual(offered);
});

inShell("fish").each([
  ["commands by their first letters", "sta", ["start", "status"]],
  ["commands two levels down", "serve keys re", ["revoke"]],
  ["options of the command", "poll --wa", ["--watchlist"]],
  ["the choices of an option", "serve --source ", ["archive", "simulated"]],
  ["paths where a file is wanted", "serve --watchlists li", ["lists.yaml"]],
])("%s are offered", (_title, line, offered) => {
  const lines = ask("fish", `source ../script.fish; complete -C 'quotekeeper ${line}'`);

  expect(lines.map((each) => each.split("\t")[0])).toEqual(offered);
});

inShell("zsh").each([
  ["a command", "quotekeeper stat", "quotekeeper status"],
  ["a command two levels down", "quotekeeper serve keys rev", "quotekeeper serve keys revoke"],
  ["an option", "quotekeeper poll --watch", "quotekeeper poll --watchlist"],
  ["a choice", "quotekeeper serve --source arch", "quotekeeper serve --source archive"],
  ["a choice behind an equals sign", "quotekeeper serve --source=arch", "quotekeeper serve --source=archive"],
  ["a path", "quotekeeper serve --watchlists lis", "quotekeeper serve --watchlists lists.yaml"],
])("%s is completed", (_title, typed, completed) => {
  // A real line editor on a terminal of its own: a tab, then the line is quoted and printed.
  const script = `
      zmodload zsh/zpty
      zpty editor TERM=dumb zsh -f -i
      zpty -w editor 'PS1= RPS1=; autoload -Uz compinit; compinit -u -d ${dir}/zcompdump; source ../script.zsh; bindkey -e'
      zpty -w -n editor $'${typed}\\t\\C-aprint -r -- "<\\C-e>"; exit\\n'
      zpty -r editor answer '*<quotekeeper*>[^"]*'
      print -r -- "$answer"`;

  const answer = ask("zsh", script).join("");

  expect(answer).toContain(`<${completed}>`);
});

for (const shell of SHELLS.filter((one) => !installed(one)))
  test(`${shell} is not installed here: its completion was not tried`, () => undefined);

test("an unknown shell is wrong usage, and the three are named", async () => {
  const { exitCode, stdout, stderr } = await run(["completion", "tcsh"]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain("bash, zsh, fish");
});

test("wrong settings do not keep a shell from completing", async () => {
  const { exitCode } = await run(["completion", "bash"], { QUOTES_LIMIT: "many" });

  expect(exitCode).toBe(0);
});
