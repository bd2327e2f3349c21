/** The command `quotekeeper backfill --symbols-file`: many instruments, each asked for once, as a job that is polled once. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { type Account, inOne, lackOfDelayed, onlyDelayed } from "../../accounts/account.ts";
import { addLetterCounts, countLetters, isOfQuote } from "../../archive/load/letterCounts.ts";
import { NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import { COMMAND_LINE, readChain, readSymbolsFile, type SymbolsAsk } from "../../backfill/symbolsAsk.ts";
import { instantFromDate } from "../../ground/clock.ts";
import { dueNames, type DueJob } from "../../collect/asks.ts";
import { planCalls } from "../../collect/callPlan.ts";
import { ChainBook } from "../../collect/chainBook.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { describeProblem, type FileProblem } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { counted, someNames, thousands } from "../../ground/figures.ts";
import type { MissReason } from "../../journal/ledger.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { instrumentName, option } from "../../market/instrument.ts";
import { readTextFile } from "../../ground/plainFiles.ts";
import { describeCall, type QuoteCall } from "../../quotes/call.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import { withArchive } from "../../archive/openArchive.ts";
import { roughly } from "../../market/durations.ts";
import type { Edges } from "../../ground/edges.ts";
import type { OnceAnswer, OnceJournal } from "../../collector/once/onceJournal.ts";
import { accountsToCall } from "../../collector/operatorsWord.ts";
import { lackOfChain, lackOfContract } from "../../schedule/polledJob.ts";
import { readCalendarDays } from "../../schedule/readJobs.ts";
import { errorOf } from "../../services/registry.ts";
import { askOnce, loadJournal, onceJob } from "../askOnce.ts";
import { say } from "../terminal/harmless.ts";
import { backfilling } from "./display.ts";
import { type CommonRequest, printReport } from "./report.ts";

type SymbolsRequest = CommonRequest & {
  /** Path of the symbols file, relative to the working directory; null: there is none. */
  symbolsFile: string | null;
  chains: string[];
  delayed: boolean;
  /** Begin anew although an earlier command of the same was not finished. */
  restart: boolean;
  /** The account that polls; null: all. */
  account: string | null;
};

/** Names that are listed; more are counted. */
const MOST_NAMES = 12;

/** Calls that are listed for people; more are counted. */
const MOST_CALLS = 12;

const SIMULATED =
  "SIMULATED market: these quotes are made up. Set QUOTES_SERVICE or QUOTES_BASE_URL to sweep a real account.";

/** @returns 0 when every instrument was stored, 1 otherwise; of a dry run 0 */
export async function backfillSymbols(
  config: Config,
  edges: Edges,
  request: SymbolsRequest,
): Promise<number> {
  const accounts = await accountsToCall(config, request.account);
  const [first] = accounts;
  if (!first) throw new RangeError("there is an account to call");
  const ask = await readAsk(edges, request, first);
  const delayed = onlyDelayed(first) ?? request.delayed;
  const plan = await planOf(config, edges, { accounts, ask, delayed });
  if (request.dryRun) return forecast(edges, plan, request.json);
  const { symbols, contracts, chains } = ask;
  const name = nameOf(ask, { delayed: request.delayed, first });
  const job = onceJob(accounts, {
    name,
    single: false,
    priority: -1000,
    delayed,
    symbols,
    contracts,
    chains,
  });
  return backfilling({ config, edges, title: "sweeping" }, async ({ display, signal }) => {
    const { log, progress } = display;
    say(edges.stderr, ...(first.feed.kind === "simulated" ? [SIMULATED] : []), ...plan.remarks);
    const tally = new Tally();
    const onLook = ({ fates, due }: OnceJournal): void =>
      progress({
        doing: "polling",
        done: fates.size,
        total: due.size,
        unit: "instruments",
        quotes: tally.report.stored,
      });
    const asked = { job, log, restart: request.restart, signal, onLook, onAnswer: tally.add };
    const { found, resumed } = await askOnce(config, edges, asked).catch((error: unknown) => {
      display.end();
      say(
        edges.stderr,
        `${counted(tally.report.stored, "quote is", "quotes are")} kept; the same command goes on with the rest.`,
      );
      throw error;
    });
    display.end();
    if (found.fates.size === 0) {
      const error = tally.lastError ?? found.failures.at(-1);
      if (error) throw error;
    }
    const problem = await load(config, edges, tally);
    const names = new Set([...namesIn(ask, delayed, first), ...found.due]);
    const { remarks, isWhole } = remarksOf(found, names, problem);
    const { report } = tally;
    printReport(edges, { kind: "sweep", dryRun: false, resumed, report, remarks }, request.json);
    return isWhole && report.deadLetters.length === 0 ? 0 : 1;
  });
}

function remarksOf(
  found: OnceJournal,
  names: ReadonlySet<string>,
  problem: string | null,
): { remarks: string[]; isWhole: boolean } {
  const without = [...names].filter((one) => found.fates.get(one) !== "stored");
  const known = new Set([...found.fates.keys(), ...found.misses.keys(), ...found.due]);
  const expired = [...names].filter((one) => !known.has(one));
  const swept = `${thousands(names.size - without.length)} with a quote, ${thousands(without.length)} without`;
  const later = `Not loaded: ${problem} Whatever loads the journal next stores it, as \`quotekeeper start\` does.`;
  const remarks = [
    `Swept     ${counted(names.size, "instrument")}: ${swept}`,
    ...fateLines(found, expired),
    ...(problem === null ? [] : [later]),
  ];
  return { remarks, isWhole: without.length === 0 && problem === null };
}

/** What the answers hold. */
class Tally {
  report = NOTHING_DONE;
  lastError: QuotekeeperError | null = null;

  readonly add = ({ record, answer, ...place }: OnceAnswer): void => {
    if (answer.outcome !== "quotes") this.lastError = errorOf(answer, record);
    const { units, deadLetters, matched } = rowsOf(record, place);
    const dead = deadLetters.filter(isOfQuote).length;
    const { report } = this;
    this.report = {
      ...report,
      answers: report.answers + 1,
      newAnswers: report.newAnswers + 1,
      read: report.read + units.length + dead,
      stored: report.stored + units.length,
      deadLettered: report.deadLettered + dead,
      deadLetters: addLetterCounts(report.deadLetters, countLetters(deadLetters)),
      missing: report.missing + matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length,
    };
  };
}

/** Loads the journal. @returns why not; null: it is loaded */
async function load(config: Config, edges: Edges, tally: Tally): Promise<string | null> {
  try {
    const { lost } = await withArchive(config, edges, ({ pool }) => loadJournal(config, edges, pool));
    const refused = lost.reduce((sum, { count }) => sum + count, 0);
    const { report } = tally;
    const deadLetters = addLetterCounts(report.deadLetters, lost);
    const stored = Math.max(0, report.stored - refused);
    tally.report = { ...report, stored, deadLettered: report.read - stored, deadLetters };
    return null;
  } catch (error) {
    if (error instanceof QuotekeeperError) return error.message;
    throw error;
  }
}

const FATES: readonly [MissReason, string][] = [
  ["unknown_symbol", "the service does not know"],
  ["absent_from_answer", "not in their answers:"],
  ["malformed", "could not be stored, see dead_letters:"],
  ["refused", "refused by the service, each asked alone:"],
];

/** What became of the instruments that have no quote, a line for each fate. */
function fateLines({ due, fates, misses }: OnceJournal, expired: readonly string[]): string[] {
  const line = (words: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`Without a quote: ${words} ${someNames(names, MOST_NAMES)}`];
  const without = [...due].filter((name) => fates.get(name) !== "stored");
  const told = new Set(FATES.map(([reason]) => reason));
  const left = without.filter((name) => !told.has(misses.get(name) ?? "down"));
  return [
    ...FATES.flatMap(([reason, words]) =>
      line(
        words,
        without.filter((name) => misses.get(name) === reason),
      ),
    ),
    ...line("expired, and not asked:", expired),
    ...(left.length === 0
      ? []
      : [
          `Not polled: ${someNames(left, MOST_NAMES)}. The same command goes on with ${left.length === 1 ? "it" : "them"}.`,
        ]),
  ];
}

/** The same whenever the same instruments are asked of the same service, in whatever order. */
function nameOf(
  { symbols, contracts, chains }: SymbolsAsk,
  { delayed, first }: { delayed: boolean; first: Account },
): string {
  const asked = {
    symbols: symbols.toSorted(),
    contracts: contracts.map((contract) => instrumentName(option(contract))).toSorted(),
    ...{ chains, delayed, service: serviceOf(first.feed) },
  };
  return `sweep-${createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 12)}`;
}

function serviceOf(feed: Config["feed"]): string {
  if (feed.kind === "simulated") return "simulated";
  const { host, pathname } = new URL(feed.baseUrl);
  return `${host}${pathname}`;
}

function namesIn(
  { symbols, contracts }: SymbolsAsk,
  delayed: boolean,
  { service }: Account,
): readonly string[] {
  return dueNames({ job: dueJob({ delayed, service }), symbols, contracts });
}

function dueJob({ delayed, service }: { delayed: boolean; service: Account["service"] }): DueJob["job"] {
  const inList = service.optionsInList && { optionsInList: true as const };
  return { name: "sweep", delayed, priority: -1000, watchlist: null, ...inList };
}

/** The calls that are known before the first, and what is to be said of them. */
async function planOf(
  config: Config,
  edges: Edges,
  { accounts, ask, delayed }: { accounts: readonly Account[]; ask: SymbolsAsk; delayed: boolean },
): Promise<{ remarks: string[]; calls: QuoteCall[] }> {
  const market = inOne(accounts);
  if (!market) throw new RangeError("there is an account to call");
  const calendar = createCalendar((await readCalendarDays(resolve(config.jobsDir))) ?? []);
  const chains = new ChainBook(calendar, () => undefined);
  const now = edges.clock.now();
  const asked = { symbols: ask.symbols, options: ask.contracts, chains: ask.chains };
  const expanded = chains.asked(asked, chains.contractDate(now));
  const end = { slotAt: instantFromDate(now), deadlineMs: Infinity, closes: false };
  const due = { job: dueJob({ delayed, service: market.service }), ...end, ...expanded };
  const planned = planCalls([due], { batchSize: market.service.batch.first }).map(({ call }) => call);
  const isList = ({ form }: QuoteCall): boolean => form === "symbols";
  const calls = [...planned.filter(isList), ...planned.filter((call) => !isList(call))];
  const { pending } = chains.expand(asked, chains.contractDate(now));
  const takesMs = (calls.length * market.limitWindowMs) / market.limit;
  const window = market.limitWindowMs === 60_000 ? "a minute" : `in ${roughly(market.limitWindowMs)}`;
  const remarks = [
    `Sweep     ${counted(dueNames(due).length, "instrument")} in ${counted(calls.length, "call")}`,
    `Time      about ${roughly(takesMs)}: ${counted(market.limit, "call")} ${window}, if nothing else calls`,
    ...pending.map(
      (name) =>
        `Chains    the contracts of the ${name} are not counted: what they hang on is asked for first`,
    ),
  ];
  return { remarks, calls };
}

/** Prints which calls would be made. @returns 0 */
function forecast(
  edges: Edges,
  { remarks, calls }: { remarks: readonly string[]; calls: readonly QuoteCall[] },
  json: boolean,
): number {
  if (json) {
    const lines = [...remarks, ...calls.map((call) => `Call      ${describeCall(call)}`)];
    const report = { ...NOTHING_DONE, answers: calls.length, newAnswers: calls.length };
    printReport(edges, { kind: "sweep", dryRun: true, resumed: false, report, remarks: lines }, true);
    return 0;
  }
  const listed = calls.slice(0, MOST_CALLS).map((call) => `  ${describeCall(call)}`);
  const more = calls.length > MOST_CALLS ? [`  and ${counted(calls.length - MOST_CALLS, "call")} more`] : [];
  say(
    edges.stdout,
    "Nothing was sent. This is what would be polled:",
    ...remarks,
    "Calls:",
    ...listed,
    ...more,
  );
  return 0;
}

/** @throws QuotekeeperError SWEEP_INVALID with all problems of the file, of the chains and of what the service does not have */
async function readAsk(
  { directory }: Pick<Edges, "directory">,
  { symbolsFile, chains, delayed }: SymbolsRequest,
  polled: Account,
): Promise<SymbolsAsk> {
  const noDelayed = delayed ? lackOfDelayed(polled) : null;
  const problems: FileProblem[] =
    noDelayed === null ? [] : [{ file: COMMAND_LINE, line: 1, message: `--delayed: ${noDelayed}` }];
  const ask: SymbolsAsk = { symbols: [], contracts: [], chains: [] };
  if (symbolsFile !== null) {
    const file = await readFileOf(resolve(directory, symbolsFile));
    problems.push(...file.problems);
    [ask.symbols, ask.contracts] = [file.symbols, file.contracts];
    const lack = file.contracts.map((one) => lackOfContract(one, polled.service)).find((one) => one !== null);
    if (lack) problems.push({ file: symbolsFile, line: 1, message: lack });
  }
  for (const text of chains) {
    const read = readChain(text);
    if ("problems" in read) {
      problems.push(...read.problems);
      continue;
    }
    const lack = lackOfChain(read.chain, polled.service);
    if (lack !== null) problems.push({ file: COMMAND_LINE, line: 1, message: `${text}: ${lack}` });
    ask.chains.push(read.chain);
  }
  if (problems.length > 0) throw invalid(problems);
  return ask;
}

async function readFileOf(path: string): Promise<ReturnType<typeof readSymbolsFile>> {
  try {
    return readSymbolsFile(path, await readTextFile(path));
  } catch (error) {
    const message = `the file cannot be read (${(error as NodeJS.ErrnoException).code})`;
    return { symbols: [], contracts: [], problems: [{ file: path, line: 1, message }] };
  }
}

function invalid(problems: readonly FileProblem[]): QuotekeeperError {
  const lines = problems.map((problem) =>
    problem.file === COMMAND_LINE ? `${COMMAND_LINE} ${problem.message}` : describeProblem(problem),
  );
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("SWEEP_INVALID", `${count} in what is to be swept:`, { problems: lines });
}
