/** Several accounts that share what just fills their limits; all rules are in `npm run bench:governor -- --accounts 4`. */
import { expect, test } from "@jest/globals";
import { keepsAccountBounds, runAccounts } from "../../../bench/governor/accounts.ts";

test.each(["clock minute", "sliding, refused count", "token bucket"] as const)(
  "three accounts, counted by %s, use 99 %% of 180 calls a minute in an hour, and none is refused",
  (rule) => {
    const [outcome] = runAccounts({ count: 3, minutes: 60, seed: 1 }, [rule]);

    expect(outcome).toMatchObject({ rule, allowedCount: 180, refusedCount: 0, dueCounts: [60, 60, 60] });
    expect(outcome && keepsAccountBounds(outcome)).toBe(true);
  },
);

test("an account that is given less than it may call is a bound that is missed", () => {
  const [outcome] = runAccounts({ count: 1, minutes: 10, seed: 1 }, ["sliding"]);

  expect(outcome && keepsAccountBounds({ ...outcome, usedCount: 59.3 })).toBe(false);
  expect(outcome && keepsAccountBounds({ ...outcome, usedCount: 60, refusedCount: 1 })).toBe(false);
});
