/** `quotekeeper backfill`: its options, and which source they choose. Only the chosen source's file is loaded. */
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { type Instant, instantFromDate } from "../../ground/clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { Edges } from "../../ground/edges.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { collectAfterGrowthOf } from "../../ground/smallHeap.ts";
import { addDays, exchangeInstant, isDateText } from "../../market/calendar/dates.ts";
import { parseInstant } from "../arguments.ts";
import { command, flag, flagOf, type Given, option } from "../command.ts";
import { backfillJson, type CommonRequest } from "./report.ts";

const options = {
  journal: option(
    "[directory]",
    "read raw answers again, from this machine's journal or from the journal or data directory that you name",
  ),
  xml: option("<paths...>", "saved answers of the service: files or directories, also .gz"),
  csv: option(
    "<paths...>",
    "files of quotes whose columns have the archive's names, or that --map describes, also .gz; or the directory of an export in CSV",
  ),
  parquet: option("<directory>", "the directory of an export in Parquet"),
  map: option("<file>", "with --csv: a SELECT that makes the archive's columns of a vendor's"),
  symbolsFile: option("<file>", "poll every symbol of a file once, within the budget"),
  chain: option(
    "<chain>",
    "poll every contract of an option chain once, such as AAPL or AAPL:next=3,kind=monthly,percent=10; repeatable",
    (text, before: string[] = []) => [...before, text],
  ),
  gaps: flag("list the gaps of the ledger, and fill those that the journal can fill"),
  from: option(
    "<time>",
    "from this time on: an exchange date, YYYY-MM-DD, or a time with its offset",
    parseFrom,
  ),
  to: option("<time>", "up to this exchange date, included, or up to this time, not included", parseTo),
  rebuild: flag("with --journal: replace the rows that are there, each exchange date in one step"),
  timePattern: option("<pattern>", "with --xml: where the file's name has the time, such as %Y%m%d-%H%M%S"),
  name: option(
    "<name>",
    "with --xml and --csv: the source's name in the archive; default: xml, or the name of the file or of the map",
  ),
  replace: flag("with --csv: rows take the place of earlier ones of the same source, instrument and time"),
  delayed: flag("the quotes are delayed; with a sweep: ask for delayed ones"),
  restart: flag("begin an interrupted sweep anew"),
  account: option("<name>", "with a sweep: the account that polls; default: all that are not drained"),
  dryRun: flag("change nothing; read and check the input"),
};

type Options = Given<typeof options>;

type Source = {
  flag: string;
  isChosen: (given: Options) => boolean;
  /** Options that not every source takes. */
  takes: readonly (keyof Options)[];
  refill: (config: Config, edges: Edges, given: Options & CommonRequest) => Promise<number>;
};

const SOURCES: readonly Source[] = [
  {
    flag: "--journal",
    isChosen: ({ journal }) => journal !== null,
    takes: ["from", "to", "rebuild"],
    refill: async (config, edges, { journal, ...given }) => {
      const directory = journal === true ? null : journal;
      return (await import("./replayJournal.ts")).backfillJournal(config, edges, { ...given, directory });
    },
  },
  {
    flag: "--xml",
    isChosen: ({ xml }) => xml !== null,
    takes: ["timePattern", "name", "delayed", "from", "to"],
    refill: async (config, edges, { xml, ...given }) =>
      (await import("./xml.ts")).backfillXml(config, edges, { ...given, paths: xml ?? [] }),
  },
  {
    flag: "--csv",
    isChosen: ({ csv }) => csv !== null,
    takes: ["map", "name", "replace", "from", "to"],
    refill: async (config, edges, { csv, ...given }) =>
      (await import("./csv.ts")).backfillCsv(config, edges, { ...given, files: csv ?? [] }),
  },
  {
    flag: "--parquet",
    isChosen: ({ parquet }) => parquet !== null,
    takes: [],
    refill: async (config, edges, { parquet, ...given }) => {
      const directory = resolve(edges.directory, parquet ?? "");
      const { backfillExported } = await import("./csv.ts");
      return backfillExported(config, edges, { ...given, format: "parquet", directory });
    },
  },
  {
    flag: "--symbols-file or --chain",
    isChosen: ({ symbolsFile, chain }) => symbolsFile !== null || chain !== null,
    takes: ["delayed", "restart", "account"],
    refill: async (config, edges, { chain, ...given }) =>
      (await import("./symbols.ts")).backfillSymbols(config, edges, { ...given, chains: chain ?? [] }),
  },
  {
    flag: "--gaps",
    isChosen: ({ gaps }) => gaps,
    takes: ["from", "to"],
    refill: async (config, edges, given) => (await import("./gaps.ts")).backfillGaps(config, edges, given),
  },
];

export const backfill = command({
  options,
  json: backfillJson,
  check: (given) => {
    const [source, second] = sourcesOf(given);
    if (source === undefined || second !== undefined)
      return `give one of ${SOURCES.map((one) => one.flag).join(", ")}`;
    const names = SOURCES.flatMap(({ takes }) => takes);
    const isGiven = (name: keyof Options): boolean => given[name] !== null && given[name] !== false;
    const wrong = names.find((name) => isGiven(name) && !source.takes.includes(name));
    if (wrong !== undefined) return `${flagOf(wrong)} does not go with ${source.flag}`;
    const { from, to } = given;
    return from !== null && to !== null && from >= to ? `--from ${from} is not before --to ${to}` : null;
  },
  run: async (config, edges, given) => {
    collectAfterGrowthOf(GROWTH_PERCENT);
    const [source] = sourcesOf(given);
    if (!source) throw new QuotekeeperError("UNEXPECTED", "a backfill without a source was not refused");
    return source.refill(config, edges, given);
  },
});

function sourcesOf(given: Options): Source[] {
  return SOURCES.filter(({ isChosen }) => isChosen(given));
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
