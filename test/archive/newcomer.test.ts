/** What a newcomer sees who asks docs/sql.md's questions ten minutes after the first start, whatever time it is. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { ask, readQuestions } from "../../scripts/sql/page.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { type NewcomersArchive, newcomersArchive } from "./newcomer.ts";

const questions = readQuestions(readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8"));

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
});
