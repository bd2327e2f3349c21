/** `quotekeeper status`: what is healthy, late or lost. It reads, and makes nothing. */
import { resolve } from "node:path";
import { databaseError } from "../archive/connect.ts";
import { currentVersion, readMigrations } from "../archive/migrate.ts";
import { type Health, readHealth } from "../archive/queries.ts";
import { describeTier, readTier } from "../archive/tiers/tier.ts";
import { type Job, noJobs, readJobs } from "../config/jobs/readJobs.ts";
import { describeProblem } from "../config/jobs/yamlFile.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import { createCalendar } from "../market/calendar/calendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { Edges } from "./edges.ts";
import { archiveExists, isDatabaseError, openArchive } from "./parts/archive.ts";
import { journalDir } from "./parts/collection.ts";
import { journalHealth } from "./parts/journalHealth.ts";
import { type LedgerStatus, readLedgerStatus, someOf } from "./parts/ledgerStatus.ts";

/** One line of the report: `ok`, or what a person has to see to. */
type Line = { subject: string; state: "ok" | "attention" | "idle"; text: string };

/** @returns 0 when nothing needs a person, 1 otherwise */
export async function status(config: Config, edges: Edges, { json }: { json: boolean }): Promise<number> {
  const { clock, stdout } = edges;
  const feed = config.feed.kind === "simulated" ? "SIMULATED market" : config.feed.baseUrl;
  const lines: Line[] = [{ subject: "market", state: "ok", text: feed }];
  const { jobs, calendar, line } = await jobsLine(config);
  lines.push(line);
  const { health, ledger, database } = await databaseLine(config, edges, jobs, calendar);
  lines.push(database);
  if (health) lines.push(...answerLines(health, clock.now()));
  if (ledger) lines.push(...ledgerLines(ledger));
  const journal = await journalHealth(journalDir(config), health?.loaded ?? null, clock, config.journalMaxBytes);
  lines.push({ subject: "journal", state: journal.state, text: journal.text });
  if (json)
    stdout.write(
      `${JSON.stringify({ healthy: lines.every(isFine), lines, lastHour: health?.lastHour ?? null, lastAnswerAt: health?.lastAnswerAt ?? null, lag: journal.lag }, null, 2)}\n`,
    );
  else
    for (const { subject, state, text } of lines)
      stdout.write(`${subject.padEnd(10)} ${MARKS[state].padEnd(9)} ${text}\n`);
  return lines.every(isFine) ? 0 : 1;
}

const MARKS = { ok: "ok", attention: "ATTENTION", idle: "-" } as const;

function isFine({ state }: Line): boolean {
  return state !== "attention";
}

type Jobs = { jobs: Job[]; calendar: CalendarOverride[]; line: Line };

/** A bad job file is reported, and stops nothing else. */
async function jobsLine(config: Config): Promise<Jobs> {
  const line = (state: Line["state"], text: string): Line => ({ subject: "jobs", state, text });
  try {
    const { jobs, calendar, problems } = await readJobs(resolve(config.jobsDir));
    if (problems.length > 0) {
      return { jobs, calendar, line: line("attention", problems.map(describeProblem).join("; ")) };
    }
    if (jobs.length === 0) return { jobs, calendar, line: line("attention", noJobs(config.jobsDir).message) };
    const names = jobs.map(({ name }) => name).join(", ");
    return { jobs, calendar, line: line("ok", `${jobs.length} in ${config.jobsDir}: ${names}`) };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { jobs: [], calendar: [], line: line("attention", error.message) };
  }
}

type Database = { health: Health | null; ledger: LedgerStatus | null; database: Line };

async function databaseLine(
  config: Config,
  { clock }: Edges,
  jobs: readonly Job[],
  overrides: readonly CalendarOverride[],
): Promise<Database> {
  const line = (state: Line["state"], text: string): Line => ({ subject: "database", state, text });
  if (!(await archiveExists(config))) {
    return without(line("idle", "none yet: `quotekeeper start` makes it at its first run"));
  }
  try {
    const archive = await openArchive(config, clock);
    try {
      const version = await currentVersion(archive.pool);
      const newest = (await readMigrations()).at(-1)?.version ?? 0;
      if (version === 0)
        return without(line("idle", `${archive.address} is empty: run \`quotekeeper migrate\``));
      if (version !== newest) {
        const remedy = version < newest ? "run `quotekeeper migrate`" : "use a newer quotekeeper";
        const text = `${archive.address} has schema version ${version}, this program knows ${newest}: ${remedy}`;
        return without(line("attention", text));
      }
      const health = await readHealth(archive.pool, clock.now());
      const tier = describeTier(await readTier(archive.pool));
      const text = `${archive.address}, ${tier}, schema version ${version}, ${health.instruments} instruments${health.sources.length > 0 ? `, ${health.sources.join(" and ")}` : ""}`;
      // The simulated market runs only while `start` does, and is never late.
      const calendar = config.feed.kind === "simulated" ? null : createCalendar(overrides);
      const ledger = await readLedgerStatus(archive.pool, jobs, calendar, clock.now());
      return { health, ledger, database: line("ok", text) };
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      return without(line("attention", databaseError(error, archive.address).message));
    } finally {
      await archive.close().catch(() => undefined);
    }
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return without(line("attention", error.message));
  }
}

function without(database: Line): Database {
  return { health: null, ledger: null, database };
}

/** Misses that somebody can do something about; the others heal by themselves, or are somebody's decision. */
const MENDABLE = ["budget", "refused", "malformed", "unauthorized"];

function ledgerLines({ due, missed, late, unknown }: LedgerStatus): Line[] {
  if (due === 0 && late.length === 0)
    return [{ subject: "slots", state: "idle", text: "none in the last day" }];
  const reasons = Object.entries(missed).map(([reason, count]) => `${count} ${reason}`);
  const counts = `${due} due in the last day, ${reasons.length > 0 ? `missed: ${reasons.join(", ")}` : "none missed"}`;
  const lateText = late
    .map(({ job, since }) => `${job} is late since ${since.toISOString().slice(0, 16)}Z`)
    .join(", ");
  const needsPerson = late.length > 0 || MENDABLE.some((reason) => (missed[reason] ?? 0) > 0);
  const text = late.length > 0 ? `${lateText}: is \`quotekeeper start\` running? ${counts}` : counts;
  const lines: Line[] = [{ subject: "slots", state: needsPerson ? "attention" : "ok", text }];
  if (unknown.length > 0) {
    lines.push({ subject: "unknown", state: "attention", text: `${someOf(unknown)}: mend the job files` });
  }
  return lines;
}

/** Outcomes that somebody has to see to; a fault or a server's error now and then heals by itself. */
const NEEDS_A_PERSON = ["unauthorized", "refused", "malformed"];

function answerLines({ lastAnswerAt, lastHour, deadLettersToday }: Health, now: Date): Line[] {
  if (lastAnswerAt === null) return [{ subject: "answers", state: "idle", text: "none yet" }];
  const minutes = Math.round((now.getTime() - Date.parse(lastAnswerAt)) / 60_000);
  const counts = Object.entries(lastHour).map(([outcome, count]) => `${count} ${outcome}`);
  const wrong = NEEDS_A_PERSON.filter((outcome) => (lastHour[outcome] ?? 0) > 0);
  return [
    {
      subject: "answers",
      state: wrong.length > 0 ? "attention" : "ok",
      text: `last ${minutes < 1 ? "under a minute" : `${minutes} min`} ago; in the last hour ${counts.join(", ") || "none"}`,
    },
    {
      subject: "rows",
      state: deadLettersToday > 0 ? "attention" : "ok",
      text:
        deadLettersToday > 0
          ? `${deadLettersToday} dead letters in the last day: see the table dead_letters`
          : "no dead letters in the last day",
    },
  ];
}
