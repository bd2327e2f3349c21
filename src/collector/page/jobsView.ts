/**
 * The job files as the dashboard shows them, with their mistakes and their plan. They are read when they have changed, and
 * planned once for each change and day, in a thread of its own: thousands of instruments take a second of a processor.
 */
import { basename, dirname, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type pg from "pg";
import { readKnownOfChains } from "../../archive/ask/quotes.ts";
import { areSome } from "../../accounts/account.ts";
import type { Clock } from "../../ground/clock.ts";
import { underlyingsOf } from "../../collect/chainBook.ts";
import { nextSession } from "../../collect/dayPlan.ts";
import { ACCOUNTS_FILES } from "../../config/environment.ts";
import type { FileProblem } from "../../config/yamlFile.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { instrumentName, option } from "../../market/instrument.ts";
import { type Chain, NOTHING_KNOWN } from "../../market/optionChain.ts";
import { readTextFile } from "../../ground/plainFiles.ts";
import { cronWords } from "../../schedule/cronWords.ts";
import { hindrances, type Job, type JobsReport, noJobs, readJobs } from "../../schedule/readJobs.ts";
import type { BrokenFile, JobAsk, JobsView, PlanView } from "../../web/api/types.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { problemOf } from "../../web/live.ts";
import { accountSharer, plannedService } from "../accountsCalled.ts";
import { signature } from "../../schedule/followJobs.ts";
import { type PlanRequest, planView } from "./planView.ts";
import { keepNewSpace } from "../../ground/smallHeap.ts";
import { cutText } from "../../ground/outsideText.ts";
import { counted, someNames } from "../../ground/figures.ts";

/** Chains that cannot be counted yet are looked at again after so many ms. */
const AGAIN_MS = 30_000;

const MOST_NAMED = 6;

/** Lines shown before and after a mistake, mistakes of a file, and signs of a line. */
const AROUND = 15;
const MOST_PROBLEMS = 50;
const LINE_LENGTH = 200;

type JobsOptions = { config: Config; reader: pg.Pool; clock: Clock };

type RememberedView = { key: string; atMs: number; view: Promise<JobsView> };

/** Tells what the files say now. Never rejects: what is wrong stands in the answer. */
export function createJobsReader({ config, reader, clock }: JobsOptions): () => Promise<JobsView> {
  const dir = resolve(config.jobsDir);
  let others: readonly string[] = [];
  let known: RememberedView | null = null;
  /** The plan of the newest files that were whole. */
  let whole: PlanView | null = null;
  const find = async (): Promise<JobsView> => {
    const report = await readJobs(dir, config);
    others = report.others;
    const view = await viewOf(report, { dir, reader, clock });
    if (hindrances(report).length > 0) return { ...view, isOfFilesBefore: true, plan: whole };
    whole = view.plan;
    return view;
  };
  return async () => {
    const today = clock.now().toISOString().slice(0, 13);
    const key = `${today} ${await signature(dir, others)}`;
    const nowMs = clock.monotonicMs();
    if (known?.key === key) {
      const view = await known.view;
      const { plan } = view;
      const waits = plan !== null && plan.priceless.length + plan.unlisted.length > 0;
      if (!waits || nowMs - known.atMs < AGAIN_MS) return view;
    }
    const view = find().catch((error: Error): JobsView => ({
      dir,
      jobs: [],
      broken: [],
      isOfFilesBefore: false,
      plan: null,
      problem: problemOf(error),
    }));
    known = { key, atMs: nowMs, view };
    return view;
  };
}

async function viewOf(
  report: JobsReport,
  { dir, reader, clock }: { dir: string; reader: pg.Pool; clock: Clock },
): Promise<JobsView> {
  const { jobs, calendar, problems } = report;
  const view = {
    dir,
    jobs: jobs.map(askOf),
    broken: await brokenFiles(dir, problems),
    isOfFilesBefore: false,
  };
  if (jobs.length === 0)
    return { ...view, plan: null, problem: problems.length > 0 ? null : problemOf(noJobs(dir)) };
  // Accounts whose file is wrong are not known, and nothing can be planned without a limit.
  const { accounts } = report;
  if (!areSome(accounts)) return { ...view, plan: null, problem: null };
  try {
    const underlyings = underlyingsOf(jobs.flatMap(({ chains }) => chains));
    const date = nextSession(createCalendar(calendar), clock.now());
    const known = await readKnownOfChains(reader, underlyings, date).catch(() => NOTHING_KNOWN);
    const service = plannedService(accounts);
    const sharers = accounts.map(accountSharer);
    const plan = await planInThread({ jobs, calendar, accounts: sharers, service, known, date });
    if (plan === null)
      throw new QuotekeeperError("PLAN_TOO_LARGE", `${date} has too many polls to plan here`);
    return { ...view, plan, problem: null };
  } catch (error) {
    return { ...view, plan: null, problem: problemOf(error as Error) };
  }
}

/** Where the program runs from its sources there is no file for a thread, and this one plans. */
async function planInThread(request: PlanRequest): Promise<PlanView | null> {
  if (import.meta.url.endsWith(".ts")) return planView(request);
  // The programs are built into one folder, and threads beside it (scripts/compile.js).
  const thread = new Worker(new URL("../collector/page/planThread.js", import.meta.url), {
    workerData: request,
  });
  thread.once("online", keepNewSpace);
  try {
    return await new Promise<PlanView | null>((resolvePlan, reject) => {
      thread.once("message", resolvePlan).once("error", reject);
      thread.once("exit", () =>
        reject(new QuotekeeperError("UNEXPECTED", "the thread that plans has ended")),
      );
    });
  } finally {
    await thread.terminate();
  }
}

function askOf(job: Job): JobAsk {
  const { name, schedule, timezone, session, watchlist, symbols, symbolsFile, options, chains } = job;
  const of = symbolsFile === null ? `: ${someNames(symbols, MOST_NAMED)}` : ` of ${basename(symbolsFile)}`;
  const contracts = options.map((contract) => instrumentName(option(contract)));
  return {
    name,
    schedule,
    timezone,
    session,
    file: basename(job.file),
    words: cronWords(schedule),
    asks: [
      ...(symbols.length > 0 ? [`${counted(symbols.length, "symbol")}${of}`] : []),
      ...(watchlist === null ? [] : [`watchlist ${watchlist}`]),
      ...(contracts.length > 0
        ? [`${counted(contracts.length, "contract")}: ${someNames(contracts, MOST_NAMED)}`]
        : []),
      ...chains.map(chainWords),
    ],
  };
}

/**
 * `AAPL: calls and puts of the next 2 monthly expirations, strikes within 4 % of the last price, every 5`, or
 * `SPX: calls and puts of all listed expirations, all strikes`.
 */
function chainWords(chain: Chain): string {
  const kinds = chain.types.map((type) => `${type.toLowerCase()}s`).join(" and ");
  return `${chain.underlying}: ${kinds} of ${dateWords(chain)}, ${strikeWords(chain)}`;
}

function dateWords({ expirations }: Chain): string {
  if (expirations === "listed") return "all listed expirations";
  if (Array.isArray(expirations)) return expirations.join(", ");
  return `the next ${counted(expirations.next, `${expirations.kind} expiration`)}`;
}

function strikeWords({ strikes }: Chain): string {
  if (strikes === "all") return "all strikes";
  if (Array.isArray(strikes)) return `strikes ${strikes.join(", ")}`;
  return `strikes within ${strikes.percent} % of the last price, every ${strikes.step}`;
}

async function brokenFiles(dir: string, problems: readonly FileProblem[]): Promise<BrokenFile[]> {
  const files = [...new Set(problems.map(({ file }) => file))];
  return Promise.all(
    files.map(async (file) => {
      const of = problems.filter((problem) => problem.file === file).slice(0, MOST_PROBLEMS);
      const told = of.map(({ line, message }) => ({ line, message }));
      return { file: basename(file), problems: told, lines: await linesAround(dir, file, told) };
    }),
  );
}

/** The text of job files alone: a list of symbols may be somebody's secrets by mistake, and accounts hang on some. */
async function linesAround(dir: string, file: string, problems: BrokenFile["problems"]) {
  const isJobFile =
    dirname(file) === dir && /\.ya?ml$/.test(file) && !ACCOUNTS_FILES.includes(basename(file));
  const text = isJobFile ? await readTextFile(file).catch(() => "") : "";
  if (text === "") return [];
  return text.split("\n").flatMap((content, index) => {
    const near = problems.some(({ line }) => Math.abs(line - (index + 1)) <= AROUND);
    return near ? [{ line: index + 1, text: cutText(content, LINE_LENGTH) }] : [];
  });
}
