/** Whatever value a reader accepts comes back equal from every door of the archive: export, lake, `sql`, import. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { EXTENDED_FIELDS, NUMBER_FIELDS, PRICE_FIELDS, withElement } from "../../../src/quotes/fields.ts";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { runs } from "../../support/runs.ts";
import { see } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import { answerXml, equityXml, optionXml } from "../../support/xml.ts";

// One test passes many values through every door, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

/** Numbers as services and files write them, of any size: digits, a point somewhere, an exponent. */
const number = fc
  .tuple(
    fc.constantFrom("", "-", "+"),
    fc.stringMatching(/^\d{1,44}$/),
    fc.stringMatching(/^\d{0,44}$/),
    fc.constantFrom("", "", "E0", "E-9", "e-24", "E-60", "E14", "E30"),
  )
  .map(([sign, whole, fraction, power]) => `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}${power}`);

const SPECIAL = [
  ...["1.7976931348623157E308", "4.9E-324", "2.2250738585072014E-308", "3.4567890123456789E-30"],
  ...["999999999999999.99999999999999999999999", "-999999999999999.99999999999999999999999", "1E15"],
  ...["0.00000000000000000000001", "-0.00000000000000000000001", "0.000000000000000000000005", "-0", "1e-25"],
  ...["9223372036854775807", "9007199254740993", "150.10", "21,261,045", "2.00%", "NaN", "1O0"],
];

const asText = (column: string): string => `cast(${column} as varchar)`;

const ASKED = ["symbol", "expiration"];

/** A row for each quote, with its values as text: `decimal` makes one text of a number, `time` one of an instant. */
const rowsSql = ({ decimal, time }: Record<"decimal" | "time", (column: string) => string>): string =>
  `select i.symbol, cast(i.expiration as text) as expiration, ${NUMBER_FIELDS.map(
    ({ column, type }) =>
      `${{ instant: time, date: asText, decimal, integer: decimal }[type](`${table(column)}."${column}"`)} as "${column}"`,
  ).join(", ")}
   from quotes q join extended_quotes e
     on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
   join instruments i on i.id = q.instrument_id
   order by i.symbol, i.expiration, q.observed_at`;

function table(column: string): string {
  return PRICE_FIELDS.some((field) => field.column === column) ? "q" : "e";
}

async function contentOf(pool: pg.Pool): Promise<unknown[]> {
  return rowsOfQuery(
    pool,
    rowsSql({
      decimal: (column) => `trim_scale(${column}::numeric)::text`,
      time: (column) => `(1000000 * extract(epoch from ${column}))::bigint::text`,
    }),
  );
}

type Env = Record<string, string>;

/** Hypertables have no trigger for rows that are changed by hand. */
async function barsFollow(pool: pg.Pool): Promise<void> {
  await pool.query("select recompute_session_bars('2026-01-01', '2026-02-01')");
}

async function ok(argv: readonly string[], env: Env, exitCode = 0): Promise<string> {
  const done = await run(argv, env);
  expect([argv.join(" "), done.exitCode, done.exitCode === exitCode ? "" : done.stderr]).toEqual([
    ...[argv.join(" "), exitCode, ""],
  ]);
  return done.stdout;
}

async function archive(): Promise<{ pool: pg.Pool; env: Env }> {
  const { pool, url } = await freshDatabase();
  return { pool, env: { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() } };
}

/** An answer and a CSV file that have each text in every field. */
function filesOf(texts: readonly string[]): { xml: string; csv: string } {
  const dir = tempDir();
  mkdirSync(join(dir, "xml"));
  const fieldsOf = (fields: readonly { element?: string }[], text: string) =>
    Object.fromEntries(withElement(fields).map(({ element }) => [element, text]));
  const dividend = (text: string) => ({ amt: text, exdate: "2026-02-02T00:00:00-05:00", yield: text });
  const items = texts.flatMap((text, place) => [
    equityXml(`S${place}`, {
      ...{ quote: fieldsOf(PRICE_FIELDS, text), extended: fieldsOf(EXTENDED_FIELDS, text) },
      dividend: dividend(text),
    }),
    optionXml(
      { underlying: `O${place}` },
      { quote: fieldsOf(PRICE_FIELDS, text), extended: fieldsOf(EXTENDED_FIELDS, text) },
    ),
  ]);
  writeFileSync(join(dir, "xml", "20260105T150000Z.xml"), answerXml(...items));
  const names = NUMBER_FIELDS.map(({ column }) => column);
  const rows = texts.map((text, place) => {
    const at = `2026-01-06T15:00:00.${String(place).padStart(6, "0")}Z`;
    const values = NUMBER_FIELDS.slice(1).map(({ type }) =>
      type === "instant" ? at : type === "date" ? "2026-01-05" : `"${text}"`,
    );
    return [`C${place}`, "2026-01-06T15:00:00Z", "1", ...values].join();
  });
  writeFileSync(
    join(dir, "quotes.csv"),
    ["instrument,observed_at", ...names].join() + `\n${rows.join("\n")}\n`,
  );
  return { xml: join(dir, "xml"), csv: join(dir, "quotes.csv") };
}

test("any value that an answer or a CSV file brings leaves by CSV, Parquet, lake and sql, and comes back, equal", async () => {
  const { pool, env } = await archive();
  const files = filesOf([...SPECIAL, ...fc.sample(number, runs(100))]);
  await ok(["backfill", "--xml", files.xml], env, 1);
  await ok(["backfill", "--csv", files.csv], env, 1);
  const truth = await contentOf(pool);
  const dir = tempDir();

  await ok(["lake", "--out", join(dir, "lake")], env);
  await ok(["lake", "verify", "--out", join(dir, "lake")], env);
  const asked = rowsSql({
    decimal: (column) => `cast(${column} as varchar)`,
    time: (column) => `cast(epoch_us(${column}) as varchar)`,
  });
  for (const argv of [["sql"], ["sql", "--lake-only", "--lake", join(dir, "lake")]]) {
    const { rows } = JSON.parse(await ok([...argv, "--json", asked], env)) as {
      rows: Record<string, string | null>[];
    };
    expect(rows.map(trimmed)).toEqual(truth);
  }
  for (const format of ["csv", "parquet"]) {
    const again = await archive();
    await ok(["export", "--format", format, "--out", join(dir, format)], env);
    await ok(["backfill", `--${format}`, join(dir, format)], again.env);
    expect(await contentOf(again.pool)).toEqual(truth);
    await ok(["export", "--format", format, "--out", join(dir, `${format} again`)], again.env);
  }
  for (const { column } of NUMBER_FIELDS)
    expect(truth).toContainEqual(expect.objectContaining({ [column]: expect.any(String) as unknown }));
});

/** Numbers without zeros that mean nothing. */
function trimmed(row: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(row).map(([name, text]) => [
      name,
      text !== null && !ASKED.includes(name) && text.includes(".") ? text.replace(/\.?0+$/, "") : text,
    ]),
  );
}

/** Three dates; the second has a price of more than 38 digits. */
async function old() {
  const { pool, env } = await archive();
  await pool.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())",
  );
  await see(
    pool,
    ...["2026-01-05", "2026-01-06", "2026-01-07"].map((day) => ({
      ...{ at: `${day} 10:00`, id: 1, bid: "1", ask: "2", volume: null, delta: null },
      last: day === "2026-01-06" ? "1.7976931348623157E308" : "1.5",
    })),
  );
  const out = join(tempDir(), "lake");
  const lake = async (exitCode: number): Promise<Record<string, unknown>> =>
    JSON.parse(await ok(["lake", "--out", out, "--json"], env, exitCode)) as Record<string, unknown>;
  return { pool, env, out, lake };
}

test("values that earlier releases have stored, and no file can have, are left out of a lake, which names them and goes on with other dates; once they are gone the date is whole", async () => {
  const { pool, env, out, lake } = await old();

  const first = await lake(1);
  const again = await lake(1);

  const why = "quotes.last holds a value that is no number, or one of too many digits";
  expect(first).toMatchObject({
    written: ["2026-01-05", "2026-01-06", "2026-01-07"],
    leftOut: expect.arrayContaining([{ date: "2026-01-06", table: "quotes", why }]),
  });
  expect(again).toMatchObject({ files: 0, leftOut: first["leftOut"] });
  expect(
    await ok(["sql", "--lake-only", "--lake", out, "--csv", "select count(*) as n from quotes"], env),
  ).toBe("n\n2\n");
  expect(await ok(["lake", "verify", "--out", out], env)).toContain("2026-01-06");

  await pool.query("update quotes set last = null where last > 1e15");
  await barsFollow(pool);
  expect(await lake(0)).toMatchObject({ leftOut: [], rewritten: ["2026-01-06"] });
  await ok(["lake", "verify", "--out", out], env);
});

test("values of one column, each of which a file can have and not all together, end no lake in writing dates over and over", async () => {
  const { pool, lake } = await old();
  await pool.query("update quotes set last = 1e29 where last > 1e15");
  await barsFollow(pool);
  await pool.query("update quotes set last = 1e-20 where observed_at > '2026-01-07'");
  await barsFollow(pool);

  expect(await lake(1)).toMatchObject({
    leftOut: expect.arrayContaining([expect.objectContaining({ table: "quotes" })]),
  });
});
