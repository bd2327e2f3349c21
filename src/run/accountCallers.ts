/** What a collector says of the accounts that it does not call: who does, since when nobody does, and what keeps it from them. */
import type { SeenLease, Self } from "../archive/ledger/leaseRows.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** An account that nobody calls for so long, in ms, is told of: an account whose owner died is called again by then. */
const UNCALLED_MS = 15_000;

/** What is known at a look. */
type Seen = {
  /** Names of the accounts that share the jobs. */
  wanted: readonly string[];
  leases: readonly SeenLease[];
  /** Whether this collector calls any account. */
  calls: boolean;
  /** The name of the collector that calls an account, "" where it has none; null: nobody does. */
  callerOf: (account: string) => string | null;
};

/** Looked at again and again. Each thing is said in the log once, until it changes. */
export class AccountCallers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #self: Pick<Self, "id" | "run">;
  readonly #since = new Map<string, { monotonicMs: number; at: string }>();
  /** Beats of other runs of this collector's own id, by run; Infinity: it was said that the run is alive. */
  readonly #twins = new Map<string, number>();
  #told: Readonly<Record<string, string>> = {};
  #waits = false;

  constructor(given: { clock: Clock; log: Log; self: Pick<Self, "id" | "run"> }) {
    [this.#clock, this.#log, this.#self] = [given.clock, given.log, given.self];
  }

  /** For how long nobody has called an account, in ms; null: somebody does. */
  uncalledMs(account: string): number | null {
    const since = this.#since.get(account);
    return since ? this.#clock.monotonicMs() - since.monotonicMs : null;
  }

  /** @returns the accounts that nobody calls for too long, and since when, ISO 8601 UTC */
  saw(seen: Seen): Readonly<Record<string, string>> {
    this.#tellTwin(seen.leases);
    this.#tellWait(seen);
    const uncalled = seen.wanted.filter((account) => seen.callerOf(account) === null);
    for (const account of this.#since.keys()) if (!uncalled.includes(account)) this.#since.delete(account);
    const now = { monotonicMs: this.#clock.monotonicMs(), at: this.#clock.now().toISOString() };
    for (const account of uncalled) this.#since.set(account, this.#since.get(account) ?? now);
    const before = this.#told;
    this.#told = Object.fromEntries(
      [...this.#since].flatMap(([account, { at }]) =>
        (this.uncalledMs(account) ?? 0) >= UNCALLED_MS ? [[account, at]] : [],
      ),
    );
    for (const [account, since] of Object.entries(this.#told))
      if (!(account in before))
        this.#log.warn(
          { account, since },
          "nobody calls the account: the database has granted its lease to no collector",
        );
    for (const account of Object.keys(before))
      if (!(account in this.#told)) this.#log.info({ account }, "the account is called again");
    return this.#told;
  }

  #tellWait({ wanted, calls, callerOf }: Seen): void {
    const callers = wanted.map((account) => [account, callerOf(account)] as const);
    const waits = !calls && callers.every(([, caller]) => caller !== null);
    if (waits && !this.#waits)
      this.#log.info(
        { callers: Object.fromEntries(callers) },
        "this collector waits: others call all accounts, and it calls one as soon as it is free",
      );
    this.#waits = waits;
  }

  /** Says so where a lease of this collector's own id is renewed by another run: a process that is dead renews nothing. */
  #tellTwin(leases: readonly SeenLease[]): void {
    for (const { account, holder, run, beat } of leases) {
      if (holder !== this.#self.id || run === this.#self.run) continue;
      const before = this.#twins.get(run) ?? beat;
      if (before === beat) this.#twins.set(run, beat);
      else if (before !== Infinity) {
        this.#twins.set(run, Infinity);
        this.#log.warn(
          { account },
          "another process on a copy of this data directory calls the account: end one of the two, or delete lease.json in the copy while it does not run",
        );
      }
    }
  }
}
