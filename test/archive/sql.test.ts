import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { fillFixture } from "../../scripts/sql/fixture.ts";
import { answer, readQuestions } from "../../scripts/sql/page.ts";
import { freshDatabase } from "../support/database.ts";

const page = readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8");
const questions = readQuestions(page);
const { pool } = await freshDatabase();
await fillFixture(pool);

test("docs/sql.md has twenty-one worked questions, and every statement in it is one of them", () => {
  expect(questions).toHaveLength(21);
  expect(page.match(/^```sql$/gm)).toHaveLength(21);
});

test.each(questions.map((question) => [question.title, question] as const))(
  "%s: the page shows what the archive answers",
  async (_title, { sql, result }) => {
    expect(result.split("\n").length).toBeGreaterThan(3);
    expect(await answer(pool, sql)).toBe(result);
  },
);
