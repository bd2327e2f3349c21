/** The prompt of `quotekeeper sql`: statements of several lines that end with `;`, one after the other. */
import { createInterface, type Interface } from "node:readline";
import { DUCK_NAMES } from "../archive/export/duckViews.ts";
import { type Edges, Interrupted } from "../ground/edges.ts";
import { keysOutput } from "./terminal/asker.ts";
import { complain } from "./terminal/complain.ts";
import { say } from "./terminal/harmless.ts";

const HELP = String.raw`Statements end with a semicolon. \d lists the tables and views, \d NAME the columns of one, \q ends (as does Ctrl-D).`;

const PROMPT = "sql> ";
const GOES_ON = "...> ";

const END = /^\s*(?:\\q|exit|quit)\s*;?\s*$/iu;
const LIST = /^\s*\\d(?:\s+(\w+))?\s*;?\s*$/u;

type Ask = (statement: string, edges: Edges) => Promise<void>;

/**
 * @param ask runs one statement; its errors are shown, and the prompt continues
 * @returns 0 when the person has ended it
 */
export async function prompt(edges: Edges, ask: Ask): Promise<number> {
  const input = edges.stdin?.();
  if (!input) return 0;
  const lines = createInterface({ input, output: keysOutput(edges), terminal: true, historySize: 1_000 });
  try {
    const prompter = new Prompter(lines, edges, ask);
    say(edges.stdout, HELP);
    prompter.begin();
    for await (const line of lines) if (!(await prompter.enter(line))) break;
  } finally {
    lines.close();
  }
  return 0;
}

class Prompter {
  readonly #lines: Interface;
  readonly #edges: Edges;
  readonly #ask: Ask;
  #typed = "";
  #interrupt: (() => void) | null = null;

  constructor(lines: Interface, edges: Edges, ask: Ask) {
    this.#lines = lines;
    this.#edges = edges;
    this.#ask = ask;
    // In a terminal that readline reads, Ctrl-C is a key.
    lines.on("SIGINT", () => {
      if (this.#interrupt) return this.#interrupt();
      edges.stdout.write("\n");
      this.begin();
    });
  }

  begin(): void {
    this.#typed = "";
    this.#show(PROMPT);
  }

  /** @returns false when the person has ended the prompt */
  async enter(line: string): Promise<boolean> {
    const isFirst = this.#typed === "";
    const list = isFirst ? LIST.exec(line) : null;
    if (isFirst && END.test(line)) return false;
    this.#typed += line.trim() === "" && isFirst ? "" : `${line}\n`;
    if (list?.[1] !== undefined) await this.#run(`describe ${list[1]}`);
    else if (list) say(this.#edges.stdout, ...DUCK_NAMES);
    else if (/;\s*$/u.test(line)) await this.#run(this.#typed);
    else if (this.#typed !== "") {
      this.#show(GOES_ON);
      return true;
    }
    this.begin();
    return true;
  }

  #show(text: string): void {
    this.#lines.setPrompt(text);
    this.#lines.prompt();
  }

  async #run(statement: string): Promise<void> {
    const onInterrupt: Edges["onInterrupt"] = (callback) => {
      this.#interrupt = () => callback("SIGINT");
      const stop = this.#edges.onInterrupt(callback);
      return () => {
        this.#interrupt = null;
        stop();
      };
    };
    await this.#ask(statement, { ...this.#edges, onInterrupt }).catch((error: unknown) => {
      if (error instanceof Interrupted) say(this.#edges.stderr, "ended");
      else complain(error, [], this.#edges);
    });
  }
}
