/** Counts what a server sends, as it goes over the wire: the browser does not say it of streams. */
import { connect, createServer } from "node:net";

/** A way to the server on which bytes are counted. */
export type Wire = { address: string; received: () => number; close: () => void };

/** @param target such as `http://127.0.0.1:8080` */
export async function countedWire(target: string): Promise<Wire> {
  const { port, hostname } = new URL(target);
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    far.on("data", (piece: Buffer) => (bytes += piece.length));
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as { port: number };
  return { address: `http://127.0.0.1:${own}`, received: () => bytes, close: () => server.close() };
}
