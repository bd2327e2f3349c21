/**
 * Applies the operator's wishes from the database, and writes the resulting state of each account back. Days of the calendar that
 * the operator's file changes are written there too.
 */
import { join, resolve } from "node:path";
import type pg from "pg";
import { z } from "zod";
import { accountNamed, type Accounts, areSome } from "../accounts/account.ts";
import { requireAccounts } from "../accounts/accountsFile.ts";
import { keepAccounts, type KeptAccount, readAccountRows } from "../archive/ledger/accountRows.ts";
import { keepCalendarDays } from "../archive/schema/sessions.ts";
import { atMost, type Clock } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { Log } from "../ground/log.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";
import type { AccountsCalled } from "./accountsCalled.ts";
import type { Collector } from "./collector.ts";

/** How often is looked, in ms; and how long a start waits for the first look. */
const LOOK_EVERY_MS = 2_000;
const FIRST_LOOK_MS = 1_000;

/** What the operator wanted last, for a start while the database is away. */
const WANTED_FILE = "accounts.json";

const wantedSchema = z.strictObject({ drained: z.array(z.string()) });

type OperatorOptions = {
  pool: pg.Pool;
  dataDir: string;
  accounts: Pick<AccountsCalled, "all" | "sharing">;
  collector: Pick<Collector, "status" | "drain">;
  calendar: () => readonly CalendarOverride[];
  clock: Clock;
  log: Log;
};

/** Drains what the operator wants drained, and tells the database what is so and its calendar, until it is stopped. A database that is away is asked again. */
export async function followOperator(told: OperatorOptions): Promise<() => void> {
  const { clock } = told;
  let drained = await readDrained(told.dataDir);
  let kept: KeptAccount[] = [];
  let keptDays: readonly CalendarOverride[] | null = null;
  if (drained.length > 0) told.collector.drain(drained);

  const look = async (): Promise<void> => {
    const { pool, accounts, collector, log } = told;
    const days = told.calendar();
    if (days !== keptDays) await keepCalendarDays(pool, days);
    keptDays = days;
    const wanted = drainedIn(await readAccountRows(pool));
    if (wanted.join() !== drained.join()) {
      drained = wanted;
      collector.drain(wanted);
      log.info({ drained: wanted }, "other accounts are drained from the next slot on");
      await keepDrained(told.dataDir, wanted);
    }
    const { accounts: states } = collector.status();
    const now = accounts.all.map(({ account }): KeptAccount => ({
      name: account.name,
      callLimit: account.limit,
      windowMs: account.limitWindowMs,
      state: states.find(({ name }) => name === account.name)?.state ?? "active",
    }));
    if (JSON.stringify(now) === JSON.stringify(kept)) return;
    const sharing = accounts.sharing.map(({ name }) => name);
    const gone = kept.flatMap(({ name }) => (sharing.includes(name) ? [] : [name]));
    await keepAccounts(pool, now, gone);
    kept = now;
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
  return (await readJson(join(dataDir, WANTED_FILE), wantedSchema))?.drained ?? [];
}

/** Has programs on this data directory know it, also while the database is away; as far as it can be written. */
export async function keepDrained(dataDir: string, drained: string[]): Promise<void> {
  await keepJson(join(dataDir, WANTED_FILE), { drained } satisfies z.infer<typeof wantedSchema>);
}

export function drainedIn(rows: Awaited<ReturnType<typeof readAccountRows>>): string[] {
  return rows.filter(({ wanted }) => wanted === "drained").map(({ name }) => name);
}

/**
 * The accounts that a program beside calls: the one that is named, or all that are not drained.
 *
 * @throws QuotekeeperError ACCOUNT_UNKNOWN, JOBS_INVALID; ACCOUNTS_DRAINED where all are
 */
export async function accountsToCall(config: Config, name: string | null): Promise<Accounts> {
  const accounts = await requireAccounts(resolve(config.jobsDir), config);
  if (name !== null) return [accountNamed(name, accounts)];
  const drained = await readDrained(resolve(config.dataDir));
  const called = accounts.filter((account) => !drained.includes(account.name));
  if (areSome(called)) return called;
  throw new QuotekeeperError("ACCOUNTS_DRAINED", `all accounts are drained: ${drained.join(", ")}`);
}
