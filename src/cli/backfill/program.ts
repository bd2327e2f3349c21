/** The command line of `quotekeeper backfill`. */
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Instant, instantFromDate } from "../../clock.ts";
import type { AddCommand } from "../command.ts";
import type { CommonRequest } from "./report.ts";
import { setFlagsFromString } from "node:v8";
import { Temporal } from "temporal-polyfill";
import { addDays, exchangeInstant } from "../../market/calendar/dates.ts";
import { isCalendarDate } from "../../quotes-api/dateText.ts";
import { parseInstant } from "../arguments.ts";

type Options = CommonRequest & {
  journal?: string | true;
  xml?: string[];
  csv?: string;
  parquet?: string;
  symbolsFile?: string;
  chain: string[];
  gaps: boolean;
  from?: Instant;
  to?: Instant;
  rebuild: boolean;
  map?: string;
  timePattern?: string;
  name?: string;
  delayed: boolean;
  restart: boolean;
};

/** Sources, and which of the other options each takes besides those that all take. */
const SOURCES: Readonly<Record<string, { flag: string; takes: readonly (keyof Options)[] }>> = {
  journal: { flag: "--journal", takes: ["from", "to", "rebuild"] },
  xml: { flag: "--xml", takes: ["timePattern", "name", "delayed", "from", "to"] },
  csv: { flag: "--csv", takes: ["map", "name", "from", "to"] },
  parquet: { flag: "--parquet", takes: [] },
  sweep: { flag: "--symbols-file or --chain", takes: ["symbolsFile", "chain", "delayed", "restart"] },
  gaps: { flag: "--gaps", takes: ["from", "to"] },
};

/** Options that belong to some sources only, with their spelling. */
const SPECIAL: readonly [keyof Options, string][] = [
  ["from", "--from"],
  ["to", "--to"],
  ["rebuild", "--rebuild"],
  ["map", "--map"],
  ["timePattern", "--time-pattern"],
  ["name", "--name"],
  ["delayed", "--delayed"],
  ["restart", "--restart"],
];

/** One of its sources, and what goes with it; each is a file of its own, loaded when it is asked for. */
export const addBackfill: AddCommand = (command, { run, edges }) => {
  command
    .option(
      "--journal [directory]",
      "read raw answers again, from this machine's journal or from the journal or data directory that you name",
    )
    .option("--xml <paths...>", "saved answers of the service: files or directories, also .gz, .zip, .tar.gz")
    .option(
      "--csv <path>",
      "quotes from elsewhere, a file that needs --map; or the directory of an export in CSV",
    )
    .option("--parquet <directory>", "the directory of an export in Parquet")
    .option("--map <file>", "YAML file that says what the columns of the CSV file mean")
    .option("--symbols-file <file>", "poll every symbol of a file once, within the budget")
    .option(
      "--chain <chain>",
      "poll every contract of an option chain once, such as AAPL or AAPL:next=3,kind=monthly,percent=10; repeatable",
      (text: string, before: string[]) => [...before, text],
      [],
    )
    .option("--gaps", "list the gaps of the ledger, and fill those that the journal can fill", false)
    .addOption(
      new Option(
        "--from <time>",
        "from this time on: an exchange date, YYYY-MM-DD, or a time with its offset",
      ).argParser(parseFrom),
    )
    .addOption(
      new Option(
        "--to <time>",
        "up to this exchange date, included, or up to this time, not included",
      ).argParser(parseTo),
    )
    .option(
      "--rebuild",
      "with --journal: replace the rows that are there, each exchange date in one step",
      false,
    )
    .option(
      "--time-pattern <pattern>",
      "with --xml: where the file's name has the time, such as %Y%m%d-%H%M%S",
    )
    .option("--name <name>", "with --xml and --csv: the source's name in the archive; default: xml or csv")
    .option("--delayed", "the quotes are delayed; with a sweep: ask for delayed ones", false)
    .option("--restart", "begin an interrupted sweep anew", false)
    .option("--dry-run", "change nothing; say exactly what would change", false)
    .option("--json", "print JSON", false)
    .action((options: Options) => {
      const kind = chosenSource(options, command);
      const { dryRun, json, from = null, to = null, name = null, delayed } = options;
      if (from !== null && to !== null && from >= to)
        command.error(`error: --from ${from} is not before --to ${to}`, { exitCode: 2 });
      const common = { dryRun, json };
      keepHeapSmall();
      return run(async (config) => {
        switch (kind) {
          case "journal": {
            const directory = options.journal === true ? null : (options.journal ?? null);
            return (await import("./journal.ts")).backfillJournal(config, edges, {
              ...common,
              ...{ directory, from, to, rebuild: options.rebuild },
            });
          }
          case "xml":
            return (await import("./xml.ts")).backfillXml(config, edges, {
              ...common,
              ...{ paths: options.xml ?? [], timePattern: options.timePattern ?? null },
              ...{ name, delayed, from, to },
            });
          case "csv":
            return (await import("./csv.ts")).backfillCsv(config, edges, {
              ...common,
              ...{ file: options.csv ?? "", map: options.map ?? null, name, from, to },
            });
          case "parquet":
            return (await import("./exported.ts")).backfillExported(config, edges, {
              ...{ ...common, format: "parquet", directory: resolve(edges.directory, options.parquet ?? "") },
            });
          case "sweep":
            return (await import("./sweep/runSweep.ts")).backfillSweep(config, edges, {
              ...common,
              ...{ symbolsFile: options.symbolsFile ?? null, chains: options.chain },
              ...{ delayed, restart: options.restart },
            });
          case "gaps":
            return (await import("./gaps.ts")).backfillGaps(config, edges, { ...common, from, to });
        }
      });
    });
};

type Source = "journal" | "xml" | "csv" | "parquet" | "sweep" | "gaps";

function chosenSource(options: Options, command: Command): Source {
  const fail = (detail: string): never => command.error(`error: ${detail}`, { exitCode: 2 });
  const given: Source[] = [
    ...(options.journal !== undefined ? (["journal"] as const) : []),
    ...(options.xml !== undefined ? (["xml"] as const) : []),
    ...(options.csv !== undefined ? (["csv"] as const) : []),
    ...(options.parquet !== undefined ? (["parquet"] as const) : []),
    ...(options.symbolsFile !== undefined || options.chain.length > 0 ? (["sweep"] as const) : []),
    ...(options.gaps ? (["gaps"] as const) : []),
  ];
  const [kind, second] = given;
  if (kind === undefined || second !== undefined)
    return fail("give one of --journal, --xml, --csv, --parquet, --symbols-file or --chain, --gaps");
  const wrong = SPECIAL.find(
    ([option]) => isGiven(options[option]) && !SOURCES[kind]?.takes.includes(option),
  );
  if (wrong) return fail(`${wrong[1]} does not go with ${SOURCES[kind]?.flag}`);
  return kind;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false;
}

/** By how much of what is alive the heap may grow before it is collected. */
const GROWTH_PERCENT = 100;

/**
 * Left to itself V8 lets some 40 MB of living rows grow to 180 MB before it looks for what is dead: a replay of
 * 300,000 quotes peaked at 274 MB, and at 195 MB so, for a tenth more processor time.
 */
function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/** The first instant that is meant: of a date, its midnight at the exchange. */
export function parseFrom(text: string): Instant {
  return isCalendarDate(text) ? midnight(text) : parseTime(text);
}

/** The first instant that is no longer meant: of a date, the next one's midnight at the exchange. */
export function parseTo(text: string): Instant {
  return isCalendarDate(text) ? midnight(addDays(text, 1)) : parseTime(text);
}

function midnight(date: string): Instant {
  return instantFromDate(exchangeInstant(Temporal.PlainDate.from(date), "00:00"));
}

function parseTime(text: string): Instant {
  try {
    return parseInstant(text);
  } catch {
    throw new InvalidArgumentError(
      "Expected an exchange date, 2026-11-17, or a time with its offset, 2026-11-17T10:00:00-05:00.",
    );
  }
}
