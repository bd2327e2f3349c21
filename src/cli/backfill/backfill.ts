/** The command line of `quotekeeper backfill`. */
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type Instant, instantFromDate } from "../../ground/clock.ts";
import type { AddCommand } from "../command.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { Edges } from "../../ground/edges.ts";
import { collectAfterGrowthOf } from "../../ground/smallHeap.ts";
import type { CommonRequest } from "./report.ts";
import { addDays, exchangeInstant, isDateText } from "../../market/calendar/dates.ts";
import { parseInstant } from "../arguments.ts";

type Options = CommonRequest & {
  journal?: string | true;
  xml?: string[];
  csv?: string[];
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
  replace: boolean;
  restart: boolean;
  account?: string;
};

type Detail = "from" | "to" | "map" | "timePattern" | "name" | "account";

type GivenOptions = Omit<Options, Detail> & { [Name in Detail]: NonNullable<Options[Name]> | null };

type Source = {
  flag: string;
  isChosen: (options: Options) => boolean;
  takes: readonly (keyof Options)[];
  refill: (config: Config, edges: Edges, given: GivenOptions) => Promise<number>;
};

const SOURCES: readonly Source[] = [
  {
    flag: "--journal",
    isChosen: ({ journal }) => journal !== undefined,
    takes: ["from", "to", "rebuild"],
    refill: async (config, edges, { journal = true, ...given }) => {
      const directory = journal === true ? null : journal;
      return (await import("./replayJournal.ts")).backfillJournal(config, edges, { ...given, directory });
    },
  },
  {
    flag: "--xml",
    isChosen: ({ xml }) => xml !== undefined,
    takes: ["timePattern", "name", "delayed", "from", "to"],
    refill: async (config, edges, { xml: paths = [], ...given }) =>
      (await import("./xml.ts")).backfillXml(config, edges, { ...given, paths }),
  },
  {
    flag: "--csv",
    isChosen: ({ csv }) => csv !== undefined,
    takes: ["map", "name", "replace", "from", "to"],
    refill: async (config, edges, { csv: files = [], ...given }) =>
      (await import("./csv.ts")).backfillCsv(config, edges, { ...given, files }),
  },
  {
    flag: "--parquet",
    isChosen: ({ parquet }) => parquet !== undefined,
    takes: [],
    refill: async (config, edges, { parquet = "", ...given }) => {
      const directory = resolve(edges.directory, parquet);
      const { backfillExported } = await import("./exported.ts");
      return backfillExported(config, edges, { ...given, format: "parquet", directory });
    },
  },
  {
    flag: "--symbols-file or --chain",
    isChosen: ({ symbolsFile, chain }) => symbolsFile !== undefined || chain.length > 0,
    takes: ["symbolsFile", "chain", "delayed", "restart", "account"],
    refill: async (config, edges, { symbolsFile = null, chain: chains, ...given }) => {
      const { backfillSymbols } = await import("./symbols.ts");
      return backfillSymbols(config, edges, { ...given, symbolsFile, chains });
    },
  },
  {
    flag: "--gaps",
    isChosen: ({ gaps }) => gaps,
    takes: ["from", "to"],
    refill: async (config, edges, given) => (await import("./gaps.ts")).backfillGaps(config, edges, given),
  },
];

const SPECIAL: readonly [keyof Options, string][] = [
  ["from", "--from"],
  ["to", "--to"],
  ["rebuild", "--rebuild"],
  ["map", "--map"],
  ["timePattern", "--time-pattern"],
  ["name", "--name"],
  ["delayed", "--delayed"],
  ["replace", "--replace"],
  ["restart", "--restart"],
  ["account", "--account"],
];

export const addBackfill: AddCommand = (command, { run, edges }) => {
  addSources(command);
  addDetails(command).action((options: Options) => {
    const source = chosenSource(options, command);
    const { from = null, to = null, map = null, timePattern = null, name = null, account = null } = options;
    if (from !== null && to !== null && from >= to)
      command.error(`error: --from ${from} is not before --to ${to}`, { exitCode: 2 });
    collectAfterGrowthOf(GROWTH_PERCENT);
    return run((config) =>
      source.refill(config, edges, { ...options, from, to, map, timePattern, name, account }),
    );
  });
};

function addSources(command: Command): Command {
  return command
    .option(
      "--journal [directory]",
      "read raw answers again, from this machine's journal or from the journal or data directory that you name",
    )
    .option("--xml <paths...>", "saved answers of the service: files or directories, also .gz")
    .option(
      "--csv <paths...>",
      "files of quotes whose columns have the archive's names, or that --map describes, also .gz; or the directory of an export in CSV",
    )
    .option("--parquet <directory>", "the directory of an export in Parquet")
    .option("--map <file>", "with --csv: a SELECT that makes the archive's columns of a vendor's")
    .option("--symbols-file <file>", "poll every symbol of a file once, within the budget")
    .option(
      "--chain <chain>",
      "poll every contract of an option chain once, such as AAPL or AAPL:next=3,kind=monthly,percent=10; repeatable",
      (text: string, before: string[]) => [...before, text],
      [],
    )
    .option("--gaps", "list the gaps of the ledger, and fill those that the journal can fill", false);
}

function addDetails(command: Command): Command {
  return command
    .option(
      "--from <time>",
      "from this time on: an exchange date, YYYY-MM-DD, or a time with its offset",
      parseFrom,
    )
    .option("--to <time>", "up to this exchange date, included, or up to this time, not included", parseTo)
    .option(
      "--rebuild",
      "with --journal: replace the rows that are there, each exchange date in one step",
      false,
    )
    .option(
      "--time-pattern <pattern>",
      "with --xml: where the file's name has the time, such as %Y%m%d-%H%M%S",
    )
    .option(
      "--name <name>",
      "with --xml and --csv: the source's name in the archive; default: xml, or the name of the file or of the map",
    )
    .option(
      "--replace",
      "with --csv: rows take the place of earlier ones of the same source, instrument and time",
      false,
    )
    .option("--delayed", "the quotes are delayed; with a sweep: ask for delayed ones", false)
    .option("--restart", "begin an interrupted sweep anew", false)
    .option("--account <name>", "with a sweep: the account that polls; default: all that are not drained")
    .option("--dry-run", "change nothing; read and check the input", false)
    .option("--json", "print JSON", false);
}

function chosenSource(options: Options, command: Command): Source {
  const fail = (detail: string): never => command.error(`error: ${detail}`, { exitCode: 2 });
  const [source, second] = SOURCES.filter(({ isChosen }) => isChosen(options));
  if (source === undefined || second !== undefined)
    return fail(`give one of ${SOURCES.map(({ flag }) => flag).join(", ")}`);
  const wrong = SPECIAL.find(([option]) => isGiven(options[option]) && !source.takes.includes(option));
  if (wrong) return fail(`${wrong[1]} does not go with ${source.flag}`);
  return source;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false;
}

/**
 * How far the heap may grow before V8 collects garbage, in percent of the live bytes. By default V8 lets 40 MB of live rows grow to
 * 180 MB before that. With this a replay of 300,000 quotes peaked at 195 MB instead of 274 MB, for a tenth more processor time.
 */
const GROWTH_PERCENT = 100;

function parseFrom(text: string): Instant {
  return isDateText(text) ? midnight(text) : parseTime(text);
}

/** The first instant behind the range: of a date, the next date's midnight at the exchange. */
function parseTo(text: string): Instant {
  return isDateText(text) ? midnight(addDays(text, 1)) : parseTime(text);
}

function midnight(date: string): Instant {
  return instantFromDate(exchangeInstant(date, "00:00"));
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
