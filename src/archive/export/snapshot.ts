/** One look at the archive for a whole export: what is loaded meanwhile is in none of its files. */
import { addAbortSignal } from "node:stream";
import type pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import type { Instant } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { makeDueBarsIfAllowed } from "../schema/makeBars.ts";
import { commitsSettled } from "../tiers/citus/door.ts";
import type { ExportTable } from "./tables.ts";
import type { ExportColumn } from "./exportColumns.ts";
import {
  CAPITALS,
  daysQuery,
  digestsQuery,
  type ExportRange,
  hoursQuery,
  type RowFormat,
  rowsQuery,
} from "./exportQueries.ts";
import { instantText } from "../schema/tableRows.ts";

/** What tells a column's values of a day from others: see `digestsQuery`. `sum` without zeros that mean nothing. */
export type ColumnDigest = { name: string; values: number; sum: string };

/** The archive at one instant: a connection in a transaction that reads. */
export type ArchiveSnapshot = pg.ClientBase;

/**
 * Makes the bars that are due, and runs `work` in one read-only transaction that sees one state of the database throughout.
 *
 * @param signal cuts the connection: a COPY under way ends with an error
 * @throws QuotekeeperError ARCHIVE_EMPTY when the database was never migrated; the database's errors as they are
 */
export async function withSnapshot<T>(
  pool: pg.Pool,
  signal: AbortSignal,
  work: (snapshot: ArchiveSnapshot) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let failed = true;
  let released = false;
  const release = (destroy: boolean): void => {
    if (!released) client.release(destroy);
    released = true;
  };
  const cut = (): void => release(true);
  signal.addEventListener("abort", cut, { once: true });
  try {
    signal.throwIfAborted();
    await makeDueBarsIfAllowed(client);
    await client.query("begin transaction isolation level repeatable read read only");
    // Without it the JIT compiles each of many short queries anew, and an operator's limit may be meant for pages.
    await client.query("set local jit = off; set local statement_timeout = 0");
    // Rows come as fast as they are taken from one process already, and several of them have to sort what it need not.
    await client.query("set local max_parallel_workers_per_gather = 0");
    const { rows } = await client.query<{ there: boolean }>(
      "select to_regclass('quotes') is not null as there",
    );
    if (!rows[0]?.there)
      throw new QuotekeeperError("ARCHIVE_EMPTY", "the database has no tables of quotekeeper");
    // The coordinator's state is that of the statement before; the workers' begins with the first question to them.
    await commitsSettled(client);
    const result = await work(client);
    await client.query("commit");
    failed = false;
    return result;
  } finally {
    signal.removeEventListener("abort", cut);
    // A COPY may be half read: the connection is of no more use after an error.
    release(failed);
  }
}

/** Exchange dates with rows; one entry with `date` null for a table that is not cut into days. */
export async function readDays(
  client: pg.ClientBase,
  table: ExportTable,
  range: ExportRange,
): Promise<{ date: string | null; rows: number | null }[]> {
  const { rows } = await client.query<{ date: string | null; rows: string | null }>(daysQuery(table, range));
  return rows.map(({ date, rows: count }) => ({ date, rows: count === null ? null : Number(count) }));
}

/** An hour in which a table has rows. Equal rows have an equal hash. */
type HourOfRows = { from: Instant; to: Instant; rows: number; hash: string };

export async function readHours(
  client: pg.ClientBase,
  { table, columns }: { table: ExportTable; columns: readonly ExportColumn[] },
  range: ExportRange,
): Promise<HourOfRows[]> {
  const { day } = table;
  if (day?.kind !== "time") throw new QuotekeeperError("UNEXPECTED", `${table.name} has no time`);
  const { rows } = await client.query<Omit<HourOfRows, "rows"> & { rows: string }>(
    hoursQuery({ ...table, day }, columns, range),
  );
  return rows.map((hour) => ({ ...hour, rows: Number(hour.rows) }));
}

/**
 * Rows on their way out.
 *
 * @returns bytes in pieces of any length: COPY's binary format, or CSV with a heading; and once they are over, how many rows the
 *   server says it has sent
 */
export function copyRows(
  client: pg.ClientBase,
  { table, columns }: { table: ExportTable; columns: readonly ExportColumn[] },
  { range, format, signal }: { range: ExportRange; format: RowFormat; signal: AbortSignal },
): { bytes: AsyncIterable<Buffer>; count: () => Promise<number> } {
  const options = format === "binary" ? "format binary" : "format csv, header true";
  const query = `copy (${rowsQuery(table, columns, { range, format })}) to stdout with (${options})`;
  const stream = client.query(copyTo(query));
  // It says so again when its connection goes, perhaps when nobody reads any more.
  stream.on("error", () => undefined);
  // A COPY learns nothing of a connection that is cut.
  addAbortSignal(signal, stream);
  return {
    bytes: stream,
    // The count comes after the last byte, perhaps in a packet of its own: an answered question comes after both.
    count: async () => {
      await client.query("select");
      return stream.rowCount;
    },
  };
}

/** The transactions that a snapshot sees, when it was made, UTC, and the database's number in its server. */
export async function readIdentity(
  client: pg.ClientBase,
): Promise<{ snapshot: string; at: Instant; database: string }> {
  const { rows } = await client.query<{ snapshot: string; at: Instant; database: string }>(
    `select pg_current_snapshot()::text as snapshot, ${instantText("now()")} as at, oid::text as database
     from pg_database where datname = current_database()`,
  );
  return rows[0] as (typeof rows)[number];
}

/** The symbols among these that the archive has no instrument of. */
export async function unknownSymbols(client: pg.ClientBase, symbols: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ symbol: string }>(
    `select symbol from unnest($1::text[]) with ordinality as w (symbol, place)
     where not exists (select from instruments i where ${CAPITALS("i.symbol")} = w.symbol)
     order by place`,
    [symbols],
  );
  return rows.map(({ symbol }) => symbol);
}

export async function digestsOf(
  client: pg.ClientBase,
  { table, columns }: { table: ExportTable; columns: readonly ExportColumn[] },
  range: ExportRange,
): Promise<{ rows: number; columns: ColumnDigest[] }> {
  const { rows } = await client.query<{ rows: string; digests: string[] }>(
    digestsQuery(table, columns, range),
  );
  const { rows: count, digests } = rows[0] as (typeof rows)[number];
  return {
    rows: Number(count),
    columns: columns.map(({ name }, place) => ({
      name,
      values: Number(digests[2 * place]),
      sum: plainDecimal(digests[2 * place + 1] ?? ""),
    })),
  };
}

function plainDecimal(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/u, "") : text;
}
