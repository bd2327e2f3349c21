/** Whether trouble that was seen goes on, or something newer shows that it is over. Pure. */
import type { AccountAnswers } from "../archive/ask/queries.ts";

/**
 * What went wrong this long before the newest slot of its job, or before the newest answer, goes on at most, in ms. Less would let
 * a job that is short of budget every ten minutes look well in between.
 */
export const GOES_ON_MS = 15 * 60_000;

/** Quotes that come so long after a slot began are no part of it, in ms: its other calls may have succeeded. */
const NOT_OF_SLOT_MS = 90_000;

export function isAmongNewest(at: string | undefined, newest: string): boolean {
  return at !== undefined && Date.parse(at) > Date.parse(newest) - GOES_ON_MS;
}

/** Answers of these outcomes after which no call of the same account and form has brought quotes. */
export function unmended(answers: readonly AccountAnswers[], outcomes: readonly string[]): AccountAnswers[] {
  return answers.filter(
    ({ account, form, outcome, lastAt }) =>
      outcomes.includes(outcome) &&
      !answers.some(
        (one) =>
          one.outcome === "quotes" &&
          one.account === account &&
          one.form === form &&
          Date.parse(one.lastAt) > Date.parse(lastAt),
      ),
  );
}

type Miss = { reason: string; account?: string; lastAt: Date };

/**
 * Whether answers since show that what an account missed is mended. What came in whole is missed for other reasons: so one call
 * that succeeds does not show it of a slot that is the newest of its job, unless the credentials were refused, which are of all calls.
 *
 * @param newest slot of its job
 */
export function isMended(
  { reason, account, lastAt }: Miss,
  newest: Date | undefined,
  answers: readonly AccountAnswers[],
): boolean {
  const isOfAll = reason === "unauthorized";
  if (!isOfAll && !(["refused", "malformed"].includes(reason) && newest && newest > lastAt)) return false;
  const own = answers.filter((one) => one.account === account);
  return (
    (isOfAll || own.some(({ outcome }) => outcome === reason)) &&
    unmended(own, [reason]).length === 0 &&
    own.some((one) => one.outcome === "quotes" && Date.parse(one.lastAt) > lastAt.getTime() + NOT_OF_SLOT_MS)
  );
}
