/** Questions in a terminal, a line each; a secret is not shown. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type Edges, Interrupted } from "../../ground/edges.ts";
import { own } from "./harmless.ts";

const MOVEMENTS = /\r|\u001b\[[?\d;]*[A-Za-z]/gu;

/** Standard output for readline, whose movements of the cursor are marked as ours. @param isHidden whether to write nothing */
export function keysOutput({ stdout }: Pick<Edges, "stdout">, isHidden = () => false): NodeJS.WritableStream {
  const output = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      if (!isHidden()) stdout.write(piece.toString("utf8").replace(MOVEMENTS, own));
      done();
    },
  });
  return Object.defineProperty(output, "columns", { get: () => stdout.columns });
}

export type Asker = {
  /** @returns the typed line, trimmed. @throws Interrupted */
  ask: (prompt: string) => Promise<string>;
  /** As `ask`, without showing what is typed. */
  askHidden: (prompt: string) => Promise<string>;
  close: () => void;
};

/** @param ended aborted at Ctrl-C and at the end of the input; aborting it elsewhere ends the question */
export function openAsker(
  input: NodeJS.ReadableStream,
  { stdout }: Pick<Edges, "stdout">,
  ended: AbortController,
): Asker {
  let isHidden = false;
  const output = keysOutput({ stdout }, () => isHidden);
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  // Lines that were pasted together wait here for their questions.
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
