/** What `status` says of the logins that services want: who is logged in until when, and whether a person is needed. */
import type { Account } from "../accounts/account.ts";
import type { KnownLeases } from "../accounts/lease/leaseFile.ts";
import type { FleetRows } from "../archive/ledger/fleetTypes.ts";
import { inHoursAndMinutes, inNewYork } from "../market/durations.ts";
import { loginOf, sessionEnd } from "../collect/login/keptSession.ts";
import type { Line, StatusReport } from "./statusJson.ts";

/** So long before the next poll a login that it needs is asked for, in ms: a person has the time to make one. */
const ASKED_BEFORE_MS = 2 * 3_600_000;

type LoginStatus = StatusReport["logins"][number];

/**
 * The accounts whose service wants a login, as this machine has them.
 *
 * @param next the next poll of any job; null: there is none
 * @param isElsewhere whether another collector calls an account, which then has the login
 */
export function readLogins(
  accounts: readonly Account[],
  { dataDir, now, next, isElsewhere }: LoginQuestion,
): LoginStatus[] {
  return accounts.flatMap((account) => {
    const login = loginOf(account);
    if (!login || isElsewhere(account.name)) return [];
    const until = sessionEnd(login, dataDir, now);
    const isNear = next !== null && next.getTime() - now.getTime() <= ASKED_BEFORE_MS;
    return [{ account: account.name, until: until?.toISOString() ?? null, needed: until === null && isNear }];
  });
}

type LoginQuestion = {
  dataDir: string;
  now: Date;
  next: Date | null;
  isElsewhere: (account: string) => boolean;
};

export function calledElsewhere(
  fleet: FleetRows | null,
  own: Pick<KnownLeases, "name"> | null,
): (account: string) => boolean {
  const owners = new Map(fleet?.accounts.map(({ account, owner }) => [account, owner]));
  return (account) => (owners.get(account) ?? own?.name ?? null) !== (own?.name ?? null);
}

/** One line for all of them; none where no service wants a login. */
export function loginLines(logins: readonly LoginStatus[], next: Date | null, now: Date): Line[] {
  if (logins.length === 0) return [];
  const told = logins.map(({ account, until, needed }) => {
    if (until !== null) return `${account} until ${inNewYork(new Date(until))}`;
    const wait =
      next === null ? "" : `, and the next poll is in ${inHoursAndMinutes(next.getTime() - now.getTime())}`;
    const remedy = needed
      ? `: run \`quotekeeper login${logins.length > 1 ? ` --account ${account}` : ""}\``
      : "";
    return `nobody is logged in to ${account}${wait}${remedy}`;
  });
  const state = logins.some(({ needed }) => needed)
    ? "attention"
    : logins.every(({ until }) => until)
      ? "ok"
      : "idle";
  return [{ subject: "login", state, text: told.join("; ") }];
}
