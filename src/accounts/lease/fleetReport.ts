/**
 * What this collector says of the fleet: who calls each account, since when nobody does, and what keeps the account from this
 * collector.
 */
import type { Clock } from "../../ground/clock.ts";
import type { Log } from "../../ground/log.ts";
import type { FilesInForce } from "./agreement.ts";
import type { HeldLeases } from "./heldLeases.ts";
import type { SeenLease, Self } from "./leaseStore.ts";
import { callerOf, countedCollectors } from "./leaseView.ts";
import type { Rounds } from "./rounds.ts";

/** An account that nobody calls for so long, in ms, is reported: a dead holder's account is called again sooner. */
const UNCALLED_MS = 15_000;

type FleetReportOptions = {
  clock: Clock;
  log: Log;
  self: Pick<Self, "id" | "run">;
  files: FilesInForce;
  leases: HeldLeases;
  rounds: Rounds;
};

/** Each thing is said in the log once, until it changes. */
export class FleetReport {
  readonly #given: FleetReportOptions;
  readonly #since = new Map<string, { monotonicMs: number; at: string }>();
  /** Beats of other runs of this collector's own id, by run; Infinity: it was said that the run is alive. */
  readonly #twins = new Map<string, number>();
  #uncalled: Readonly<Record<string, string>> = {};
  #waits = false;

  constructor(given: FleetReportOptions) {
    this.#given = given;
  }

  /** As `LiveFleet` of `web/monitoring/metrics.ts`. */
  get state() {
    const { clock, files, leases, rounds } = this.#given;
    const nowMs = clock.now().getTime();
    const inForce = rounds.epochs.findLast(({ fromMs }) => fromMs <= nowMs)?.jobsDigest;
    const { running, counts } = countedCollectors(rounds.watch.view, rounds.own);
    const digests = [files.newest.digest, ...running.map(({ jobsDigest }) => jobsDigest)];
    return {
      accounts: files.accounts.map((name) => ({
        name,
        held: leases.has(name),
        fence: leases.fenceOf(name),
        caller: this.#callerOf(name),
        uncalledMs: this.#uncalledMs(name),
      })),
      unsure: rounds.isUnsure,
      collectors: counts,
      differing: inForce === undefined ? 0 : digests.filter((digest) => digest !== inForce).length,
      takeOvers: leases.takeOvers,
      confirmedAgoMs: leases.trust.confirmedAgoMs(leases.now()),
      clockOffsetMs: rounds.clockOffsetMs,
    };
  }

  /** Says what is new. @returns the accounts that nobody calls for too long, and since when, ISO 8601 UTC */
  update(): Readonly<Record<string, string>> {
    const { clock, log, files, rounds } = this.#given;
    this.#reportTwin(rounds.watch.view.look?.leases ?? []);
    this.#reportWait();
    const free = files.accounts.filter((account) => this.#callerOf(account) === null);
    for (const account of this.#since.keys()) if (!free.includes(account)) this.#since.delete(account);
    const now = { monotonicMs: clock.monotonicMs(), at: clock.now().toISOString() };
    for (const account of free) this.#since.set(account, this.#since.get(account) ?? now);
    const before = this.#uncalled;
    this.#uncalled = Object.fromEntries(
      [...this.#since].flatMap(([account, { at }]) =>
        (this.#uncalledMs(account) ?? 0) >= UNCALLED_MS ? [[account, at]] : [],
      ),
    );
    for (const [account, since] of Object.entries(this.#uncalled))
      if (!(account in before))
        log.warn(
          { account, since },
          "nobody calls the account: the database has granted its lease to no collector",
        );
    for (const account of Object.keys(before))
      if (!(account in this.#uncalled)) log.info({ account }, "the account is called again");
    return this.#uncalled;
  }

  /** For how long nobody has called an account, in ms; null: a collector calls it. */
  #uncalledMs(account: string): number | null {
    const since = this.#since.get(account);
    return since ? this.#given.clock.monotonicMs() - since.monotonicMs : null;
  }

  /** The name of the collector that calls an account, "" where it has none; null: nobody does. */
  #callerOf(account: string): string | null {
    const { leases, rounds } = this.#given;
    if (leases.has(account)) return rounds.known.name ?? "";
    return callerOf(rounds.watch.view, account, rounds.own);
  }

  #reportWait(): void {
    const { files, leases, log } = this.#given;
    const callers = files.accounts.map((account) => [account, this.#callerOf(account)] as const);
    const waits = leases.names.length === 0 && callers.every(([, caller]) => caller !== null);
    if (waits && !this.#waits)
      log.info(
        { callers: Object.fromEntries(callers) },
        "this collector waits: others call all accounts, and it calls one as soon as it is free",
      );
    this.#waits = waits;
  }

  /** A lease of this collector's own id that another run renews: a dead process renews nothing. */
  #reportTwin(leases: readonly SeenLease[]): void {
    const { self, log } = this.#given;
    for (const { account, holder, run, beat } of leases) {
      if (holder !== self.id || run === self.run) continue;
      const before = this.#twins.get(run) ?? beat;
      if (before === beat) this.#twins.set(run, beat);
      else if (before !== Infinity) {
        this.#twins.set(run, Infinity);
        log.warn(
          { account },
          "another process on a copy of this data directory calls the account: end one of the two, or delete lease.json in the copy while it does not run",
        );
      }
    }
  }
}
