/** docs/cookbook.md: its answers and pictures are those of its archive. */
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { SaxesParser } from "saxes";
import { fillCookbook } from "../../scripts/cookbook/archive.ts";
import { answerTask, readTasks, type Task } from "../../scripts/cookbook/page.ts";
import { freshDatabase } from "../support/database.ts";

// Pictures are drawn from an archive, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const docs = new URL("../../docs/", import.meta.url);
const page = readFileSync(new URL("cookbook.md", docs), "utf8");
const tasks = readTasks(page);
const each = tasks.map((task) => [task.title, task] as const);

/** As GitHub shows it: an SVG that is no XML is a broken picture there. */
function textsOf(svg: string): string[] {
  const texts: string[] = [];
  const parser = new SaxesParser();
  parser.on("text", (text) => texts.push(text.trim()));
  parser.write(svg).close();
  return texts.filter((text) => text !== "");
}

test("the page has eight tasks, every statement in it is one of them, and each has a picture of its own", () => {
  expect(tasks).toHaveLength(8);
  expect(page.match(/^```sql$/gm)).toHaveLength(8);
  expect(tasks.map(({ picture }) => picture).sort()).toEqual(
    readdirSync(new URL("images/cookbook/", docs)).sort(),
  );
});

describe("the archive of the page", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    ({ pool } = await freshDatabase());
    await fillCookbook(pool);
  });

  test.each(each)(
    "%s: answer and picture are those that the page shows (node scripts/cookbook.js)",
    async (_title, task) => {
      const { result, svg } = await answerTask(pool, task);

      expect(task.result).toBe(result);
      expect(readFileSync(new URL(`images/cookbook/${task.picture}`, docs), "utf8")).toBe(svg);
    },
  );

  test("the cookbook's archive has the faults that the page speaks of, and its statements find these and no others", async () => {
    const rowsOf = async (place: number) => (await answerTask(pool, tasks[place] as Task)).rows;

    const parity = await rowsOf(1);
    expect(
      parity.filter((row) => row[7] !== null).map((row) => [row[2], row[7], Number(row[8]) > 60]),
    ).toEqual([
      ["420", "buy", false],
      ["370", "sell", true],
    ]);
    const { rows: missed } = await pool.query<{ date: string; series: string; n: string }>(
      `select to_char(slot_at, 'YYYY-MM-DD') as date, case job when 'stocks' then instrument else split_part(instrument, ':', 1) || ' options' end as series,
              count(*) as n
       from misses group by 1, 2`,
    );
    const counted = new Map(missed.map(({ date, series, n }) => [`${date} ${series}`, Number(n)]));
    for (const [date, series, expected, stored] of await rowsOf(3))
      expect([date, series, Number(expected) - Number(stored)]).toEqual([
        ...[date, series, counted.get(`${String(date)} ${String(series)}`) ?? 0],
      ]);
  });
});

test.each(each)("%s: the picture says what it is, on a ground of its own", (_title, { picture }) => {
  const svg = readFileSync(new URL(`images/cookbook/${picture}`, docs), "utf8");

  expect(Buffer.byteLength(svg)).toBeLessThan(60_000);
  expect(textsOf(svg)).toContain("MADE-UP PRICES");
  expect(svg).toMatch(
    /<title>.+ \(made-up prices\)<\/title>\n<rect width="820" height="440" x="0" y="0" fill="#ffffff">/,
  );
  expect(svg).not.toMatch(/NaN|undefined|zr\d/);
});
