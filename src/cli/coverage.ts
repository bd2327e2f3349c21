/** `quotekeeper coverage`: what was due and what is stored, by instrument and session, and why the rest is missing. */
import { z } from "zod";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import { count, countsByName, exchangeDay } from "../ground/jsonWords.ts";
import type { Clock } from "../ground/clock.ts";
import { parseDate, wrongOrder } from "./arguments.ts";
import { command, option } from "./command.ts";
import { readAccountRows } from "../archive/ledger/accountRows.ts";
import {
  type AccountCoverage,
  type CoverageRow,
  type CoverageShare,
  readCoverage,
  readCoverageShares,
  sumByAccount,
} from "../archive/ledger/coverageRows.ts";
import { grouped } from "../collect/asks.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Edges } from "../ground/edges.ts";
import { type Archive, requireArchive, withSchema } from "../archive/openArchive.ts";
import { right, table } from "./terminal/table.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { counted, percent, thousands } from "../ground/figures.ts";

const counts = {
  expected: count,
  stored: count,
  missed: count,
  reasons: countsByName,
};

const coverageJson = z.array(
  z.strictObject({
    date: exchangeDay,
    source: z.enum(["account", "simulated"]),
    instrument: z.string(),
    ...counts,
    accounts: z.array(z.strictObject({ name: z.string(), ...counts })).optional(),
  }),
);

const MOST_ROWS = 40;

export const coverage = command({
  options: {
    from: option("<date>", "first exchange date, YYYY-MM-DD; default: six days before the last", parseDate),
    to: option("<date>", "last exchange date, YYYY-MM-DD; default: today", parseDate),
    account: option("<name>", "only what was due to this account; default: all"),
  },
  json: coverageJson,
  readsOnly: true,
  check: (given, { clock }) => wrongOrder(datesOf(given, clock)),
  run: async (config, edges, { account, printJson, ...given }) => {
    const { stdout, clock } = edges;
    const dates = datesOf(given, clock);
    await requireArchive(config);
    const asked = { ...dates, account };
    const { rows, shares } = await withSchema(config, edges, ({ pool }) => readRows(pool, asked));
    if (printJson) printJson(withShares(rows, shares));
    else if (rows.length === 0)
      say(
        stdout,
        `The ledger has no slot from ${dates.from} to ${dates.to}. Days are New York's, where it is ${exchangeDate(clock.now())}.`,
      );
    else
      for (const source of ["account", "simulated"] as const) {
        const ofSource = rows.filter((row) => row.source === source);
        const accounts = sumByAccount(shares.filter((share) => share.source === source));
        if (ofSource.length > 0) stdout.write(report(ofSource, accounts, edges));
      }
    return rows.some(({ missed }) => missed > 0) ? 1 : 0;
  },
});

type Dates = { from: string; to: string };

function datesOf(given: { [Name in keyof Dates]: string | null }, clock: Clock): Dates {
  const to = given.to ?? exchangeDate(clock.now());
  return { from: given.from ?? addDays(to, -6), to };
}

/** @throws QuotekeeperError ACCOUNT_UNKNOWN */
async function readRows(
  pool: Archive["pool"],
  { from, to, account }: Dates & { account: string | null },
): Promise<{ rows: CoverageRow[]; shares: CoverageShare[] }> {
  const shares = await readCoverageShares(pool, { from, to, account });
  if (account === null) return { rows: await readCoverage(pool, from, to), shares };
  const names = (await readAccountRows(pool)).map(({ name }) => name);
  if (!names.includes(account))
    throw new QuotekeeperError("ACCOUNT_UNKNOWN", `the archive knows ${names.join(", ")}, and no ${account}`);
  return { rows: shares.map(({ account: _account, ...row }) => row), shares: [] };
}

function withShares(
  rows: readonly CoverageRow[],
  shares: readonly CoverageShare[],
): z.infer<typeof coverageJson> {
  const keyOf = ({ date, source, instrument }: CoverageRow): string => `${date} ${source} ${instrument}`;
  if (sumByAccount(shares).length === 0) return [...rows];
  const parts = grouped(shares, keyOf);
  return rows.map((row) => ({
    ...row,
    accounts: (parts.get(keyOf(row)) ?? []).map(({ account: name, expected, stored, missed, reasons }) => ({
      name,
      expected,
      stored,
      missed,
      reasons,
    })),
  }));
}

function report(rows: readonly CoverageRow[], accounts: readonly AccountCoverage[], edges: Edges): string {
  const worst = rows.filter(({ missed }) => missed > 0);
  const heading = rows[0]?.source === "simulated" ? "SIMULATED market\n" : "";
  const details = worst.length === 0 ? "Everything that was due is stored.\n" : worstTable(worst, edges);
  return `${heading}${heatLines(rows, edges.stdout.columns).join("\n")}\n\n${accounts.length > 0 ? `${accountsTable(accounts, edges)}\n` : ""}${details}`;
}

const WHY = { heading: "Why", wrap: "" };

function accountsTable(accounts: readonly AccountCoverage[], { stdout, env }: Edges): string {
  const columns = ["Account", ...right("Due", "Stored", "Missed"), WHY];
  const cells = accounts.map(({ account, expected, stored, missed, reasons }) => [
    oneLine(account),
    thousands(expected),
    thousands(stored),
    thousands(missed),
    why(reasons),
  ]);
  return table(columns, cells, { stdout, env });
}

function worstTable(worst: readonly CoverageRow[], { stdout, env }: Edges): string {
  const columns = ["Date", { heading: "Instrument", wrap: ":" }, ...right("Stored"), WHY];
  const cells = worst
    .slice(0, MOST_ROWS)
    .map(({ date, instrument, stored, expected, reasons }) => [
      date,
      oneLine(instrument),
      `${thousands(stored)} of ${thousands(expected)}`,
      why(reasons),
    ]);
  const rest =
    worst.length > MOST_ROWS
      ? `and ${counted(worst.length - MOST_ROWS, "more row")}; --json lists all.\n`
      : "";
  return `${table(columns, cells, { stdout, env })}${rest}`;
}

function why(reasons: CoverageRow["reasons"]): string {
  return Object.entries(reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${thousands(count)}`)
    .join(", ");
}

/** What is stored of what was due, from nothing to all. */
const SHADES = [..." .:-=+*#%@"];

/** Most and least cells of a day's heat line. More instruments than cells share cells. */
const HEAT_WIDTH = 48;
const LEAST_HEAT = 8;

/** Width of a heat line's date, brackets and blanks. */
const AROUND_HEAT = "2026-11-20 [] ".length;

/** A line a day. Each character stands for some instruments, in the order of names; the darker, the more is stored. */
function heatLines(rows: readonly CoverageRow[], columns: number): string[] {
  const names = [...new Set(rows.map(({ instrument }) => instrument))].sort();
  const dates = [...new Set(rows.map(({ date }) => date))].sort();
  const days = dates.map((date) => ({ date, ofDay: rows.filter((row) => row.date === date) }));
  const room = columns - AROUND_HEAT - Math.max(...days.map(({ ofDay }) => shareOf(ofDay).length));
  const perCell = Math.ceil(names.length / Math.max(LEAST_HEAT, Math.min(HEAT_WIDTH, room)));
  return days.map(({ date, ofDay }) => {
    const byName = new Map(ofDay.map((row) => [row.instrument, row]));
    const cells: string[] = [];
    for (let start = 0; start < names.length; start += perCell) {
      cells.push(shade(names.slice(start, start + perCell).flatMap((name) => byName.get(name) ?? [])));
    }
    return `${date} [${cells.join("")}] ${shareOf(ofDay)}`;
  });
}

function shade(rows: readonly CoverageRow[]): string {
  if (rows.length === 0) return "_";
  const { expected, stored } = totals(rows);
  // Anything short of all must not look like all.
  const index =
    stored === expected ? SHADES.length - 1 : Math.floor((stored / expected) * (SHADES.length - 1));
  return SHADES[index] ?? " ";
}

function shareOf(rows: readonly CoverageRow[]): string {
  const { expected, stored } = totals(rows);
  const share = (100 * stored) / Math.max(1, expected);
  return `${percent(stored === expected ? 100 : Math.min(share, 99.9), 1)} of ${thousands(expected)}`;
}

function totals(rows: readonly CoverageRow[]): { expected: number; stored: number } {
  const sumOf = (name: "expected" | "stored"): number => rows.reduce((sum, row) => sum + row[name], 0);
  return { expected: sumOf("expected"), stored: sumOf("stored") };
}
