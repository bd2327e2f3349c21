/** What a sweep was asked for, and its plan: which calls remain, and how much budget the running schedule leaves. */
import { resolve } from "node:path";
import { readLastPrices } from "../../../archive/ask/lastPrices.ts";
import { type SweepAsk, COMMAND_LINE, readChain, readSymbolsFile } from "../../../backfill/sweep/ask.ts";
import { answersOfRun } from "../../../backfill/sweep/count.ts";
import { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import { underlyingsOf } from "../../../collect/chainBook.ts";
import { allRoom, type Room, roomBeside } from "../../../backfill/sweep/room.ts";
import { type SweepRun, sweepName } from "../../../backfill/sweep/runFile.ts";
import { type Clock, dateOf, type Instant } from "../../../clock.ts";
import { FIRST_BATCH_SIZE } from "../../../collect/batchSize.ts";
import { planCalls } from "../../../collect/callPlan.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { createCalendar } from "../../../market/calendar/tradingCalendar.ts";
import { contractDate } from "../../../market/expirations.ts";
import { type Answer, classifyAnswer } from "../../../quotes-api/answer.ts";
import type { QuoteCall } from "../../../quotes-api/request.ts";
import type { Archive } from "../../../run/archive.ts";
import { thisProcess, talkToCollector } from "../../../run/beside/lock.ts";
import { governorOf } from "../../../run/callHistory.ts";
import { type JobsReport, readJobs } from "../../../schedule/readJobs.ts";
import { counted } from "../../../figures.ts";
import { describeProblem, type FileProblem } from "../../../config/yamlFile.ts";
import { QuotekeeperError } from "../../../errors.ts";
import { instrumentName, option } from "../../../market/instrument.ts";
import { readTextFile } from "../../../plainFiles.ts";
import type { Edges } from "../../../run/edges.ts";
import type { CommonRequest } from "../report.ts";

/** The plan of a sweep that began then, before any answer. */
export async function planOf(
  config: Config,
  ask: SweepAsk,
  { delayed, begunAt, now }: Pick<SweepRequest, "delayed"> & { begunAt: Instant; now: Date },
): Promise<SweepPlan> {
  const calendar = createCalendar((await readSchedule(config)).calendar);
  return new SweepPlan(ask, delayed, {
    begun: contractDate(dateOf(begunAt), calendar),
    today: contractDate(now, calendar),
    calendar,
  });
}

/** The calls that a plan still needs, as they would be made; lists first. */
export function callsOf(plan: SweepPlan, run: Pick<SweepRun, "name" | "begunAt">): QuoteCall[] {
  const due = { ...plan.dueOf(run.name), slotAt: run.begunAt, deadlineMs: Infinity, closes: false };
  const calls = planCalls([due], { batchSize: FIRST_BATCH_SIZE }).map(({ call }) => call);
  return ["symbols", "option"].flatMap((form) => calls.filter((call) => call.form === form));
}

/** Tells the plan of the answers that earlier runs left in the journal; counts the calls that brought quotes. */
export async function takeJournaled(
  journalDir: string,
  run: SweepRun,
  plan: SweepPlan,
): Promise<{ calls: number; quotes: number }> {
  const earlier = { calls: 0, quotes: 0 };
  if (!run.resumed) return earlier;
  for await (const { record } of answersOfRun(journalDir, run)) {
    const answer = classifyAnswer(record);
    plan.take(record.request as QuoteCall, answer);
    if (answer.outcome === "quotes") earlier.calls += 1;
    earlier.quotes += quotesIn(answer);
  }
  return earlier;
}

/** The quotes of an answer, those of underlyings included. */
export function quotesIn(answer: Answer): number {
  if (answer.outcome !== "quotes") return 0;
  const items = answer.document.items.flatMap((read) =>
    read.ok && !read.item.unknownSymbol ? [read.item] : [],
  );
  return items.length + items.filter(({ underlyingQuote }) => underlyingQuote !== null).length;
}

/**
 * The room that a sweep has now. Nobody else calls on a simulated service: it lives in the process.
 *
 * @param prices gives the last prices of symbols that chains of the job files hang on
 */
export async function roomOf(
  config: Config,
  clock: Clock,
  prices: (symbols: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Room> {
  const governor = governorOf(config);
  if (config.feed.kind === "simulated" || !(await isCollecting(config, clock))) return allRoom(governor);
  const schedule = await readSchedule(config);
  const chains = schedule.jobs.flatMap((job) => job.chains.filter(({ strikes }) => !Array.isArray(strikes)));
  return roomBeside(governor, schedule, { prices: await prices(underlyingsOf(chains)), now: clock.now() });
}

async function isCollecting({ dataDir }: Config, clock: Clock): Promise<boolean> {
  const talk = await talkToCollector(resolve(dataDir), { clock, self: await thisProcess() });
  talk?.end();
  return talk !== null;
}

/** The job files that can be read, and the operator's calendar; none where there is no directory of them. */
async function readSchedule({ jobsDir }: Config): Promise<Pick<JobsReport, "jobs" | "calendar">> {
  return readJobs(resolve(jobsDir)).catch(() => ({ jobs: [], calendar: [] }));
}

/** The last prices that the archive has of symbols; none when there is none, or it cannot be read. */
export async function lastPrices(
  archive: Pick<Archive, "pool"> | null,
  symbols: readonly string[],
): Promise<Map<string, string>> {
  return new Map(archive === null ? [] : await readLastPrices(archive.pool, symbols).catch(() => []));
}

export type SweepRequest = CommonRequest & {
  /** Path of the symbols file, relative to the working directory; null: there is none. */
  symbolsFile: string | null;
  chains: string[];
  delayed: boolean;
  /** Begin anew although an earlier sweep of the same was not finished. */
  restart: boolean;
  /** The account that polls; null: all. */
  account: string | null;
};

/** @throws QuotekeeperError SWEEP_INVALID with all problems of the file and of the chains */
export async function readAsk(
  { directory }: Pick<Edges, "directory">,
  { symbolsFile, chains }: Pick<SweepRequest, "symbolsFile" | "chains">,
): Promise<SweepAsk> {
  const problems: FileProblem[] = [];
  const ask: SweepAsk = { symbols: [], contracts: [], chains: [] };
  if (symbolsFile !== null) {
    const file = await readFileOf(resolve(directory, symbolsFile));
    problems.push(...file.problems);
    [ask.symbols, ask.contracts] = [file.symbols, file.contracts];
  }
  for (const text of chains) {
    const read = readChain(text);
    if ("problems" in read) problems.push(...read.problems);
    else ask.chains.push(read.chain);
  }
  if (problems.length > 0) throw invalid(problems);
  return ask;
}

/** The sweep's name: the same whenever the same instruments are asked of the same service, in whatever order. */
export function nameOf(
  config: Config,
  { symbols, contracts, chains }: SweepAsk,
  { delayed }: SweepRequest,
): string {
  return sweepName({
    symbols: symbols.toSorted(),
    contracts: contracts.map((contract) => instrumentName(option(contract))).toSorted(),
    chains,
    delayed,
    service: serviceOf(config),
  });
}

/** Which service is asked: a sweep of one is not gone on with at another. Holds no secret. */
export function serviceOf({ feed }: Pick<Config, "feed">): string {
  if (feed.kind === "simulated") return "simulated";
  const { host, pathname } = new URL(feed.baseUrl);
  return `${host}${pathname}`;
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
