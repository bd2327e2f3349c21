import { test } from "@jest/globals";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { runMap, sessionDays } from "../../src/files/runMap.ts";
import { tempDir } from "../support/tempDir.ts";
const days = sessionDays(createCalendar(), "2027-12-31");
test("all", async () => {
 for (const [map, file] of [["polygon-minutes","poly"],["polygon-minutes","poly"],["polygon-days","poly"],["stooq","stooq"],["stooq","stooq"]]) {
  const t = Date.now(); const h = createHash("sha256"); let n = 0, peak = 0, first = 0;
  for await (const s of runMap({ sql: readFileSync(`docs/maps/${map}.sql`,"utf8"), mapFile: "m.sql", files: [`/tmp/mapscratch/big/${file}.csv`], spillDir: tempDir(), days, signal: new AbortController().signal })) {
    if (n===0) first = Date.now()-t;
    n += s.rows.length; for (const r of s.rows) h.update(JSON.stringify(r)); peak = Math.max(peak, process.memoryUsage().rss);
  }
  process.stdout.write(`${map} ${n} rows ${Date.now()-t} ms, first ${first} ms, ${Math.round(peak/1e6)} MB ${h.digest("hex").slice(0,12)}\n`);
 }
}, 600000);
