import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { fillFixture } from "../../scripts/sql/fixture.ts";
import { answer, ask, readQuestions } from "../../scripts/sql/page.ts";
import { freshDatabase } from "../support/database.ts";
import { see, addStocks, addContracts, archive } from "../support/observations.ts";

const page = readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8");
const questions = readQuestions(page);
const { pool } = await freshDatabase();
await fillFixture(pool);

/** The same archive with prices of 0: at the ends of each session, every seventh one, and nothing else on one date. */
const { pool: withZeros } = await freshDatabase();
await fillFixture(withZeros);
await withZeros.query(
  `update quotes set last = 0, bid = 0, ask = 0
   where instrument_id = 3 and (observed_at at time zone 'America/New_York')::date = '2026-11-19'
      or extract(epoch from observed_at at time zone 'UTC')::bigint / 300 % 7 = 0
      or (observed_at at time zone 'America/New_York')::time < '04:10'
      or (observed_at at time zone 'America/New_York')::time between '09:30' and '09:40'
      or (observed_at at time zone 'America/New_York')::time between '15:30' and '16:10'
      or (observed_at at time zone 'America/New_York')::time > '19:50'`,
);
await withZeros.query("update extended_quotes set volume = 0 where instrument_id = 2");
await withZeros.query("select recompute_session_bars('2026-11-18', '2026-11-20')");

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

/** Columns of the page that hold prices, or what is made of them and cannot be 0. */
const PRICES =
  /^(open|high|low|close|last|underlying|regular|evening|before|vwap|moneyness|volatility|basis_points)$/;

test.each(questions.map((question) => [question.title, question] as const))(
  "%s: a price of 0 is passed over",
  async (_title, { sql }) => {
    const { names, rows } = await ask(withZeros, sql);

    expect(rows.length).toBeGreaterThan(0);
    const prices = rows.flatMap((row) => row.filter((_, place) => PRICES.test(names[place] ?? "")));
    expect(prices.filter((price) => price !== null && Number(price) === 0)).toEqual([]);
    // A fall to 0 and the rise after it.
    const changes = rows.flatMap((row) => row.filter((_, place) => names[place] === "percent"));
    expect(changes.filter((change) => change !== null && Math.abs(Number(change)) === 100)).toEqual([]);
  },
);

test("movers that nothing says the close before of rank last, also one that changed by all it is worth", async () => {
  const { pool: young } = await freshDatabase();
  await fillFixture(young);
  await addStocks(young, ["NEW", "DOUBLED", "FROM0"], 21);
  await young.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last, change)
     values ('2026-11-20 20:00:00+00', 21, 1, false, 5, null), ('2026-11-20 20:00:00+00', 22, 1, false, 5, 2.5),
            ('2026-11-20 20:00:00+00', 23, 1, false, 5, 5)`,
  );
  await young.query("select recompute_session_bars('2026-11-20', '2026-11-20')");
  const movers = questions.find(({ title }) => title.startsWith("7."));

  const { rows } = await ask(young, movers?.sql ?? "");

  expect(rows.map(([symbol, , percent]) => [symbol, percent])).toEqual([
    ["DOUBLED", "100.00"],
    ["MSFT", "-0.68"],
    ["AAPL", "0.62"],
    ["IBM", "0.19"],
    ["FROM0", null],
    ["NEW", null],
  ]);
});

test("a contract's delta has the price of its underlying beside it where a file gives both times of their own", async () => {
  const imported = await archive("AAPL");
  await addContracts(imported, [["2026-12-18", "CALL", "150"]]);
  await see(
    imported,
    { at: "2026-11-19 16:00", last: "149.00" },
    ...["10:00", "11:00", "12:00"].map((time, n) => ({
      ...{ at: `2026-11-20 ${time}`, last: n === 1 ? "0" : `15${n}.00` },
    })),
    ...["09:45", "10:45", "12:15"].map((time, n) => ({
      ...{ at: `2026-11-20 ${time}`, id: 2, last: `${n + 2}.50`, delta: `0.5${n}` },
    })),
  );
  const delta = questions.find(({ title }) => title.startsWith("15."));

  const { rows } = await ask(imported, delta?.sql ?? "");

  expect(rows).toEqual([
    ["09:45", "149.00", "2.50", "0.50"],
    ["10:45", "150.00", "3.50", "0.51"],
    ["12:15", "152.00", "4.50", "0.52"],
  ]);
});
