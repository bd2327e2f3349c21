/** What the first reader of a connection leaves of its bytes. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { wireConnector } from "../../src/collect/transport/wire.ts";
import { runs } from "../support/runs.ts";

const header = fc.stringMatching(/^[A-Za-z-]{1,9}: ?[!-~]{0,9}$/);
const information = fc
  .record({
    status: fc.integer({ min: 100, max: 199 }).filter((status) => status !== 101),
    reason: fc.constantFrom("", " ", " Continue", " HTTP/1.1 200 OK"),
    headers: fc.array(header, { maxLength: 3 }),
    end: fc.constantFrom("\r\n", "\n"),
  })
  .map(({ status, reason, headers, end }) => [`HTTP/1.1 ${status}${reason}`, ...headers, "", ""].join(end));
const answer = fc
  .tuple(
    fc.constantFrom(
      "HTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 101 No\r\n\r\n",
      "HTTP/1.1 1000\r\n\r\n",
      "HTTP/1.1 1",
      "no HTTP",
      "",
    ),
    fc.array(fc.oneof(information, fc.string()), { maxLength: 3 }),
  )
  .map(([head, body]) => (head.length > 10 ? head + body.join("") : head));

/** A connection of ours to a server that reads and says nothing: a test pushes what Node would. */
async function connected(): Promise<{ socket: Socket; close: () => Promise<unknown> }> {
  const server = createServer((theirs) => void theirs.resume());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const port = String((server.address() as AddressInfo).port);
  const socket = await new Promise<Socket>((resolve, reject) =>
    wireConnector({})({ protocol: "http:", hostname: "127.0.0.1", port }, (error, made) =>
      error === null ? resolve(made) : reject(error),
    ),
  );
  const close = (): Promise<unknown> => {
    socket.destroy();
    return once(server.close(), "close");
  };
  return { socket, close };
}

/** Node 26 gives the pieces one after the other, where earlier ones gave all of them as one. */
function readAll(socket: Socket): Buffer {
  const pieces: Buffer[] = [];
  for (let piece = socket.read() as Buffer | null; piece !== null; piece = socket.read() as Buffer | null)
    pieces.push(piece);
  return Buffer.concat(pieces);
}

test("1xx answers are removed in whatever pieces they arrive, and not a byte of what begins with no 1xx answer", async () => {
  const { socket, close } = await connected();

  fc.assert(
    fc.property(
      fc.array(information, { maxLength: 4 }),
      answer,
      fc.array(fc.nat(), { maxLength: 12 }),
      (before, after, cuts) => {
        const wire = Buffer.from(before.join("") + after, "latin1");
        const ends = [...cuts.map((cut) => cut % (wire.length + 1)), wire.length].sort((a, b) => a - b);
        socket.write("a request");

        for (const [at, end] of ends.entries()) socket.push(wire.subarray(ends[at - 1] ?? 0, end));

        // A beginning that may still become a 1xx answer is held back.
        const left = readAll(socket).toString("latin1");
        expect(left).toBe(after === "HTTP/1.1 1" ? "" : after);
      },
    ),
    { numRuns: runs(300) },
  );
  await close();
});
