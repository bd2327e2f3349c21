/** A chain in a job file stands for many option contracts: expirations x strikes x types. */
import { z } from "zod";
import { QuotekeeperError } from "../errors.ts";
import type { Calendar } from "./calendar/tradingCalendar.ts";
import { isDateText } from "./calendar/dates.ts";
import { isExpired, nextExpirations } from "./expirations.ts";
import {
  inCapitals,
  isStrike,
  isSymbol,
  type OptionContract,
  plainStrike,
  SYMBOL_FORM,
} from "./instrument.ts";
import { byDecimal, strikesAround } from "./strikesAround.ts";

/** A number or text; becomes text without needless zeros. */
const decimal = z
  .union([z.number(), z.string()], { error: "expected a decimal number" })
  .transform(String)
  .refine(isStrike, "expected a decimal above 0")
  .transform(plainStrike);

const dateText = z.string().refine(isDateText, "expected a date that exists, YYYY-MM-DD");

export const chainSchema = z.strictObject({
  underlying: z
    .string()
    .refine((text) => isSymbol(text), `expected a symbol: ${SYMBOL_FORM}`)
    .transform(inCapitals)
    .describe("Symbol of the underlying."),
  expirations: z
    .union(
      [
        z.strictObject({
          next: z
            .int({ error: ({ code }) => (code === "invalid_type" ? "expected a whole number" : undefined) })
            .min(1)
            .max(60)
            .describe("How many expirations, counted from today."),
          kind: z
            .enum(["monthly", "weekly"])
            .default("monthly")
            .describe(
              "monthly: third Fridays. weekly: every Friday. If that is a holiday, the session before it.",
            ),
        }),
        z.array(dateText).min(1),
      ],
      { error: 'expected { next, kind } or a list of dates, such as ["2026-12-18"]' },
    )
    .describe("The next expirations, or their dates."),
  strikes: z
    .union(
      [
        z.strictObject({
          around: z.literal("last").describe("The underlying's last price."),
          percent: decimal
            .refine((text) => Number(text) <= 100, "expected at most 100")
            .describe("How far from it, in percent, on either side."),
          step: decimal.describe("Strikes are the multiples of it."),
        }),
        z.array(decimal).min(1),
      ],
      { error: "expected { around: last, percent, step } or a list of strikes, such as [150, 155]" },
    )
    .describe("Strikes around the last price, or the strikes themselves."),
  types: z
    .array(z.enum(["CALL", "PUT"]))
    .min(1)
    .default(["CALL", "PUT"])
    .describe("Calls, puts or both."),
});

export type Chain = z.infer<typeof chainSchema>;

/** Where each contract is a call of its own, this many take half an hour of 60 calls a minute. */
const MAX_CHAIN_CONTRACTS = 2_000;

/**
 * The contracts a chain stands for today, by expiration, strike (ascending) and type, each once, without expired ones.
 * None when the strikes depend on a last price of 0.
 *
 * @param last the underlying's last price, decimal text
 * @param today exchange date, `YYYY-MM-DD`
 * @throws CHAIN_INVALID when `last` is no decimal, or for more than MAX_CHAIN_CONTRACTS
 */
export function expandChain(
  chain: Chain,
  last: string,
  { today, calendar }: { today: string; calendar: Calendar },
): OptionContract[] {
  const { underlying, expirations, strikes, types } = chain;
  const dates = Array.isArray(expirations)
    ? [...new Set(expirations)].sort().filter((expiration) => !isExpired({ expiration }, today))
    : nextExpirations(expirations, today, calendar);
  const optionTypes = [...new Set(types)];
  const most = Math.floor(MAX_CHAIN_CONTRACTS / Math.max(1, dates.length * optionTypes.length));
  const prices = Array.isArray(strikes)
    ? [...new Set(strikes)].sort(byDecimal)
    : strikesAround(last, strikes, most);
  if (prices.length > most) {
    throw new QuotekeeperError(
      "CHAIN_INVALID",
      `the chain of ${underlying} stands for more than ${MAX_CHAIN_CONTRACTS} contracts`,
    );
  }
  return dates.flatMap((expiration) =>
    prices.flatMap((strike) =>
      optionTypes.map((optionType) => ({ underlying, expiration, optionType, strike })),
    ),
  );
}
