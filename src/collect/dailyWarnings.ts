/** Warns in the log about troubles of instruments, of each instrument once a day: the ledger has each miss. */
import type { Log } from "../ground/log.ts";
import type { MissReason } from "../journal/ledger.ts";
import { someNames } from "../ground/figures.ts";

/** Names in one line of the log; more are counted. */
const MOST_NAMES = 8;

export class DailyWarnings {
  readonly #log: Log;
  readonly #named = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  beginDay(): void {
    this.#named.clear();
  }

  unknown(names: readonly string[]): void {
    const news = names.filter((name) => this.#isNew(name));
    if (news.length === 0) return;
    const message = `the service does not know ${someNames(news, MOST_NAMES)}: correct the job files; what is unknown is asked for less and less often, once a day in the end`;
    this.#log.warn({}, message);
  }

  /** An answer lacks an instrument, and has one with a similar name that no call asked for. */
  otherName(instrument: string, answered: string): void {
    if (!this.#isNew(instrument)) return;
    this.#log.warn(
      { instrument, answered },
      "the answer has it under another name, as it seems: correct the job file",
    );
  }

  failsCalls(name: string, reason: MissReason): void {
    if (!this.#isNew(name)) return;
    this.#log.warn(
      { reason },
      `${name} makes a whole call fail, and is asked for alone and less and less often`,
    );
  }

  #isNew(name: string): boolean {
    if (this.#named.has(name)) return false;
    this.#named.add(name);
    return true;
  }
}
