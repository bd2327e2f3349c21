/** What `status` says of each account. */
import { type Account } from "../accounts/account.ts";
import { type AccountRow, accountState, readAccountRows } from "../archive/ledger/accountRows.ts";
import { readBudgetUse, readOtherCalls } from "../archive/ledger/budgetUse.ts";
import { type AccountAnswers } from "../archive/ask/queries.ts";
import { type Archive } from "../archive/openArchive.ts";
import { missedBy, type readLedgerStatus } from "./ledgerStatus.ts";
import type { AccountStatus } from "./statusJson.ts";

type Ledger = Awaited<ReturnType<typeof readLedgerStatus>>;

type AccountFacts = Pick<Ledger, "misses" | "newest"> & { answers: readonly AccountAnswers[]; now: Date };

type CallableAccount = Pick<Account, "name" | "limit" | "limitWindowMs"> & {
  feed: Pick<Account["feed"], "kind">;
};

function calledOf({ name, callLimit, windowMs, state }: AccountRow): CallableAccount[] {
  if (callLimit === null || windowMs === null || state === "gone") return [];
  return [{ name, limit: callLimit, limitWindowMs: windowMs, feed: { kind: "account" } }];
}

export async function readAccountsStatus(
  pool: Archive["pool"],
  configured: readonly Account[],
  { answers, misses, newest, now }: AccountFacts,
): Promise<AccountStatus[]> {
  const rows = await readAccountRows(pool);
  const called: readonly CallableAccount[] = configured.length > 0 ? configured : rows.flatMap(calledOf);
  const used = await readBudgetUse(pool, called, now);
  // In a market of our own nobody else calls.
  const shared = called.filter(({ feed }) => feed.kind === "account");
  const others = shared.length > 0 ? await readOtherCalls(pool, shared, now) : new Map<string, number>();
  return used.map((use, place) => {
    const { name = "", limit = 0, limitWindowMs = 0 } = called[place] ?? {};
    const own = answers.filter(({ account }) => account === name);
    const missed = missedBy(
      misses.filter(({ account }) => account === name),
      newest,
      own,
    );
    return {
      name,
      state: accountState(rows.find((row) => row.name === name)),
      ...use,
      limit,
      windowMs: limitWindowMs,
      otherCalls: others.get(name) ?? 0,
      lastAnswerAt: newestOf(own)?.lastAt ?? null,
      // A refusal does not say of which market it is.
      market: newestOf(own.filter(({ outcome }) => outcome === "quotes"))?.market ?? null,
      missed: Object.fromEntries(missed.map(({ reason, count }) => [reason, count])),
      outOfBudget: missed.some(({ reason, goesOn }) => reason === "budget" && goesOn),
    };
  });
}

function newestOf(answers: readonly AccountAnswers[]): AccountAnswers | null {
  return answers.reduce<AccountAnswers | null>(
    (last, each) => (last && last.lastAt > each.lastAt ? last : each),
    null,
  );
}
