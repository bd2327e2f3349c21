/** docs/sql.md: its questions, and what the fixture's archive answers to them. docs/cookbook.md has its tasks in the same form. */
import type pg from "pg";
import { FIXTURE_AS_OF } from "./fixture.ts";

/** A question of the page: the statement, and the result that stands below it. */
export type Question = { title: string; sql: string; result: string };

const QUESTION = /^## (.+)$[^]*?^```sql\n([^]*?)^```\n\n```text\n([^]*?)^```$/gm;

/** The questions of the page, in its order. */
export function readQuestions(page: string): Question[] {
  return [...page.matchAll(QUESTION)].map(([, title = "", sql = "", result = ""]) => ({
    title,
    sql,
    result,
  }));
}

/** The page with the results that the database gives now. */
export async function answerPage(page: string, pool: pg.Pool): Promise<string> {
  let answered = page;
  for (const question of readQuestions(page))
    answered = withResult(answered, question, await answer(pool, question.sql));
  return answered;
}

/** The page with another result below a question's statement. */
export function withResult(page: string, { sql, result }: Question, now: string): string {
  return page.replace(`${sql}\`\`\`\n\n\`\`\`text\n${result}`, () => `${sql}\`\`\`\n\n\`\`\`text\n${now}`);
}

/** What a statement gives: the names of its columns, and its rows. */
export type Answer = { names: string[]; rows: unknown[][] };

/** What a statement gives. @param asOf what time it is in the archive; default: the fixture's */
export async function ask(pool: pg.Pool, sql: string, asOf = FIXTURE_AS_OF): Promise<Answer> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local quotekeeper.as_of = '${asOf}'`);
    const { rows, fields } = await client.query<unknown[]>({ text: sql, rowMode: "array" });
    return { names: fields.map(({ name }) => name), rows };
  } finally {
    await client.query("rollback");
    client.release();
  }
}

/** What the fixture's archive answers, as a table of text. */
export async function answer(pool: pg.Pool, sql: string): Promise<string> {
  return textTable(await ask(pool, sql));
}

/** An answer as a table of text; numbers to the right, as psql prints them. */
export function textTable({ names, rows }: Answer): string {
  const lines = rows.map((row) => row.map((value: unknown) => (value === null ? "" : shown(value))));
  const widths = names.map((name, place) =>
    Math.max(name.length, ...lines.map((line) => line[place]?.length ?? 0)),
  );
  const numeric = names.map((_, place) => lines.every((line) => /^(-?[\d.]+%?|)$/.test(line[place] ?? "")));
  const text = (cells: readonly string[]): string =>
    cells
      .map((cell, place) =>
        numeric[place] ? cell.padStart(widths[place] ?? 0) : cell.padEnd(widths[place] ?? 0),
      )
      .join(" | ")
      .trimEnd();
  return [text(names), widths.map((width) => "-".repeat(width)).join("-+-"), ...lines.map(text), ""].join(
    "\n",
  );
}

function shown(value: unknown): string {
  if (typeof value === "object") return JSON.stringify(value);
  return String(value).replace(/\+00$/, "Z");
}
