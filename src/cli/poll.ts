/** `quotekeeper poll`: one poll now, through journal and archive, printed as a table. */
import { Option } from "commander";
import { type Account, lackOfDelayed, onlyDelayed } from "../accounts/account.ts";
import { readQuotesOf } from "../archive/ask/quotes.ts";
import { namesOf } from "../collect/asks.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { OptionContract } from "../market/instrument.ts";
import type { QuoteCall } from "../quotes/call.ts";
import { withArchive } from "../archive/openArchive.ts";
import { readGuesses } from "../status/didYouMean.ts";
import { type Edges, endingAtInterrupt } from "../ground/edges.ts";
import type { OnceAnswer, OnceJournal } from "../collector/once/onceJournal.ts";
import { accountsToCall } from "../collector/operatorsWord.ts";
import { lackOfContract } from "../schedule/polledJob.ts";
import { parseContract, parseSymbols, parseWatchlist } from "./arguments.ts";
import { askOnce, loadJournal, NO_LOG, onceJob } from "./askOnce.ts";
import type { AddCommand } from "./command.ts";
import { linesOf, reportPoll, unknownIn } from "./pollReport.ts";
import { say } from "./terminal/harmless.ts";

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
      if (command.args.length > 0)
        command.error(`error: poll takes no words: give --symbols ${command.args.join(",")}`, {
          exitCode: 2,
        });
      if (!options.symbols && options.watchlist === undefined && !options.option)
        command.error("error: give one of --symbols, --watchlist or --option", { exitCode: 2 });
      return run((config) =>
        endingAtInterrupt(edges, (signal) => poll(config, edges, { ...options, signal })),
      );
    });
};

/** @returns 0 when every instrument asked for was stored, 1 otherwise */
async function poll(
  config: Config,
  edges: Edges,
  {
    symbols,
    watchlist,
    option = [],
    delayed,
    account: named,
    json,
    signal,
  }: PollOptions & { signal: AbortSignal },
): Promise<number> {
  const [account] = await accountsToCall(config, named ?? null);
  if (!account) throw new RangeError("there is an account to call");
  const form = symbols ? "symbols" : watchlist === undefined ? "option" : "watchlist";
  refuseLacks(account, { form, contracts: option, delayed });
  const job = onceJob([account], {
    ...{ name: "poll", delayed: onlyDelayed(account) ?? delayed },
    ...{ symbols: symbols ?? [], watchlist: watchlist ?? null, contracts: option },
  });
  // The last answer of each call: one that wakes a session is made again.
  const last = new Map<string, OnceAnswer>();
  const onAnswer = (answer: OnceAnswer): void => void last.set(JSON.stringify(answer.record.request), answer);
  const { found } = await askOnce(config, edges, { job, log: NO_LOG, signal, onAnswer });
  const answers = [...last.values()];
  if (account.feed.kind === "simulated")
    say(
      edges.stderr,
      "SIMULATED market: these quotes are made up. Set QUOTES_SERVICE or QUOTES_BASE_URL to poll a real account.",
    );
  const failures = found.failures.length > 0 ? found.failures : notMade(answers, found);
  const [failure] = failures;
  if (answers.length === 0 && failure) throw failure;
  // The answers are on disk: from here on nothing can be lost, whatever the database says.
  const stored = await store(config, edges, answers).catch((error: unknown) => {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { refused: new Set<string>(), guesses: new Map<string, string>(), problems: [error] };
  });
  return reportPoll(answers, { ...stored, problems: [...failures, ...stored.problems], edges, json });
}

/** Of what no call was made. */
function notMade(answers: readonly OnceAnswer[], { misses }: OnceJournal): QuotekeeperError[] {
  const asked = new Set(answers.flatMap(({ record }) => namesOf(record.request as QuoteCall)));
  return [...misses].flatMap(([name, reason]) =>
    asked.has(name) ? [] : [new QuotekeeperError("NO_QUOTE", `no call was made for ${name} (${reason})`)],
  );
}

/** @throws QuotekeeperError USAGE: the account's service has no such quotes */
function refuseLacks(
  account: Account,
  {
    form,
    contracts,
    delayed,
  }: { form: QuoteCall["form"]; contracts: readonly OptionContract[]; delayed: boolean },
): void {
  const { title, write } = account.service;
  if (!(form in write))
    throw new QuotekeeperError("USAGE", `${title} has no quotes of the form ${form}: name the symbols`);
  const lack = contracts
    .map((contract) => lackOfContract(contract, account.service))
    .find((one) => one !== null);
  if (lack) throw new QuotekeeperError("USAGE", `--option: ${lack}`);
  const noDelayed = delayed ? lackOfDelayed(account) : null;
  if (noDelayed !== null) throw new QuotekeeperError("USAGE", `--delayed: ${noDelayed}`);
}

/** Loads the journal. @returns names of the quotes that the database has refused, and what unknown symbols may have meant */
async function store(config: Config, edges: Edges, answers: readonly OnceAnswer[]) {
  return withArchive(config, edges, async ({ pool }) => {
    await loadJournal(config, edges, pool);
    const stored = await readQuotesOf(
      pool,
      answers.map(({ record }) => record.observedAt),
    );
    const names = new Set(stored.map(({ instrument }) => instrument));
    const refused = new Set(
      linesOf(answers).flatMap(({ instrument }) => (names.has(instrument) ? [] : [instrument])),
    );
    return { refused, guesses: await readGuesses(pool, answers.flatMap(unknownIn)), problems: [] };
  });
}
