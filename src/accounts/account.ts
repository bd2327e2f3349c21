/** An account as a value: its name, its service and credentials, and the calls that it allows. Pure. */
import { createHmac } from "node:crypto";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { experimentalNote } from "../services/registry.ts";
import { optionValue, type OptionValues } from "../services/service.ts";

/** An account that is polled. Its credentials stay in this process: all others know its name and limit. */
export type Account = Readonly<{
  name: string;
  /** What becomes of its calls while the database does not confirm its lease; absent: they go on with care. */
  whenUnsure?: "stop" | "go";
  /** Where it logs in; absent: where its service says. */
  loginUrl?: string | undefined;
}> &
  Pick<Config, "service" | "feed" | "limit" | "limitGiven" | "limitWindowMs">;

/** Accounts that were read without a problem: one at least. */
export type Accounts = readonly [Account, ...Account[]];

export function areSome(accounts: readonly Account[]): accounts is Accounts {
  return accounts.length > 0;
}

/** What accounts hang on besides their file. */
export type AccountSettings = Omit<Account, "name"> &
  Pick<Config, "simulatedAccounts" | "variable" | "secretsDir" | "ownFiles">;

/** The account of the environment's variables, or the simulated ones: what is polled where there is no accounts.yaml. */
export function settingsAccounts({
  service,
  feed,
  loginUrl,
  limit,
  limitGiven,
  limitWindowMs,
  simulatedAccounts,
}: AccountSettings): Accounts {
  const each = { service, feed, loginUrl, limit, limitGiven, limitWindowMs };
  const others = feed.kind === "simulated" ? simulatedAccounts - 1 : 0;
  return [
    Object.freeze({ name: DEFAULT_ACCOUNT, ...each }),
    ...Array.from({ length: others }, (_, place) =>
      Object.freeze({ name: `simulated-${place + 2}`, ...each }),
    ),
  ];
}

/**
 * What accounts call: the simulated market, or a service at an address; null where their file does not say it. `words`: the address
 * for people, with the name of a service that has addresses of its own. `note`: what has to be said of an experimental one.
 */
export function marketOf([first]: readonly Account[]): {
  simulated: boolean;
  address: string | null;
  words: string | null;
  note: string | null;
} {
  if (first?.feed.kind !== "account")
    return { simulated: first !== undefined, address: null, words: null, note: null };
  const { service, feed } = first;
  const isNamed = service.addresses.length > 0;
  return {
    simulated: false,
    address: feed.baseUrl,
    words: isNamed ? `${service.title}, ${feed.baseUrl}` : feed.baseUrl,
    note: experimentalNote(service),
  };
}

/** Whether all quotes of an account are delayed, or none of them; null: each call says which it wants. */
export function onlyDelayed({ service, feed }: Pick<Account, "service" | "feed">): boolean | null {
  if (feed.kind === "simulated" || service.asksDelayed) return null;
  return service.addresses.some(({ baseUrl, delayed }) => delayed && baseUrl === feed.baseUrl);
}

/** Why delayed quotes cannot be asked for; null: they can. */
export function lackOfDelayed(account: Pick<Account, "service" | "feed">): string | null {
  if (onlyDelayed(account) !== false) return null;
  const { title, sourceOf } = account.service;
  return sourceOf
    ? `${title} has no calls for delayed quotes, for its feed says whether they are: leave that out`
    : `${title} has no delayed quotes at this address`;
}

/** Several accounts as one: their calls together, in a window of the first. */
export function inOne(accounts: Accounts): Omit<Account, "name"> {
  const [{ service, feed, loginUrl, limitWindowMs }] = accounts;
  const limit = accounts.reduce((sum, one) => sum + (one.limit * limitWindowMs) / one.limitWindowMs, 0);
  return {
    service,
    feed,
    loginUrl,
    limit: Math.max(1, Math.floor(limit)),
    limitWindowMs,
    limitGiven: accounts.every(({ limitGiven }) => limitGiven),
  };
}

/** The account of a name. @throws QuotekeeperError ACCOUNT_UNKNOWN */
export function accountNamed(name: string, accounts: readonly Account[]): Account {
  const found = accounts.find((account) => account.name === name);
  if (found) return found;
  const names = accounts.map((account) => account.name).join(", ");
  throw new QuotekeeperError("ACCOUNT_UNKNOWN", `${name} is no account of ${names}`);
}

/** The values of the options of an account's service, chosen or by default; undefined: the service has none. */
export function accountOptions({
  service,
  feed,
}: Pick<Account, "service" | "feed">): OptionValues | undefined {
  if (feed.kind === "simulated" || !service.options) return undefined;
  return Object.fromEntries(service.options.map((one) => [one.name, optionValue(one, feed.options)]));
}

/**
 * Which account is polled, as other collectors can compare it: the same for all that have the same address and credentials.
 * Keyed with the secrets, so that who reads it can not even try guesses. Of simulated markets there is one to a database: their
 * rows are of one source.
 */
export function accountKey({ service, feed }: Pick<Account, "service" | "feed">): string {
  if (feed.kind === "simulated") return "simulated";
  const { identity, secrets } = service.credentials;
  const valuesOf = (names: readonly string[]): string[] => names.map((name) => feed.credentials[name] ?? "");
  return createHmac("sha256", JSON.stringify(valuesOf(secrets)))
    .update(JSON.stringify(["quotekeeper account", feed.baseUrl, ...valuesOf(identity)]))
    .digest("hex")
    .slice(0, 32);
}
