/** Parsers of option values. Each throws what commander shows with exit code 2. */
import { InvalidArgumentError } from "commander";
import { Temporal } from "temporal-polyfill";
import { QuotekeeperError } from "../ground/errors.ts";
import { type Instant, instantOf } from "../ground/clock.ts";
import type { Credentials } from "../services/oauth/signature.ts";
import {
  CONTRACT_EXAMPLE,
  inCapitals,
  isSymbol,
  isWatchlistId,
  namedSymbol,
  type OptionContract,
  readContractName,
} from "../market/instrument.ts";
import { isDateText } from "../market/calendar/dates.ts";

/** The names between commas, each once, at least one. @param noun what a name names */
export function parseNames(text: string, noun: string, example: string): string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length === 0)
    throw new InvalidArgumentError(`It names no ${noun}; expected for example ${example}.`);
  return names;
}

/** `AAPL,MSFT`: at least one symbol, each once, in capitals. @param isRight whether a symbol is one */
export function parseSymbols(text: string, isRight: (symbol: string) => boolean = isSymbol): string[] {
  const symbols = [...new Set(parseNames(text, "symbol", "AAPL,MSFT").map(namedSymbol))];
  const wrong = symbols.find((symbol) => !isRight(symbol));
  if (wrong !== undefined) {
    const remedy = /\S\s+\S/.test(wrong) ? ": put commas between symbols" : "";
    throw new InvalidArgumentError(`${JSON.stringify(wrong)} is not a symbol${remedy}.`);
  }
  return symbols;
}

/** `AAPL:2026-12-18:CALL:150`, or `SPX/SPXW:2026-12-18:CALL:5000`. */
export function parseContract(text: string): OptionContract {
  const contract = readContractName(inCapitals(text));
  if (typeof contract === "string")
    throw new InvalidArgumentError(`${contract}; expected for example ${CONTRACT_EXAMPLE}.`);
  return contract;
}

export function parseWatchlist(text: string): string {
  if (!isWatchlistId(text))
    throw new InvalidArgumentError(
      "Expected the id of a watchlist: words with one blank between them, no commas.",
    );
  return text;
}

/**
 * `consumerKey:consumerSecret:token:tokenSecret`.
 *
 * @throws QuotekeeperError USAGE, because commander would show the value of an InvalidArgumentError, which is a secret
 */
export function parseKey(text: string): Credentials {
  const [consumerKey, consumerSecret, accessToken, accessTokenSecret, ...rest] = text.split(":");
  if (!consumerKey || !consumerSecret || !accessToken || !accessTokenSecret || rest.length > 0) {
    throw new QuotekeeperError(
      "USAGE",
      "--key: expected consumerKey:consumerSecret:token:tokenSecret, four parts between colons",
    );
  }
  return { consumerKey, consumerSecret, accessToken, accessTokenSecret };
}

export function parseWhole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };
}

export function parseDate(text: string): string {
  if (!isDateText(text)) throw new InvalidArgumentError("Expected a date that exists, YYYY-MM-DD.");
  return text;
}

/** A time with its offset, such as `2026-11-17T10:00:00-05:00`, as UTC with microseconds. */
export function parseInstant(text: string): Instant {
  try {
    return instantOf(Temporal.Instant.from(text.trim()).epochNanoseconds / 1_000n);
  } catch {
    throw new InvalidArgumentError(
      "Expected a time with its offset, for example 2026-11-17T10:00:00-05:00 or 2026-11-17T15:00:00Z.",
    );
  }
}

/** Played seconds a second: a number from 0 to 1,000,000. */
export function parseSpeed(text: string): number {
  const speed = Number(text);
  if (!/^\d{1,7}(\.\d{1,6})?$/.test(text) || speed > 1_000_000)
    throw new InvalidArgumentError("Expected a number from 0 (standing still) to 1000000.");
  return speed;
}

/** `https://quotes.example`, with or without a port, and nothing more. */
export function parsePublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new InvalidArgumentError(
      "Expected http or https with host and port alone, such as https://quotes.example.",
    );
  return url;
}

/** What is wrong with the order of two dates; null: nothing. */
export function wrongOrder({ from, to }: { from: string | null; to: string | null }): string | null {
  return from !== null && to !== null && from > to ? `--from ${from} is later than --to ${to}` : null;
}
