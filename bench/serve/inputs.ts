/** What the servers are started with, and what they are asked. */
import { randomBytes } from "node:crypto";
import type { Credentials } from "../../src/services/oauth/signature.ts";
import { LISTED_SYMBOLS } from "../../src/serve/simulated/companies.ts";

const word = (): string => randomBytes(12).toString("hex");

/** Twenty tokens: the service remembers a bounded number of nonces for each. */
export const CREDENTIALS: readonly Credentials[] = Array.from({ length: 20 }, () => ({
  consumerKey: word(),
  consumerSecret: word(),
  accessToken: word(),
  accessTokenSecret: word(),
}));

/** Budgets so large that they refuse nobody: it is not they that are measured. */
export const SERVE_ENV = {
  QUOTES_LIMIT: "100000",
  QUOTES_LIMIT_WINDOW_MS: "1",
  QUOTEKEEPER_LOG_LEVEL: "warn",
} as const;

/** The command line of `serve`. */
export function serveArgv(program: string, source: string, ...flags: string[]): string[] {
  const keys = CREDENTIALS.flatMap((key) => [
    "--key",
    [key.consumerKey, key.consumerSecret, key.accessToken, key.accessTokenSecret].join(":"),
  ]);
  return [program, "serve", "--source", source, "--port", "0", ...keys, ...flags];
}

/** Symbols that are asked for: the well-known ones, then made-up ones. */
export const SYMBOLS: readonly string[] = [
  ...LISTED_SYMBOLS,
  ...Array.from({ length: 400 }, (_, number) => `SIM${String(number).padStart(4, "0")}`),
];

/** Targets of calls for so many symbols each, in turn through the well-known companies, or through all. */
export function targetsOf(symbols: number, count: number): string[] {
  const among = symbols === 1 ? LISTED_SYMBOLS : SYMBOLS;
  return Array.from({ length: count }, (_, call) => {
    const from = (call * 7) % among.length;
    const some = Array.from({ length: symbols }, (_, place) => among[(from + place) % among.length]);
    return `/v1/market/quotes.xml?symbols=${some.join("%2C")}&delayed=false`;
  });
}
