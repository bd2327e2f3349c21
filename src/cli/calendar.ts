/** `quotekeeper calendar`: the sessions that the program knows. */
import { z } from "zod";
import { addDays, exchangeDate, exchangeTime } from "../market/calendar/dates.ts";
import { date, exchangeDay } from "../ground/jsonWords.ts";
import type { Clock } from "../ground/clock.ts";
import { parseDate, wrongOrder } from "./arguments.ts";
import { command, flag, type Given, option } from "./command.ts";
import { resolve } from "node:path";
import { readJobs } from "../schedule/readJobs.ts";
import {
  type Calendar,
  createCalendar,
  datesBetween,
  type TradingSession,
} from "../market/calendar/tradingCalendar.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

const options = {
  from: option("<date>", "first exchange date, YYYY-MM-DD; default: today", parseDate),
  to: option("<date>", "last exchange date, YYYY-MM-DD; default: 30 days after the first", parseDate),
  closed: flag("list weekends as well, and with --json every day without a session"),
};

export const calendar = command({
  options,
  json: z.array(
    z.strictObject({
      date: exchangeDay,
      kind: z.enum(["regular", "early", "closed"]),
      pre: date.nullable(),
      open: date.nullable(),
      close: date.nullable(),
      post: date.nullable(),
      reason: z.string().nullable(),
    }),
  ),
  readsOnly: true,
  check: (given, { clock }) => wrongOrder(datesOf(given, clock)),
  run: async ({ jobsDir }, { clock, stdout, stderr, env }, { closed, printJson, ...given }) => {
    const overrides = await readJobs(resolve(jobsDir)).then(
      (report) => report.calendar,
      () => {
        say(
          stderr,
          `The jobs directory ${resolve(jobsDir)} cannot be read: listed without jobs/calendar.yaml.`,
        );
        return [];
      },
    );
    // The table gives the reason of a missing day, but not of a weekend.
    const range = { ...datesOf(given, clock), closed: closed || !printJson };
    const all = calendarRows(createCalendar(overrides), range);
    const rows =
      closed || printJson ? all : all.filter(({ kind, reason }) => kind !== "closed" || reason !== "weekend");
    if (printJson) printJson(rows);
    else {
      const reason = { heading: "Reason", wrap: "" };
      const columns = ["Date", "Kind", "Pre (New York)", "Open", "Close", "Post", reason];
      stdout.write(table(columns, rows.map(toCells), { stdout, env }));
    }
    return 0;
  },
});

/** Exchange dates, both included. */
function datesOf(given: Omit<Given<typeof options>, "closed">, clock: Clock): { from: string; to: string } {
  const from = given.from ?? exchangeDate(clock.now());
  return { from, to: given.to ?? addDays(from, 30) };
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
