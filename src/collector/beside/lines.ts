/**
 * What programs of this machine say to each other over a socket of the data directory: JSON, a line each. Whoever may enter
 * the directory may say anything there, so nothing longer than a line of ours is taken in.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** The longest line, in characters: several times the longest of ours. */
const LONGEST_LINE = 4_096;

export type Talk = {
  say: (message: object) => void;
  /** The next line, as data of any shape; null when the other end has gone, or said something that is no line of ours. */
  next: () => Promise<unknown>;
  end: () => void;
};

/** Talks over a socket, which belongs to the conversation from then on. */
export function talkOver(socket: Socket): Talk {
  // A socket that breaks says so once more at the next read.
  socket.on("error", () => undefined);
  const lines = linesOf(socket);
  return {
    say: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    next: async () => {
      const { value, done } = await lines.next().catch(() => ({ value: null, done: true }));
      return done ? null : value;
    },
    end: () => socket.destroySoon(),
  };
}

async function* linesOf(socket: Socket): AsyncGenerator<unknown, void> {
  let rest = "";
  socket.setEncoding("utf8");
  for await (const chunk of socket as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if ([rest, ...lines].some(({ length }) => length > LONGEST_LINE)) return;
    for (const line of lines) yield JSON.parse(line);
  }
}

/** @throws the system's error: ECONNREFUSED where nobody listens any more, ENOENT where nothing is */
export async function talkTo(path: string): Promise<Talk> {
  const socket = connect({ path });
  await once(socket, "connect");
  return talkOver(socket);
}
