/** The schema of a job file: each option's type, default, bound and sentence, in this one place. */
import { z } from "zod";
import { plainName } from "../config/settingKinds.ts";
import { validateCron } from "./cron.ts";
import { chainSchema } from "../market/optionChain.ts";
import {
  isSymbol,
  isWatchlistId,
  namedSymbol,
  type OptionContract,
  plainStrike,
  SYMBOL_FORM,
} from "../market/instrument.ts";
import { isDateText } from "../market/calendar/dates.ts";
import { CONTRACT_COSTS } from "../services/registry.ts";

const SYMBOL = `expected a symbol: ${SYMBOL_FORM}`;
const symbol = z
  .string(SYMBOL)
  .refine((text) => isSymbol(text), SYMBOL)
  .transform(namedSymbol);

/** A thousand calls at each slot. */
export const MAX_SYMBOLS = 100_000;

const DATE = "expected a date that exists, YYYY-MM-DD";
const DECIMAL = "expected a decimal above 0, such as 150 or 2.5";

const strike = z
  .string(DECIMAL)
  .regex(/^\d{1,9}(\.\d{1,6})?$/, { error: DECIMAL, abort: true })
  .refine((text) => /[1-9]/.test(text), DECIMAL)
  .transform(plainStrike);

const optionSchema = z.strictObject({
  underlying: symbol.describe("Symbol of the underlying."),
  expiration: z.string(DATE).refine(isDateText, DATE).describe("Expiration date, YYYY-MM-DD."),
  type: z.enum(["CALL", "PUT"]).describe("Kind of the contract."),
  strike: strike.describe("Strike price, a decimal above 0."),
});

const CRON = 'expected a cron expression, such as "*/5 9-16 * * MON-FRI"';
const PRIORITY = "expected a whole number from -1000 to 1000";

export const jobSchema = z
  .strictObject({
    name: plainName.describe(
      "Name of the job, unique among the files: letters, digits, dots, dashes and underscores, at most 64.",
    ),
    schedule: z
      .string(CRON)
      .superRefine((expression, context) => {
        const problem = validateCron(expression);
        if (problem === null) return;
        context.addIssue({ code: "custom", message: `${CRON} (${problem})` });
      })
      .describe(
        "When the job is due, as a cron expression of 5 fields, or of 6 with seconds first. Put it in quotes.",
      ),
    timezone: z
      .string()
      .default("America/New_York")
      .refine(isTimeZone, "expected an IANA time zone, such as America/New_York")
      .describe("IANA time zone of the schedule."),
    session: z
      .enum(["pre", "regular", "post", "any", "always"])
      .default("regular")
      .describe(
        "Part of the trading day in which the job polls; outside of it the job has no slots. `any` is pre, regular and post together; `always` is around the clock, on holidays too. `regular` ends before the close (16:00, or 13:00 on a half day), so that a slot at the close is one of `post`; a schedule that never falls into its session is refused.",
      ),
    delayed: z
      .boolean()
      .default(false)
      .describe("Whether to ask for delayed quotes instead of real-time ones."),
    priority: z
      .int(PRIORITY)
      .min(-1000, PRIORITY)
      .max(1000, PRIORITY)
      .default(0)
      .describe("Which jobs go first when the budget is short: higher numbers before lower ones."),
    account: plainName
      .optional()
      .describe("Name of the account that alone polls this job (docs/accounts.md). Without it, any of them."),
    symbols: z
      .array(symbol, "expected a list, such as [AAPL, MSFT]")
      .min(1, "expected at least one symbol")
      .max(MAX_SYMBOLS, `expected at most ${MAX_SYMBOLS} symbols`)
      .optional()
      .describe(
        "Symbols to poll, up to 100 in one call. They are text: true, 1E5 and 007 need no quotes. `aapl` is AAPL: symbols are asked for in capitals, here and wherever they are named.",
      ),
    symbolsFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Path of a file of symbols, relative to the job file: one a line or separated by commas, at most 100,000 in 10 MB; # begins a comment at a line's start and behind a blank. The file has to lie in the jobs directory or below it, also when a link leads to it.",
      ),
    watchlist: z
      .string()
      .refine(isWatchlistId, "expected the id of a watchlist: words with one blank between them, no commas")
      .optional()
      .describe("Id of a watchlist of the account, such as DEFAULT; the service knows its symbols."),
    options: z.array(optionSchema).min(1).optional().describe(`Single option contracts. ${CONTRACT_COSTS}`),
    chains: z
      .array(chainSchema)
      .min(1)
      .optional()
      .describe(
        `Chains, which stand for many option contracts; expired ones drop out by themselves. ${CONTRACT_COSTS}`,
      ),
  })
  .superRefine(
    (job, context) => {
      const lists = ["symbols", "symbolsFile", "watchlist"] as const;
      const given = lists.filter((name) => job[name] !== undefined);
      if (given.length > 1) {
        context.addIssue({
          code: "custom",
          path: [given[1] ?? ""],
          message: `a job has only one of ${lists.join(", ")}, and ${given[0]} is there too`,
        });
      }
      if (given.length === 0 && !job.options && !job.chains) {
        context.addIssue({
          code: "custom",
          message: `the job polls nothing: give one of ${lists.join(", ")}, or options, or chains`,
        });
      }
    },
    // Also where something else is wrong: every mistake is reported at once.
    { when: ({ value }) => typeof value === "object" && value !== null },
  );

export type JobFile = z.infer<typeof jobSchema>;

export type Job = {
  name: string;
  file: string;
  schedule: string;
  timezone: string;
  session: JobFile["session"];
  delayed: boolean;
  priority: number;
  /** The account that alone polls the job; absent: any of them. */
  account?: string;
  symbols: readonly string[];
  /** Absolute; null when the symbols stand in the job file. */
  symbolsFile: string | null;
  watchlist: string | null;
  /** Whether its contracts are asked for in lists, by their OCC symbols; absent: each is a call of its own. */
  optionsInList?: true | "apart";
  options: readonly OptionContract[];
  chains: NonNullable<JobFile["chains"]>;
};

/**
 * Options whose values are text whatever they look like: `NaN`, `true`, `1E5` and `007` are symbols, and a strike keeps
 * its digits.
 */
export const TEXT_KEYS: ReadonlySet<string> = new Set([
  "name",
  "schedule",
  "timezone",
  "account",
  "symbols",
  "symbolsFile",
  "watchlist",
  "underlying",
  "expiration",
  "strike",
]);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
