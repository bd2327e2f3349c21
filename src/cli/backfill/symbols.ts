/** The command `quotekeeper backfill --symbols-file`: many instruments, each asked for once, as a job that is polled once. */
import { resolve } from "node:path";
import { type Account, lackOfDelayed, onlyDelayed } from "../../accounts/account.ts";
import { addLetterCounts, countLetters, isOfQuote } from "../../archive/load/letterCounts.ts";
import { NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import { COMMAND_LINE, readChain, readSymbolsFile, type SymbolsAsk } from "../../backfill/symbolsAsk.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { describeProblem, type FileProblem } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { counted, someNames, thousands } from "../../ground/figures.ts";
import type { MissReason } from "../../journal/ledger.ts";
import { readTextFile } from "../../ground/plainFiles.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import { withArchive } from "../../archive/openArchive.ts";
import type { Edges } from "../../ground/edges.ts";
import type { OnceAnswer, OnceJournal } from "../../collector/once/onceJournal.ts";
import { accountsToCall } from "../../collector/operatorsWord.ts";
import { lackOfChain, lackOfContract } from "../../schedule/polledJob.ts";
import { errorOf } from "../../services/registry.ts";
import { askOnce, loadJournal, onceJob } from "../askOnce.ts";
import { say } from "../terminal/harmless.ts";
import { backfilling } from "./display.ts";
import { type CommonRequest, printReport } from "./report.ts";
import { forecast, nameOf, namesIn, planOf } from "./symbolsPlan.ts";

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

const MOST_NAMES = 12;

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
  const ask = await readAsk(edges, request, first);
  const delayed = onlyDelayed(first) ?? request.delayed;
  const plan = await planOf(config, edges, { accounts, ask, delayed });
  if (request.dryRun) return forecast(edges, plan, request.printJson);
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
    printReport(edges, { kind: "sweep", dryRun: false, resumed, report, remarks }, request.printJson);
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
