/** Reads all job files of a directory, and reports every problem at once. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { ACCOUNTS_FILES } from "../config/environment.ts";
import { plainName } from "../config/settingKinds.ts";
import { alternatives } from "../config/wording.ts";
import { type Account, type Accounts, type AccountSettings, areSome } from "../accounts/account.ts";
import { readAccounts } from "../accounts/accountsFile.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { calendarFileSchema, type CalendarOverride } from "../market/calendar/overrides.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { type Bounds, readTextFile } from "../ground/plainFiles.ts";
import { someNames } from "../ground/figures.ts";
import { remembered } from "../ground/remembered.ts";
import { type Job, jobSchema, TEXT_KEYS } from "./jobSchema.ts";
import { lacksOf, type PolledMarket, toJob } from "./polledJob.ts";
import { createSchedule } from "./slots.ts";
import { OUTSIDE, readList } from "./symbolList.ts";
import { type FileProblem, inOrder, jobsInvalid, readYamlFile } from "../config/yamlFile.ts";

export type { Job } from "./jobSchema.ts";

/** A file with problems makes no job, and an account with problems no account. */
export type JobsReport = {
  jobs: Job[];
  calendar: CalendarOverride[];
  accounts: Account[];
  problems: FileProblem[];
  /** The problems that hold up no other job: schedules that are never due. */
  neverDue: FileProblem[];
  /** Names that end as job files would in other letters (`P.YAML`), and are passed by. */
  passedBy: string[];
  /** Absolute paths of files that these name, readable or not: lists of symbols, and secrets. */
  others: string[];
};

/** The operator's own word on trading days; not a job. */
export const CALENDAR_FILE = "calendar.yaml";

const NO_TEXT_KEYS: ReadonlySet<string> = new Set(["date", "close", "reason"]);

/**
 * Reads `*.yaml` and `*.yml`. Problems are returned, never thrown: `status` goes on with the right files.
 *
 * @param settings null: the caller does not ask for the accounts, and neither they nor the jobs' accounts are looked at
 * @throws QuotekeeperError JOBS_UNREADABLE when there is no such directory
 */
export async function readJobs(dir: string, settings: AccountSettings | null = null): Promise<JobsReport> {
  const { names: accounts, ...found } = settings
    ? await readAccounts(dir, settings)
    : { names: [], accounts: [], problems: [], others: [] };
  const { names, passedBy } = await yamlNames(dir);
  const report: JobsReport = { ...found, jobs: [], calendar: [], neverDue: [], passedBy };
  const bounds = { below: [dir], own: settings?.ownFiles ?? [], outside: OUTSIDE };
  const market = found.accounts[0] ?? settings;
  const known: JobContext = { names: new Map(), accounts, lines: new Map(), bounds, market };
  for (const name of names) {
    const file = join(dir, name);
    const text = await readTextFile(file).catch((error: NodeJS.ErrnoException) => {
      report.problems.push({
        file,
        line: 1,
        message:
          error.code === "ENOENT"
            ? "the link leads to no file, or the file was just removed"
            : `the file cannot be read (${error.code ?? error.message})`,
      });
      return null;
    });
    if (text === null) continue;
    if (basename(name) === CALENDAR_FILE) readCalendar(file, text, report);
    else await readJob(file, text, { report, known });
  }
  dropNeverDue(report, known);
  return report;
}

/**
 * For programs that must not go on with half of the jobs.
 *
 * @throws JOBS_INVALID with every problem; a job that is never due does not count, while there are others
 */
export async function requireJobs(
  dir: string,
  settings: AccountSettings,
): Promise<Omit<JobsReport, "problems" | "accounts"> & { accounts: Accounts }> {
  const { problems, accounts, ...report } = await readJobs(dir, settings);
  const isHindered = hindrances({ problems, accounts, ...report }).length > 0;
  if (isHindered || !areSome(accounts)) throw jobsInvalid(problems);
  if (report.jobs.length === 0) throw noJobs(dir);
  return { ...report, accounts };
}

export function hindrances({ jobs, problems, neverDue }: JobsReport): FileProblem[] {
  return jobs.length === 0 ? problems : problems.filter((problem) => !neverDue.includes(problem));
}

export function passedByWords(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  return `passed by, because job files end in .yaml or .yml in small letters: ${someNames(names, 5)}`;
}

export function noJobs(dir: string): QuotekeeperError {
  return new QuotekeeperError("JOBS_UNREADABLE", `${resolve(dir)} holds no job file (*.yaml)`);
}

/** Whether it is a job file by its name. Hidden names are those of editors and systems: `.#a.yaml` is a lock of Emacs, a link that leads nowhere. */
export function isJobFile(name: string): boolean {
  return /^[^.].*\.ya?ml$/.test(name);
}

/** @returns `passedBy`: see `JobsReport` */
async function yamlNames(dir: string): Promise<{ names: string[]; passedBy: string[] }> {
  try {
    const names = (await readdir(dir)).sort();
    return {
      names: names.filter((name) => isJobFile(name) && !ACCOUNTS_FILES.includes(name)),
      passedBy: names.filter((name) => !isJobFile(name) && isJobFile(name.toLowerCase())),
    };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    throw new QuotekeeperError(
      "JOBS_UNREADABLE",
      `the jobs directory ${resolve(dir)} cannot be read (${code})`,
      { cause },
    );
  }
}

/**
 * What the operator says of single days.
 *
 * @returns null where the jobs directory or that file is absent, or the file is wrong
 */
export async function readCalendarDays(dir: string): Promise<CalendarOverride[] | null> {
  const found = await yamlNames(dir).catch(() => null);
  if (found === null) return null;
  if (!found.names.includes(CALENDAR_FILE)) return [];
  const file = join(dir, CALENDAR_FILE);
  const report: Pick<JobsReport, "calendar" | "problems"> = { calendar: [], problems: [] };
  const text = await readTextFile(file).catch(() => null);
  if (text === null) return null;
  readCalendar(file, text, report);
  return report.problems.length > 0 ? null : report.calendar;
}

function readCalendar(file: string, text: string, report: Pick<JobsReport, "calendar" | "problems">): void {
  const read = readYamlFile(file, text, { schema: calendarFileSchema, textKeys: NO_TEXT_KEYS });
  if (read.ok) report.calendar = read.value.overrides;
  else report.problems.push(...read.problems);
}

type JobContext = {
  names: Map<string, string>;
  accounts: readonly string[];
  lines: Map<Job, number>;
  bounds: Bounds;
  /** What is polled; null: the caller does not ask for it. */
  market: PolledMarket | null;
};

/** The fields that are checked even in a wrong file. */
const looseSchema = z
  .object({
    name: plainName.optional().catch(undefined),
    account: plainName.optional().catch(undefined),
    symbolsFile: z.string().min(1).optional().catch(undefined),
  })
  .catch({});

async function readJob(
  file: string,
  text: string,
  { report, known }: { report: JobsReport; known: JobContext },
): Promise<void> {
  const read = readYamlFile(file, text, { schema: jobSchema, textKeys: TEXT_KEYS });
  const problems = read.ok ? [] : [...read.problems];
  const { name, account, symbolsFile } = read.ok ? read.value : looseSchema.parse(read.value);
  const told = (option: string, message: string): void =>
    void problems.push({ file, line: read.lineOf([option]), message });
  const twin = name === undefined ? undefined : known.names.get(name);
  if (twin !== undefined)
    told("name", `name is ${name}: ${twin} has it already, and each job needs a name of its own`);
  else if (name !== undefined) known.names.set(name, file);
  if (account !== undefined && known.accounts.length > 0 && !known.accounts.includes(account)) {
    // The message quotes nothing of a wrong file of accounts: a secret may stand in it.
    const expected = report.accounts.length > 0 ? `: expected ${alternatives(known.accounts)}` : "";
    told("account", `account is ${account}, and there is none of that name${expected}`);
  }
  if (read.ok && known.market) lacksOf(read.value, known.market, told);
  const listed =
    symbolsFile === undefined
      ? null
      : await readList(resolve(dirname(file), symbolsFile), known.bounds, told);
  if (listed) report.others.push(listed.path);
  report.problems.push(...inOrder(problems), ...(listed?.problems ?? []));
  const symbols = listed ? listed.symbols : read.ok ? [...new Set(read.value.symbols ?? [])] : null;
  if (!read.ok || problems.length > 0 || symbols === null) return;
  const job = toJob(read.value, { file, symbols, market: known.market });
  known.lines.set(job, read.lineOf(["schedule"]));
  report.jobs.push(job);
}

const USUAL_HOURS: Readonly<Record<Job["session"], string>> = {
  pre: "04:00 to before 09:30 in New York on trading days",
  regular: "09:30 to before 16:00 in New York on trading days",
  post: "16:00 to before 20:00 in New York on trading days",
  any: "04:00 to before 20:00 in New York on trading days",
  always: "around the clock",
};

type WhenDue = Pick<Job, "timezone" | "session"> & { cron: string; overrides: CalendarOverride[] };

/** By cron expression, zone, session and overrides: `status` and the page read the same files over and over. */
const isEverDue = remembered(1_000, (asked: string): boolean => {
  const { overrides, ...how } = JSON.parse(asked) as WhenDue;
  return createSchedule({ ...how, calendar: createCalendar(overrides) }).isEverDue();
});

/** A schedule that never meets its session on a trading day makes no job, like a wrong file. */
function dropNeverDue(report: JobsReport, { lines }: JobContext): void {
  const isDueIn = ({ schedule, timezone }: Job, session: Job["session"]): boolean =>
    isEverDue(JSON.stringify({ cron: schedule, timezone, session, overrides: report.calendar }));
  report.jobs = report.jobs.filter((job) => {
    const { file, schedule, timezone, session } = job;
    if (isDueIn(job, session)) return true;
    const others = (["pre", "regular", "post", "always"] as const).filter((other) => isDueIn(job, other));
    const remedy = others.length > 0 ? `, or session: ${alternatives(others)}` : "";
    const message = `schedule is "${schedule}" (${timezone}), which is never due in session ${session} (${USUAL_HOURS[session]}): expected another time or day${remedy}`;
    report.neverDue.push({ file, line: lines.get(job) ?? 1, message });
    return false;
  });
  report.problems.push(...report.neverDue);
}
