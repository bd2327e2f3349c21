/** The accounts of a running collection: opened, given to the collector, told of in the database, and closed when they go. */
import { join, resolve } from "node:path";
import type pg from "pg";
import { z } from "zod";
import { type Account, accountKey, accountNamed } from "../accounts/account.ts";
import { requireAccounts } from "../accounts/accountsFile.ts";
import { keepAccounts, type KeptAccount, readAccountRows } from "../archive/accountRows.ts";
import { atMost, type Clock } from "../clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import type { CalledAccount, Collector } from "../collect/collector.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import type { Log } from "../log.ts";
import { type Calendar, createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { readTextFile, replaceFile } from "../plainFiles.ts";
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

// What the operator wants of each account stands in the database, and what is so goes there.

/** How often is looked, in ms; and how long a start waits for the first look. */
const LOOK_EVERY_MS = 2_000;
const FIRST_LOOK_MS = 1_000;

/** What the operator wanted last, for a start while the database is away. */
const WANTED_FILE = "accounts.json";

const wantedSchema = z.strictObject({ drained: z.array(z.string()) });

/** What is told, and whom. */
type Told = {
  pool: pg.Pool;
  dataDir: string;
  accounts: Pick<AccountsCalled, "all">;
  collector: Pick<Collector, "status" | "drain">;
  /** Told a number that no other collector of the database has. */
  beNumber: (number: number) => void;
  clock: Clock;
  log: Log;
};

/** Drains what the operator wants drained, and tells the database what is so, until it is stopped. A database that is away is asked again. */
export async function followOperator(told: Told): Promise<() => void> {
  const { clock } = told;
  let drained = await readDrained(told.dataDir);
  let kept = "";
  if (drained.length > 0) told.collector.drain(drained);

  const look = async (): Promise<void> => {
    const { pool, accounts, collector, beNumber, log } = told;
    const wanted = drainedIn(await readAccountRows(pool));
    if (wanted.join() !== drained.join()) {
      drained = wanted;
      collector.drain(wanted);
      log.info({ drained: wanted }, "the operator's word on the accounts holds from the next slot on");
      await keepDrained(told.dataDir, wanted);
    }
    const { accounts: states } = collector.status();
    const now = accounts.all.map(({ account }): KeptAccount => ({
      ...{ name: account.name, callLimit: account.limit, windowMs: account.limitWindowMs },
      state: states.find(({ name }) => name === account.name)?.state ?? "active",
    }));
    if (JSON.stringify(now) === kept) return;
    // Each account has one collector, so the first of its numbers is nobody else's.
    beNumber(Math.min(...(await keepAccounts(pool, now))));
    kept = JSON.stringify(now);
  };

  let looking: Promise<void> | null = null;
  const lookOnce = (): Promise<void> =>
    (looking ??= look()
      // A database that is away, or has not its schema yet, is the loader's to complain of.
      .catch(() => undefined)
      .finally(() => (looking = null)));
  await atMost(FIRST_LOOK_MS, lookOnce(), clock);
  const timer = setInterval(() => void lookOnce(), LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** Names of the accounts that the operator wants drained, as far as this machine knows. */
async function readDrained(dataDir: string): Promise<string[]> {
  try {
    return wantedSchema.parse(JSON.parse(await readTextFile(join(dataDir, WANTED_FILE)))).drained;
  } catch {
    return [];
  }
}

/** Has programs on this data directory know it, also while the database is away; as far as it can be written. */
export async function keepDrained(dataDir: string, drained: string[]): Promise<void> {
  const wanted: z.infer<typeof wantedSchema> = { drained };
  await replaceFile(join(dataDir, WANTED_FILE), JSON.stringify(wanted)).catch(() => undefined);
}

/** Names of the accounts that the operator wants drained. */
export function drainedIn(rows: Awaited<ReturnType<typeof readAccountRows>>): string[] {
  return rows.filter(({ wanted }) => wanted === "drained").map(({ name }) => name);
}

/**
 * The accounts that a program beside calls: the one that is named, or all that are not drained.
 *
 * @throws QuotekeeperError ACCOUNT_UNKNOWN, JOBS_INVALID; ACCOUNTS_DRAINED where all are
 */
export async function accountsToCall(config: Config, name: string | null): Promise<Account[]> {
  const accounts = await requireAccounts(resolve(config.jobsDir), config);
  if (name !== null) return [accountNamed(name, accounts)];
  const drained = await readDrained(resolve(config.dataDir));
  const called = accounts.filter((account) => !drained.includes(account.name));
  if (called.length > 0) return called;
  throw new QuotekeeperError("ACCOUNTS_DRAINED", `all accounts are drained: ${drained.join(", ")}`);
}
