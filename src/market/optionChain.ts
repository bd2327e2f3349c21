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

/** Each contract is one call of 60 a minute, so this many already take half an hour. */
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

/** A decimal as `units` of 10^-`scale`: strikes are computed exactly, never as floats. */
type Scaled = { units: bigint; scale: number };

const DECIMAL = /^(\d{1,18})(?:\.(\d{0,18}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * The multiples of `step` from `percent` below `last` to `percent` above it, bounds included, ascending.
 *
 * @param last decimal text, perhaps with an exponent. 0 gives no strike.
 * @param most stops after this many plus one, so that a tiny step cannot fill the memory
 * @throws CHAIN_INVALID when a number is no decimal
 */
export function strikesAround(
  last: string,
  { percent, step }: { percent: string; step: string },
  most: number,
): string[] {
  const price = scaled(last);
  const stride = scaled(step);
  const width = scaled(percent);
  const scale = Math.max(price.scale, stride.scale);
  const priceUnits = price.units * 10n ** BigInt(scale - price.scale);
  const stepUnits = stride.units * 10n ** BigInt(scale - stride.scale);
  if (stepUnits === 0n) throw new QuotekeeperError("CHAIN_INVALID", "the step of the strikes is 0");

  const whole = 100n * 10n ** BigInt(width.scale);
  const divisor = stepUnits * whole;
  const lowest = (priceUnits * (whole - width.units) + divisor - 1n) / divisor;
  const highest = (priceUnits * (whole + width.units)) / divisor;
  const strikes: string[] = [];
  for (let k = lowest > 0n ? lowest : 1n; k <= highest && strikes.length <= most; k++) {
    strikes.push(decimalText({ units: k * stepUnits, scale }));
  }
  return strikes;
}

function byDecimal(a: string, b: string): number {
  const [x, y] = [scaled(a), scaled(b)];
  return Number(x.units * 10n ** BigInt(y.scale) - y.units * 10n ** BigInt(x.scale));
}

function scaled(text: string): Scaled {
  const match = DECIMAL.exec(text);
  if (!match) throw new QuotekeeperError("CHAIN_INVALID", `"${text}" is no decimal number`);
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const scale = fraction.length - Number(exponent);
  const units = BigInt(whole + fraction);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

function decimalText({ units, scale }: Scaled): string {
  const digits = units.toString().padStart(scale + 1, "0");
  const split = digits.length - scale;
  return plainStrike(`${digits.slice(0, split)}.${digits.slice(split)}`);
}
