/** What a newcomer sees who asks docs/sql.md's questions and docs/cookbook.md's tasks ten minutes after the first start, whatever time it is. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import { answerTask, readTasks } from "../../scripts/cookbook/page.ts";
import { ask, readQuestions } from "../../scripts/sql/page.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { type NewcomersArchive, newcomersArchive } from "./newcomer.ts";

// Pictures are drawn from an archive, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const docs = new URL("../../docs/", import.meta.url);
const questions = readQuestions(readFileSync(new URL("sql.md", docs), "utf8"));
const tasks = readTasks(readFileSync(new URL("cookbook.md", docs), "utf8"));

const STARTS = [
  ["on a Tuesday at 11:00", "2026-11-24T16:00:20Z"],
  ["on a Saturday", "2026-11-21T19:30:20Z"],
  ["at 03:00", "2026-11-24T08:00:20Z"],
] as const;

describe.each(STARTS)("an archive of ten minutes, begun %s,", (_when, start) => {
  let made: NewcomersArchive;
  beforeAll(async () => {
    made = await newcomersArchive(start, 10);
  });

  test("an archive of ten minutes has quotes of all that the example jobs ask for", async () => {
    const { pool } = made;
    const [counted] = await rowsOfQuery(
      pool,
      `select count(distinct instrument_id) filter (where option_type is null) as stocks, count(distinct instrument_id) as all,
              count(distinct source) as sources from latest_quotes`,
    );

    expect(Number(counted?.["stocks"])).toBe(14);
    expect(Number(counted?.["all"])).toBeGreaterThan(30);
    expect(Number(counted?.["sources"])).toBe(1);
  });

  test("an archive of ten minutes has bars of every width, all of them of a session", async () => {
    const { pool } = made;
    const sessions = await rowsOfQuery(
      pool,
      ["bars_1m", "bars_5m", "bars_1h", "bars_1d"]
        .map(
          (view) =>
            `select '${view}' as view, session, count(distinct instrument_id)::int as n from ${view} group by 2`,
        )
        .join(" union all "),
    );

    const all = sessions[0]?.["n"];
    expect(sessions).toEqual(
      ["bars_1m", "bars_5m", "bars_1h", "bars_1d"].map((view) => ({ view, session: "regular", n: all })),
    );
  });

  test.each(questions.map((question) => [question.title, question] as const))(
    "an archive of ten minutes answers: %s",
    async (_title, { sql }) => {
      const { pool, now } = made;

      const { names, rows } = await ask(pool, sql, now);

      const says = rows.filter(
        (row) => row.filter((value) => value !== null).length >= Math.min(3, names.length),
      );
      expect(says.length).toBeGreaterThan(0);
    },
  );

  // Nothing is violated, and no dividend changes within ten minutes: these answers have rows all the same.
  test.each(tasks.map((task) => [task.title, task] as const))(
    "an archive of ten minutes answers and draws: %s",
    async (_title, task) => {
      const { rows, svg } = await answerTask(made.pool, task, made.now);

      expect(rows.filter((row) => row.filter((value) => value !== null).length >= 3).length).toBeGreaterThan(
        0,
      );
      expect(svg.match(/<text/g)?.length).toBeGreaterThan(5);
      expect(svg).not.toMatch(/NaN|undefined/);
    },
  );
});
