/**
 * A map of a vendor's files: one SELECT over the relation `input`, run by DuckDB, whose answer is a table for the plain reader.
 * The same files and the same map give the same rows in the same order.
 */
import { totalmem } from "node:os";
import { join } from "node:path";
import { locked } from "../../archive/export/duckSession.ts";
import { quoted } from "../../archive/export/duckFiles.ts";
import { instantFromDate, instantOf, microsOf } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Calendar, datesBetween, FIRST_DATE } from "../../market/calendar/tradingCalendar.ts";
import { type Duck, OF_DUCKDB, rowsOf } from "../sql/duckdb.ts";
import { startDuck } from "../sql/duckProcess.ts";
import { HARMLESS, type Readable, readStatement, type StatementNode, withoutEnd } from "../sql/statement.ts";
import { type JsonValue, textOf } from "../sql/values.ts";
import { identifier, inputOf, inWords, readingOf } from "./mapInput.ts";
import { MAP_MACROS, TABLE_MACROS } from "./mapMacros.ts";

/** A stretch of an answer: cells are text; null and the empty text are no value. */
export type MappedRows = { columns: readonly string[]; rows: (string | null)[][] };

/** A date of the exchange: the instant at which its session closes, or null and why there is none. */
type SessionDay = { date: string; close: Date; closed: null } | { date: string; close: null; closed: string };

export type MapOptions = {
  sql: string;
  /** Its name, for messages. */
  mapFile: string;
  /** CSV, packed by gzip or not, and Parquet; all with the same columns. */
  files: readonly string[];
  /** A directory of its own, for what DuckDB has no memory for. */
  spillDir: string;
  /** What `session_close` knows; dates before the first one closed at 16:00. */
  days: readonly SessionDay[];
  signal: AbortSignal;
  duck?: Duck;
};

/** Columns of the last stretches: a line that DuckDB could not read, and why. */
export const REFUSED_COLUMNS = ["file", "line", "refused", "text"] as const;

/** Room that DuckDB may take on the disk. */
const MOST_SPILLED = "50GB";

/** Characters that are shown of a line. */
const MOST_SHOWN = 4_000;

/**
 * Memory that DuckDB takes for a map before it goes to the disk, never more than half of the machine's: what it sorts goes there, what it
 * holds together at once does not. Its process may have 2 GB.
 */
const memoryOf = (machineBytes: number): string => `${Math.min(1_200, Math.floor(machineBytes / 2e6))}MB`;

const SETUP = [
  // Rows come in the order of the files: a resumed import counts them.
  "set threads = 1",
  "set preserve_insertion_order = true",
  "set TimeZone = 'UTC'",
  "set autoinstall_known_extensions = false",
  "set autoload_known_extensions = false",
];

/**
 * Runs a map over files.
 *
 * @returns stretches of the map's answer; behind them, with `REFUSED_COLUMNS`, the lines that DuckDB refused
 * @throws QuotekeeperError DUCKDB_MISSING; BACKFILL_MAP_INVALID: the map is not one SELECT over `input`, cannot be run, or says
 *   no `observed_at` or no instrument; BACKFILL_NOTHING: a file cannot be read; SQL_FAILED; the signal's reason
 */
export async function* runMap({
  duck = startDuck(),
  ...options
}: MapOptions): AsyncGenerator<MappedRows, void> {
  const { sql, mapFile, files, spillDir, days, signal } = options;
  const end = (): void => void duck.close();
  signal.addEventListener("abort", end);
  try {
    signal.throwIfAborted();
    const reading = readingOf(sql, mapFile);
    const select = await requireSelect(duck, options);
    await duck.open(join(spillDir, "spilled"));
    await duck.run(
      [
        ...SETUP,
        `set memory_limit = '${memoryOf(totalmem())}'`,
        `set max_temp_directory_size = '${MOST_SPILLED}'`,
        ...variablesOf(days),
        MAP_MACROS,
      ].join(";\n"),
    );
    const { view, paths } = await inputOf(duck, files, reading);
    await duck.run([view, ...locked(paths)].join(";\n"));
    const columns = await duck.begin(await inOrder(duck, select, mapFile));
    const names = columns.map(({ name }) => name);
    for (let rows = await duck.next(); rows !== null; rows = await duck.next())
      yield { columns: names, rows: rows.map(asTexts) };
    yield* refusedLines(duck);
  } catch (error) {
    signal.throwIfAborted();
    throw mapError(error, mapFile);
  } finally {
    signal.removeEventListener("abort", end);
    await duck.close();
  }
}

/** The days of a calendar from its first one on. @param through `YYYY-MM-DD` */
export function sessionDays(
  calendar: Pick<Calendar, "session" | "closedReason">,
  through: string,
): SessionDay[] {
  return datesBetween(FIRST_DATE, through).map((date) => {
    const close = calendar.session(date)?.close;
    if (close !== undefined) return { date, close, closed: null };
    return { date, close: null, closed: calendar.closedReason(date) ?? "" };
  });
}

/** Has DuckDB parse the map, in a database that touches no file. @returns the SELECT, as a part of another statement */
async function requireSelect(
  duck: Duck,
  { sql, spillDir }: Pick<MapOptions, "sql" | "spillDir">,
): Promise<string> {
  await duck.open(join(spillDir, "spilled"));
  await duck.run(locked([]).join(";\n"));
  const { select, explain } = await readStatement(duck, sql, await readableOf(duck));
  if (explain !== "") throw refused("it explains a statement");
  return withoutEnd(duck, select);
}

/** Words of SQL that are functions without parentheses. */
const CLOCKS = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

/** A map reads `input`, and gives the same whenever it is run. */
async function readableOf(duck: Duck): Promise<Readable> {
  const rows = await rowsOf(
    duck,
    "select distinct function_name from duckdb_functions() where stability <> 'CONSISTENT'",
  );
  const changing = new Set([...CLOCKS, ...rows.map(([name]) => String(name))]);
  return {
    tables: new Map([["main", ["input"]]]),
    kind: "relation of a map",
    functions: new Set(HARMLESS),
    macros: TABLE_MACROS,
    refusal: ({ type, function_name, column_names = [], sample }: StatementNode) => {
      if (sample) return "a sample is another one each time";
      const name = String(
        type === "FUNCTION" ? function_name : column_names.length === 1 ? column_names[0] : "",
      );
      return changing.has(name.toLowerCase()) && (type === "FUNCTION" || CLOCKS.includes(name.toLowerCase()))
        ? `${name} gives something else each time`
        : null;
    },
  };
}

function refused(detail: string): QuotekeeperError {
  return new QuotekeeperError("SQL_REFUSED", detail);
}

/** The variables that the macros read. */
function variablesOf(days: readonly SessionDay[]): string[] {
  const known = new Map(days.map((day) => [day.date, day]));
  const [first, last] = [days[0]?.date ?? FIRST_DATE, days.at(-1)?.date ?? FIRST_DATE];
  const closes = datesBetween(first, last).map((date) => {
    const day = known.get(date);
    if (day === undefined) return null;
    const { close, closed } = day;
    if (close === null) return `the exchange was closed on ${date} (${closed})`;
    return instantOf(microsOf(instantFromDate(close)) - 1n);
  });
  return [
    `set variable first_day = date '${first}'`,
    `set variable closes = from_json(${quoted(JSON.stringify(closes))}, '["VARCHAR"]')`,
  ];
}

/** Operators of a plan that give rows in the order in which they take them. */
const KEEP_ORDER = /^(PROJECTION|FILTER|STREAMING_WINDOW|STREAMING_LIMIT|UNION|READ_CSV|READ_PARQUET)\s*$/u;

/** Columns that put rows in order. */
const ORDER = ["file", "row", "observed_at", "instrument", "symbol", "expiration", "option_type", "strike"];

type PlanNode = { name: string; children?: PlanNode[] };

function keepsOrder({ name, children = [] }: PlanNode): boolean {
  return KEEP_ORDER.test(name) && children.every(keepsOrder);
}

/**
 * The statement whose rows are the answer: in the order of the files where DuckDB keeps it, or else put in order.
 *
 * The map stands in the statement's first line, so that lines of DuckDB's errors are those of the map.
 */
async function inOrder(duck: Duck, select: string, mapFile: string): Promise<string> {
  const described = await rowsOf(duck, `describe from (${select}\n)`);
  const names = described.map(([name]) => String(name));
  const missing = [
    ...(names.includes("observed_at") ? [] : ["observed_at"]),
    ...(names.includes("instrument") || names.includes("symbol") ? [] : ["instrument (or symbol)"]),
  ];
  if (missing.length > 0)
    throw new QuotekeeperError("BACKFILL_MAP_INVALID", `${mapFile} gives no column ${missing.join(" and ")}`);
  const plain = `select columns(mapped.*)::varchar from (${select}\n) as mapped`;
  const [plan] = await rowsOf(duck, `explain (format json) ${plain}`);
  const roots = JSON.parse(String(plan?.[1])) as PlanNode[];
  if (roots.every(keepsOrder)) return plain;
  const order = ORDER.filter((name) => names.includes(name)).map((name) => `mapped.${identifier(name)}`);
  // Rows that are the same in all that names them follow each other by what else they hold, in few bytes.
  return `${plain} order by ${[...order, "md5_number_lower(mapped::varchar)"].join(", ")}`;
}

function asTexts(row: JsonValue[]): (string | null)[] {
  return row.map((cell) => (cell === null ? null : textOf(cell)));
}

/** Lines that DuckDB could not read, each once, though a map may read its files several times. */
async function* refusedLines(duck: Duck): AsyncGenerator<MappedRows, void> {
  const tables = await rowsOf(duck, "select 1 from duckdb_tables() where table_name = 'reject_errors'");
  if (tables.length === 0) return;
  await duck.begin(`select parse_filename(file_path) as file, line, arg_min(error_message, column_idx) as refused,
      left(arg_min(csv_line, column_idx), ${MOST_SHOWN}) as text
    from reject_errors join reject_scans using (scan_id, file_id) group by file_path, line order by file_path, line`);
  for (let rows = await duck.next(); rows !== null; rows = await duck.next())
    yield { columns: REFUSED_COLUMNS, rows: rows.map(asTexts) };
}

/** What DuckDB says of a file that it cannot read at all. */
const OF_A_FILE = /CSV|gzip|parquet|No magic bytes|^IO Error/iu;

/** Errors of DuckDB and of the statement's reader as errors of the map, with its line, or of a file. */
function mapError(error: unknown, mapFile: string): unknown {
  if (!(error instanceof QuotekeeperError)) return error;
  const [detail = "", ...more] = error.detail.split("\n").map((line) => line.trim());
  if (OF_DUCKDB.test(detail) && OF_A_FILE.test(detail)) {
    const file = more.find((line) => line.startsWith("file = "))?.slice("file = ".length);
    const why = file === undefined ? inWords(detail) : `${file}: ${inWords(detail)}`;
    return new QuotekeeperError("BACKFILL_NOTHING", why, { cause: error });
  }
  if (error.code === "SQL_REFUSED") {
    const why = `${mapFile} is not one SELECT over input: ${detail}`;
    return new QuotekeeperError("BACKFILL_MAP_INVALID", why, { cause: error });
  }
  if (error.code !== "SQL_WRONG") return error;
  const line = more.map((text) => /^LINE (\d+): /u.exec(text)?.[1]).find((found) => found !== undefined);
  const where = line === undefined ? mapFile : `${mapFile} line ${line}`;
  const problems = more.filter((text) => !/^LINE \d+: |^\^/u.test(text));
  return new QuotekeeperError("BACKFILL_MAP_INVALID", `${where}: ${detail}`, { problems, cause: error });
}
