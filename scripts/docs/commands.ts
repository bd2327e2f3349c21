/** `docs/cli.md`, from the program's own help. */
import type { Command } from "commander";
import { systemClock } from "../../src/clock.ts";
import type { Edges, Sink } from "../../src/run/edges.ts";
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
      return [`## ${name}`, codeBlock("text", shown)];
    },
  );
  return paragraphs(
    GENERATED,
    "# Commands",
    "Source: `src/cli/program.ts`; this is what `--help` shows.",
    "In a checkout, after `npm ci`, a command is called as `npx quotekeeper <command>`; `npm start` is `quotekeeper start`. Results go to stdout, logs and complaints to stderr.",
    ...sections,
  );
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
