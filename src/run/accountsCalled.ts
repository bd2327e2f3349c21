/** The accounts of a running collection: opened, given to the collector, and closed when they go. */
import { type Account, accountKey } from "../accounts/account.ts";
import type { CalledAccount, Collector } from "../collect/collector.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { type Calendar, createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { Leases } from "./leases.ts";
import type { AccountStations, Stations } from "./stations.ts";

/** What they are opened through, and who takes them. */
type AccountsOptions = {
  stations: Pick<Stations, "open">;
  leases: Pick<Leases, "take" | "giveUp">;
  called: (open: AccountStations) => CalledAccount;
};

/** The accounts that are called now. */
export class AccountsCalled {
  readonly #options: AccountsOptions;
  #open: AccountStations[] = [];

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** Opens the first ones, whose leases are taken. @returns they, for the collector */
  async open(accounts: readonly Account[]): Promise<CalledAccount[]> {
    // One after the other, so that those that are open are closed when one fails.
    for (const account of accounts) this.#open.push(await this.#options.stations.open(account));
    return this.#open.map(this.#options.called);
  }

  /** They, in their order. */
  get all(): readonly AccountStations[] {
    return this.#open;
  }

  /** The market that an account calls; until that has answered, and of one that is gone, the one that another calls. */
  sourceOf(name = DEFAULT_ACCOUNT): LedgerSource {
    const own = this.#open.find(({ account }) => account.name === name)?.feed;
    const all = [own, ...this.#open.map(({ feed }) => feed)];
    const answered = all.map((feed) => feed?.answeredAs() ?? null).find((market) => market !== null);
    return answered ?? (own ?? this.#open[0]?.feed)?.ledgerSource() ?? "account";
  }

  /** The markets that all of them call: one, unless something is wrong. */
  get sources(): ReadonlySet<LedgerSource> {
    return new Set(this.#open.map(({ account }) => this.sourceOf(account.name)));
  }

  /** The trading calendar to keep. */
  calendar(overrides: readonly CalendarOverride[]): Calendar {
    return this.#open[0]?.feed.calendar(overrides) ?? createCalendar(overrides);
  }

  /**
   * Goes on with these accounts. Those that are as before are not touched; one that has changed goes, and comes anew
   * with what is noted of its calls.
   *
   * @throws what keeps a new one from being opened: then those before go on, all of them
   */
  async replace(accounts: readonly Account[], collector: Pick<Collector, "replaceAccounts">): Promise<void> {
    const { stations, leases, called } = this.#options;
    const gone = this.#open.filter(({ account }) => !accounts.some((other) => isSame(account, other)));
    const come = accounts.filter((account) => !this.#open.some((open) => isSame(account, open.account)));
    if (gone.length + come.length === 0) return;
    const opened: AccountStations[] = [];
    const taken: Account[] = [];
    try {
      for (const account of come) {
        await leases.take(account);
        taken.push(account);
        opened.push(await stations.open(account));
      }
    } catch (error) {
      for (const { feed } of opened) await feed.close();
      for (const account of taken) await leases.giveUp(account);
      throw error;
    }
    const before = this.#open;
    this.#open = accounts.flatMap(
      (account) => [...opened, ...before].find((open) => isSame(open.account, account)) ?? [],
    );
    const leaving = collector.replaceAccounts(
      gone.map(({ account }) => account.name),
      opened.map(called),
    );
    void leaving.then(async () => {
      for (const { account, feed } of gone) {
        await feed.close();
        await leases.giveUp(account);
      }
    });
  }

  /** Cuts off what is under way. */
  async close(): Promise<void> {
    for (const { feed } of this.#open) await feed.close();
  }
}

function isSame(one: Account, other: Account): boolean {
  const identity = ({ name, limit, limitGiven, limitWindowMs }: Account): string =>
    JSON.stringify([name, limit, limitGiven, limitWindowMs]);
  return identity(one) === identity(other) && accountKey(one) === accountKey(other);
}
