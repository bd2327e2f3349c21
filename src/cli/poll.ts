/** `quotekeeper poll`: one poll now, through journal and archive, printed as a table. */
import { Option } from "commander";
import type { OptionContract } from "../market/instrument.ts";
import { parseContract, parseSymbols, parseWatchlist } from "./arguments.ts";
import { openCallsByHand } from "./callsByHand.ts";
import type { AddCommand } from "./command.ts";
import { resolve } from "node:path";
import { loadAll } from "../archive/load/loader.ts";
import { migrate } from "../archive/schema/migrations.ts";
import type { QuoteLine } from "../archive/ask/dashboardTypes.ts";
import { readQuotesOf } from "../archive/ask/quotes.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { instantFromDate } from "../clock.ts";
import type { Collected } from "../run/pipeline.ts";
import { type QuoteCall } from "../quotes/call.ts";
import { readGuesses } from "../run/didYouMean.ts";
import type { Edges } from "../run/edges.ts";
import { type Archive, withArchive } from "../run/archive.ts";
import { QuotekeeperError } from "../errors.ts";
import { type Account, lackOfDelayed, onlyDelayed } from "../accounts/account.ts";
import { accountsToCall } from "../run/operatorsWord.ts";
import type { OpenFeed } from "../run/feed.ts";
import { openStations } from "../run/stations.ts";
import { lackOfContract } from "../schedule/polledJob.ts";
import { readCalendarDays } from "../schedule/readJobs.ts";
import { say } from "./terminal/harmless.ts";
import { reportPoll, unknownIn } from "./pollReport.ts";

type PollOptions = {
  symbols?: string[];
  watchlist?: string;
  option?: OptionContract[];
  delayed: boolean;
  account?: string;
  json: boolean;
};

export const addPoll: AddCommand = (command, { run, edges }) => {
  const forms = ["symbols", "watchlist", "option"];
  const conflicting = (option: Option): Option =>
    option.conflicts(forms.filter((name) => name !== option.attributeName()));
  command
    .addOption(
      conflicting(
        new Option("--symbols <list>", "symbols, separated by commas; repeatable").argParser(
          (text, before: string[] = []) => [...new Set([...before, ...parseSymbols(text)])],
        ),
      ),
    )
    .addOption(
      conflicting(new Option("--watchlist <id>", "a watchlist of the account").argParser(parseWatchlist)),
    )
    .addOption(
      conflicting(
        new Option(
          "--option <contract>",
          "an option contract, as UNDERLYING:YYYY-MM-DD:CALL|PUT:STRIKE; repeatable, a call each",
        ).argParser((text, before: OptionContract[] = []) => [...before, parseContract(text)]),
      ),
    )
    .option("--delayed", "ask for delayed quotes", false)
    .option("--account <name>", "the account that asks; default: the first that is not drained")
    .option("--json", "print JSON", false)
    .allowExcessArguments()
    .action((options: PollOptions) => {
      const calls = callsOf(options);
      if (command.args.length > 0)
        command.error(`error: poll takes no words: give --symbols ${command.args.join(",")}`, {
          exitCode: 2,
        });
      if (calls.length === 0)
        command.error("error: give one of --symbols, --watchlist or --option", { exitCode: 2 });
      const { account = null, json } = options;
      return run((config) => poll(config, edges, { calls, account, json }));
    });
};

function callsOf({ symbols, watchlist, option, delayed }: PollOptions): QuoteCall[] {
  if (symbols) return [{ form: "symbols", symbols: [...symbols], delayed }];
  if (watchlist !== undefined) return [{ form: "watchlist", watchlist, delayed }];
  return (option ?? []).map((contract) => ({ form: "option", contract, delayed }));
}

/** What to poll; exactly one of the three forms, checked when it was parsed. `account` null: whichever. */
type PollRequest = { calls: QuoteCall[]; account: string | null; json: boolean };

/** @returns 0 when every instrument asked for was stored, 1 otherwise */
async function poll(config: Config, edges: Edges, { calls, ...request }: PollRequest): Promise<number> {
  const { clock, bootId, stderr } = edges;
  const [account] = await accountsToCall(config, request.account);
  if (!account) throw new RangeError("there is an account to call");
  const asked = calls.flatMap((call) => asTaken(call, account));
  const stations = await openStations(config, {
    clock,
    bootId,
    upkeep: false,
    tell: (_level, message) => say(stderr, message),
  });
  const collected: Collected[] = [];
  let feed: OpenFeed | null = null;
  try {
    const open = await stations.open(account);
    ({ feed } = open);
    if (feed.simulated)
      say(
        stderr,
        "SIMULATED market: these quotes are made up. Set QUOTES_SERVICE or QUOTES_BASE_URL to poll a real account.",
      );
    const ask = await openCallsByHand(config, edges, { account, open, stations });
    for (const call of asked) collected.push(...(await ask(call)));
  } finally {
    await feed?.close();
    await stations.close();
  }
  // The answers are on disk: from here on nothing can be lost, whatever the database says.
  const calendar = await readCalendarDays(resolve(config.jobsDir));
  const { lines, guesses } = await withArchive(config, edges, async (archive) => ({
    lines: await store(archive, { dir: stations.dir, edges, collected, calendar }),
    guesses: await readGuesses(archive.pool, collected.flatMap(unknownIn)),
  }));
  return reportPoll(lines, { collected, guesses, edges, json: request.json });
}

/** A call as the account's service takes it, in several where a list is long. @throws QuotekeeperError USAGE: it has no such quotes */
function asTaken(call: QuoteCall, account: Account): QuoteCall[] {
  const { title, forms, batch } = account.service;
  if (!forms.includes(call.form))
    throw new QuotekeeperError("USAGE", `${title} has no quotes of the form ${call.form}: name the symbols`);
  const lack = call.form === "option" ? lackOfContract(call.contract, account.service) : null;
  if (lack !== null) throw new QuotekeeperError("USAGE", `--option: ${lack}`);
  const noDelayed = call.delayed ? lackOfDelayed(account) : null;
  if (noDelayed !== null) throw new QuotekeeperError("USAGE", `--delayed: ${noDelayed}`);
  const taken = { ...call, delayed: onlyDelayed(account) ?? call.delayed };
  if (taken.form !== "symbols") return [taken];
  return Array.from({ length: Math.ceil(taken.symbols.length / batch.first) }, (_, place) => ({
    ...taken,
    symbols: taken.symbols.slice(place * batch.first, (place + 1) * batch.first),
  }));
}

/** Where the journal is, what it was given, and what the operator says of single days, as far as he does. */
type Stored = {
  dir: string;
  edges: Edges;
  collected: readonly Collected[];
  calendar: Awaited<ReturnType<typeof readCalendarDays>>;
};

async function store(archive: Archive, { dir, edges, collected, calendar }: Stored): Promise<QuoteLine[]> {
  const { clock, stderr } = edges;
  await migrate(archive.pool, instantFromDate(clock.now()), { calendar });
  // All of the journal: an earlier poll may have met a database that was down.
  await loadAll({
    pool: archive.pool,
    journalDir: dir,
    clock,
    onDamage: ({ segment, offset, unreadable }) =>
      say(stderr, unreadable ?? `damaged bytes in the journal were passed over: ${segment} at ${offset}`),
  });
  return readQuotesOf(
    archive.pool,
    collected.map(({ record }) => record.observedAt),
  );
}
