/** One row that the database refuses, among many that it takes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { answerRecord, appendAll, at } from "../../support/journal.ts";
import { answerXml, equityXml } from "../../support/xml.ts";
import type { Verdict } from "./verdict.ts";

/** Quotes of one answer. */
const PER_ANSWER = 100;

/** A price that a constraint of the table refuses. */
const POISON = { quote: { lastprice: "666" } };

/** @param pool a migrated database without rows; it gets a constraint */
export async function poisonOne(
  pool: pg.Pool,
  { rows, where }: { rows: number; where: "first" | "middle" | "last" },
): Promise<Verdict> {
  const poisoned = { first: 0, middle: Math.floor(rows / 2), last: rows - 1 }[where];
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-faults-poison-"));
  const violations: string[] = [];
  await pool.query("alter table quotes add constraint poison check (last <> 666)");
  const startedAt = performance.now();
  try {
    const answers = Array.from({ length: rows / PER_ANSWER }, (_, answer) => {
      const items = Array.from({ length: PER_ANSWER }, (_, place) => answer * PER_ANSWER + place);
      const xml = items.map((row) => equityXml(`P${row}`, row === poisoned ? POISON : {}));
      return answerRecord(at(answer), answerXml(...xml));
    });
    await appendAll(dir, answers, { clock: systemClock });
    const { quotes, deadLetters } = await loadAll({ pool, journalDir: dir, clock: systemClock });
    if (quotes !== rows - 1 || deadLetters !== 1)
      violations.push(`${quotes} quotes and ${deadLetters} dead letters of ${rows}`);
    const { rows: letters } = await pool.query<{ instrument: string }>("select instrument from dead_letters");
    if (letters[0]?.instrument !== `P${poisoned}`)
      violations.push(`the dead letter is ${letters[0]?.instrument}, not P${poisoned}`);
    const again = await loadAll({ pool, journalDir: dir, clock: systemClock });
    if (again.quotes + again.deadLetters > 0) violations.push("loading again added something");
    return {
      scenario: "a poison row",
      did: `the ${where} of ${rows} rows is one that the database refuses`,
      figures: { quotes, deadLetters, ms: Math.round(performance.now() - startedAt) },
      violations,
    };
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}
