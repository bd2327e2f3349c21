/** Bars as CSV (RFC 4180). Pure. */
import { harmless } from "../../read/spreadsheet.ts";
import type { Bar, Interval, SourceKind } from "./types.ts";

const HEADING =
  "instrument,source,delayed,interval,date,session,bar_at,open,high,low,close,bid,ask,mean_spread,quote_count,volume";

/** A line for each bar; every one says where its prices come from. Absent values are empty. */
export function barsCsv(
  bars: readonly Bar[],
  of: { instrument: string; source: SourceKind; delayed: boolean; interval: Interval },
): string {
  const { instrument, source, delayed, interval } = of;
  const lines = bars.map(({ date, session, at, open, high, low, close, bid, ask, ...rest }) =>
    [
      ...[harmless(instrument), source, String(delayed), interval, date, session, at],
      ...[open, high, low, close, bid, ask, rest.meanSpread, rest.quoteCount, rest.volume],
    ]
      .map(field)
      .join(","),
  );
  return `${[HEADING, ...lines].join("\r\n")}\r\n`;
}

/** The file's name: simulated prices say so there too. */
export function csvName(of: { instrument: string; source: SourceKind; interval: Interval }): string {
  const name = `${of.instrument}-${of.interval}${of.source === "simulated" ? "-SIMULATED" : ""}`;
  return `${name.replace(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}

function field(text: string | null): string {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
