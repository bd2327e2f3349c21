/**
 * One simulated hour: the service, a second client beside us, and the network between. A sender under
 * test sees of it only `call`.
 */
import { EPOCH_MS, VirtualTime } from "./virtualTime.ts";
import { seeded, seedOf, type Random } from "./random.ts";
import { COUNTING_RULES, EXPIRE_SKEWS, type CountingRule, type RuleName, type SkewName } from "./service.ts";

/** Calls allowed in a window. */
export const LIMIT = 60;
/** The window, ms. */
export const WINDOW_MS = 60_000;
/** The shortest and the longest time from a call to its answer, ms. */
const LATENCY_MS = [50, 400] as const;

/** How long the process is away at a restart, ms. */
const AWAY_MS = [500, 5_000] as const;

/** A second client: how many calls a window it makes, and whether evenly or all at once. */
export type SecondClient = { count: number; manner: "even" | "burst" };

/** What is simulated. */
export type Cell = {
  rule: RuleName;
  skew: SkewName;
  /** What the machine's clock shows too much, ms. */
  clockOffMs: number;
  secondClient: SecondClient | null;
  restartCount: number;
  /** Whether the machine's clock is set by a minute at each restart. */
  clockStep: boolean;
  minutes: number;
};

/** An answer as a sender sees it. */
export type Answer = { refused: boolean; header: (name: string) => string | undefined };

/** What came of it. */
export type Outcome = {
  /** Our calls the service accepted and refused. */
  acceptedCount: number;
  refusedCount: number;
  /** The second client's calls, and how many of them were refused. */
  otherCount: number;
  otherRefusedCount: number;
  longestPauseMs: number;
};

/** The world of one cell. */
export class World {
  readonly time = new VirtualTime();
  readonly endMs: number;
  readonly random: Random;
  readonly #service: CountingRule;
  readonly #phaseMs: number;
  readonly #skew: SkewName;
  readonly #outcome: Outcome = {
    acceptedCount: 0,
    refusedCount: 0,
    otherCount: 0,
    otherRefusedCount: 0,
    longestPauseMs: 0,
  };
  #acceptedAtMs = 0;

  constructor(cell: Cell, seed: number) {
    const { rule, skew, minutes, secondClient } = cell;
    this.random = seeded(
      seedOf(`${rule}|${secondClient?.count}|${secondClient?.manner}|${cell.restartCount}`) + seed,
    );
    this.endMs = minutes * WINDOW_MS;
    this.#phaseMs = this.random() * WINDOW_MS;
    this.#service = COUNTING_RULES[rule](LIMIT, WINDOW_MS);
    this.#skew = skew;
    if (secondClient !== null) this.#startOther(secondClient);
  }

  /** The true wall clock, epoch ms UTC. */
  wallMs(): number {
    return EPOCH_MS + this.#phaseMs + this.time.nowMs;
  }

  /** Sends a call; `onAnswer` runs when its answer arrives, one latency later. */
  call(onAnswer: (answer: Answer) => void): void {
    const { time } = this;
    const [least, most] = LATENCY_MS;
    const latencyMs = least + this.random() * (most - least);
    const sentAtMs = time.nowMs;
    time.at(sentAtMs + this.random() * latencyMs, () => {
      const answer = this.#arrive();
      time.at(sentAtMs + latencyMs, () => onAnswer(answer));
    });
  }

  /** When the process is killed and when it is back, one restart in each equal part of the time. */
  restarts(count: number): { killedAtMs: number; backAtMs: number }[] {
    const [least, most] = AWAY_MS;
    return Array.from({ length: count }, (_, index) => {
      const killedAtMs = ((index + 0.2 + 0.6 * this.random()) * this.endMs) / count;
      return { killedAtMs, backAtMs: killedAtMs + least + this.random() * (most - least) };
    });
  }

  /** The figures of the hour, once it is over. */
  outcome(): Outcome {
    this.#notePause(this.endMs);
    return this.#outcome;
  }

  #arrive(): Answer {
    const verdict = this.#service(this.wallMs());
    const outcome = this.#outcome;
    if (verdict.accepted) {
      outcome.acceptedCount += 1;
      this.#notePause(this.time.nowMs);
    } else {
      outcome.refusedCount += 1;
    }
    const headers: Record<string, string | undefined> = {
      "X-RateLimit-Used": String(verdict.usedCount),
      "X-RateLimit-Remaining": String(LIMIT - verdict.usedCount),
      "X-RateLimit-Limit": String(LIMIT),
      "X-RateLimit-Expire": EXPIRE_SKEWS[this.#skew](verdict.expiresAtMs),
    };
    return { refused: !verdict.accepted, header: (name) => headers[name] };
  }

  #notePause(atMs: number): void {
    this.#outcome.longestPauseMs = Math.max(this.#outcome.longestPauseMs, atMs - this.#acceptedAtMs);
    this.#acceptedAtMs = atMs;
  }

  /** The second client keeps no limit: it sends at its own times, whatever it is answered. */
  #startOther({ count, manner }: SecondClient): void {
    const [, most] = LATENCY_MS;
    const spacingMs = manner === "even" ? WINDOW_MS / count : WINDOW_MS;
    const burst = manner === "even" ? 1 : count;
    const firstMs = this.random() * spacingMs;
    for (let slotMs = firstMs; slotMs < this.endMs; slotMs += spacingMs) {
      for (let index = 0; index < burst; index += 1) {
        this.time.at(slotMs + this.random() * most, () => {
          const { accepted } = this.#service(this.wallMs());
          this.#outcome.otherCount += 1;
          if (!accepted) this.#outcome.otherRefusedCount += 1;
        });
      }
    }
  }
}
