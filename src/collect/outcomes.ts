/**
 * What comes of the calls: the fate of every instrument goes to the ledger, and what they teach is remembered: prices
 * and expirations for chains, unknown symbols, how long a list may be, which symbol makes a call fail.
 */
import type { OwnerOf } from "../accounts/shares.ts";
import type { Clock } from "../ground/clock.ts";
import type { MissReason } from "../journal/ledger.ts";
import type { Log } from "../ground/log.ts";
import { fatesOf, matchCall, type MatchedItem } from "../quotes/match.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { askedInstruments, type QuoteCall } from "../quotes/call.ts";
import { afterSuccess, afterTooLong, BatchSizes } from "./batchSize.ts";
import type { ChainBook } from "./chainBook.ts";
import { DailyWarnings } from "./dailyWarnings.ts";
import type { Result } from "./dispatch/callEnds.ts";
import { BadSymbolSearch } from "./badSymbolSearch.ts";
import { dueNames, grouped, type PlanOptions, type Want } from "./asks.ts";
import {
  halved,
  isOnce,
  type PlannedCall,
  planCalls,
  planOnce,
  slotMsOf,
  symbolCount,
  storedNames,
  withSymbols,
  withoutNames,
} from "./callPlan.ts";
import { decidedFates, fromFirstPage, nextPageOf, restOfList } from "./pages.ts";
import { CLOCK_STEP_MS } from "../schedule/clockSteps.ts";
import type { Batch } from "../services/service.ts";
import type { Fate, Slot, SlotBook } from "./slotBook.ts";
import { AskBackoff } from "./askBackoff.ts";

type OutcomesOptions = {
  clock: Clock;
  batch: Batch;
  log: Log;
  slots: SlotBook;
  chains: ChainBook;
  ask: (planned: PlannedCall) => void;
  /** Called when chains were expanded: their contracts need owners before they are asked for. */
  onExpanded: () => void;
  standIn: (planned: PlannedCall) => string | null;
  removeWaiting: () => PlannedCall[];
  /** When instruments were last asked and answered by the runs before, epoch ms UTC. */
  lastSeenMs: ReadonlyMap<string, number>;
  ownerOf: OwnerOf | undefined;
  isCalled: (account: string) => boolean;
};

/** What a call is missed for whose answer had no quotes; of any other answer: refused. */
const FAILED: Readonly<Record<string, MissReason>> = { malformed: "malformed", server_error: "transport" };

/** When an instrument was last asked is forgotten after so long, in ms: chains bring new contracts every week. */
const SEEN_FOR_MS = 7 * 86_400_000;

export class Outcomes {
  readonly askBackoff = new AskBackoff();
  readonly #options: OutcomesOptions;
  readonly #badSymbolSearch = new BadSymbolSearch();
  readonly #lastSeenMs: Map<string, number>;
  readonly #lastSeen = (name: string): number => this.#lastSeenMs.get(name) ?? 0;
  readonly #batches: BatchSizes;
  readonly #warnings: DailyWarnings;
  #date = "";

  constructor(options: OutcomesOptions) {
    this.#options = options;
    this.#lastSeenMs = new Map(options.lastSeenMs);
    this.#batches = new BatchSizes(options.batch);
    this.#warnings = new DailyWarnings(options.log);
  }

  get planOptions(): PlanOptions {
    return {
      batchSize: this.#batches.size,
      contractsOfAList: this.#batches.contractsOfAList,
      lastSeenMs: this.#lastSeen,
      ...(this.askBackoff.holds && { alone: (symbol) => this.askBackoff.isSuspect(symbol) }),
      ownerOf: this.#options.ownerOf,
      isCalled: this.#options.isCalled,
    };
  }

  /** The date that counts for contracts; what was held against the service is forgiven when it changes. */
  turnTo(date: string): void {
    if (date === this.#date) return;
    this.#date = date;
    this.#warnings.beginDay();
    this.#batches.forgive();
    this.askBackoff.forgive();
    const sinceMs = this.#options.clock.now().getTime() - SEEN_FOR_MS;
    for (const [name, at] of this.#lastSeenMs) if (at < sinceMs) this.#lastSeenMs.delete(name);
  }

  /** The wall clock was moved by so many ms: all waits keep their length. */
  moveTimes(byMs: number): void {
    this.askBackoff.moveTimes(byMs);
    for (const [name, at] of this.#lastSeenMs) this.#lastSeenMs.set(name, at + byMs);
  }

  /** Records the end of a call. Whatever goes wrong here, everything the call asked for is accounted for. */
  end(planned: PlannedCall, result: Result): void {
    try {
      this.#record(planned, result);
    } catch (error) {
      this.#options.log.error({ err: error }, "an answer could not be taken in");
      this.#missed([planned, ...this.#badSymbolSearch.ended(planned)], "malformed");
    }
  }

  /** Records what became of instruments at the slots that want them. A chain shares the fate of what it waits for. */
  fate(slots: readonly Slot[], names: readonly string[], fate: Fate): void {
    const { slots: book, chains } = this.#options;
    book.settle(slots, names, fate);
    if (fate === "stored") return chains.waiting.answered(slots, names);
    for (const slot of slots) {
      const stopped = chains.waiting.stop(slot, names);
      if (stopped.length > 0) book.settle([slot], stopped, fate);
    }
  }

  #record(planned: PlannedCall, result: Result): void {
    if (result.kind === "missed") return this.#ended(planned, result.reason);
    const { answer, askedMs } = result;
    switch (answer.outcome) {
      case "quotes":
        return this.#stored(planned, answer.document, askedMs);
      case "unauthorized":
        return answer.ofFeed ? this.#feedRefused(planned) : this.#ended(planned, "unauthorized");
      case "too_long":
        return this.#tooLong(planned);
      default:
        return answer.badSymbol === undefined
          ? this.#failed(planned, FAILED[answer.outcome] ?? "refused")
          : this.#badSymbol(planned, answer.badSymbol);
    }
  }

  #stored(planned: PlannedCall, document: ReadDocument, askedMs: number): void {
    const { chains, ask, slots } = this.#options;
    this.#batches.learn(planned, afterSuccess);
    chains.recordAnswer(document);
    const matched = matchCall(planned.call, document.items);
    const { pages } = planned;
    const stored = storedNames(planned.call, matched, { ...document, before: pages?.isStored === true });
    const isList = planned.call.form === "symbols";
    if (document.nextPage !== undefined && !isList)
      return this.#goOn(planned, document.nextPage, { askedMs, matched, document });
    // At the slots that lasted when it was asked; before any miss, which may end a slot.
    const { delayed } = planned.call;
    slots.credit({ names: stored, delayed, askedMs, firstAskedMs: pages?.firstAskedMs ?? askedMs });
    const listed = [...(pages?.expirations ?? []), ...(document.expirations ?? [])];
    if (planned.call.form === "expirations") this.#listed(planned, planned.call, [...new Set(listed)].sort());
    else if (askedInstruments(planned.call) === null) this.#asOne(planned, matched, askedMs);
    else {
      const rest = document.nextPage === undefined ? null : restOfList(planned, stored);
      if (rest) ask(rest);
      const fates = fatesOf(decidedFates(matched, document));
      for (const match of fates) this.#fateOf(planned, match, askedMs);
      this.#warnings.unknown(fates.flatMap((match) => (match.fate === "unknown" ? [match.name] : [])));
    }
    this.#expandChains();
    // Last: when anything before fails, what waits for a probe is missed with it, and must not be asked as well.
    this.#badSymbolSearch.answered(planned).forEach(ask);
  }

  /** Asks for the next page, at the same slot. Without it the rest would be missing, and nothing would say so. */
  #goOn(
    planned: PlannedCall,
    page: string,
    of: { askedMs: number; matched: readonly MatchedItem[]; document: ReadDocument },
  ): void {
    const { slots, ask } = this.#options;
    const isStored = of.matched.some(({ fate }) => fate === "stored");
    const { askedMs, document } = of;
    const next = nextPageOf(planned, page, { askedMs, isStored, expirations: document.expirations ?? [] });
    const isWanted = [...planned.wants.values()].some((wants) => wants.some((slot) => slots.isOpen(slot)));
    if (next === null) {
      if (!isOnce(planned))
        for (const name of planned.wants.keys()) this.#heldBack(planned, name, { reason: "malformed" });
      this.#missed([planned], "malformed");
    } else if (isWanted) ask(next);
  }

  /** A watchlist and a whole chain are one thing in the ledger. An answer in which nothing is recognised is no success. */
  #asOne(planned: PlannedCall, matched: readonly MatchedItem[], askedMs: number): void {
    const isStored = planned.pages?.isStored === true || matched.some(({ fate }) => fate === "stored");
    const reason = matched.some(({ fate }) => fate === "dead") ? "malformed" : "absent_from_answer";
    for (const [name, wants] of planned.wants) {
      this.#lastSeenMs.set(name, this.#options.clock.now().getTime());
      if (isStored) this.#lateFate(wants, name, askedMs);
      else this.fate(wants, [name], reason);
    }
  }

  /** No expirations at all are what an underlying has that the service does not know. */
  #listed(
    planned: PlannedCall,
    { underlying }: Extract<QuoteCall, { form: "expirations" }>,
    expirations: readonly string[],
  ): void {
    const { chains, clock } = this.#options;
    if (expirations.length > 0) chains.list(underlying, expirations, chains.contractDate(clock.now()));
    for (const [name, wants] of planned.wants)
      if (expirations.length > 0) {
        this.askBackoff.succeeded(name);
        this.fate(wants, [name], "stored");
      } else {
        this.#heldBack(planned, name, { reason: "unknown_symbol" });
        this.fate(wants, [name], "unknown_symbol");
        this.#warnings.unknown([name]);
      }
  }

  /**
   * A call may be asked for later than it was let go, or under a clock that was set back meanwhile. What was not asked
   * for within a slot is missed there.
   */
  #lateFate(wants: readonly Want[], name: string, askedMs: number): void {
    const lasted = ({ slotAt, deadlineMs }: Want): boolean =>
      deadlineMs === Infinity || (askedMs < deadlineMs && askedMs > Date.parse(slotAt) - CLOCK_STEP_MS);
    const late = wants.filter((want) => !lasted(want));
    if (late.length > 0) this.fate(late, [name], "overrun");
    this.fate(wants.filter(lasted), [name], "stored");
  }

  #expandChains(): void {
    const { chains, slots, ask, log, clock } = this.#options;
    if (!chains.waiting.any) return;
    const ready = chains.expandWaiting(chains.contractDate(clock.now()));
    if (ready.length > 0) this.#options.onExpanded();
    for (const { due, expanded, broken } of ready) {
      const slot = { job: due.job.name, slotAt: due.slotAt };
      slots.settle([slot], broken, "malformed");
      slots.extend(slot, dueNames(due), expanded);
      log.debug({ job: slot.job, contracts: due.contracts.length }, "chains were expanded");
      const calls = due.once
        ? planOnce(due, due.once, this.planOptions)
        : planCalls([this.withoutResting(due)], this.planOptions);
      calls.forEach(ask);
    }
  }

  /** A due job without the instruments that rest: those are due all the same, and missed. */
  withoutResting<Due extends Parameters<typeof dueNames>[0] & { slotAt: Slot["slotAt"] }>(due: Due): Due {
    if (!this.askBackoff.holds) return due;
    const nowMs = this.#options.clock.now().getTime();
    const slot = { job: (due.job as { name: string }).name, slotAt: due.slotAt };
    const resting = new Set<string>();
    for (const name of dueNames(due)) {
      const reason = this.askBackoff.rests(name, nowMs);
      if (reason === null) continue;
      resting.add(name);
      this.fate([slot], [name], reason);
    }
    return withoutNames(due, resting);
  }

  #fateOf(planned: PlannedCall, match: MatchedItem, askedMs: number): void {
    const wants = planned.wants.get(match.name ?? "");
    if (match.name === null || !wants) return;
    this.#lastSeenMs.set(match.name, this.#options.clock.now().getTime());
    switch (match.fate) {
      case "stored":
        this.askBackoff.succeeded(match.name);
        return this.#lateFate(wants, match.name, askedMs);
      case "unknown":
        // Whoever asks once has misspelt it, perhaps: the jobs find out for themselves.
        if (!isOnce(planned)) this.#heldBack(planned, match.name, { reason: "unknown_symbol" });
        return this.fate(wants, [match.name], "unknown_symbol");
      case "absent":
        if (match.answered !== undefined) this.#warnings.otherName(match.name, match.answered);
        return this.fate(wants, [match.name], "absent_from_answer");
      case "dead":
        return this.fate(wants, [match.name], "malformed");
    }
  }

  #tooLong(planned: PlannedCall): void {
    const { ask, removeWaiting } = this.#options;
    const halves = symbolCount(planned) > this.#options.batch.least ? halved(planned) : null;
    if (!halves) return this.#failed(planned, "refused");
    this.#batches.learn(planned, afterTooLong);
    // The lists that wait are as long as this one.
    if (planned.part || isOnce(planned)) halves.forEach(ask);
    else planCalls([], this.planOptions, [planned, ...removeWaiting()]).forEach(ask);
  }

  /** The account has other feeds, and its other calls are answered: only these are asked for less and less often. */
  #feedRefused(planned: PlannedCall): void {
    if (!isOnce(planned))
      for (const name of planned.wants.keys()) this.#heldBack(planned, name, { reason: "unauthorized" });
    this.#missed([planned, ...this.#badSymbolSearch.ended(planned)], "unauthorized");
  }

  /** Where the service names the symbol for which it refused a list, the others are asked for again without it. */
  #badSymbol(planned: PlannedCall, badSymbol: string): void {
    const { call } = planned;
    const others = call.form === "symbols" ? call.symbols.filter((symbol) => symbol !== badSymbol) : [];
    if (call.form !== "symbols" || others.length === call.symbols.length || planned.part)
      return this.#failed(planned, "refused");
    const bad = withSymbols(planned, [badSymbol]);
    for (const name of bad.wants.keys()) {
      this.#warnings.failsCalls(name, "refused");
      if (!isOnce(planned)) this.#heldBack(planned, name, { reason: "refused" });
    }
    this.#missed([bad], "refused");
    if (others.length > 0) this.#options.ask(withSymbols(planned, others));
  }

  #failed(planned: PlannedCall, reason: MissReason): void {
    const { clock, ask } = this.#options;
    if (planned.once?.single) return this.#missed([planned], reason);
    const verdict = this.#badSymbolSearch.failed(planned, clock.monotonicMs(), this.#lastSeen);
    if (verdict.kind === "ask") return verdict.calls.forEach(ask);
    const calls = verdict.kind === "give_up" ? verdict.calls : [planned];
    const names = [...planned.wants.keys()];
    const isSuspect = names.length === 1 && names.some((name) => this.askBackoff.isSuspect(name));
    if (verdict.kind === "culprit" || isSuspect)
      for (const name of names) {
        this.#warnings.failsCalls(name, reason);
        this.#heldBack(planned, name, { reason, suspect: true });
      }
    this.#missed(calls, reason);
  }

  #ended(planned: PlannedCall, reason: MissReason): void {
    const account = reason === "unauthorized" ? this.#options.standIn(planned) : null;
    if (account !== null) return this.#options.ask({ ...fromFirstPage(planned), account });
    this.#missed([planned, ...this.#badSymbolSearch.ended(planned)], reason);
  }

  #missed(calls: readonly PlannedCall[], reason: MissReason): void {
    for (const { wants } of calls)
      for (const [slots = [], names] of grouped(wants.keys(), (name) => wants.get(name)))
        this.fate(slots, names, reason);
  }

  #heldBack(planned: PlannedCall, name: string, why: { reason: MissReason; suspect?: boolean }): void {
    const nowMs = this.#options.clock.now().getTime();
    const slotMs = slotMsOf(planned);
    // The slot lies ahead when the clock was set back meanwhile; one without an end may have begun days ago.
    const slotAtMs = slotMs === Infinity ? nowMs : Math.min(Date.parse(planned.slotAt ?? "") || nowMs, nowMs);
    this.askBackoff.failed(name, { slotAtMs, slotMs, ...why });
  }
}
