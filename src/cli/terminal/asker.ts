/** Questions in a terminal: one line each, of which a secret is not shown. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type Edges, Interrupted } from "../../run/edges.ts";
import { own } from "./harmless.ts";

/** What moves the cursor: readline's own, since what is typed comes to it as keys. */
const MOVEMENTS = /\r|\u001b\[[?\d;]*[A-Za-z]/gu;

/** Where readline writes: standard output, to which its movements of the cursor are ours. @param isHidden nothing is */
export function keysOutput({ stdout }: Pick<Edges, "stdout">, isHidden = () => false): NodeJS.WritableStream {
  const output = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      if (!isHidden()) stdout.write(piece.toString("utf8").replace(MOVEMENTS, own));
      done();
    },
  });
  return Object.defineProperty(output, "columns", { get: () => stdout.columns });
}

/** Asks one question after the other. */
export type Asker = {
  /** @returns what was typed, without blanks around it. @throws Interrupted */
  ask: (prompt: string) => Promise<string>;
  /** The same, and what is typed is not shown. */
  askHidden: (prompt: string) => Promise<string>;
  /** Gives the terminal back. */
  close: () => void;
};

/** @param ended aborted at Ctrl-C, and when the input ends; whoever else aborts it ends the question */
export function openAsker(
  input: NodeJS.ReadableStream,
  { stdout }: Pick<Edges, "stdout">,
  ended: AbortController,
): Asker {
  let isHidden = false;
  const output = keysOutput({ stdout }, () => isHidden);
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  // Several lines may be pasted at once: they wait here for their questions.
  const typed = lines[Symbol.asyncIterator]();
  const close = (): void => lines.close();
  // In a terminal that readline reads, Ctrl-C is a key.
  lines.on("SIGINT", () => ended.abort(new Interrupted("SIGINT")));
  ended.signal.addEventListener("abort", close);
  const ask = async (prompt: string): Promise<string> => {
    ended.signal.throwIfAborted();
    lines.setPrompt(prompt);
    lines.prompt();
    const line = await typed.next();
    if (line.done === true) ended.abort(new Interrupted("SIGINT"));
    ended.signal.throwIfAborted();
    return String(line.value).trim();
  };
  return {
    ask,
    askHidden: async (prompt) => {
      stdout.write(prompt);
      isHidden = true;
      try {
        return await ask("");
      } finally {
        isHidden = false;
        stdout.write("\n");
      }
    },
    close: () => {
      ended.signal.removeEventListener("abort", close);
      lines.close();
    },
  };
}
