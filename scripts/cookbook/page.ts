/** docs/cookbook.md: its tasks, and what the cookbook's archive answers to them, in text and as pictures. */
import type pg from "pg";
import { type Answer, ask, type Question, readQuestions, textTable } from "../sql/page.ts";
import { COOKBOOK_AS_OF } from "./archive.ts";
import { drawChart, type Row } from "./chart.ts";
import { PICTURES } from "./pictures.ts";

/** A task of the page: a question, and the file of its picture in docs/images/cookbook/. */
export type Task = Question & { picture: string };

/** The tasks of the page, in its order. @throws where one has no picture */
export function readTasks(page: string): Task[] {
  return readQuestions(page).map((question) => {
    const section = page.slice(page.indexOf(question.sql)).split(/^## /m)[0] ?? "";
    const picture = /!\[[^\]]+\]\(images\/cookbook\/([^)]+)\)/.exec(section)?.[1];
    if (!picture) throw new Error(`docs/cookbook.md shows no picture for "${question.title}"`);
    return { ...question, picture };
  });
}

/** Rows that the page shows; the picture has all of them. */
const ROWS_SHOWN = 8;

/** What stands below the statement: the first rows of the answer. */
function firstRows({ names, rows }: Answer): string {
  const more = rows.length - ROWS_SHOWN;
  const shown = textTable({ names, rows: rows.slice(0, ROWS_SHOWN) });
  return more > 0 ? `${shown}(and ${more} more rows)\n` : shown;
}

/**
 * What an archive answers to a task now.
 *
 * @param asOf what time it is there; default: in the cookbook's archive
 */
export async function answerTask(
  pool: pg.Pool,
  { sql, picture }: Task,
  asOf = COOKBOOK_AS_OF,
): Promise<Answer & { result: string; svg: string }> {
  const answer = await ask(pool, sql, asOf);
  const draw = PICTURES[picture];
  if (!draw) throw new Error(`nothing in scripts/cookbook/pictures.ts draws ${picture}`);
  const rows = answer.rows.map((values): Row =>
    Object.fromEntries(values.map((value, at) => [answer.names[at], value])),
  );
  return { ...answer, result: firstRows(answer), svg: drawChart(draw(rows)) };
}
