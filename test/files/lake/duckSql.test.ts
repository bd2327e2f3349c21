/** The SQL of `quotekeeper sql` says the same as the database's own, where both have the same words. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { readHistory } from "../../../src/archive/schema/history.ts";
import { functionOf, viewOf } from "../../../src/archive/tiers/sqlText.ts";

const duck = (name: string): string =>
  readFileSync(new URL(`../../../migrations/duckdb/${name}.sql`, import.meta.url), "utf8");

const { repeated } = await readHistory();
const texts = repeated.map(({ sql }) => sql).join("\n");

test.each(["bars_1d_regular", "dividend_calendar"])("the view %s is PostgreSQL's, word by word", (name) => {
  expect(duck("views")).toContain(`${viewOf(texts, name).replace("or replace ", "")};`);
});

test("a contract ends when expires_at of PostgreSQL's says", () => {
  const { body } = functionOf(texts, "expires_at", "symbol");
  const names = ["symbol", "expiration", "root"];
  const ours = body
    .replace(/\$(\d)/gu, (_, place: string) => names[Number(place) - 1] ?? "")
    .replace(/\bfrom sessions\b/gu, "from parts.sessions");

  expect(duck("macros")).toContain(`create macro expires_at(${names.join(", ")}) as (\n${ours}\n);`);
});
