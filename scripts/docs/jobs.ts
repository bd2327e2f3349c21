/** `docs/jobs.md`, from the schemas of job files and of the calendar file. */
import { jobSchema } from "../../src/schedule/jobSchema.ts";
import { CONTRACT_COSTS, titlesWith } from "../../src/services/registry.ts";
import { calendarFileSchema } from "../../src/market/calendar/overrides.ts";
import { codeBlock, GENERATED, paragraphs } from "./markdown.ts";
import { type OptionSchema, optionSchema, optionsTable } from "./options.ts";

/** Job files that the page shows; a test reads them as job files. */
export const JOB_EXAMPLES = {
  equities: `# Four equities, once a minute in the regular session: one call a minute.
name: us-equities
schedule: "* * * * *"
timezone: America/New_York
session: regular
priority: 5
symbols: [AAPL, MSFT, GE, IBM]`,
  file: `# The symbols of a file beside this one, every five minutes, before and after the regular session too.
name: watched
schedule: "*/5 * * * *"
session: any
symbolsFile: ./watched.txt`,
  watchlist: `# Delayed quotes of a watchlist of the account, every weekday at a quarter past four in New York.
name: after-the-close
schedule: "15 16 * * MON-FRI"
delayed: true
session: post
watchlist: DEFAULT`,
  options: `# Two contracts: two calls at each slot.
name: two-contracts
schedule: "*/10 * * * *"
options:
  - { underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: 150 }
  - { underlying: AAPL, expiration: 2026-12-18, type: PUT, strike: 152.5 }`,
  chain: `# Calls and puts of the next three monthly expirations, strikes within 10 percent of the last price.
name: aapl-chain
schedule: "0,30 9-16 * * MON-FRI"
priority: 1
chains:
  - underlying: AAPL
    expirations: { next: 3, kind: monthly }
    strikes: { around: last, percent: 10, step: 5 }
    types: [CALL, PUT]`,
  namedChain: `# The same with expirations and strikes that are named.
name: aapl-december
schedule: "*/15 * * * *"
chains:
  - underlying: AAPL
    expirations: [2026-12-18, 2027-01-15]
    strikes: [150, 152.5, 155]
    types: [CALL]`,
  wholeChain: `# All that the service lists, at a service that has whole chains: a call for each expiration.
name: spx-whole
schedule: "*/5 * * * *"
symbols: [SPX]
chains:
  - { underlying: SPX, expirations: listed, strikes: all }`,
} as const;

/** A calendar file that the page shows; a test reads it as one. */
export const CALENDAR_EXAMPLE = `overrides:
  - { date: 2027-03-12, kind: closed, reason: Day of mourning }
  - { date: 2027-07-02, kind: early, close: 13:00 }`;

/** The page. */
export function jobsPage(): string {
  const job = optionSchema(jobSchema);
  const chain = itemsOf(job, "chains");
  const yaml = (text: string): string => codeBlock("yaml", text);
  return paragraphs(
    GENERATED,
    "# Job files",
    "Source: `src/schedule/jobSchema.ts`, `src/market/optionChain.ts` and `src/market/calendar/overrides.ts`.",
    "A job says what is polled and when. Every file `*.yaml` or `*.yml` in the jobs directory (`QUOTEKEEPER_JOBS_DIR`, by default `jobs/`) is one job, except `calendar.yaml` and [`accounts.yaml`](accounts.md). `quotekeeper jobs check` names every problem at once, with file and line; `start` does not start while there is one.",
    yaml(JOB_EXAMPLES.equities),
    "## Options of a job",
    optionsTable(job),
    "A job has one of `symbols`, `symbolsFile` and `watchlist`, and may have `options` and `chains` in addition, or only these. A symbol that two jobs name is asked for once.",
    "The simulated market never closes: there every job polls around the clock, whatever its `session`.",
    yaml(JOB_EXAMPLES.file),
    yaml(JOB_EXAMPLES.watchlist),
    "The fields of `schedule` are minute, hour, day of month, month and day of week. If both days are given, both have to match. An expression that begins with `*` stands in quotes.",
    "## `options`: single contracts",
    optionsTable(itemsOf(job, "options")),
    yaml(JOB_EXAMPLES.options),
    "## `chains`: many contracts",
    optionsTable(chain),
    "`expirations` is `listed`, a list of dates, or a map:",
    optionsTable(mapOf(chain, "expirations")),
    "A contract is asked for until the close of its date, or, where opening prices settle it ([SPX on third Fridays, VIX](sql.md#when-a-contract-ends)), of the session before. `next` counts those that are not over. With `strikes: all` a date has contracts of all roots, and is asked for until its close. VIX has its dates on Wednesdays: write `listed`, or the dates.",
    "`strikes` is `all`, a list of decimals, or a map:",
    optionsTable(mapOf(chain, "strikes")),
    `\`percent\` is above 0 and at most 100, \`step\` is above 0. ${CONTRACT_COSTS} Count them before you widen a chain: expirations times strikes times types.`,
    yaml(JOB_EXAMPLES.chain),
    yaml(JOB_EXAMPLES.namedChain),
    "## Whole chains",
    `With \`strikes: all\` an expiration is asked for as a whole, by one call: calls and puts of all roots. With \`expirations: listed\` the service is asked once a day, from the close of the session before, which expirations there are. ${titlesWith("chain")} have whole chains and lists of expirations; \`quotekeeper jobs check\` refuses them for a service that has not.`,
    "In the ledger a whole chain is one thing: `chain SPX:2026-12-18` is due at a slot, and is stored when a contract of it is. Until the list has come, `chain of SPX as listed` is due in its place.",
    yaml(JOB_EXAMPLES.wholeChain),
    "## `calendar.yaml`: your own word on trading days",
    "The program knows the sessions, holidays and early closes of the exchange. Write one that it cannot know into `calendar.yaml` in the jobs directory; that file wins.",
    "",
    "The archive goes by the same file: a running collector takes a change over within seconds, and so does every command that writes. `sessions` follows, and with it bars, surfaces and expirations, also of old days. Keep the file the same on all machines of one archive: the last command wins.",
    optionsTable(itemsOf(optionSchema(calendarFileSchema), "overrides")),
    yaml(CALENDAR_EXAMPLE),
  );
}

function itemsOf({ properties }: OptionSchema, name: string): OptionSchema {
  return properties?.[name]?.items ?? {};
}

function mapOf({ properties }: OptionSchema, name: string): OptionSchema {
  return properties?.[name]?.anyOf?.find(({ type }) => type === "object") ?? {};
}
