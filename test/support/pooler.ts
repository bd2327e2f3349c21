/**
 * A connection pooler on loopback that speaks PostgreSQL's protocol, as pgbouncer does: it refuses `options` at login,
 * tells clients a process id of its own, and lends its server connections to a client for as long as it is connected
 * (session mode), for a transaction (transaction mode) or for a statement, which begins none (statement mode).
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import pg from "pg";

/** An open pooler. */
export type Pooler = {
  url: string;
  /** How many clients are connected. */
  clients: () => number;
  close: () => Promise<void>;
};

type Mode = "session" | "transaction" | "statement";

/** One connection to the server, logged in. */
type Server = { client: pg.Client; stream: Socket; onMessage: (bytes: Buffer, idle: boolean) => void };

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const text = (...words: string[]): Buffer => Buffer.from(words.map((word) => `${word}\0`).join(""));
const refusal = (sentence: string): Buffer =>
  message("E", Buffer.concat([text("SFATAL", "VFATAL", "C08P01", `M${sentence}`), Buffer.from([0])]));
const IDLE = message("Z", Buffer.from("I"));
const WELCOME = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("S", text("server_version", "15.0")),
  message("S", text("client_encoding", "UTF8")),
  message("K", Buffer.from("\0\0\0\u0001\0\0\0\u0002", "latin1")),
  IDLE,
]);
const SSL_REQUEST = 80_877_103;

/** @param url of the database behind it */
export async function startPooler(url: string, mode: Mode): Promise<Pooler> {
  const free: Server[] = [];
  const all = new Set<Server>();
  const sockets = new Set<Socket>();

  async function take(): Promise<Server> {
    const known = free.pop();
    if (known) return known;
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    const server: Server = { client, stream, onMessage: () => undefined };
    stream.removeAllListeners("data");
    stream.on(
      "data",
      wholeMessages((bytes, type) => server.onMessage(bytes, type === "Z" && bytes[5] === IDLE[5])),
    );
    all.add(server);
    return server;
  }

  function serve(socket: Socket): void {
    let server: Promise<Server> | null = null;
    const giveBack = (lent: Server): void => {
      lent.onMessage = () => undefined;
      free.push(lent);
      server = null;
    };
    const toServer = (bytes: Buffer): void => {
      server ??= take().then((lent) => {
        lent.onMessage = (answer, idle) => {
          if (!socket.destroyed) socket.write(answer);
          if (idle && mode !== "session") giveBack(lent);
        };
        return lent;
      });
      void server.then(({ stream }) => stream.write(bytes));
    };
    socket.on("error", () => undefined);
    socket.on("close", () => void server?.then(giveBack));
    let loggedIn = false;
    const onMessage = wholeMessages((bytes, type) => {
      if (type === "X") socket.end();
      else if (mode === "statement" && type === "Q" && bytes.includes("begin"))
        socket.write(
          Buffer.concat([refusal("transaction blocks not allowed in statement pooling mode"), IDLE]),
        );
      else toServer(bytes);
    });
    socket.on("data", (bytes) => {
      if (loggedIn) return onMessage(bytes);
      // A login fits into one packet.
      if (bytes.readInt32BE(4) === SSL_REQUEST) return void socket.write("N");
      if (bytes.toString("latin1").includes("\0options\0"))
        return void socket.end(refusal("unsupported startup parameter: options"));
      loggedIn = true;
      socket.write(WELCOME);
    });
  }

  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serve(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = new URL(url);
  address.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    url: address.href,
    clients: () => sockets.size,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const { stream } of all) stream.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** Cuts a stream of bytes into the protocol's messages: a letter, a length, a body. */
function wholeMessages(onMessage: (bytes: Buffer, type: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 1 + rest.readInt32BE(1);
      if (rest.length < end) return;
      onMessage(rest.subarray(0, end), String.fromCharCode(rest[0] ?? 0));
      rest = rest.subarray(end);
    }
  };
}
