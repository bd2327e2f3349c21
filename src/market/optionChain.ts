/**
 * A chain in a job file stands for many option contracts: expirations x strikes x types. Where it wants all strikes, an
 * expiration is asked for as a whole, and what it holds is the service's to say.
 */
import { z } from "zod";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Calendar } from "./calendar/tradingCalendar.ts";
import { isDateText } from "./calendar/dates.ts";
import { isExpired, nextExpirations } from "./expirations.ts";
import {
  isStrike,
  isSymbol,
  namedSymbol,
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

const LISTED = "listed";
const ALL = "all";

const BOTH_TYPES = ["CALL", "PUT"] as const;

const chainObject = z.strictObject({
  underlying: z
    .string()
    .refine((text) => isSymbol(text), `expected a symbol: ${SYMBOL_FORM}`)
    .transform(namedSymbol)
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
        z.literal(LISTED),
      ],
      { error: 'expected listed, { next, kind } or a list of dates, such as ["2026-12-18"]' },
    )
    .describe(
      "listed: all that the service lists, asked for once a day. Or the next expirations, or their dates.",
    ),
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
        z.literal(ALL),
      ],
      { error: "expected all, { around: last, percent, step } or a list of strikes, such as [150, 155]" },
    )
    .describe(
      "all: an expiration is one call, and all that it holds is kept. Or strikes around the last price, or the strikes themselves.",
    ),
  types: z
    .array(z.enum(BOTH_TYPES))
    .min(1)
    .default([...BOTH_TYPES])
    .describe("Calls, puts or both."),
});

export const chainSchema = chainObject.refine(
  ({ strikes, types }) => strikes !== ALL || BOTH_TYPES.every((type) => types.includes(type)),
  { path: ["types"], message: "expected calls and puts beside strikes: all, which brings both" },
);

export type Chain = z.infer<typeof chainObject>;

/** All contracts of an underlying and an expiration (`YYYY-MM-DD`), whatever their roots. */
type WholeChain = { underlying: string; expiration: string; strikes: typeof ALL };

export type ExpirationList = { underlying: string; expirations: typeof LISTED };

export type OptionAsk = OptionContract | WholeChain | ExpirationList;

export function isWhole({ strikes }: Pick<Chain, "strikes">): boolean {
  return strikes === ALL;
}

/** Whether the underlying's last price says which contracts a chain stands for. */
export function needsPrice({ strikes }: Pick<Chain, "strikes">): boolean {
  return strikes !== ALL && !Array.isArray(strikes);
}

/** Whether the service's list of expirations says so. */
export function needsList({ expirations }: Pick<Chain, "expirations">): boolean {
  return expirations === LISTED;
}

export function expirationList(underlying: string): ExpirationList {
  return { underlying, expirations: LISTED };
}

/** What is known of underlyings, for chains to be counted by before a call is made. */
export type KnownOfChains = {
  /** Last prices by symbol, decimal text. */
  prices: [symbol: string, last: string][];
  /** Expirations of stored contracts by underlying, `YYYY-MM-DD`, ascending. */
  expirations: [underlying: string, dates: string[]][];
};

export const NOTHING_KNOWN: KnownOfChains = { prices: [], expirations: [] };

type ExpandedBy = {
  /** The underlying's last price, decimal text; null: the chain needs none. */
  last: string | null;
  /** The expirations that the service lists; null: the chain needs none. */
  listed: readonly string[] | null;
  /** Exchange date, `YYYY-MM-DD`. */
  today: string;
  calendar: Calendar;
};

/** Where each contract is a call of its own, this many take half an hour of 60 calls a minute. */
const MAX_CHAIN_CONTRACTS = 2_000;

/**
 * What a chain stands for today, by expiration, strike (ascending) and type, each once, without what is expired. Nothing when the
 * strikes depend on a last price of 0.
 *
 * @throws CHAIN_INVALID when the last price is no decimal, or for more than MAX_CHAIN_CONTRACTS
 */
export function expandChain(chain: Chain, facts: ExpandedBy): (OptionContract | WholeChain)[] {
  const { underlying, strikes, types } = chain;
  const dates = expirationsOf(chain, facts);
  if (strikes === ALL) return dates.map((expiration) => ({ underlying, expiration, strikes }));
  const optionTypes = [...new Set(types)];
  const most = Math.floor(MAX_CHAIN_CONTRACTS / Math.max(1, dates.length * optionTypes.length));
  const prices = Array.isArray(strikes)
    ? [...new Set(strikes)].sort(byDecimal)
    : strikesAround(facts.last ?? "0", strikes, most).filter(isListable);
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

/** No exchange lists a strike that an OCC symbol cannot say: near BRK.A's price there is none. */
function isListable(strike: string): boolean {
  return /^\d{1,5}(?:\.\d{1,3})?$/.test(strike);
}

function expirationsOf(
  { underlying, expirations, strikes }: Chain,
  { listed, today, calendar }: ExpandedBy,
): string[] {
  const isOver = (expiration: string): boolean =>
    isExpired({ underlying, expiration, strikes }, today, calendar);
  if (typeof expirations === "object" && !Array.isArray(expirations))
    return nextExpirations({ ...expirations, isOver }, today, calendar);
  const dates = expirations === LISTED ? (listed ?? []) : expirations;
  return [...new Set(dates)].sort().filter((expiration) => !isOver(expiration));
}
