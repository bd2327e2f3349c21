import { expect, test } from "@jest/globals";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { runMap, sessionDays } from "../../src/files/runMap.ts";
import { tempDir } from "../support/tempDir.ts";
const R = new URL("../backfill/csv/recorded", import.meta.url).pathname;
const days = sessionDays(createCalendar(), "2027-12-31");
test.each(readdirSync(R))("%s", async (name) => {
  const mapFile = new URL(`../../docs/maps/${name}.sql`, import.meta.url).pathname;
  const out: unknown[] = [];
  try {
    for await (const s of runMap({
      sql: readFileSync(mapFile, "utf8"),
      mapFile,
      files: [join(R, name, "quotes.csv")],
      spillDir: tempDir(),
      days,
      signal: new AbortController().signal,
    })) {
      out.push(JSON.stringify(s.columns), ...s.rows.map((r) => JSON.stringify(r)));
    }
  } catch (e) {
    out.push((e as Error).message, (e as Error).cause, (e as { problems?: unknown }).problems);
  }
  process.stdout.write(`== ${name}\n${out.join("\n")}\n`);
  expect(1).toBe(1);
});
