/**
 * A chain in a job file stands for many option contracts: expirations x strikes x types.
 */
import { z } from "zod";
import { QuotekeeperError } from "../errors.ts";
import type { Calendar } from "./calendar/tradingCalendar.ts";
import { isDateText } from "./calendar/dates.ts";
import { byDecimal, strikesAround } from "./chainStrikes.ts";
import { isExpired, nextExpirations } from "./expirations.ts";
import { isSymbol, type OptionContract, plainStrike } from "./instrument.ts";

/** A positive decimal, as a number or as text; becomes text without needless zeros. */
const decimal = z
  .union([z.number(), z.string()], { error: "expected a decimal number" })
  .transform(String)
  .refine((text) => /^\d{1,9}(\.\d{1,6})?$/.test(text) && /[1-9]/.test(text), "expected a decimal above 0")
  .transform(plainStrike);

const dateText = z.string().refine(isDateText, "expected a date that exists, YYYY-MM-DD");

/** One entry of `chains` in a job file. */
export const chainSchema = z.strictObject({
  underlying: z
    .string()
    .refine((text) => isSymbol(text), "expected a symbol: 1 to 32 characters without spaces and commas")
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
            .describe("monthly: third Fridays. weekly: every Friday."),
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

/** A chain of a job file, checked. */
export type Chain = z.infer<typeof chainSchema>;

/** Most contracts one chain may stand for: each is one call of 60 a minute, so a pass already takes half an hour. */
const MAX_CHAIN_CONTRACTS = 2_000;

/**
 * The contracts a chain stands for today, by expiration, strike (ascending) and type, each once; expired ones
 * are left out. None when the strikes hang on a last price of 0.
 *
 * @param last the underlying's last price, decimal text
 * @param today exchange date, `YYYY-MM-DD`
 * @throws CHAIN_INVALID when `last` is no decimal, or when it would be more than MAX_CHAIN_CONTRACTS
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
