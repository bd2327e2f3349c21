/** Several collectors of one archive: each a process with a data directory, a way to the database and a clock of its own. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../../src/ground/clock.ts";
import { type CollectorProcess, startCollector } from "./collector.ts";
import { pollOnce } from "./poll.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import type { World } from "./world.ts";

/** How long a collector may take a lease for its own after its way to the database is back, in ms: a round, and its answer. */
const LEARNS_WITHIN_MS = 4_000;

/** Text of a round's statement alone. */
const ROUND_TEXT = "update collectors set seen_at";

/** How much later the answer to a round arrives in whose flight a process is stopped, in ms: the stop comes first. */
const IN_FLIGHT_MS = 300;

/** A span, epoch ms UTC; one that lasts has no end. */
export type Span = { fromMs: number; toMs: number };

/** One of them. */
export class Member {
  readonly name: string;
  readonly dataDir: string;
  readonly journalDir: string;
  readonly proxy: Proxy;
  readonly #world: World;
  readonly #cuts: Span[] = [];
  /** Each from when it was asked to end until it had ended. */
  readonly leavings: Span[] = [];
  #process: CollectorProcess | null = null;
  #delays = { questionsMs: 0, answersMs: 0 };
  /** What went wrong where it ended. */
  readonly ends: string[] = [];

  constructor(world: World, name: string, proxy: Proxy) {
    [this.#world, this.name, this.proxy] = [world, name, proxy];
    this.dataDir = join(dirname(world.dataDir), name);
    this.journalDir = join(this.dataDir, "journal");
  }

  get process(): CollectorProcess {
    if (!this.#process) throw new Error(`${this.name} was never started`);
    return this.#process;
  }

  /** Its id as a collector. */
  get id(): string {
    return (JSON.parse(readFileSync(join(this.dataDir, "lease.json"), "utf8")) as { id: string }).id;
  }

  start(): void {
    const root = dirname(this.#world.dataDir);
    this.#process = startCollector(this.#world.bin, this.#env(), root);
  }

  /** Polls an account once, so that it knows which market that is. */
  async poll(account: string): Promise<void> {
    await pollOnce(this.#env(), { account, directory: dirname(this.dataDir) });
  }

  /** Cuts its way to the database. @param quietly nobody is told: bytes go nowhere */
  async cut(quietly: boolean): Promise<void> {
    this.#cuts.push({ fromMs: systemClock.now().getTime(), toMs: Infinity });
    if (quietly) this.proxy.swallow();
    else await this.proxy.cut();
  }

  /**
   * Has its process stand still while a round is in flight: the database has the question, and the answer waits in the socket
   * when the process goes on.
   */
  async pauseInRound(): Promise<void> {
    this.proxy.delay({ ...this.#delays, answersMs: this.#delays.answersMs + IN_FLIGHT_MS });
    await this.proxy.asked(ROUND_TEXT);
    this.process.pause();
    this.proxy.delay(this.#delays);
  }

  /** Has it at so great a distance from the database, in ms a round trip. */
  moveAway(roundTripMs: number): void {
    this.#delays = { questionsMs: roundTripMs / 2, answersMs: roundTripMs / 2 };
    this.proxy.delay(this.#delays);
  }

  async restore(): Promise<void> {
    await this.proxy.restore();
    const last = this.#cuts.at(-1);
    if (last) last.toMs = systemClock.now().getTime();
  }

  /** Whether it may not have known at an instant whose the leases were. */
  wasCutOff(atMs: number): boolean {
    return this.#cuts.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs + LEARNS_WITHIN_MS);
  }

  /** Sets its clock off, in ms. */
  moveClock(offMs: number): void {
    writeFileSync(this.#clockFile, String(offMs));
  }

  /** SIGTERM. Notes where it ends otherwise than as asked. */
  async end(): Promise<void> {
    const fromMs = systemClock.now().getTime();
    const code = await this.process.end();
    this.leavings.push({ fromMs, toMs: systemClock.now().getTime() });
    // It says by 1 that the database has not taken everything: then the next run does.
    if (code !== 0 && code !== 1)
      this.ends.push(`${this.name} ended with ${code}: ${this.process.output().slice(-500)}`);
  }

  /** Whether it has accounted for the slots that lie before its run. */
  get hasAccounted(): boolean {
    return !existsSync(join(this.dataDir, "unaccounted.json"));
  }

  get #clockFile(): string {
    return `${this.dataDir}.clock`;
  }

  #env(): Record<string, string> {
    const preloads = ["movedClock.js", "tagCalls.js"].map(
      (file) => `--import=${join(import.meta.dirname, file)}`,
    );
    return {
      ...this.#world.env(this.proxy.url),
      QUOTEKEEPER_DATA_DIR: this.dataDir,
      ...{ MOVED_CLOCK: this.#clockFile, TAG_CALLS: this.name, NODE_OPTIONS: preloads.join(" ") },
    };
  }
}

/** Some of them, none started yet. */
export async function openFleetOf(world: World, names: readonly string[]): Promise<Member[]> {
  return Promise.all(names.map(async (name) => new Member(world, name, await startProxy(world.url))));
}
