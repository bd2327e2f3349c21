import { test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { runMap, sessionDays } from "../../src/files/runMap.ts";
import { tempDir } from "../support/tempDir.ts";
const days = sessionDays(createCalendar(), "2027-12-31");
const F="/tmp/mapscratch/f/";
const cases = JSON.parse(readFileSync("/tmp/mapscratch/cases.json","utf8")) as {sql: string; files: string[]}[];
test("all", async () => {
 for (const c of cases) {
  const out: unknown[] = [];
  try {
  for await (const s of runMap({ sql: c.sql, mapFile: "m.sql", files: c.files.map((f) => F + f), spillDir: tempDir(), days, signal: new AbortController().signal })) {
    out.push("  "+JSON.stringify(s.columns), ...s.rows.map((r) => "  "+JSON.stringify(r)));
  } } catch (e) { out.push("  ERR "+(e as Error).message); }
  process.stdout.write(`== ${c.files.join()} ${c.sql}\n${out.join("\n")}\n`);
 }
}, 300000);
