/** `quotekeeper calendar`: the sessions the program believes in. */
import { resolve } from "node:path";
import { readJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { createCalendar } from "../market/calendar/calendar.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { type CalendarRow, calendarRows } from "../market/calendar/rows.ts";
import type { Edges } from "../run/edges.ts";
import { calendarJson } from "./json/planning.ts";
import { printJson } from "./json/print.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

/** Exchange dates, both included; `closed` also lists the days without a session. */
export type CalendarRequest = { from: string; to: string; closed: boolean; json: boolean };

/** Lists each session: date, kind, and pre, open, close and post; with the operator's own overrides. */
export async function calendar(
  config: Config,
  { stdout, stderr, env }: Edges,
  { from, to, closed, json }: CalendarRequest,
): Promise<number> {
  const overrides = await readJobs(resolve(config.jobsDir)).then(
    (report) => report.calendar,
    () => {
      say(
        stderr,
        `The jobs directory ${resolve(config.jobsDir)} cannot be read: listed without jobs/calendar.yaml.`,
      );
      return [];
    },
  );
  const rows = calendarRows(createCalendar(overrides), from, to, { closed });
  if (json) printJson(stdout, calendarJson, rows.map(toJson));
  else {
    const columns = ["Date", "Kind", "Pre (New York)", "Open", "Close", "Post", "Reason"].map((heading) => ({
      heading,
      ...(heading === "Reason" && { wrap: "" }),
    }));
    stdout.write(table(columns, rows.map(toCells), stdout, env));
  }
  return 0;
}

function toJson({ date, kind, pre, open, close, post, reason }: CalendarRow): CalendarRow {
  return { date, kind, pre, open, close, post, reason };
}

function toCells({ date, kind, pre, open, close, post, reason }: CalendarRow): (string | null)[] {
  const times = [pre, open, close, post].map((at) => (at ? exchangeTime(at).slice(11, 16) : ""));
  return [date, kind, ...times, reason];
}
