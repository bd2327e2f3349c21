/** `docs/cli.md`, from the program's own help. */
import type { Command } from "commander";
import { systemClock } from "../../src/ground/clock.ts";
import type { Edges, Sink } from "../../src/ground/edges.ts";
import { createProgram } from "../../src/cli/program.ts";
import { codeBlock, GENERATED, paragraphs } from "./markdown.ts";

/** Width of the page's help texts, in characters. */
const COLUMNS = 100;

/** The page. */
export async function commandsPage(): Promise<string> {
  let shown = "";
  const sections = withSubcommands(await commandsShown((text) => (shown += text)), "").flatMap(
    ([name, command]) => {
      shown = "";
      command.outputHelp();
      return [`## ${name}`, codeBlock("text", withoutWhatAllHave(shown))];
    },
  );
  return paragraphs(
    GENERATED,
    "# Commands",
    "Source: `src/cli/commands.ts` and the files of the commands; this is what `--help` shows, without what all commands have: `-h, --help`, and the exit codes 0 done, 1 something needs a person, 2 wrong usage or configuration. Flags are off by default. [How to call it](terminal.md#calling-it). Results go to stdout, logs and complaints to stderr.",
    ...sections,
  );
}

/** A help text without the lines and remarks that every other one has too. */
function withoutWhatAllHave(help: string): string {
  return help
    .replaceAll(/^ +-h, --help.*\n/gm, "")
    .replaceAll(/^ +help \[command\].*\n/gm, "")
    .replace(/^Exit codes: .*\n?/m, "")
    .replaceAll(/^(?:Options|Commands):\n(?! )/gm, "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trimEnd();
}

/** The program's commands, of which none runs. @param write takes what their help shows */
export function commandsShown(write: (text: string) => void): Promise<Command> {
  const sink: Sink = { isTTY: false, columns: COLUMNS, write };
  const edges: Edges = {
    clock: systemClock,
    uptimeSeconds: () => 0,
    bootId: null,
    stdout: sink,
    stderr: sink,
    env: {},
    directory: ".",
    onInterrupt: () => () => undefined,
  };
  return createProgram(edges, () => undefined);
}

function withSubcommands(command: Command, above: string): [name: string, command: Command][] {
  const name = `${above} ${command.name()}`.trim();
  return [[name, command], ...command.commands.flatMap((below) => withSubcommands(below, name))];
}
