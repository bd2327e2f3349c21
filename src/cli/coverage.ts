/** `quotekeeper coverage`: expected against stored, per instrument and session, and why not. */
import { Option } from "commander";
import { z } from "zod";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import { count, countsByName, exchangeDay } from "../run/jsonWords.ts";
import { checkOrder, parseDate } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
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
import { QuotekeeperError } from "../errors.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../run/edges.ts";
import { type Archive, requireArchive, requireSchema, withArchive } from "../run/archive.ts";
import { table } from "./terminal/table.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { counted, percent, thousands } from "../figures.ts";

const counts = {
  expected: count.describe("Slots at which it was due; `stored` + `missed`."),
  stored: count.describe("Those at which its quote was stored."),
  missed: count.describe("Those at which it was not; the exit code is 1 when there are any."),
  reasons: countsByName.describe("How often it was missed, by reason."),
};

/** `coverage --json`. */
export const coverageJson = z
  .array(
    z.strictObject({
      date: exchangeDay.describe("Day of the exchange."),
      source: z.enum(["account", "simulated"]).describe("Which market it was polled from."),
      instrument: z.string().describe("The instrument."),
      ...counts,
      accounts: z
        .array(z.strictObject({ name: z.string().describe("Its name."), ...counts }))
        .optional()
        .describe(
          "What of it was due to each account; absent where one account had it all, and with `--account`.",
        ),
    }),
  )
  .describe("A row for each instrument and day, the worst first.");

/** Exchange dates, the newest week by default. */
export const addCoverage: AddCommand = (command, { run, edges }) => {
  command
    .addOption(
      new Option(
        "--from <date>",
        "first exchange date, YYYY-MM-DD; default: six days before the last",
      ).argParser(parseDate),
    )
    .addOption(
      new Option("--to <date>", "last exchange date, YYYY-MM-DD; default: today").argParser(parseDate),
    )
    .option("--account <name>", "only what was due to this account; default: all")
    .option("--json", "print JSON", false)
    .action(
      ({ json, account, ...given }: { from?: string; to?: string; account?: string; json: boolean }) => {
        const to = given.to ?? exchangeDate(edges.clock.now());
        const dates = checkOrder({ from: given.from ?? addDays(to, -6), to }, command);
        return run((config) => coverage(config, edges, { ...dates, account: account ?? null, json }), {
          readsOnly: true,
        });
      },
    );
};

/** Exchange dates, both included. */
type CoverageRequest = { from: string; to: string; account: string | null; json: boolean };

/** Instruments that are listed; the rest is counted. */
const MOST_ROWS = 40;

/** @returns 0; 1 when something that was due is not stored */
async function coverage(config: Config, edges: Edges, request: CoverageRequest): Promise<number> {
  const { from, to, json } = request;
  await requireArchive(config);
  const { rows, shares } = await withArchive(config, edges, async ({ pool, address }) => {
    await requireSchema(pool, address);
    return readRows(pool, request);
  });
  const { stdout } = edges;
  if (json) printJson(stdout, coverageJson, withShares(rows, shares));
  else if (rows.length === 0)
    say(
      stdout,
      `The ledger has no slot from ${from} to ${to}. Days are New York's, where it is ${exchangeDate(edges.clock.now())}.`,
    );
  else {
    for (const source of ["account", "simulated"] as const) {
      const ofSource = rows.filter((row) => row.source === source);
      const accounts = sumByAccount(shares.filter((share) => share.source === source));
      if (ofSource.length > 0) stdout.write(report(ofSource, accounts, edges));
    }
  }
  return rows.some(({ missed }) => missed > 0) ? 1 : 0;
}

/** @throws QuotekeeperError ACCOUNT_UNKNOWN */
async function readRows(
  pool: Archive["pool"],
  { from, to, account }: CoverageRequest,
): Promise<{ rows: CoverageRow[]; shares: CoverageShare[] }> {
  const shares = await readCoverageShares(pool, { from, to, account });
  if (account === null) return { rows: await readCoverage(pool, from, to), shares };
  const names = (await readAccountRows(pool)).map(({ name }) => name);
  if (!names.includes(account))
    throw new QuotekeeperError("ACCOUNT_UNKNOWN", `the archive knows ${names.join(", ")}, and no ${account}`);
  return { rows: shares.map(({ account: _account, ...row }) => row), shares: [] };
}

/** Rows with the parts of each account, where several have any. */
function withShares(
  rows: readonly CoverageRow[],
  shares: readonly CoverageShare[],
): z.infer<typeof coverageJson> {
  const keyOf = ({ date, source, instrument }: CoverageRow): string => `${date} ${source} ${instrument}`;
  if (sumByAccount(shares).length === 0) return [...rows];
  const parts = grouped(shares, keyOf);
  return rows.map((row) => ({
    ...row,
    accounts: (parts.get(keyOf(row)) ?? []).map(({ account, expected, stored, missed, reasons }) => ({
      ...{ name: account, expected, stored, missed, reasons },
    })),
  }));
}

/** Simulated slots are told apart from an account's, and say so. */
function report(rows: readonly CoverageRow[], accounts: readonly AccountCoverage[], edges: Edges): string {
  const worst = rows.filter(({ missed }) => missed > 0);
  const heading = rows[0]?.source === "simulated" ? "SIMULATED market\n" : "";
  const details = worst.length === 0 ? "Everything that was due is stored.\n" : worstTable(worst, edges);
  return `${heading}${heatLines(rows, edges.stdout.columns).join("\n")}\n\n${accounts.length > 0 ? `${accountsTable(accounts, edges)}\n` : ""}${details}`;
}

function accountsTable(accounts: readonly AccountCoverage[], { stdout, env }: Edges): string {
  const columns = ["Account", "Due", "Stored", "Missed", "Why"].map((heading, index) => ({
    heading,
    right: index > 0 && index < 4,
    ...(heading === "Why" && { wrap: "" }),
  }));
  const cells = accounts.map(({ account, expected, stored, missed, reasons }) => [
    ...[oneLine(account), ...[expected, stored, missed].map(thousands), why(reasons)],
  ]);
  return table(columns, cells, { stdout, env });
}

function worstTable(worst: readonly CoverageRow[], { stdout, env }: Edges): string {
  const columns = ["Date", "Instrument", "Stored", "Why"].map((heading, index) => ({
    heading,
    right: index === 2,
    ...(index === 1 && { wrap: ":" }),
    ...(index === 3 && { wrap: "" }),
  }));
  const cells = worst
    .slice(0, MOST_ROWS)
    .map(({ date, instrument, stored, expected, reasons }) => [
      ...[date, oneLine(instrument), `${thousands(stored)} of ${thousands(expected)}`, why(reasons)],
    ]);
  const rest =
    worst.length > MOST_ROWS
      ? `and ${counted(worst.length - MOST_ROWS, "more row")}; --json lists all.\n`
      : "";
  return `${table(columns, cells, { stdout, env })}${rest}`;
}

/** The reasons, the most frequent first. */
function why(reasons: CoverageRow["reasons"]): string {
  return Object.entries(reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${thousands(count)}`)
    .join(", ");
}

/** Shares of what was due, from nothing to all, as one character each. */
const SHADES = [..." .:-=+*#%@"];

/** Cells of a day's heat line, at most and at least; more instruments than that share cells. */
const HEAT_WIDTH = 48;
const LEAST_HEAT = 8;

/** What the date, the brackets and the blanks of a heat line take. */
const AROUND_HEAT = "2026-11-20 [] ".length;

/** A line a day: each character is some of the instruments, by name, dark where they are all there. */
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
  return rows.reduce(
    (sum, row) => ({ expected: sum.expected + row.expected, stored: sum.stored + row.stored }),
    { expected: 0, stored: 0 },
  );
}
