/** `quotekeeper calendar`: the sessions that the program knows. */
import { z } from "zod";
import { addDays, exchangeDate, exchangeTime } from "../market/calendar/dates.ts";
import { date, exchangeDay } from "../ground/jsonWords.ts";
import { checkOrder, parseDate } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { resolve } from "node:path";
import { readJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import {
  type Calendar,
  createCalendar,
  datesBetween,
  type TradingSession,
} from "../market/calendar/tradingCalendar.ts";
import type { Edges } from "../ground/edges.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

export const calendarJson = z.array(
  z.strictObject({
    date: exchangeDay,
    kind: z.enum(["regular", "early", "closed"]),
    pre: date.nullable(),
    open: date.nullable(),
    close: date.nullable(),
    post: date.nullable(),
    reason: z.string().nullable(),
  }),
);

export const addCalendar: AddCommand = (command, { run, edges }) => {
  command
    .option("--from <date>", "first exchange date, YYYY-MM-DD; default: today", parseDate)
    .option("--to <date>", "last exchange date, YYYY-MM-DD; default: 30 days after the first", parseDate)
    .option("--closed", "list weekends as well, and with --json every day without a session", false)
    .option("--json", "print JSON", false)
    .action(({ closed, json, ...given }: { from?: string; to?: string; closed: boolean; json: boolean }) => {
      const from = given.from ?? exchangeDate(edges.clock.now());
      const dates = checkOrder({ from, to: given.to ?? addDays(from, 30) }, command);
      return run((config) => calendar(config, edges, { ...dates, closed, json }), { readsOnly: true });
    });
};

/** Exchange dates, both included; `closed`: also the days without a session. */
type CalendarRequest = { from: string; to: string; closed: boolean; json: boolean };

async function calendar(
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
  // The table gives the reason of a missing day, but not of a weekend.
  const all = calendarRows(createCalendar(overrides), { from, to, closed: closed || !json });
  const rows =
    closed || json ? all : all.filter(({ kind, reason }) => kind !== "closed" || reason !== "weekend");
  if (json) printJson(stdout, calendarJson, rows);
  else {
    const reason = { heading: "Reason", wrap: "" };
    const columns = ["Date", "Kind", "Pre (New York)", "Open", "Close", "Post", reason];
    stdout.write(table(columns, rows.map(toCells), { stdout, env }));
  }
  return 0;
}

function toCells({ date, kind, pre, open, close, post, reason }: CalendarRow): (string | null)[] {
  const times = [pre, open, close, post].map((at) => (at ? exchangeTime(at).slice(11, 16) : ""));
  return [date, kind, ...times, reason];
}

type CalendarRow = TradingSession | ReturnType<typeof closedDay>;

function calendarRows(
  calendar: Calendar,
  { from, to, closed }: { from: string; to: string; closed: boolean },
): CalendarRow[] {
  if (!closed) return calendar.sessions(from, to);
  return datesBetween(from, to).map(
    (date) => calendar.session(date) ?? closedDay(date, calendar.closedReason(date)),
  );
}

function closedDay(date: string, reason: string | null) {
  return { date, kind: "closed" as const, pre: null, open: null, close: null, post: null, reason };
}
