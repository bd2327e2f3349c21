/** `sql` across the border of lake and database: the answers are those of PostgreSQL with all rows in it. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { ask as askPostgres, readQuestions } from "../../scripts/sql/page.ts";
import { acrossTheBorder } from "./sqlWorld.ts";

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

/** Numbers as numbers, times as instants: whatever they look like. */
function plain(value: unknown): unknown {
  if (typeof value === "string" && /^-?\d+(\.\d+)?(e[-+]?\d+)?$/u.test(value)) return plain(Number(value));
  if (typeof value === "number") return Number(value.toPrecision(9));
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d[ T]\d\d:/u.test(value))
    return value
      .replace(" ", "T")
      .replace(/\+00$/u, "Z")
      .replace(/\.(\d+?)0*Z$/u, ".$1Z")
      .replace(/\.0?Z$/u, "Z");
  return value;
}

describe("the questions of docs/sql.md", () => {
  test("are asked of a day that was dropped, one that came late and one that is hot", async () => {
    const { rows } = await world.pool.query<{ n: string; date: string }>(
      "select count(*)::text as n from quotes where observed_at < '2026-11-19'",
    );
    expect(rows[0]?.n).toBe("0");
  });

  test.each(questions.map((question) => [question.title, question] as const))(
    "%s",
    async (_title, { sql }) => {
      const ours = await answerOf(sql);
      const theirs = await askPostgres(world.alone, sql);

      expect(ours.names).toEqual(theirs.names);
      expect(ours.rows.map((row) => row.map(plain))).toEqual(theirs.rows.map((row) => row.map(plain)));
    },
  );
});
