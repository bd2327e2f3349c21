/**
 * Polls the jobs of `once/`: takes each that is asked for, goes on with what an earlier run has left of it, and removes it when
 * nothing of it is left to ask.
 *
 * A job is asked in passes over its one slot. What got no answer is the next pass's, as long as a pass brings something; while
 * nothing at all is answered, for `OUTAGE_MS`.
 */
import { accountKey } from "../../accounts/account.ts";
import { partition, type Sharer } from "../../accounts/partition.ts";
import { type Clock, dateOf, instantFromDate } from "../../ground/clock.ts";
import { type DuePart, wantedOf } from "../../collect/asks.ts";
import { withoutNames } from "../../collect/callPlan.ts";
import type { OnceCalls } from "../../collect/once/onceCalls.ts";
import { LOOK_AHEAD_WINDOWS } from "../../collect/once/reserve.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { counted, someNames } from "../../ground/figures.ts";
import { isOnceName, type LedgerNote, type MissReason, onceName } from "../../journal/ledger.ts";
import type { Journal } from "../../journal/writer.ts";
import type { Log } from "../../ground/log.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import { accountSharer } from "../accountsCalled.ts";
import { roughly } from "../../market/durations.ts";
import type { NoteWriter } from "../../ledger/ledgerNotes.ts";
import type { AccountStations } from "../stations.ts";
import { endOnce, isAsked, leaveOnce, listOnce, type OnceFile } from "./onceFiles.ts";
import { type OnceAnswer, OnceJournal, type OnceNote } from "./onceJournal.ts";
import { inLists } from "../../services/registry.ts";

type TakeOnceOptions = {
  dataDir: string;
  journalDir: string;
  journal: Pick<Journal, "append">;
  calls: Pick<OnceCalls, "poll" | "withdraw" | "isOpen" | "know" | "isSuspect" | "room">;
  accounts: () => readonly AccountStations[];
  batchSize: number;
  notes: Pick<NoteWriter, "flush">;
  clock: Clock;
  log: Log;
};

const LOOK_EVERY_MS = 250;

/** So long somebody waits without a word, in ms. */
export const WORDLESS_MS = 2_000;

/** The wait before a pass after one that brought no answer at all, in ms, and for how long that is tried. */
const AGAIN_MS = 30_000;
/** Assumed: a service that has answered nothing for this long, in ms, needs a person. */
const OUTAGE_MS = 15 * 60_000;

/** What may be asked for again, now or by the same command. */
const LEFT: ReadonlySet<MissReason> = new Set([
  "transport",
  "down",
  "unauthorized",
  "login",
  "budget",
  "overrun",
]);

type TakenJob = {
  file: OnceFile;
  slot: { job: string; slotAt: string };
  missed: Map<string, MissReason>;
  /** Names that have come to an end in this pass, and when the last pass that brought some was over, by the monotonic clock. */
  brought: number;
  broughtMs: number | null;
  /** When it was taken, by the monotonic clock, and whether the jobs left it room when that was told; null: it was not. */
  takenMs: number;
  toldRoom: boolean | null;
};

export class TakenOnce {
  readonly #taking: TakeOnceOptions;
  readonly #taken = new Map<string, TakenJob>();
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  readonly #ending = new Set<Promise<void>>();
  #onIdle: () => void = () => undefined;

  constructor(taking: TakeOnceOptions) {
    this.#taking = taking;
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      void this.look();
    });
  }

  noted(note: LedgerNote): void {
    if (note.type !== "slots" || this.#closing.signal.aborted) return;
    for (const { job, slotAt, due, misses } of note.entries) {
      const taken = isOnceName(job) ? this.#taken.get(`${slotAt} ${job}`) : undefined;
      if (!taken) continue;
      for (const name of due) taken.missed.delete(name);
      for (const [name, reason] of misses) taken.missed.set(name, reason);
      taken.brought += due.length - misses.filter(([, reason]) => LEFT.has(reason)).length;
      if (!this.#taking.calls.isOpen(taken.slot)) this.#track(this.#passed(taken));
    }
  }

  /** Takes what has come, and lets go what was taken back. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look()
      .catch((error: unknown) =>
        this.#taking.log.error({ err: error }, "jobs that are polled once cannot be looked at"),
      )
      .finally(() => (this.#looking = null)));
  }

  /** Takes nothing more. What is under way stays asked for: whoever comes next goes on with it. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#looking;
    await Promise.all(this.#ending);
  }

  async #look(): Promise<void> {
    const { dataDir, log, calls, clock } = this.#taking;
    const files = await listOnce(dataDir, "json", (path, why) =>
      log.error({}, `${path} is no job to poll once, and is set aside as ${path}.broken: ${why}`),
    );
    for (const [key, { slot, file }] of this.#taken)
      if (!(await isAsked(file)) && this.#taken.delete(key)) calls.withdraw(slot);
    for (const file of files) {
      const slot = { job: onceName(file.job), slotAt: file.slotAt };
      const key = `${slot.slotAt} ${slot.job}`;
      if (this.#taken.has(key) || this.#closing.signal.aborted) continue;
      const begun = { brought: 0, broughtMs: null, takenMs: clock.monotonicMs(), toldRoom: null };
      const taken = { file, slot, missed: new Map<string, MissReason>(), ...begun };
      this.#taken.set(key, taken);
      log.info({ job: slot.job }, `${askedOf(file)} to poll once`);
      await this.#ask(taken);
    }
    for (const taken of this.#taken.values()) await this.#tellRoom(taken);
    if (this.#taken.size === 0) this.#onIdle();
  }

  async #ask(taken: TakenJob): Promise<void> {
    const { calls, journalDir, batchSize } = this.#taking;
    const { file, slot } = taken;
    const { job, slotAt } = file;
    const sharers = this.#sharersOf(file);
    if (sharers instanceof QuotekeeperError) return this.#refuse(taken, sharers);
    const answers = new OnceJournal(journalDir, slot, (answer) => know(calls, answer));
    await answers.read();
    const { delayed, priority, watchlist, symbols, contracts } = job;
    const service = this.#taking.accounts()[0]?.account.service;
    const asked: DuePart = {
      job: { name: slot.job, delayed, priority, watchlist, ...(service && inLists(service)) },
      symbols,
      contracts,
    };
    const over = [...taken.missed].flatMap(([name, reason]) => (LEFT.has(reason) ? [] : [name]));
    const known = new Set([...answers.fates.keys(), ...over]);
    const left = withoutNames(asked, known);
    const names = sharers.map(({ name }) => name);
    const own = partition(wantedOf([left]), sharers, batchSize);
    const due = { ...left, slotAt, options: left.contracts, chains: job.chains };
    calls.poll(
      { ...due, known },
      {
        single: job.single,
        accounts: names,
        ownerOf: (name) => own(name, delayed) ?? names[lengthwise(name) % names.length] ?? "",
      },
    );
    if (!calls.isOpen(slot)) await this.#end(taken);
  }

  /** The accounts that are asked; else why none is. */
  #sharersOf({ job }: OnceFile): Sharer[] | QuotekeeperError {
    const called = this.#taking.accounts();
    const asked = called.filter(({ account }) =>
      job.accounts.some(({ name, key }) => name === account.name && key === accountKey(account)),
    );
    const closed: QuotekeeperError[] = [];
    const open = asked.filter(({ feed: { session } }) => {
      try {
        // A call without a login would wait for one without an end.
        session?.credentials();
        return true;
      } catch (error) {
        closed.push(error as QuotekeeperError);
        return false;
      }
    });
    if (open.length > 0) return open.map(({ account }) => accountSharer(account));
    const [noLogin] = closed;
    if (noLogin) return noLogin;
    const here = called.map(({ account }) => account.name);
    const theirs = someNames(
      job.accounts.map(({ name }) => name),
      5,
    );
    const same = here.some((name) => job.accounts.some((other) => other.name === name));
    const why = same
      ? `calls ${theirs} with other settings`
      : `calls ${someNames(here, 5) || "no account"}, not ${theirs}`;
    return new QuotekeeperError("ACCOUNT_NOT_CALLED", `the collector of this data directory ${why}`);
  }

  async #refuse(taken: TakenJob, { code, detail }: QuotekeeperError): Promise<void> {
    await this.#note(taken, { code, detail, over: true });
    await this.#end(taken);
  }

  /** Who waits is told once why, and once more when that changes. */
  async #tellRoom(taken: TakenJob): Promise<void> {
    const { calls: once, clock } = this.#taking;
    const room = once.room(taken.slot);
    if (!room || clock.monotonicMs() - taken.takenMs < WORDLESS_MS || taken.toldRoom === room.spare > 0)
      return;
    taken.toldRoom = room.spare > 0;
    const { calls, spare, limit, windowMs } = room;
    const window = windowMs === 60_000 ? "a minute" : `in ${roughly(windowMs)}`;
    const left = counted(calls, "call");
    const detail = taken.toldRoom
      ? `the jobs leave ${spare} of ${limit} calls ${window}: ${left} in about ${roughly(Math.ceil(calls / spare) * windowMs)}`
      : `the jobs leave none of ${limit} calls ${window} within the next ${roughly(LOOK_AHEAD_WINDOWS * windowMs)}: ${left} to wait until they do`;
    await this.#note(taken, { code: null, detail, over: false });
  }

  #note({ slot }: TakenJob, said: Pick<OnceNote, "code" | "detail" | "over">): Promise<unknown> {
    const { journal, clock } = this.#taking;
    const note: OnceNote = { type: "once", ...slot, ...said };
    return journal.append({ kind: "note", at: instantFromDate(clock.now()), note });
  }

  /** All that was asked in a pass has come to an end. */
  async #passed(taken: TakenJob): Promise<void> {
    const { clock, notes, calls } = this.#taking;
    const { signal } = this.#closing;
    const unanswered = [...taken.missed].some(
      ([name, reason]) => reason === "transport" && !calls.isSuspect(name),
    );
    const brought = taken.brought > 0;
    if (brought) taken.broughtMs = clock.monotonicMs();
    taken.brought = 0;
    // One that has never answered needs a person.
    const isInTime = clock.monotonicMs() - (taken.broughtMs ?? -Infinity) < OUTAGE_MS;
    const again = !taken.file.job.single && unanswered && isInTime;
    await notes.flush();
    if (again && !brought) await clock.sleep(AGAIN_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (again && this.#taken.get(`${taken.slot.slotAt} ${taken.slot.job}`) === taken) await this.#ask(taken);
    else
      await this.#end(
        taken,
        [...taken.missed.values()].some((reason) => LEFT.has(reason)),
      );
  }

  async #end(taken: TakenJob, hasLeft = false): Promise<void> {
    const { file, slot } = taken;
    await (hasLeft && !file.job.single ? leaveOnce(file) : endOnce(file));
    this.#taken.delete(`${slot.slotAt} ${slot.job}`);
    void this.look();
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) =>
        this.#taking.log.error({ err: error }, "a job that is polled once cannot go on"),
      )
      .finally(() => this.#ending.delete(tracked));
    this.#ending.add(tracked);
  }
}

/** Prices and expirations that the job's chains hang on. */
function know(calls: TakeOnceOptions["calls"], { record, answer }: OnceAnswer): void {
  if (answer.outcome === "quotes")
    calls.know(record.request as QuoteCall, answer.document, dateOf(record.requestedAt));
}

/** Spreads the contracts of chains over accounts. */
function lengthwise(name: string): number {
  let sum = 0;
  for (const character of name) sum += character.codePointAt(0) ?? 0;
  return sum;
}

function askedOf({ job: { symbols, contracts, chains, watchlist } }: OnceFile): string {
  const counts = [
    symbols.length > 0 ? counted(symbols.length, "symbol") : [],
    contracts.length > 0 ? counted(contracts.length, "option ask") : [],
    chains.length > 0 ? counted(chains.length, "chain") : [],
    watchlist === null ? [] : "a watchlist",
  ];
  return counts.flat().join(", ");
}
