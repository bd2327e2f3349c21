/**
 * What this collector asks the database again and again: it joins, renews its leases in rounds, and looks between them.
 *
 * States: not joined -> joined -> not joined, when an operator has forgotten this collector or the database was set back. Then the
 * next round joins again.
 */
import { type Clock, settledOrAborted } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import { joinedEpochs, proposal } from "./agreement.ts";
import type { Caller } from "./caller.ts";
import { type FilesReport, whatDiffers } from "./filesDigest.ts";
import type { HeldLeases } from "./heldLeases.ts";
import type { KnownLeases } from "./leaseFile.ts";
import { ClockOffset, elapsedMs, TRUSTED_MS } from "./leaseRules.ts";
import type { Epoch, LeaseStore, Look, Self, CollectorReport } from "./leaseStore.ts";
import type { Question } from "./leaseTrust.ts";
import { LeaseWatch, type Own, peersOf, remembersOthers } from "./leaseView.ts";
import { answered, succeedsWithin } from "./leaseQuestions.ts";

/** How long a call that waits for its account lets the database rest between two questions, in ms. */
const ASK_AGAIN_MS = 50;

type RoundOptions = {
  store: LeaseStore;
  clock: Clock;
  self: Self;
  dead: readonly string[];
  known: KnownLeases;
  files: () => FilesReport;
  leases: () => HeldLeases;
  caller: () => Caller | null;
  address: string;
  log: Log;
  onLook: () => void;
  onRound: () => void;
  ended: AbortSignal;
  onLost: (error: QuotekeeperError) => void;
};

export class Rounds {
  readonly #given: RoundOptions;
  readonly watch: LeaseWatch;
  readonly #clockOffset = new ClockOffset();
  /** What the data directory is to know. */
  known: KnownLeases;
  epochs: readonly Epoch[];
  joined = false;
  joinedAtMs = Infinity;
  failed = false;
  differs: QuotekeeperError | null = null;
  /** What is under way, each once. */
  #rounding: Promise<void> | null = null;
  #registering: Promise<void> | null = null;
  #looking: Promise<void> | null = null;

  constructor(given: RoundOptions) {
    this.#given = given;
    // What a run that was killed knew last of the database says nothing of this one.
    this.known = { ...given.known, unsureSince: null, uncalled: {} };
    this.epochs = given.known.epochs;
    this.watch = new LeaseWatch(given.self);
  }

  /** Whether the last round failed, and another collector may have acquired what is held. */
  get isUnsure(): boolean {
    return this.failed && this.known.others;
  }

  get isAlone(): boolean {
    const { view } = this.watch;
    return view.look ? peersOf(view, this.#given.self).length === 0 : !this.known.others;
  }

  get own(): Own {
    const { self, dead } = this.#given;
    return { id: self.id, run: self.run, number: this.known.number, dead };
  }

  get telling(): CollectorReport {
    const { digest: jobsDigest, files } = this.#given.files();
    const caller = this.#given.caller();
    return {
      jobsDigest,
      files,
      knows: caller?.knows() ?? { refused: [], prices: null },
      journalLag: caller?.journalLag() ?? null,
      clockOffsetMs: this.#clockOffset.ms,
    };
  }

  get clockOffsetMs(): number {
    return this.#clockOffset.ms;
  }

  /** Resolves when a round was answered, or failed, or its answer is late; while a round is under way, with that round. */
  round(): Promise<void> {
    return (this.#rounding ??= this.#sendRound().finally(() => (this.#rounding = null)));
  }

  async #sendRound(): Promise<void> {
    const { log, clock, onLook } = this.#given;
    const { trust, names } = this.#given.leases();
    const question = trust.ask(this.#given.leases().now());
    const renewed = this.joined ? this.#renew(question) : this.register().then(onLook);
    renewed.catch(() => this.watch.blind(question.at.monotonicMs));
    const isInTime = await succeedsWithin(renewed, clock);
    if (!isInTime && trust.unanswered(question, names) && this.known.others) {
      log.warn({}, "this process stood still, and the database does not answer: it listens first");
      this.#given.caller()?.listen();
    }
    // What a process finds that stood still during a round says nothing of the database.
    if (isInTime || elapsedMs(question.at, this.#given.leases().now()) <= TRUSTED_MS)
      this.setFailed(!isInTime);
    this.#given.onRound();
  }

  /** Reports, renews the leases, and looks. The answer counts whenever it comes. */
  async #renew(question: Question): Promise<void> {
    const { store, self, clock } = this.#given;
    const leases = this.#given.leases();
    const held = leases.granted;
    const asked = store.round(self, this.telling, held);
    const { renewed, isKnown, ...look } = await answered(asked, clock);
    const { wallMs: sentMs, monotonicMs } = question.at;
    this.#clockOffset.saw({ sentMs, answeredMs: leases.now().wallMs, databaseMs: look.nowMs });
    this.#see(look, monotonicMs);
    if (!isKnown) this.joined = false;
    for (const { account, fence } of held)
      if (!renewed.includes(account) && leases.fenceOf(account) === fence) leases.lose(account, look);
    leases.trust.answered(
      question,
      renewed.filter((account) => leases.has(account)),
    );
    this.#given.onLook();
  }

  /** Looks between two rounds. Never rejects. */
  look(): Promise<void> {
    const { store, clock } = this.#given;
    const sentMs = clock.monotonicMs();
    return (this.#looking ??= answered(store.look(), clock)
      .then(
        (look) => {
          this.#see(look, sentMs);
          this.#given.onLook();
        },
        () => this.watch.blind(sentMs),
      )
      .finally(() => (this.#looking = null)));
  }

  /** Joins, if this collector has the files of the others. @throws COLLECTOR_DIFFERS; the database's errors */
  register(): Promise<void> {
    return (this.#registering ??= this.#doRegister().finally(() => (this.#registering = null)));
  }

  async #doRegister(): Promise<void> {
    const { store, self, log, clock, address } = this.#given;
    const sentMs = clock.monotonicMs();
    this.#see(await answered(store.look(), clock), sentMs);
    const others = peersOf(this.watch.view, self);
    const other = others.find(({ jobsDigest }) => jobsDigest !== this.#given.files().digest);
    if (other) {
      const how = whatDiffers(this.#given.files().files, other.files);
      const detail = `${address} is collected by ${other.name} with other files: ${how}`;
      this.differs = new QuotekeeperError("COLLECTOR_DIFFERS", detail);
      this.#given.onLost(this.differs);
      throw this.differs;
    }
    const { number, name, epochs } = await answered(store.join(self, this.telling), clock);
    this.epochs = joinedEpochs(epochs, this.epochs);
    this.joined = true;
    this.joinedAtMs = clock.monotonicMs();
    if (number !== this.known.number) this.#given.caller()?.useNumber(number);
    this.known = { ...this.known, number, name };
    if (others.length > 0)
      log.info(
        { collector: name, others: others.map((one) => one.name) },
        "this collector shares the archive with others",
      );
  }

  /** @param sentMs when the look was asked for, on the monotonic clock */
  #see(look: Look, sentMs: number): void {
    const nowMs = this.#given.clock.monotonicMs();
    if (!this.watch.saw(look, { sentMs, nowMs })) return;
    this.epochs = joinedEpochs(this.epochs, look.epochs);
    this.known = { ...this.known, others: remembersOthers(look, this.own), epochs: look.epochs };
  }

  setFailed(failed: boolean): void {
    const { clock, log } = this.#given;
    const before = this.isUnsure;
    this.failed = failed;
    const unsure = this.isUnsure;
    if (unsure === before) return;
    this.known = { ...this.known, unsureSince: unsure ? clock.now().toISOString() : null };
    log.warn(
      { unsure },
      unsure
        ? "the database does not confirm the leases: calls go on with care"
        : "the leases are confirmed again",
    );
    this.#given.caller()?.beUnsure(unsure);
  }

  /** Proposes the next epoch, where this collector would have another one than that in force. */
  async propose(): Promise<void> {
    const { store, self, clock, files } = this.#given;
    const { view } = this.watch;
    if (!view.look) return;
    const epoch = proposal(view.look, {
      files: files(),
      knows: this.telling.knows,
      peers: peersOf(view, self),
      nowMs: clock.now().getTime(),
      offsetMs: this.clockOffsetMs,
      isAlone: this.isAlone,
    });
    const after = view.look.epochs.at(-1)?.number ?? 0;
    if (epoch) await answered(store.propose(after, epoch, this.known.name ?? self.id), clock);
  }

  async confirm(account: string, signal: AbortSignal): Promise<() => boolean> {
    const { clock, ended } = this.#given;
    const leases = this.#given.leases();
    const { permit } = leases.trust;
    const isPermitted = (): boolean => permit === leases.trust.permit;
    const isOver = (): boolean => signal.aborted || ended.aborted || !isPermitted();
    const waits = (): boolean => !isOver() && leases.has(account) && !leases.mayCall(account);
    while (waits()) {
      await settledOrAborted(this.round(), signal);
      if (leases.claiming) await settledOrAborted(leases.claiming, signal);
      // An answer that confirms nothing is followed by a claim, or by another round.
      if (waits()) await clock.sleep(ASK_AGAIN_MS, signal).catch(() => undefined);
    }
    const mayLeave = (): boolean => isPermitted() && leases.mayCall(account);
    if (!mayLeave())
      throw new QuotekeeperError("LEASE_UNSURE", `the account ${account} is another collector's`);
    return mayLeave;
  }
}
