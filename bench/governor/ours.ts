/** Our governor as a sender with always more to send, or so much a minute, killed and started anew as the cell says. */
import type { CallHistory, EarlierCall, GovernorEvent } from "../../src/collect/governor/state.ts";
import { readRateLimitHeaders } from "../../src/services/reference/rateLimitHeaders.ts";
import { startSender } from "./sender.ts";
import { LIMIT, WINDOW_MS, World, type Answer, type Cell, type Outcome } from "./world.ts";

/** The minute in which a second collector of ours begins. */
const SECOND_BEGINS_MS = 2.5 * WINDOW_MS;

/** A call as it survives a kill: by true time and by the machine's clock. */
type KeptCall = { sentAtMs: number; answeredAtMs: number | null; answeredWallMs: number | null };

/** What survives a kill. */
type Memory = { calls: KeptCall[]; closedUntilMs: number };

/**
 * Runs one cell with our governor.
 *
 * @param dueCount calls that are due at each full minute; those that have not left by the next are missed
 */
export function runOurs(cell: Cell, seed: number, dueCount = Infinity): Outcome {
  const world = new World(cell, seed);
  const machine = { clockOffMs: cell.clockOffMs };
  const memory: Memory = { calls: [], closedUntilMs: 0 };
  const start = (again: boolean) => startProcess(world, cell, machine, memory, again, dueCount);
  let kill = start(false);
  for (const [index, { killedAtMs, backAtMs }] of world.restarts(cell.restartCount).entries()) {
    world.time.at(killedAtMs, () => kill());
    world.time.at(backAtMs, () => {
      if (cell.clockStep) machine.clockOffMs += index % 2 === 0 ? WINDOW_MS : -WINDOW_MS;
      kill = start(true);
    });
  }
  if (cell.collectorCount === 2)
    world.time.at(SECOND_BEGINS_MS, () => {
      startProcess(world, cell, machine, { calls: [], closedUntilMs: 0 }, false, dueCount, 1);
    });
  world.time.run(world.endMs);
  return world.outcome();
}

/** Starts a process that sends what is due as soon as it may. Returns how to kill it. */
function startProcess(
  world: World,
  cell: Cell,
  machine: { clockOffMs: number },
  memory: Memory,
  again: boolean,
  dueCount: number,
  collector = 0,
): () => void {
  const { time } = world;
  const wallMs = () => world.wallMs() + machine.clockOffMs;
  let alive = true;
  const sender = startSender({
    time,
    random: () => world.random(),
    config: { limit: LIMIT, windowMs: WINDOW_MS, mayRise: true },
    history: again ? historyOf(memory, cell, time.nowMs, wallMs()) : undefined,
    call: (sentAtMs, onEnd) => {
      const kept: KeptCall = { sentAtMs: time.nowMs, answeredAtMs: null, answeredWallMs: null };
      memory.calls = [...memory.calls.filter((call) => call.sentAtMs > time.nowMs - 2 * WINDOW_MS), kept];
      world.call((answer) => {
        if (!alive) return;
        kept.answeredAtMs = time.nowMs;
        kept.answeredWallMs = wallMs();
        onEnd(eventOf(answer, sentAtMs, wallMs()));
      }, collector);
    },
  });
  const slot = (): void => {
    if (!alive) return;
    sender.due(dueCount);
    if (dueCount < Infinity) time.at(time.nowMs + WINDOW_MS - (world.wallMs() % WINDOW_MS), slot);
  };
  slot();
  return () => {
    alive = false;
    memory.closedUntilMs = time.nowMs + sender.kill();
  };
}

/** An answer in the governor's words. */
export function eventOf({ outcome, header }: Answer, sentAtMs: number, wallMs: number): GovernorEvent {
  const rateLimit = readRateLimitHeaders(header);
  const seconds = header("Retry-After");
  const retryAfterMs = seconds === undefined ? null : 1_000 * Number(seconds);
  switch (outcome) {
    case "accepted":
      return { type: "answered", sentAtMs, rateLimit };
    case "refused":
      return { type: "faulted", sentAtMs, rateLimit, wallMs, retryAfterMs };
    default:
      return { type: "failed", sentAtMs, how: outcome, rateLimit, retryAfterMs };
  }
}

function historyOf(
  { calls, closedUntilMs }: Memory,
  { remembers }: Cell,
  nowMs: number,
  wallMs: number,
): CallHistory {
  if (remembers === "calls") {
    const told = calls.map(({ sentAtMs, answeredAtMs }) => ({
      sentAgoMs: nowMs - sentAtMs,
      answeredAgoMs: answeredAtMs === null ? null : nowMs - answeredAtMs,
    }));
    return { calls: told, certain: true, closedForMs: Math.max(0, closedUntilMs - nowMs) };
  }
  const told = calls.map(({ answeredWallMs }): EarlierCall => {
    const agoMs = answeredWallMs === null ? null : wallMs - answeredWallMs;
    return { sentAgoMs: agoMs ?? 0, answeredAgoMs: agoMs };
  });
  return { calls: told.filter(({ sentAgoMs }) => sentAgoMs < WINDOW_MS), certain: false };
}
