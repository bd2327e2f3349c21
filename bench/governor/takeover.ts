/** One run of the fleet: what happens to the first collector, and the second taking over by the rules of the lease. */
import { admission, createGovernor } from "../../src/collect/governor/governor.ts";
import type { GovernorConfig } from "../../src/collect/governor/state.ts";
import { inherit } from "../../src/collect/governor/handover.ts";
import type { Moment } from "../../src/accounts/lease/leaseRules.ts";
import { LeaseTrust } from "../../src/accounts/lease/leaseTrust.ts";
import { cellsOf } from "./matrix.ts";
import { seeded, seedOf, type Random } from "./random.ts";
import { type RuleName } from "./service.ts";
import { LIMIT, WINDOW_MS, World } from "./world.ts";
import { type Demand, type Handed, Sender } from "./collector.ts";

/** What happens to the first collector. */
export type FleetEvent = "kill" | "clean stop" | "own cut" | "everybody cut" | "paused" | "paused in a round";

/** A row of the table. */
export type Row = { name: string; event: FleetEvent; demand: Demand; lateCount: number; bounds: RowBounds };

/** The most of a hundred runs that may be refused, the longest until the first quote, the least share of what was due. */
export type RowBounds = { refusedPercent: number; firstQuoteMs: number; meanShare: number };

/** What came of one run. */
export type RunOutcome = {
  refusedCount: number;
  /** Whether its first quote came after the bound, because the heir reckons with a window that is full for so long. */
  isFull: boolean;
  firstQuoteMs: number | null;
  takenMs: number | null;
  share: number | null;
  /** Calls of the first collector when it went on and the account was another's. */
  staleCount: number;
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

const CUT_WINDOWS = 10;
const PAUSED_MS = 60_000;
const ACCOUNT = "main";
const WATCHED_WINDOWS = 5;

/** The row of the lease: what the holder has last written, by the database's clock. */
type Lease = { handed: Handed | null; writtenAtMs: number; beat: number; released: boolean };

export class TakeOver {
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
