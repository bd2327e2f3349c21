/** `sql` across the border of lake and database: the answers are those of PostgreSQL with all rows in it. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { ask as askPostgres, readQuestions } from "../../scripts/sql/page.ts";
import { DUCK_NAMES } from "../../src/archive/export/duckViews.ts";
import { acrossTheBorder, plain } from "./sqlWorld.ts";

const world = await acrossTheBorder();
const questions = readQuestions(readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8"));

type Answer = { columns: { name: string; type: string }[]; rows: Record<string, unknown>[] };

async function answerOf(statement: string): Promise<{ names: string[]; rows: unknown[][] }> {
  const { exitCode, stdout, stderr } = await world.ask(statement, "--json");
  if (exitCode !== 0) throw new Error(stderr);
  const { columns, rows } = JSON.parse(stdout) as Answer;
  const names = columns.map(({ name }) => name);
  return { names, rows: rows.map((row) => names.map((name) => row[name])) };
}

test("the questions of docs/sql.md are asked of a dropped day, a late day and a hot day", async () => {
  const { rows } = await world.pool.query<{ n: string; date: string }>(
    "select count(*)::text as n from quotes where observed_at < '2026-11-19'",
  );
  expect(rows[0]?.n).toBe("0");
});

test.each(questions.map((question) => [question.title, question] as const))(
  "the questions of docs/sql.md: %s",
  async (_title, { sql }) => {
    const ours = await answerOf(sql);
    const theirs = await askPostgres(world.alone, sql);

    expect(ours.names).toEqual(theirs.names);
    expect(ours.rows.map((row) => row.map(plain))).toEqual(theirs.rows.map((row) => row.map(plain)));
  },
);

test("--as-of shows the option chain of that time, as the setting quotekeeper.as_of does in PostgreSQL", async () => {
  const statement =
    "select * from option_chain_latest order by underlying, expiration, strike, source, delayed";
  const of = async (time: string): Promise<unknown[][]> => {
    const { stdout } = await world.askAsOf(time, statement, "--json");
    const { columns, rows } = JSON.parse(stdout) as Answer;
    return rows.map((row) => columns.map(({ name }) => plain(row[name])));
  };

  for (const time of ["2026-11-18T16:00:00Z", "2026-11-19T15:02:03Z", "2026-11-20T20:59:59Z"]) {
    const { rows } = await askPostgres(world.alone, statement, time);

    expect(rows.length).toBeGreaterThan(2);
    expect(await of(time)).toEqual(rows.map((row) => row.map(plain)));
  }
});

test("every table and view has the columns of PostgreSQL's, in their order, and their types", async () => {
  const { rows } = await answerOf("show tables");
  expect(rows).toHaveLength(DUCK_NAMES.length);
  for (const name of DUCK_NAMES) {
    const { rows: theirs } = await world.alone.query<{ name: string; type: string }>(
      `select a.attname as name, replace(y.typname, 'dictionary_', '') as type from pg_attribute a join pg_type y on y.oid = a.atttypid
       where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`,
      [name],
    );
    const ours = (await answerOf(`describe ${name}`)).rows;

    expect([name, ours.map(([column]) => column)]).toEqual([name, theirs.map((one) => one.name)]);
    ours.forEach(([column, type], place) =>
      expect(`${name}.${String(column)} ${String(type)}`).toMatch(
        new RegExp(`^${name}.${theirs[place]?.name} ${TYPES[theirs[place]?.type ?? ""] ?? "none"}$`, "u"),
      ),
    );
  }
});

/** DuckDB's words for PostgreSQL's types; a quotient of decimals is a double there. */
const TYPES: Readonly<Record<string, string>> = {
  ...{
    int2: "SMALLINT",
    int4: "INTEGER",
    int8: "(BIGINT|HUGEINT)",
    text: "VARCHAR",
    bool: "BOOLEAN",
    date: "DATE",
  },
  ...{ timestamptz: "TIMESTAMP WITH TIME ZONE", numeric: "(DECIMAL.*|DOUBLE)", jsonb: "JSON", uuid: "UUID" },
  ...{ _text: "VARCHAR\\[\\]" },
};
