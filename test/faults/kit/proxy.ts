/**
 * A TCP proxy before the database: it can be cut, made slow, made to swallow every byte or the answer to a COMMIT, and restored. It
 * sees what is asked.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** PostgreSQL's CommandComplete for COMMIT: `C`, length 11, the tag. */
const COMMITTED = Buffer.from("C\0\0\0\x0bCOMMIT\0", "latin1");

/** How much later bytes arrive, in ms: questions at the database, and answers at the collector. */
type Delays = { questionsMs: number; answersMs: number };

/** A running proxy. */
export type Proxy = {
  /** The connection string to use in place of the one it was given. */
  url: string;
  /** Ends all connections and refuses new ones. */
  cut: () => Promise<void>;
  /** All bytes go nowhere from now on, and nobody is told: connections stay, and new ones are taken. */
  swallow: () => void;
  /** Hands everything on so much later from now on, in ms, each way: the database is far. */
  delay: (delays: Delays) => void;
  /** Resolves when a question with this text in it passes from now on. */
  asked: (text: string) => Promise<void>;
  /** Takes connections again, on the same port; those whose bytes went nowhere are ended. */
  restore: () => Promise<void>;
  /** The answers to the next `count` COMMITs are swallowed, and their connections closed. */
  swallowCommits: (count: number) => void;
  /** How many have been swallowed. */
  swallowed: () => number;
  close: () => Promise<void>;
};

/** Starts one. @param options.up false: it refuses connections until `restore` */
export async function startProxy(databaseUrl: string, { up = true } = {}): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let toSwallow = 0;
  let goesNowhere = false;
  let swallowed = 0;
  let delays: Delays = { questionsMs: 0, answersMs: 0 };
  const watched = new Set<{ text: string; seen: () => void }>();

  const serve = (client: Socket): void => {
    const database = connect(Number(target.port), target.hostname);
    const end = (): void => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    const toDatabase = inOrder((chunk) => database.write(chunk));
    const toClient = inOrder((chunk) => client.write(chunk));
    client.on("data", (chunk: Buffer) => {
      for (const watch of watched) if (chunk.includes(watch.text)) watch.seen();
      if (!goesNowhere) toDatabase(chunk, delays.questionsMs);
    });
    database.on("data", (chunk: Buffer) => {
      if (goesNowhere) return;
      if (toSwallow > 0 && chunk.includes(COMMITTED)) {
        toSwallow -= 1;
        swallowed += 1;
        end();
      } else toClient(chunk, delays.answersMs);
    });
  };

  let server: Server | null = await listening(serve, 0);
  const { port } = server.address() as AddressInfo;
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
    server = null;
    sockets.forEach((socket) => socket.destroy());
    await closed;
  };
  if (!up) await cut();
  const through = new URL(databaseUrl);
  through.host = `127.0.0.1:${port}`;
  return {
    url: through.href,
    cut,
    swallow: () => {
      goesNowhere = true;
    },
    delay: (now) => (delays = now),
    asked: (text) =>
      new Promise<void>((resolve) => {
        const watch = { text, seen: () => (watched.delete(watch), resolve()) };
        watched.add(watch);
      }),
    restore: async () => {
      if (goesNowhere) sockets.forEach((socket) => socket.destroy());
      goesNowhere = false;
      server ??= await listening(serve, port);
    },
    swallowCommits: (count) => {
      toSwallow = count;
    },
    swallowed: () => swallowed,
    close: cut,
  };
}

/** Hands chunks on later, each after those before it, also where the delay has become shorter meanwhile. */
function inOrder(write: (chunk: Buffer) => unknown): (chunk: Buffer, delayMs: number) => void {
  let freeAtMs = 0;
  return (chunk, delayMs) => {
    const atMs = performance.now();
    freeAtMs = Math.max(freeAtMs, atMs + delayMs);
    if (delayMs === 0 && freeAtMs <= atMs) write(chunk);
    else setTimeout(() => write(chunk), freeAtMs - atMs);
  };
}

function listening(serve: (client: Socket) => void, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(serve);
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
