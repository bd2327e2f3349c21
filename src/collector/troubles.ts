/** What changes while the program collects and is worth a line: told when it changes, not while it lasts. */
import { QuotekeeperError } from "../ground/errors.ts";
import type { Log } from "../ground/log.ts";
import type { Collection } from "./collection.ts";

/** A change of the correction below this, in ms, is the same fault. */
const SAME_CORRECTION_MS = 5_000;

type TroubleState = {
  /** What timestamps are corrected by, in ms; 0 while the machine's clock is right. */
  clockCorrectionMs: number;
  /** The last call's error, null when it brought quotes. */
  lastError: Error | null;
};

/** @returns to be called now and then with the collection under way */
export function createEvents(log: Log): (collection: Pick<Collection, "accounts" | "collector">) => void {
  const known = new Map<string, TroubleState>();
  let strange = "";
  return ({ accounts, collector }) => {
    const { accounts: states } = collector.status();
    for (const { account, feed } of accounts.all) {
      const { name } = account;
      const lastError = states.find((state) => state.name === name)?.lastError ?? null;
      const before = known.get(name) ?? { clockCorrectionMs: 0, lastError: null };
      const now = { clockCorrectionMs: feed.clockCorrectionMs(), lastError };
      known.set(name, now);
      sayChanges(log, accounts.all.length > 1 ? { account: name } : {}, { before, now });
    }
    const markets = accounts.all.map(({ account, feed }) => [account.name, feed.answeredAs()]);
    const answered = markets.filter(([, market]) => market !== null);
    const mixed = new Set(answered.map(([, market]) => market)).size > 1 ? JSON.stringify(answered) : "";
    if (mixed !== "" && mixed !== strange)
      log.error(
        { markets: Object.fromEntries(answered) as object },
        "the accounts answer for different markets: their quotes are kept apart, as of two sources",
      );
    strange = mixed;
  };
}

function sayChanges(
  log: Log,
  account: object,
  { before, now }: { before: TroubleState; now: TroubleState },
): void {
  const { clockCorrectionMs: correctionMs, lastError: failing } = before;
  const { clockCorrectionMs, lastError } = now;
  if (clockCorrectionMs === 0 && correctionMs !== 0) log.info(account, "the machine's clock is right again");
  else if (Math.abs(clockCorrectionMs - correctionMs) > SAME_CORRECTION_MS)
    log.warn(
      { ...account, offSeconds: Math.round(-clockCorrectionMs / 1_000) },
      "the machine's clock is off: calls are signed by the service's, but slots are kept by the machine's",
    );
  if (lastError === null && failing !== null)
    log.info(account, notKept(failing) ? "answers are kept again" : "the service answers again");
}

function notKept(error: Error): boolean {
  return error instanceof QuotekeeperError && error.code.startsWith("JOURNAL_");
}
