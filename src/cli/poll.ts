/** `quotekeeper poll`: one poll now, through journal and archive, printed as a table. */
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
import { command, flag, option, without } from "./command.ts";
import { linesOf, pollJson, reportPoll, unknownIn } from "./pollReport.ts";
import { say } from "./terminal/harmless.ts";

/** Exit code 0 when every instrument asked for was stored, 1 otherwise. */
export const poll = command({
  options: {
    symbols: without(
      ["watchlist", "option"],
      option("<list>", "symbols, separated by commas; repeatable", (text, before: string[] = []) => [
        ...new Set([...before, ...parseSymbols(text)]),
      ]),
    ),
    watchlist: without(["symbols", "option"], option("<id>", "a watchlist of the account", parseWatchlist)),
    option: without(
      ["symbols", "watchlist"],
      option(
        "<contract>",
        "an option contract, as UNDERLYING:YYYY-MM-DD:CALL|PUT:STRIKE; repeatable, a call each",
        (text, before: OptionContract[] = []) => [...before, parseContract(text)],
      ),
    ),
    delayed: flag("ask for delayed quotes"),
    account: option("<name>", "the account that asks; default: the first that is not drained"),
  },
  json: pollJson,
  noWords: (words) => `poll takes no words: give --symbols ${words.join(",")}`,
  check: ({ symbols, watchlist, option: contracts }) =>
    symbols || watchlist !== null || contracts ? null : "give one of --symbols, --watchlist or --option",
  run: (config, edges, { symbols, watchlist, option: given, delayed, account: named, printJson }) =>
    endingAtInterrupt(edges, async (signal) => {
      const contracts = given ?? [];
      const [account] = await accountsToCall(config, named);
      const form = symbols ? "symbols" : watchlist === null ? "option" : "watchlist";
      refuseLacks(account, { form, contracts, delayed });
      const job = onceJob([account], {
        name: "poll",
        delayed: onlyDelayed(account) ?? delayed,
        symbols: symbols ?? [],
        watchlist,
        contracts,
      });
      // The last answer of each call: one that wakes a session is made again.
      const last = new Map<string, OnceAnswer>();
      const onAnswer = (answer: OnceAnswer): void =>
        void last.set(JSON.stringify(answer.record.request), answer);
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
      return reportPoll(answers, {
        ...stored,
        problems: [...failures, ...stored.problems],
        edges,
        printJson,
      });
    }),
});

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
