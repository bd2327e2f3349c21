/** Watchlists from a file: ids, each with its symbols. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { QuotekeeperError } from "../../errors.ts";

/** Symbols by the id of their watchlist. */
export type Watchlists = ReadonlyMap<string, readonly string[]>;

/** No watchlists. */
export const NO_WATCHLISTS: Watchlists = new Map();

const SYMBOL = z
  .string()
  .regex(/^\S{1,64}$/, "a symbol is text without blanks; quote what looks like a number");

/** `DEFAULT: [AAPL, MSFT]`, or `DEFAULT: AAPL, MSFT`. */
const FILE = z.record(
  z.string().regex(/^[^\s,]{1,64}$/, "an id has no blanks and no commas"),
  z.union([
    z.array(SYMBOL).min(1),
    z
      .string()
      .transform((list) => list.split(",").map((symbol) => symbol.trim()))
      .pipe(z.array(SYMBOL).min(1)),
  ]),
);

/**
 * Reads a YAML file such as
 *
 *     DEFAULT: [AAPL, MSFT, BRK.B]
 *     options: [AAPL261218C00150000, "AAPL:2026-12-18:PUT:150"]
 *
 * @throws QuotekeeperError WATCHLISTS_INVALID with every problem
 */
export function readWatchlists(file: string): Watchlists {
  let content: unknown;
  try {
    content = parse(readFileSync(file, "utf8"), { schema: "failsafe" });
  } catch (cause) {
    throw new QuotekeeperError("WATCHLISTS_INVALID", `${file}: ${(cause as Error).message.trim()}`, {
      cause,
    });
  }
  const read = FILE.safeParse(content ?? {});
  if (read.success) return new Map(Object.entries(read.data));
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join(".") || "the file"}: ${message}`,
  );
  throw new QuotekeeperError("WATCHLISTS_INVALID", `${file}: ${problems.join("; ")}`);
}
