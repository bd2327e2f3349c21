/**
 * What one would use instead: the real p-queue and bottleneck under a virtual clock, and a fixed
 * pacer. None of them reads a header, so the skew of `Expire` and the machine's clock change nothing.
 */
import PQueue from "p-queue";
import Bottleneck from "bottleneck";
import { LIMIT, WINDOW_MS, World, type Cell, type Outcome } from "./world.ts";

/** A sender with always more to send: starts, and returns how to kill it. */
type Peer = (world: World) => () => void;

/** The peers by name. */
export const PEERS = { "p-queue strict": pQueue, bottleneck: bottleneck, "pacer 1,034 ms": pacer } as const;

/** The name of a peer. */
export type PeerName = keyof typeof PEERS;

/** Calls that wait in a queue at any time: more than it can send at once. */
const BACKLOG = 3 * LIMIT;

/** Runs one cell with a peer. */
export async function runPeer(name: PeerName, cell: Cell, seed: number): Promise<Outcome> {
  const world = new World(cell, seed);
  const peer: Peer = PEERS[name];
  await world.time.runWithGlobals(world.endMs, () => {
    let kill = peer(world);
    for (const { killedAtMs, backAtMs } of world.restarts(cell.restartCount)) {
      world.time.at(killedAtMs, () => kill());
      world.time.at(backAtMs, () => void (kill = peer(world)));
    }
  });
  return world.outcome();
}

function pQueue(world: World): () => void {
  const queue = new PQueue({ intervalCap: LIMIT, interval: WINDOW_MS, strict: true });
  const add = (): void => void queue.add(() => answered(world)).then(add);
  for (let index = 0; index < BACKLOG; index += 1) add();
  return () => {
    queue.pause();
    queue.clear();
  };
}

function bottleneck(world: World): () => void {
  const limiter = new Bottleneck({
    reservoir: LIMIT,
    reservoirRefreshAmount: LIMIT,
    reservoirRefreshInterval: WINDOW_MS,
  });
  let alive = true;
  const add = (): void => {
    if (alive) void limiter.schedule(() => answered(world)).then(add, () => undefined);
  };
  for (let index = 0; index < BACKLOG; index += 1) add();
  return () => {
    alive = false;
    void limiter.stop({ dropWaitingJobs: true });
  };
}

function pacer(world: World): () => void {
  const timer = setInterval(() => world.call(() => undefined), 1_034);
  return () => clearInterval(timer);
}

function answered(world: World): Promise<void> {
  return new Promise((resolve) => world.call(() => resolve()));
}
