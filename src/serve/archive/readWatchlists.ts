/** Watchlists from a file: ids, each with its symbols. */
import { z } from "zod";
import { parsePlainYaml } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { isKeptSymbol, isWatchlistId } from "../../market/instrument.ts";
import { readTextFileSync } from "../../ground/plainFiles.ts";

export type Watchlists = ReadonlyMap<string, readonly string[]>;

export const NO_WATCHLISTS: Watchlists = new Map();

const SYMBOL = z
  .string()
  .refine(
    (text) => isKeptSymbol(text, 64),
    "a symbol is text without blanks; quote what looks like a number",
  );

/** `DEFAULT: [AAPL, MSFT]`, or `DEFAULT: AAPL, MSFT`. */
const FILE = z.record(
  z.string().refine(isWatchlistId, "an id is words with one blank between them, and no commas"),
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
 *     my tech stocks: [AAPL, MSFT]
 *     options: [AAPL261218C00150000, "AAPL:2026-12-18:PUT:150"]
 *
 * @throws QuotekeeperError WATCHLISTS_INVALID with every problem
 */
export function readWatchlists(file: string): Watchlists {
  let content: unknown;
  try {
    content = parsePlainYaml(readTextFileSync(file).text);
  } catch (error) {
    // Without its cause: a parser's own message quotes the file, whatever that is.
    const { code } = error as { code: string };
    throw new QuotekeeperError("WATCHLISTS_INVALID", `${file} cannot be read (${code})`);
  }
  const read = FILE.safeParse(content ?? {});
  if (read.success) return new Map(Object.entries(read.data));
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join(".") || "the file"}: ${message}`,
  );
  throw new QuotekeeperError("WATCHLISTS_INVALID", `${file}: ${problems.join("; ")}`);
}
