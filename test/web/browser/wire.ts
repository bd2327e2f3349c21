/** A wire to a server that can be looked at: it counts what the server sends, and may swallow all that it carries. */
import { connect, createServer, type Socket } from "node:net";

/** `swallow`: bytes go lost in both directions, and nothing is closed, as when a network is gone. */
export type Wire = {
  address: string;
  received: () => number;
  swallow: (lost: boolean) => void;
  /** Takes no connection any more, and ends those that there are. */
  close: () => void;
};

/** @param target such as `http://127.0.0.1:8080` */
export async function countedWire(target: string): Promise<Wire> {
  const { port, hostname } = new URL(target);
  let bytes = 0;
  let isLost = false;
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    ends.add(near.once("close", () => ends.delete(near)));
    const far = connect(Number(port), hostname);
    far.on("data", (piece: Buffer) => (bytes += piece.length));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("data", (piece: Buffer) => void (isLost || other.write(piece)));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as { port: number };
  return {
    address: `http://127.0.0.1:${own}`,
    received: () => bytes,
    swallow: (lost) => void (isLost = lost),
    close: () => {
      server.close();
      for (const near of ends) near.destroy();
    },
  };
}
