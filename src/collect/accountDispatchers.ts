/**
 * The dispatchers of the accounts that this collector calls, one each.
 *
 * A dispatcher is open -> leaving, when its account goes: it finishes the calls in flight and takes no new ones -> gone.
 */
import type { Sharer } from "../accounts/partition.ts";
import type { AccountState, Shares } from "../accounts/shares.ts";
import type { Clock } from "../ground/clock.ts";
import type { MissReason } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import type { Log } from "../ground/log.ts";
import type { Limit, Service } from "../services/service.ts";
import { refusesCredentials } from "../quotes/answer.ts";
import type { QuoteCall } from "../quotes/call.ts";
import type { Want } from "./asks.ts";
import type { PlannedCall } from "./callPlan.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { type Result } from "./dispatch/callEnds.ts";
import type { BudgetState } from "./governor/budgetState.ts";
import { handedFor, type HandedOver } from "./governor/handover.ts";

export type CalledAccount = Omit<DispatcherOptions, "clock" | "log" | "onResult" | "isCutShort"> & {
  name: string;
  service: Pick<Service, "hosts" | "hostOf">;
};

export type CalledStatus = {
  name: string;
  state: AccountState;
  callsUsed: number;
  queued: number;
  /** What the base host's governor knows: the limit in force may not be the configured one. */
  budget: BudgetState;
  /** The last error of a host whose last call brought no quotes, the base host's first; null: there is none. */
  lastError: Error | null;
};

export function sharerOf({
  name,
  governor: { limit, windowMs },
}: Pick<CalledAccount, "name" | "governor">): Sharer {
  return { name, limit, windowMs };
}

/** Where the calls of an account to one of its service's hosts wait; without a `host`: to the base address. */
export type AccountQueue = { name: string; host: string | undefined; dispatcher: Dispatcher };

type AccountDispatchersOptions = {
  clock: Clock;
  log: Log;
  shares: Shares | undefined;
  isCutShort: (want: Want, account: string) => boolean;
  onResult: (planned: PlannedCall, result: Result) => void;
};

export class AccountDispatchers {
  readonly #given: AccountDispatchersOptions;
  readonly #open = new Map<string, Dispatcher>();
  /** Of each account those of its service's further hosts, each with a limit of its own. */
  readonly #hosts = new Map<string, ReadonlyMap<string, Dispatcher>>();
  #hostOf: Service["hostOf"];
  readonly #leaving = new Set<Dispatcher>();
  /** Refused accounts that make a call at this slot, to see whether they still are. */
  #probing: ReadonlySet<string> = new Set();

  constructor(given: AccountDispatchersOptions) {
    this.#given = given;
  }

  open(account: CalledAccount): void {
    const { clock, log, isCutShort, onResult } = this.#given;
    const named = (fields: object): object =>
      this.#open.size > 1 ? { account: account.name, ...fields } : fields;
    const dispatcherOf = (called: CalledAccount, host?: string): Dispatcher =>
      new Dispatcher({
        ...called,
        clock,
        log: {
          debug: (fields, message) => log.debug(named(fields), message),
          info: (fields, message) => log.info(named(fields), message),
          warn: (fields, message) => log.warn(named(fields), message),
          error: (fields, message) => log.error(named(fields), message),
        },
        isCutShort: (want, asking) => isCutShort(want, asking ?? DEFAULT_ACCOUNT),
        onResult: (planned, result) => {
          // A further host may refuse a key that the service itself takes.
          if (host === undefined) this.#noteRefusal(planned.account, result);
          onResult(planned, result);
        },
      });
    this.#open.set(account.name, dispatcherOf(account));
    // All accounts are of one service.
    this.#hostOf = account.service.hostOf;
    const hosts = Object.entries(account.service.hosts ?? {});
    this.#hosts.set(
      account.name,
      new Map(hosts.map(([host, { limit }]) => [host, dispatcherOf(atHost(account, host, limit), host)])),
    );
  }

  /** Has an account called no more. @returns ends its dispatcher; null: it is not called */
  remove(name: string): ((end: (dispatcher: Dispatcher) => Promise<void>) => Promise<void>) | null {
    if (!this.#open.has(name)) return null;
    const leaving = this.#allOf(name);
    this.#open.delete(name);
    this.#hosts.delete(name);
    for (const one of leaving) this.#leaving.add(one);
    return async (end) => {
      await Promise.all(leaving.map((one) => end(one).finally(() => this.#leaving.delete(one))));
    };
  }

  get(account: string): Dispatcher | undefined {
    return this.#open.get(account);
  }

  /** What the next collector has to know of an account's budgets; null: the account is not called here. */
  handOver(account: string): HandedOver | null {
    const base = this.#open.get(account)?.budget.handOver();
    const further = [...(this.#hosts.get(account) ?? [])];
    if (!base || further.length === 0) return base ?? null;
    return {
      ...base,
      hosts: Object.fromEntries(further.map(([host, { budget }]) => [host, budget.handOver()])),
    };
  }

  get all(): readonly Dispatcher[] {
    return [...this.called, ...this.#leaving];
  }

  get called(): readonly Dispatcher[] {
    return [...this.#open.keys()].flatMap((name) => this.#allOf(name));
  }

  /** That of the base host first. */
  #allOf(account: string): Dispatcher[] {
    const base = this.#open.get(account);
    return base ? [base, ...(this.#hosts.get(account)?.values() ?? [])] : [];
  }

  /** The queue of a call; one without an account is the first account's. Undefined: the account is not called here. */
  queueOf({ account, call }: Pick<PlannedCall, "account" | "call">): AccountQueue | undefined {
    const [name, base] = [...this.#open].find(([its]) => account === null || its === account) ?? [];
    if (name === undefined || !base) return undefined;
    const host = this.hostOf(call);
    return { name, host, dispatcher: (host && this.#hosts.get(name)?.get(host)) || base };
  }

  hostOf(call: QuoteCall): string | undefined {
    return this.#hostOf?.(call);
  }

  /** Dispatches a call. @returns why nobody can make it; null: it is dispatched */
  add(planned: PlannedCall): MissReason | null {
    const { shares } = this.#given;
    const { account } = planned;
    if (account !== null && shares) {
      // A watchlist that is pinned to an account without a share is nobody else's.
      const isIdle = !shares.takesPart(account) && !this.#probing.has(account);
      if (isIdle || shares.isElsewhere(account)) return "down";
    }
    // The first one has the calls of an account that is gone.
    const queue = this.queueOf(planned) ?? this.queueOf({ ...planned, account: null });
    queue?.dispatcher.add(planned);
    return queue ? null : "down";
  }

  /** The account that can ask for what another was refused, while the slot lasts; null: none can. */
  standIn({ account, call, wants, once }: PlannedCall): string | null {
    const { shares } = this.#given;
    const [name] = wants.keys();
    if (account === null || name === undefined || call.form === "watchlist") return null;
    // What a further host refuses is no refusal of the account, which would be asked again for ever.
    if (this.hostOf(call) !== undefined) return null;
    const isRefused = (other: string): boolean => shares?.stateOf(other) === "refused";
    if (once) return once.accounts.find((other) => this.#open.has(other) && !isRefused(other)) ?? null;
    return shares?.standIn(name, call.delayed) ?? null;
  }

  /** The same calls, one of them for each account that is to be probed: what it is refused, the others ask for. */
  *probed(planned: Iterable<PlannedCall>): IterableIterator<PlannedCall> {
    const { shares, clock } = this.#given;
    const probed = shares?.toProbe(clock.monotonicMs()) ?? [];
    this.#probing = new Set(probed);
    for (const call of planned) {
      const account = call.call.form === "watchlist" ? undefined : probed.shift();
      yield account === undefined ? call : { ...call, account };
    }
  }

  removeWaiting(): PlannedCall[] {
    return this.all.flatMap((dispatcher) => dispatcher.removeWaiting());
  }

  get status() {
    const accounts = Array.from(this.#open, ([name, { budget }]): CalledStatus => {
      const all = this.#allOf(name);
      return {
        name,
        state: this.#given.shares?.stateOf(name) ?? "active",
        callsUsed: budget.callsUsed,
        queued: sum(all, ({ queued }) => queued),
        budget: budget.state,
        lastError: firstError(all),
      };
    });
    return {
      accounts,
      callsUsed: sum(accounts, ({ callsUsed }) => callsUsed),
      limit: sum(accounts, ({ budget }) => budget.limit),
      queued: sum(this.all, ({ queued }) => queued),
      lastError: firstError(accounts),
    };
  }

  async idle(): Promise<void> {
    // What one is refused goes to another, which may have been idle already.
    do await Promise.all(this.all.map((dispatcher) => dispatcher.idle()));
    while (this.all.some(({ queued }) => queued > 0));
  }

  #noteRefusal(account: string | null, result: Result): void {
    const { shares, clock } = this.#given;
    // A call may end after its account has gone to another collector.
    if (!shares || account === null || !this.#open.has(account) || result.kind !== "answered") return;
    if (result.answer.outcome === "quotes") shares.forgetRefusal(account);
    else if (refusesCredentials(result.answer)) shares.refused(account, clock.monotonicMs());
  }
}

/** An account as a further host has it: its key, session and lease are the account's, the budget and what is known of it the host's. */
function atHost(account: CalledAccount, host: string, { calls, windowMs }: Limit): CalledAccount {
  const { governor, inherited, history, onClosed: _, ...same } = account;
  return {
    ...same,
    governor: { ...governor, limit: calls, windowMs, mayRise: true },
    // The calls of a run before count at each host: that is too many, for a window. That nothing may be sent is noted of the base host.
    history: history && { ...history, closedForMs: 0 },
    ...(inherited && { inherited: { ...inherited, handed: handedFor(host, inherited.handed) } }),
  };
}

function firstError(all: readonly Pick<CalledStatus, "lastError">[]): Error | null {
  return all.find(({ lastError }) => lastError !== null)?.lastError ?? null;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
