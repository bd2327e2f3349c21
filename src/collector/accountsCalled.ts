/** The accounts that this collector calls: opened when it takes them, given to the collector, and closed when they go. */
import { type Account, accountKey, accountOptions, type Accounts, marketOf } from "../accounts/account.ts";
import type { Fleet } from "../accounts/lease/fleet.ts";
import type { Sharer } from "../accounts/partition.ts";
import type { PlannedService } from "../collect/budgetPlan.ts";
import { type CalledAccount, sharerOf } from "../collect/accountDispatchers.ts";
import { isOnce, type PlannedCall } from "../collect/callPlan.ts";
import type { Send } from "../collect/dispatch/callEnds.ts";
import { type StoredIn } from "../collect/dueShares.ts";
import { type Clock, instantFromDate } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { alwaysOpen, type Calendar, createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { Acquisition } from "../accounts/lease/caller.ts";
import { limitAt } from "../services/registry.ts";
import type { Service } from "../services/service.ts";
import type { Collector } from "./collector.ts";
import type { OnceNote } from "./once/onceJournal.ts";
import { collectCall } from "./pipeline.ts";
import type { AccountStations, CallPath, Stations } from "./stations.ts";

type AccountsOptions = {
  stations: Pick<Stations, "open">;
  called: (open: AccountStations) => CalledAccount;
  accounts: Accounts;
};

type AccountsCollector = Pick<Collector, "replaceAccounts" | "shareAmong" | "startCalling" | "stopCalling">;

export class AccountsCalled {
  readonly #options: AccountsOptions;
  #accounts: Accounts;
  #open: AccountStations[] = [];
  /** The market of the one that went last: its last slots are settled when it is gone. */
  #left: LedgerSource | null = null;
  #isClosed = false;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#accounts = options.accounts;
  }

  /** Opens the first ones. @returns they, for the collector */
  async open(taken: ReadonlyMap<string, Acquisition>): Promise<CalledAccount[]> {
    const called: CalledAccount[] = [];
    // One after the other, so that those that are open are closed when one fails.
    for (const account of this.#accounts) {
      const how = taken.get(account.name);
      if (!how) continue;
      const open = await this.#options.stations.open(account);
      this.#open.push(open);
      called.push(this.#called(open, how));
    }
    return called;
  }

  get all(): readonly AccountStations[] {
    return this.#open;
  }

  get sharing(): Accounts {
    return this.#accounts;
  }

  get service(): Service {
    return this.#accounts[0].service;
  }

  isCalled(name: string): boolean {
    return this.#open.some(({ account }) => account.name === name);
  }

  /** The market that an account calls; until that has answered, and of one that is gone, the one that another calls. */
  sourceOf(name = DEFAULT_ACCOUNT): LedgerSource {
    const own = this.#open.find(({ account }) => account.name === name)?.feed;
    const all = [own, ...this.#open.map(({ feed }) => feed)];
    const answered = all.map((feed) => feed?.answeredAs() ?? null).find((market) => market !== null);
    const market = marketOf(this.#accounts).simulated ? "simulated" : "account";
    return answered ?? (own ?? this.#open[0]?.feed)?.ledgerSource() ?? this.#left ?? market;
  }

  /** The markets that all of them call: one, unless something is wrong. */
  get sources(): ReadonlySet<LedgerSource> {
    const names = this.#open.length > 0 ? this.#open.map(({ account }) => account.name) : [undefined];
    return new Set(names.map((name) => this.sourceOf(name)));
  }

  calendar(overrides: readonly CalendarOverride[]): Calendar {
    return marketOf(this.#accounts).simulated ? alwaysOpen : createCalendar(overrides);
  }

  /** Begins to call an account that another collector, or none, has called until now. */
  async startCalling(
    name: string,
    taken: Acquisition,
    to: { collector: AccountsCollector; storedIn: StoredIn },
  ): Promise<void> {
    const account = this.#accounts.find((one) => one.name === name);
    if (!account || this.isCalled(name)) return;
    const open = await this.#stationsOf(account);
    this.#open = this.#inOrder([...this.#open, open]);
    await to.collector.startCalling(this.#called(open, taken), to.storedIn);
  }

  /** Calls an account no more. @returns resolves when nothing of it is under way */
  async stopCalling(name: string, { collector }: { collector: AccountsCollector }): Promise<void> {
    const gone = this.#open.find(({ account }) => account.name === name);
    if (!gone) return;
    this.#left = this.sourceOf(name);
    this.#open = this.#open.filter((open) => open !== gone);
    await collector.stopCalling(name);
    await gone.feed.close();
  }

  /**
   * Goes on with these accounts. Unchanged accounts keep running. A changed one is reopened with its noted calls. A removed one is
   * called until its lease is released.
   *
   * @throws what keeps a changed one from being opened: then those before go on, all of them
   */
  async replace(accounts: Accounts, collector: AccountsCollector): Promise<void> {
    const changed = accounts.filter(({ name }) => this.#isChanged(name, accounts) && this.isCalled(name));
    const opened: AccountStations[] = [];
    try {
      for (const account of changed) opened.push(await this.#stationsOf(account));
    } catch (error) {
      for (const { feed } of opened) await feed.close();
      throw error;
    }
    const names = changed.map(({ name }) => name);
    const before = this.#open.filter(({ account }) => names.includes(account.name));
    const stays = (name: string): boolean =>
      [this.#accounts, accounts].every((all) => all.some((one) => one.name === name)) &&
      !this.#isChanged(name, accounts);
    const gone = this.#accounts.map(({ name }) => name).filter((name) => !stays(name));
    const come = accounts.filter(({ name }) => !stays(name));
    this.#accounts = accounts;
    this.#open = this.#inOrder([...this.#open.filter((open) => !before.includes(open)), ...opened]);
    collector.shareAmong(gone, come.map(accountSharer));
    if (names.length === 0) return;
    const leaving = collector.replaceAccounts(names, opened.map(this.#options.called));
    void leaving.then(async () => {
      for (const { feed } of before) await feed.close();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { feed } of this.#open) await feed.close();
  }

  /** Closes the stations at once where the program has ended meanwhile: nobody else would. */
  async #stationsOf(account: Account): Promise<AccountStations> {
    const open = await this.#options.stations.open(account);
    if (this.#isClosed) await open.feed.close();
    return open;
  }

  #called(open: AccountStations, { granted, listens }: Acquisition): CalledAccount {
    // After a run of our own that is dead, what was noted of its calls here says more.
    const isAnothers = granted?.how === "released" || granted?.how === "expired";
    const { governor = null, agoMs = null, how = "new" } = granted ?? {};
    return {
      ...this.#options.called(open),
      startsListening: listens,
      whenUnsure: open.account.whenUnsure ?? "go",
      ...(isAnothers && { inherited: { handed: governor, agoMs: agoMs ?? 0, released: how === "released" } }),
    };
  }

  #inOrder(open: readonly AccountStations[]): AccountStations[] {
    const place = (name: string): number => {
      const found = this.#accounts.findIndex((account) => account.name === name);
      return found < 0 ? Infinity : found;
    };
    return [...open].sort((a, b) => place(a.account.name) - place(b.account.name));
  }

  #isChanged(name: string, accounts: readonly Account[]): boolean {
    const [before, now] = [this.#accounts, accounts].map((all) => all.find((one) => one.name === name));
    return before !== undefined && now !== undefined && !isSame(before, now);
  }
}

type CallContext = {
  clock: Pick<Clock, "now">;
  stations: Pick<Stations, "requestId" | "journal">;
  loader: CallPath["loader"];
  /** Awaited before each call; what it gives is asked when the call is about to be written: whether it may leave. */
  lease: Pick<Fleet, "confirm">;
  metered: (send: Send, account: Account) => Send;
};

/** An account as the collector calls it: by its budget, and by the second half of the pipeline. */
export function calledAccount(
  open: AccountStations,
  { clock, stations, loader, lease, metered }: CallContext,
): CalledAccount {
  const path = { ...stations, ...open, loader };
  const send: Send = async (planned, signal, onArrived) => {
    try {
      const mayLeave = await lease.confirm(open.account.name, signal);
      return await collectCall(planned, path, { signal, onArrived, mayLeave });
    } catch (error) {
      if (isOnce(planned)) await noteFailure({ clock, stations }, planned, error);
      throw error;
    }
  };
  return { ...open.budget, send: metered(send, open.account) };
}

/** Somebody who has asked for the call reads in the journal why no answer came. Where that cannot be written, the log says it. */
async function noteFailure(
  { clock, stations: { journal } }: Pick<CallContext, "clock" | "stations">,
  { jobs: [job = ""], slotAt }: PlannedCall,
  error: unknown,
): Promise<void> {
  if (!(error instanceof QuotekeeperError) || slotAt === null) return;
  const { code, detail } = error;
  const note: OnceNote = { type: "once", job, slotAt, code, detail, over: false };
  await journal.append({ kind: "note", at: instantFromDate(clock.now()), note }).catch(() => undefined);
}

export function accountSharer({ name, limit, limitWindowMs }: Account): Sharer {
  return sharerOf({ name, governor: { limit, windowMs: limitWindowMs } });
}

/** The part of the service that a plan depends on. */
export function plannedService(accounts: Accounts): PlannedService {
  const [{ service }] = accounts;
  const { calls, windowMs } = limitAt(service, marketOf(accounts).address);
  return { batchSize: service.batch.first, another: { limit: calls, windowMs } };
}

function isSame(one: Account, other: Account): boolean {
  const identity = (account: Account): string => {
    const { name, limit, limitGiven, limitWindowMs, whenUnsure } = account;
    const calls = [limit, limitGiven, limitWindowMs, whenUnsure];
    return JSON.stringify([name, accountKey(account), accountOptions(account), ...calls]);
  };
  return identity(one) === identity(other);
}
