/**
 * Which accounts may be called at this moment, by what the database has said or failed to say. Pure.
 *
 * Each question counts as of the instant it was sent, whether it is answered or not, and nothing else counts: the answer says
 * what was true then, and a question without an answer says that the database could not be asked then. So a process that stood
 * still knows nothing before it has asked again.
 *
 * States of an account: unknown -> trusted (granted, renewed, or asked for in vain) -> stale (5 s after that question was sent)
 * -> trusted again by the next question, or dropped.
 */
import { elapsedMs, LEASE_MS, type Moment, TRUSTED_MS } from "./leaseRules.ts";

export type Question = { readonly at: Moment };

/** It changes with time alone where nothing is said: each reading takes the moment. */
export class LeaseTrust {
  readonly #asOf = new Map<string, Moment>();
  #lastSentAt: Moment;
  #answeredAt: Moment | null = null;
  /** The first question after the process stood still, until it is known what came of it. */
  #firstSince: Question | null = null;
  #permit = 0;

  constructor(now: Moment) {
    this.#lastSentAt = now;
  }

  ask(now: Moment): Question {
    const question = { at: now };
    // Rounds come every 2 s: no question for as long as a lease lasts means that the process did not run.
    if (elapsedMs(this.#lastSentAt, now) > LEASE_MS) this.#firstSince = question;
    this.#lastSentAt = now;
    return question;
  }

  /** The question was answered. @param accounts those that the answer says are this collector's */
  answered(question: Question, accounts: Iterable<string>): void {
    this.#trust(accounts, question.at);
    if (isLater(question.at, this.#answeredAt)) this.#answeredAt = question.at;
    if (this.#firstSince && !isLater(this.#firstSince.at, question.at)) this.#firstSince = null;
  }

  /**
   * The question was not answered, or not in time.
   *
   * @param accounts those that were this collector's when the question was sent
   * @returns whether the process stood still before it, so that others may have taken the accounts meanwhile: every call that
   *   was under way to the socket must be withheld, and others be listened for
   */
  unanswered(question: Question, accounts: Iterable<string>): boolean {
    this.#trust(accounts, question.at);
    if (!this.#firstSince || isLater(this.#firstSince.at, question.at)) return false;
    this.#firstSince = null;
    this.#permit += 1;
    return true;
  }

  granted(account: string, claimedAt: Moment): void {
    this.presumed(account, claimedAt);
    if (isLater(claimedAt, this.#answeredAt)) this.#answeredAt = claimedAt;
  }

  /** A claim was not answered in time, and no other collector runs. */
  presumed(account: string, claimedAt: Moment): void {
    this.#trust([account], claimedAt);
  }

  drop(account: string): void {
    this.#asOf.delete(account);
  }

  isFresh(account: string, now: Moment): boolean {
    const asOf = this.#asOf.get(account);
    return asOf !== undefined && elapsedMs(asOf, now) <= TRUSTED_MS;
  }

  /** A number that is another one as soon as calls that were let go until now must be withheld. */
  get permit(): number {
    return this.#permit;
  }

  /** How long ago the last answered question was sent, in ms; null: none was answered. */
  confirmedAgoMs(now: Moment): number | null {
    return this.#answeredAt && now.monotonicMs - this.#answeredAt.monotonicMs;
  }

  #trust(accounts: Iterable<string>, at: Moment): void {
    for (const account of accounts)
      if (isLater(at, this.#asOf.get(account) ?? null)) this.#asOf.set(account, at);
  }
}

function isLater(one: Moment, other: Moment | null): boolean {
  return other === null || one.monotonicMs > other.monotonicMs;
}
