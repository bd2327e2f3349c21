/** Our governor as a sender with always more to send, killed and started anew as the cell says. */
import {
  admission,
  createGovernor,
  step,
  type CallHistory,
  type GovernorState,
} from "../../src/collect/governor/governor.ts";
import { readRateLimitHeaders } from "../../src/quotes-api/rateLimit.ts";
import { LIMIT, WINDOW_MS, World, type Cell, type Outcome } from "./world.ts";

/** How late a timer fires, at most, ms. */
const TIMER_LATE_MS = 2;

/** What survives a restart: the journal, with the wall clock's times. */
type Journal = { answeredWallMs: number[]; unansweredCount: number };

/** Runs one cell with our governor. */
export function runOurs(cell: Cell, seed: number): Outcome {
  const world = new World(cell, seed);
  const machine = { clockOffMs: cell.clockOffMs };
  const journal: Journal = { answeredWallMs: [], unansweredCount: 0 };
  let kill = startProcess(world, machine, journal, false);
  for (const [index, { killedAtMs, backAtMs }] of world.restarts(cell.restartCount).entries()) {
    world.time.at(killedAtMs, () => kill());
    world.time.at(backAtMs, () => {
      if (cell.clockStep) machine.clockOffMs += index % 2 === 0 ? WINDOW_MS : -WINDOW_MS;
      kill = startProcess(world, machine, journal, true);
    });
  }
  world.time.run(world.endMs);
  return world.outcome();
}

/** Starts a process that sends as soon as it may. Returns how to kill it. */
function startProcess(
  world: World,
  machine: { clockOffMs: number },
  journal: Journal,
  again: boolean,
): () => void {
  const { time } = world;
  const startedAtMs = time.nowMs;
  const monotonicMs = () => time.nowMs - startedAtMs;
  const wallMs = () => world.wallMs() + machine.clockOffMs;
  let alive = true;
  let cancelTimer = (): void => undefined;
  let state: GovernorState = createGovernor(
    { limit: LIMIT, windowMs: WINDOW_MS },
    0,
    again ? lastWindow(journal, wallMs()) : undefined,
  );
  journal.unansweredCount = 0;

  const pump = (): void => {
    cancelTimer();
    for (;;) {
      const admitted = admission(state, monotonicMs());
      if (!admitted.maySend) {
        cancelTimer = time.at(startedAtMs + admitted.notBeforeMs + world.random() * TIMER_LATE_MS, pump);
        return;
      }
      send();
    }
  };
  const send = (): void => {
    const sentAtMs = monotonicMs();
    state = step(state, { type: "sent" }, sentAtMs);
    journal.unansweredCount += 1;
    world.call(({ refused, header }) => {
      if (!alive) return;
      journal.unansweredCount -= 1;
      journal.answeredWallMs.push(wallMs());
      const rateLimit = readRateLimitHeaders(header);
      state = refused
        ? step(state, { type: "faulted", sentAtMs, rateLimit, wallMs: wallMs() }, monotonicMs())
        : step(state, { type: "answered", sentAtMs, rateLimit }, monotonicMs());
      pump();
    });
  };
  pump();
  return () => {
    alive = false;
    cancelTimer();
  };
}

function lastWindow({ answeredWallMs, unansweredCount }: Journal, wallMs: number): CallHistory {
  const ages = answeredWallMs.map((atMs) => wallMs - atMs);
  const answered = ages.filter((ageMs) => ageMs < WINDOW_MS);
  return {
    calls: [
      ...answered.map((ageMs) => ({ sentAgoMs: ageMs, answeredAgoMs: ageMs })),
      ...Array.from({ length: unansweredCount }, () => ({ sentAgoMs: 0, answeredAgoMs: null })),
    ],
    certain: false,
  };
}
