/**
 * A collector ends, is cut off or is paused, and another takes its account over by the rules of the lease: whether the
 * service refuses any call from then on, and when the first quote comes. Two real governors, one service; the lease's
 * rounds and looks are drawn by chance.
 */
import { admission, createGovernor, step } from "../../src/collect/governor/governor.ts";
import type { GovernorConfig, GovernorState } from "../../src/collect/governor/state.ts";
import { handOver, inherit } from "../../src/collect/governor/handover.ts";
import type { Moment } from "../../src/accounts/lease/leaseRules.ts";
import { LeaseTrust } from "../../src/accounts/lease/leaseTrust.ts";
import { cellsOf } from "./matrix.ts";
import { eventOf } from "./ours.ts";
import { seeded, seedOf, type Random } from "./random.ts";
import { COUNTING_RULES, type RuleName } from "./service.ts";
import { LIMIT, WINDOW_MS, World } from "./world.ts";

/** What happens to the first collector. */
type FleetEvent = "kill" | "clean stop" | "own cut" | "everybody cut" | "paused" | "paused in a round";

/** Calls that are due: so many at each minute's start, or one of so many after the other; Infinity: always one more. */
type Demand = { name: string; count: number; manner: "burst" | "even" };

/** A row of the table. */
type Row = { name: string; event: FleetEvent; demand: Demand; lateCount: number; bounds: RowBounds };

/** The most of a hundred runs that may be refused, the longest until the first quote, the least share of what was due. */
type RowBounds = { refusedPercent: number; firstQuoteMs: number; meanShare: number };

/** What came of one run. */
type RunOutcome = {
  refusedCount: number;
  /** Whether its first quote came after the bound, because the heir reckons with a window that is full for so long. */
  isFull: boolean;
  firstQuoteMs: number | null;
  takenMs: number | null;
  share: number | null;
  /** Calls of the first collector when it went on and the account was another's. */
  staleCount: number;
};

/** What came of a row's runs. */
export type RowOutcome = {
  row: Row;
  runCount: number;
  refusedRuns: number;
  worstRefused: number;
  staleCount: number;
  takenMs: number[];
  fullRuns: number;
  /** Of runs in which the budget allowed a call within the bound. */
  firstQuoteMs: number[];
  leastShare: number | null;
  meanShare: number | null;
};

/** The lease's rules, ms: `docs/` tells of them. */
const ROUND_MS = 2_000;
const LOOK_MS = 1_000;
const EXPIRES_MS = 7_000;
const UNCHANGED_MS = 7_000;
/** How long a round waits for the database, and how long the database takes. */
const TIMEOUT_MS = 2_000;
const DATABASE_MS = [2, 100] as const;

const CONFIG: GovernorConfig = { limit: LIMIT, windowMs: WINDOW_MS, mayRise: true };

/** As of the dispatcher: calls under way at once, and how late a timer fires. */
const CONCURRENCY = 6;
const TIMER_LATE_MS = 2;

const CUT_WINDOWS = 10;
const PAUSED_MS = 60_000;
const ACCOUNT = "main";
const WATCHED_WINDOWS = 5;

const DEMANDS: readonly Demand[] = [
  ...[5, 30, 45].map((count) => ({ name: `${count} in bursts`, count, manner: "burst" as const })),
  { name: "20 even", count: 20, manner: "even" },
  { name: "saturated", count: Infinity, manner: "burst" },
];

const NONE_REFUSED: RowBounds = { refusedPercent: 0, firstQuoteMs: 15_000, meanShare: 0 };

/** The events of each row, with the calls that leave late when a pause ends. */
const EVENTS: readonly (Pick<Row, "event" | "lateCount" | "bounds"> & { name: string })[] = [
  { name: "kill", event: "kill", lateCount: 0, bounds: NONE_REFUSED },
  { name: "clean stop", event: "clean stop", lateCount: 0, bounds: NONE_REFUSED },
  {
    name: "own cut, orphan goes on",
    event: "own cut",
    lateCount: 0,
    bounds: { ...NONE_REFUSED, refusedPercent: 1 },
  },
  {
    ...{ name: "everybody cut for 10 min", event: "everybody cut", lateCount: 0 },
    bounds: { ...NONE_REFUSED, meanShare: 0.94 },
  },
  ...[0, 2, 6].map((lateCount) => ({
    ...{ name: `paused for 60 s, ${lateCount} late`, event: "paused" as const, lateCount },
    bounds: { ...NONE_REFUSED, refusedPercent: lateCount > 2 ? 100 : lateCount > 0 ? 1 : 0 },
  })),
  {
    ...{ name: "paused for 60 s, a round in flight", event: "paused in a round", lateCount: 0 },
    bounds: NONE_REFUSED,
  },
];

/** Runs each row so often, each of the five counting rules in its turn. */
export function runFleet(runCount: number, only = /./): RowOutcome[] {
  return EVENTS.flatMap((event) => DEMANDS.map((demand) => ({ ...event, demand })))
    .filter(({ name, demand }) => only.test(`${name}, ${demand.name}`))
    .map((row) => runRow(row, runCount));
}

function runRow(row: Row, runCount: number): RowOutcome {
  const rules = Object.keys(COUNTING_RULES) as RuleName[];
  const outcomes = Array.from({ length: runCount }, (_, index) =>
    new Run(row, rules[index % rules.length] ?? "sliding", index).outcome(),
  );
  const shares = outcomes.flatMap(({ share }) => share ?? []);
  const refused = outcomes.map(({ refusedCount }) => refusedCount);
  return {
    ...{ row, runCount, refusedRuns: refused.filter((count) => count > 0).length },
    staleCount: outcomes.reduce((sum, { staleCount }) => sum + staleCount, 0),
    worstRefused: Math.max(...refused),
    takenMs: outcomes.flatMap(({ takenMs }) => takenMs ?? []).sort((a, b) => a - b),
    fullRuns: outcomes.filter(({ isFull }) => isFull).length,
    firstQuoteMs: outcomes
      .flatMap(({ isFull, firstQuoteMs }) => (isFull ? [] : (firstQuoteMs ?? [])))
      .sort((a, b) => a - b),
    leastShare: shares.length === 0 ? null : Math.min(...shares),
    meanShare: shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length,
  };
}

/** Whether a row shows what it must. */
export function keepsRowBounds({ row: { bounds }, ...outcome }: RowOutcome): boolean {
  return (
    outcome.staleCount === 0 &&
    100 * outcome.refusedRuns <= bounds.refusedPercent * outcome.runCount &&
    (outcome.firstQuoteMs.at(-1) ?? 0) < bounds.firstQuoteMs &&
    (outcome.meanShare ?? 1) >= bounds.meanShare
  );
}

/** Prints a line per row. `no room`: runs whose budget, as the heir reckons it, allowed no call within the bound. */
export function printFleet(outcomes: readonly RowOutcome[]): void {
  const heads = [
    "refused in",
    "worst",
    "stale",
    "no room",
    "taken, median/max",
    "first quote, median/max",
    "used, mean/least",
  ];
  const widths = [14, 7, 7, 9, 20, 25, 20];
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join("");
  console.log("".padEnd(42) + line(heads));
  for (const outcome of outcomes) {
    const { row, runCount, refusedRuns, worstRefused, takenMs, firstQuoteMs, meanShare, leastShare } =
      outcome;
    const cells = [
      `${refusedRuns}/${runCount}`,
      String(worstRefused),
      String(outcome.staleCount),
      String(outcome.fullRuns),
      secondsOf(takenMs),
      secondsOf(firstQuoteMs),
      meanShare === null ? "" : `${percent(meanShare)} / ${percent(leastShare ?? 0)} %`,
    ];
    const missed = keepsRowBounds(outcome) ? "" : "   MISSED";
    console.log(`${row.name}, ${row.demand.name}`.padEnd(42) + line(cells) + missed);
  }
}

function secondsOf(sortedMs: readonly number[]): string {
  const seconds = (ms: number | undefined): string => ((ms ?? 0) / 1_000).toFixed(1);
  return sortedMs.length === 0
    ? ""
    : `${seconds(sortedMs[Math.floor(sortedMs.length / 2)])} / ${seconds(sortedMs.at(-1))} s`;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** A state as text. Most are written over before anybody reads them. */
type Handed = () => string;

/** The row of the lease: what the holder has last written, by the database's clock. */
type Lease = { handed: Handed | null; writtenAtMs: number; beat: number; released: boolean };

/** One run: what happens to the first collector, and the second taking over. */
class Run {
  readonly #row: Row;
  readonly #world: World;
  readonly #random: Random;
  readonly #eventMs: number;
  readonly #endMs: number;
  readonly #lease: Lease = { handed: null, writtenAtMs: 0, beat: 0, released: false };
  readonly #first: Sender;
  #second: Sender | null = null;
  #takenMs: number | null = null;
  #isFull = false;
  #refusedBefore = 0;
  #stopping = false;
  /** Calls of the first collector until it was paused; null: it was not, or does not go on. */
  #sentBefore: number | null = null;

  constructor(row: Row, rule: RuleName, index: number) {
    this.#row = row;
    this.#random = seeded(seedOf(`${row.name}, ${row.demand.name}`) + index);
    this.#eventMs = (3 + 2 * this.#random()) * WINDOW_MS;
    const lastsMs =
      row.event === "everybody cut" ? (CUT_WINDOWS + 2) * WINDOW_MS : WATCHED_WINDOWS * WINDOW_MS;
    this.#endMs = this.#eventMs + lastsMs;
    const alone = cellsOf(1, this.#endMs / WINDOW_MS).find(
      (cell) => cell.scenario === "alone" && cell.rule === rule,
    );
    if (alone === undefined) throw new Error(`no cell of ${rule}`);
    this.#world = new World({ ...alone, collectorCount: 2 }, index);
    this.#first = new Sender(this.#world, createGovernor(CONFIG, 0), row.demand, 0);
    this.#first.begin(0);
    this.#round(this.#random() * ROUND_MS);
    if (row.event !== "everybody cut") this.#look(this.#random() * LOOK_MS, { beat: -1, sinceMs: 0 });
    this.#world.time.at(this.#eventMs, () => this.#happen());
    this.#world.time.run(this.#endMs);
  }

  outcome(): RunOutcome {
    const { event, demand } = this.#row;
    const cutEndsMs = this.#eventMs + CUT_WINDOWS * WINDOW_MS;
    const dueCount = CUT_WINDOWS * Math.min(LIMIT, demand.count);
    const during = this.#first.quotedAtMs.filter((at) => at >= this.#eventMs && at < cutEndsMs).length;
    const dueMs = this.#second?.dueAtMs ?? null;
    const quotedMs = this.#second?.quotedAtMs[0] ?? null;
    const firstQuoteMs = dueMs === null || quotedMs === null ? null : quotedMs - dueMs;
    return {
      refusedCount: this.#world.outcome().refusedCount - this.#refusedBefore,
      isFull: this.#isFull && (firstQuoteMs ?? 0) > this.#row.bounds.firstQuoteMs,
      // What becomes due later is waited for from then on.
      firstQuoteMs,
      takenMs: this.#takenMs,
      staleCount: this.#sentBefore === null ? 0 : this.#first.sentCount - this.#sentBefore,
      share: event === "everybody cut" ? during / dueCount : null,
    };
  }

  #happen(): void {
    const { time } = this.#world;
    const { event, lateCount } = this.#row;
    this.#refusedBefore = this.#world.outcome().refusedCount;
    if (event === "kill" || event === "paused" || event === "paused in a round") this.#first.kill();
    if (event === "paused in a round") this.#goOnInRound();
    if (event === "paused")
      time.at(time.nowMs + PAUSED_MS, () => {
        for (let late = 0; late < lateCount; late += 1) this.#world.call(() => undefined, 0);
      });
    if (event === "clean stop") {
      this.#stopping = true;
      this.#first.stop(() => {
        const handed = this.#first.handOver();
        this.#first.kill();
        const { writesMs } = this.#asks();
        time.at(time.nowMs + writesMs, () => this.#write(handed, true));
      });
    }
  }

  /**
   * The first collector goes on, and what it may call is for the rules of the lease to say: its timers are due before it reads the
   * answer to the round that was in flight, and the next round tells it that the account is another's.
   */
  #goOnInRound(): void {
    const { time } = this.#world;
    const moment = (): Moment => ({ monotonicMs: time.nowMs, wallMs: time.nowMs });
    const trust = new LeaseTrust(moment());
    const question = trust.ask(moment());
    const { writesMs } = this.#asks();
    const handed = this.#first.handOver();
    time.at(time.nowMs + writesMs, () => this.#write(handed));
    this.#sentBefore = this.#first.sentCount;
    time.at(time.nowMs + PAUSED_MS, () => {
      trust.unanswered(question, [ACCOUNT]);
      this.#first.goOn(() => trust.isFresh(ACCOUNT, moment()));
      trust.ask(moment());
      time.at(time.nowMs + this.#asks().answersMs, () => this.#first.kill());
    });
  }

  /** Whether the first collector's questions reach the database. */
  #reaches(): boolean {
    const { nowMs } = this.#world.time;
    if (nowMs < this.#eventMs) return true;
    return this.#row.event === "everybody cut" && nowMs >= this.#eventMs + CUT_WINDOWS * WINDOW_MS;
  }

  #asks(): { writesMs: number; answersMs: number } {
    const [least, most] = DATABASE_MS;
    const writesMs = least + this.#random() * (most - least);
    return { writesMs, answersMs: writesMs + least + this.#random() * (most - least) };
  }

  #write(handed: Handed, released = false): void {
    const lease = this.#lease;
    Object.assign(lease, { handed, released, beat: lease.beat + 1, writtenAtMs: this.#world.time.nowMs });
  }

  /** A round of the first collector at `atMs`, and the next. */
  #round(atMs: number): void {
    const { time } = this.#world;
    time.at(atMs, () => {
      if (!this.#first.alive || this.#stopping) return;
      const handed = this.#first.handOver();
      const { writesMs, answersMs } = this.#asks();
      let written = false;
      time.at(time.nowMs + writesMs, () => {
        written = this.#reaches();
        if (written) this.#write(handed);
      });
      // A connection that was closed is told of at once, one that is only silent when the time is up.
      const failsMs = this.#random() < 0.5 ? answersMs : TIMEOUT_MS;
      time.at(time.nowMs + answersMs, () => {
        if (written) this.#first.beUnsure(false);
      });
      time.at(time.nowMs + failsMs, () => {
        if (!written) this.#first.beUnsure(true);
      });
      this.#round(atMs + ROUND_MS);
    });
  }

  /** A look of the second collector at `atMs`, and the next, until it takes the lease. */
  #look(atMs: number, seen: { beat: number; sinceMs: number }): void {
    const { time } = this.#world;
    time.at(atMs, () => {
      const { writesMs, answersMs } = this.#asks();
      const lookedAtMs = time.nowMs;
      time.at(lookedAtMs + writesMs, () => {
        const { released, handed, writtenAtMs, beat } = this.#lease;
        const agoMs = time.nowMs - writtenAtMs;
        const dead = beat === seen.beat && time.nowMs - seen.sinceMs >= UNCHANGED_MS && agoMs >= EXPIRES_MS;
        if (handed === null || !(released || dead)) {
          const sinceMs = beat === seen.beat ? seen.sinceMs : lookedAtMs + answersMs;
          return this.#look(lookedAtMs + LOOK_MS, { beat, sinceMs });
        }
        time.at(lookedAtMs + answersMs, () => this.#take(JSON.parse(handed()), agoMs, released));
      });
    });
  }

  #take(handed: unknown, agoMs: number, released: boolean): void {
    const { time } = this.#world;
    this.#takenMs = time.nowMs - this.#eventMs;
    const state = inherit(CONFIG, { handed, agoMs, released }, 10 ** 6);
    const allowed = admission(state, state.nowMs);
    const boundMs = this.#row.bounds.firstQuoteMs - this.#takenMs;
    this.#isFull = !allowed.maySend && allowed.notBeforeMs - state.nowMs > boundMs;
    this.#second = new Sender(this.#world, state, this.#row.demand, 1);
    this.#second.begin(this.#first.quotedInSlotUntil(this.#eventMs), this.#eventMs);
  }
}

/** A collector's governor and what is due to it. */
class Sender {
  alive = true;
  sentCount = 0;
  /** Whether its lease allows a call. */
  #mayCall = (): boolean => true;
  /** When its quotes came. */
  readonly quotedAtMs: number[] = [];
  /** When something was first due. */
  dueAtMs: number | null = null;
  readonly #world: World;
  readonly #demand: Demand;
  readonly #collector: number;
  readonly #beganMs: number;
  readonly #clockMs: number;
  #state: GovernorState;
  #waitingCount = 0;
  #underWayCount = 0;
  #stopped: (() => void) | null = null;
  #cancelTimer = (): void => undefined;

  constructor(world: World, state: GovernorState, demand: Demand, collector: number) {
    this.#world = world;
    this.#state = state;
    this.#demand = demand;
    this.#collector = collector;
    this.#beganMs = world.time.nowMs;
    this.#clockMs = state.nowMs;
  }

  /** @param storedCount calls of the slot that lasts whose quotes are stored; @param sinceMs when what waits became due */
  begin(storedCount: number, sinceMs = 0): void {
    this.#slot(Math.max(0, this.#perSlot - storedCount), sinceMs);
  }

  kill(): void {
    this.alive = false;
    this.#cancelTimer();
  }

  /** Goes on after a pause. */
  goOn(mayCall: () => boolean): void {
    this.alive = true;
    this.#mayCall = mayCall;
    this.#underWayCount = 0;
    this.#slot(this.#perSlot, this.#world.time.nowMs);
  }

  /** Sends nothing more, and tells when all under way is over. */
  stop(stopped: () => void): void {
    this.#stopped = stopped;
    this.#ended();
  }

  beUnsure(on: boolean): void {
    if (!this.alive) return;
    this.#learn({ type: "unsure", on, mayCall: true });
    this.#pump();
  }

  handOver(): Handed {
    const [state, nowMs] = [this.#state, this.#nowMs];
    return () => JSON.stringify(handOver(step(state, { type: "tick" }, nowMs)));
  }

  /** Quotes that came before `untilMs`, of the slot that lasts now. */
  quotedInSlotUntil(untilMs: number): number {
    const beganMs = this.#world.time.nowMs - (this.#world.wallMs() % this.#slotMs);
    return this.quotedAtMs.filter((at) => at >= beganMs && at < untilMs).length;
  }

  get #nowMs(): number {
    return this.#world.time.nowMs - this.#beganMs + this.#clockMs;
  }

  get #slotMs(): number {
    return this.#demand.manner === "even" ? WINDOW_MS / this.#demand.count : WINDOW_MS;
  }

  get #perSlot(): number {
    return this.#demand.manner === "even" ? 1 : this.#demand.count;
  }

  #slot(dueCount: number, sinceMs: number): void {
    if (!this.alive) return;
    const { time } = this.#world;
    this.#waitingCount = dueCount;
    if (dueCount > 0) this.dueAtMs ??= sinceMs;
    this.#pump();
    const nextMs = time.nowMs + this.#slotMs - (this.#world.wallMs() % this.#slotMs);
    time.at(nextMs, () => this.#slot(this.#perSlot, nextMs));
  }

  #pump(): void {
    this.#cancelTimer();
    if (!this.alive || this.#stopped !== null || !this.#mayCall()) return;
    while (this.#underWayCount < CONCURRENCY && this.#waitingCount > 0) {
      const allowed = admission(this.#state, this.#nowMs);
      if (!allowed.maySend) {
        const waitMs = allowed.notBeforeMs - this.#nowMs + this.#world.random() * TIMER_LATE_MS;
        this.#cancelTimer = this.#world.time.at(this.#world.time.nowMs + waitMs, () => this.#pump());
        return;
      }
      this.#send();
    }
  }

  #send(): void {
    const { time } = this.#world;
    const sentAtMs = this.#nowMs;
    this.#underWayCount += 1;
    this.#waitingCount -= 1;
    this.sentCount += 1;
    this.#learn({ type: "sent" });
    this.#world.call((answer) => {
      if (!this.alive) return;
      this.#underWayCount -= 1;
      this.#learn(eventOf(answer, sentAtMs, this.#world.wallMs()));
      if (answer.outcome === "accepted") this.quotedAtMs.push(time.nowMs);
      this.#ended();
      this.#pump();
    }, this.#collector);
  }

  #learn(event: Parameters<typeof step>[1]): void {
    this.#state = step(this.#state, event, this.#nowMs);
  }

  #ended(): void {
    if (this.#underWayCount === 0) this.#stopped?.();
  }
}
