/**
 * One simulated hour: the service, a second client beside us, and the network between. A sender under
 * test sees of it only `call`.
 */
import { EPOCH_MS, VirtualTime } from "./virtualTime.ts";
import { seeded, seedOf, type Random } from "./random.ts";
import {
  COUNTING_RULES,
  EXPIRE_SKEWS,
  withPenalty,
  type CountingRule,
  type RuleName,
  type SkewName,
} from "./service.ts";

/** Calls allowed in a window, as a sender is told. */
export const LIMIT = 60;
/** The window, ms. */
export const WINDOW_MS = 60_000;
/** The shortest and the longest time from a call to its answer, ms. */
const LATENCY_MS = [50, 400] as const;

/** How long the process is away at a restart, ms. */
const AWAY_MS = [500, 5_000] as const;

/** A second client: how many calls a window it makes, and whether evenly or all at once. */
export type SecondClient = { count: number; manner: "even" | "burst" };

/** What a refusal looks like: recognisable, as an error of the server, or as a connection that ends. */
export type Disguise = "fault" | "503" | "closed";

/** Calls that fail for no reason of the limit's: a 500, or a connection that ends. */
export type Failing = {
  /** The share of the calls that fail, over the whole time. */
  share: number;
  /** Each call for itself, or all calls for some seconds. */
  manner: "scattered" | "clustered";
  /** Whether they end as a 500, as a cut connection, or each as one of the two by chance. */
  how: "server_error" | "closed" | "either";
  /** Whether the service counts them. */
  counted: boolean;
  /** Whether a 500 bears the headers of all answers; then the service counts it. Default: no failure bears any. */
  told?: boolean;
};

/** What is simulated. */
export type Cell = {
  rule: RuleName;
  skew: SkewName;
  /** What the machine's clock shows too much, ms. */
  clockOffMs: number;
  minutes: number;
  /** The limit from the beginning, and what it becomes in the course of the hour. */
  limit: number;
  laterLimits: readonly { fromMinute: number; limit: number }[];
  /** Whether the answers carry the rate-limit headers: all, every other one, or none. */
  headers: boolean | "every other";
  disguise: Disguise;
  /** Whether refusals carry `Retry-After`. */
  retryAfter: boolean;
  /** Whether refused calls lengthen the lock-out, see `withPenalty`. */
  penalty: boolean;
  secondClient: SecondClient | null;
  /** Collectors of ours on the account, none knowing of the other; the second begins in the third minute. */
  collectorCount: 1 | 2;
  restartCount: number;
  /** The calls that fail for no reason of the limit's; null: none does. */
  failing: Failing | null;
  /** What a restart knows: each call that was sent, or the answers in the journal alone. */
  remembers: "calls" | "answers";
  /** Whether the machine's clock is set by a minute at each restart. */
  clockStep: boolean;
};

/** An answer as a sender sees it; `closed` when the connection ended instead. */
export type Answer = {
  outcome: "accepted" | "refused" | "server_error" | "closed";
  header: (name: string) => string | undefined;
};

/** What came of it. */
export type Outcome = {
  /** Our calls the service accepted and refused; one that failed is neither. */
  acceptedCount: number;
  refusedCount: number;
  /** The calls answered from the first complete clock minute on, and the calls that were allowed then. */
  acceptedSinceMinuteCount: number;
  allowedSinceMinuteCount: number;
  /** Calls allowed in all, without the share that fails where calls are made evenly. */
  allowedCount: number;
  /** Refusals in the steady state: in the last `STEADY_MINUTES`. */
  steadyRefusedCount: number;
  /** The second client's calls, and how many of them were refused. */
  otherCount: number;
  otherRefusedCount: number;
  /** The calls accepted of each collector of ours. */
  acceptedOf: number[];
  longestPauseMs: number;
};

/** How long all calls fail in a cluster of failures, ms. */
const CLUSTER_MS = [2_000, 15_000] as const;

/** The steady state is the last half hour. */
export const STEADY_MINUTES = 30;

/** The world of one cell. */
export class World {
  readonly time = new VirtualTime();
  readonly endMs: number;
  readonly random: Random;
  readonly #cell: Cell;
  readonly #service: CountingRule;
  readonly #phaseMs: number;
  readonly #outcome: Outcome;
  readonly #failures: Failures;
  #acceptedAtMs = 0;
  #answerCount = 0;

  constructor(cell: Cell, seed: number) {
    const { rule, minutes, secondClient } = cell;
    this.#cell = cell;
    this.random = seeded(
      seedOf(`${rule}|${secondClient?.count}|${secondClient?.manner}|${cell.restartCount}`) + seed,
    );
    this.endMs = minutes * WINDOW_MS;
    this.#phaseMs = this.random() * WINDOW_MS;
    this.#failures = failuresOf(cell.failing, this.endMs, seeded(seedOf(`failing|${rule}`) + seed));
    const counting = COUNTING_RULES[rule](WINDOW_MS);
    this.#service = cell.penalty ? withPenalty(counting, WINDOW_MS) : counting;
    this.#outcome = {
      acceptedCount: 0,
      refusedCount: 0,
      acceptedSinceMinuteCount: 0,
      allowedSinceMinuteCount: this.#allowedFrom(this.#firstMinuteMs()),
      allowedCount: this.#allowedFrom(0),
      steadyRefusedCount: 0,
      otherCount: 0,
      otherRefusedCount: 0,
      acceptedOf: Array<number>(cell.collectorCount).fill(0),
      longestPauseMs: 0,
    };
    if (secondClient !== null) this.#startOther(secondClient);
  }

  /** The true wall clock, epoch ms UTC. */
  wallMs(): number {
    return EPOCH_MS + this.#phaseMs + this.time.nowMs;
  }

  /** Sends a call of a collector; `onAnswer` runs when its answer arrives, one latency later. */
  call(onAnswer: (answer: Answer) => void, collector = 0): void {
    const { time } = this;
    const [least, most] = LATENCY_MS;
    const latencyMs = least + this.random() * (most - least);
    const sentAtMs = time.nowMs;
    time.at(sentAtMs + this.random() * latencyMs, () => {
      const answer = this.#arrive(collector);
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

  #arrive(collector: number): Answer {
    const { skew, disguise, retryAfter, failing } = this.#cell;
    const limit = this.#limitAt(this.time.nowMs);
    const wallMs = this.wallMs();
    const fails = this.#failures.failsAt(this.time.nowMs);
    // One that is not counted fails before the service looks at its limit; a refusal comes before any other failure.
    const isUncounted = fails && failing?.counted === false && !failing.told;
    const verdict = isUncounted ? null : this.#service(wallMs, limit);
    const isFailure = verdict?.accepted !== false && fails;
    if (verdict === null || (isFailure && !failing?.told)) return this.#fail();
    if (!isFailure) this.#book(verdict.accepted, collector);
    this.#answerCount += 1;
    const headers = this.#cell.headers === "every other" ? this.#answerCount % 2 === 0 : this.#cell.headers;
    const said: Record<string, string | undefined> = {};
    const silent = !verdict.accepted && disguise === "closed";
    if (headers && !silent) {
      said["X-RateLimit-Used"] = String(verdict.usedCount);
      said["X-RateLimit-Remaining"] = String(limit - verdict.usedCount);
      said["X-RateLimit-Limit"] = String(limit);
      said["X-RateLimit-Expire"] = EXPIRE_SKEWS[skew](verdict.expiresAtMs);
    }
    if (retryAfter && !verdict.accepted && !silent)
      said["Retry-After"] = String(Math.ceil((verdict.expiresAtMs - wallMs) / 1_000));
    const refusal = ({ fault: "refused", "503": "server_error", closed: "closed" } as const)[disguise];
    const outcome = isFailure ? "server_error" : verdict.accepted ? "accepted" : refusal;
    return { outcome, header: (name) => said[name] };
  }

  #fail(): Answer {
    const { how } = this.#cell.failing ?? { how: "closed" };
    const outcome = how !== "either" ? how : this.random() < 0.5 ? "server_error" : "closed";
    return { outcome, header: () => undefined };
  }

  #book(accepted: boolean, collector: number): void {
    const outcome = this.#outcome;
    const { nowMs } = this.time;
    if (!accepted) {
      outcome.refusedCount += 1;
      if (nowMs >= this.endMs - STEADY_MINUTES * WINDOW_MS) outcome.steadyRefusedCount += 1;
      return;
    }
    outcome.acceptedCount += 1;
    outcome.acceptedOf[collector] = (outcome.acceptedOf[collector] ?? 0) + 1;
    if (nowMs >= this.#firstMinuteMs()) outcome.acceptedSinceMinuteCount += 1;
    this.#notePause(nowMs);
  }

  #firstMinuteMs(): number {
    return WINDOW_MS - this.#phaseMs;
  }

  #limitAt(atMs: number): number {
    const { limit, laterLimits } = this.#cell;
    return laterLimits.findLast(({ fromMinute }) => atMs >= fromMinute * WINDOW_MS)?.limit ?? limit;
  }

  /** The limit's rate times the time from `fromMs` on, less what the second client asks for, and what fails. */
  #allowedFrom(fromMs: number): number {
    const { limit, laterLimits, secondClient } = this.#cell;
    const changes = [{ fromMinute: 0, limit }, ...laterLimits];
    const allowedCount = changes.reduce((sum, { fromMinute, limit: perWindow }, index) => {
      const beginsMs = Math.max(fromMs, fromMinute * WINDOW_MS);
      const endsMs = (changes[index + 1]?.fromMinute ?? Infinity) * WINDOW_MS;
      const lastsMs = Math.max(0, Math.min(this.endMs, endsMs) - beginsMs);
      return sum + ((perWindow - (secondClient?.count ?? 0)) * lastsMs) / WINDOW_MS;
    }, 0);
    return allowedCount * (1 - this.#failures.shareFrom(fromMs));
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
          const { accepted } = this.#service(this.wallMs(), this.#limitAt(this.time.nowMs));
          this.#outcome.otherCount += 1;
          if (!accepted) this.#outcome.otherRefusedCount += 1;
        });
      }
    }
  }
}

/** When calls fail. */
type Failures = {
  /** Whether a call that arrives at an instant fails. */
  failsAt: (atMs: number) => boolean;
  /** The share of the calls that fail from an instant on until the end, where calls are made evenly. */
  shareFrom: (fromMs: number) => number;
};

function failuresOf(failing: Failing | null, endMs: number, random: Random): Failures {
  const { share, manner } = failing ?? { share: 0, manner: "scattered" };
  if (manner === "scattered") return { failsAt: () => share > 0 && random() < share, shareFrom: () => share };
  const [least, most] = CLUSTER_MS;
  const meanGapMs = (((least + most) / 2) * (1 - share)) / share;
  const clusters: { beginsMs: number; endsMs: number }[] = [];
  for (let atMs = 0; atMs < endMs;) {
    const beginsMs = atMs - Math.log(1 - random()) * meanGapMs;
    atMs = beginsMs + least + random() * (most - least);
    clusters.push({ beginsMs, endsMs: atMs });
  }
  const within = (fromMs: number): number =>
    clusters.reduce(
      (sum, { beginsMs, endsMs }) => sum + Math.max(0, Math.min(endMs, endsMs) - Math.max(fromMs, beginsMs)),
      0,
    );
  return {
    failsAt: (atMs) => clusters.some(({ beginsMs, endsMs }) => atMs >= beginsMs && atMs < endsMs),
    shareFrom: (fromMs) => within(fromMs) / (endMs - fromMs),
  };
}
