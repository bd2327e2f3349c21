/** A collector of the fleet: its governor, and what is due to it. */
import { admission, step } from "../../src/collect/governor/governor.ts";
import type { GovernorState } from "../../src/collect/governor/state.ts";
import { handOver } from "../../src/collect/governor/handover.ts";
import { eventOf } from "./ours.ts";
import type { World } from "./world.ts";
import { WINDOW_MS } from "./world.ts";

/** Calls that are due: so many at each minute's start, or one of so many after the other; Infinity: always one more. */
export type Demand = { name: string; count: number; manner: "burst" | "even" };

/** As of the dispatcher: calls under way at once, and how late a timer fires. */
const CONCURRENCY = 6;
const TIMER_LATE_MS = 2;

/** A state as text. Most are written over before anybody reads them. */
export type Handed = () => string;

export class Sender {
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
