/** What docs/backfill-csv.md shows of maps works as it stands there, and names every option. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { mapSchema } from "../../../src/backfill/csv/mapSchema.ts";
import { backfillWorld } from "../world.ts";
import { backfill, files, letters, rows } from "./csvFiles.ts";

const PAGE = readFileSync(new URL("../../../docs/backfill-csv.md", import.meta.url), "utf8");

/** The code blocks of a language, in their order. */
function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gsu"))].map(
    ([, text = ""]) => text,
  );
}

test("the file and the map of the documentation are imported as it says", async () => {
  const world = await backfillWorld();
  const [csv = ""] = blocks("csv");
  const [map = ""] = blocks("yaml");

  const { exitCode, report } = await backfill(world, files(csv, map));

  expect({ exitCode, report }).toMatchObject({
    exitCode: 0,
    report: { answers: 1, newAnswers: 1, read: 3, stored: 3, repeated: 0, deadLettered: 0 },
  });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 150.10 150.12 150.11 1200",
    "2026-11-18 14:30:00.000000 MSFT 300.00 800",
    "2026-11-18 14:31:00.000000 AAPL 150.20 150.22 150.21 2400",
  ]);
  const { rows: sources } = await world.pool.query("select name from sources where kind = 'import'");
  expect(sources).toEqual([{ name: "my-vendor" }]);
});

test("a map of option quotes with OCC symbols is imported as the documentation says", async () => {
  const world = await backfillWorld();
  const [, map = ""] = blocks("yaml");

  await backfill(
    world,
    files("contract,ts,b,a,delta\nAAPL261218C00150000,1795012200123,5.1,5.2,0.53\n", map),
  );

  expect(await letters(world)).toEqual([]);
  expect(await rows(world, "q.bid, q.ask, e.delta")).toEqual([
    "2026-11-18 14:30:00.123000 AAPL 2026-12-18 CALL 150 5.1 5.2 0.53",
  ]);
});

test("each option of a map is a line of the documentation, with its default", () => {
  const documented = [...PAGE.matchAll(/^\| `(\w+)` +\| ([^|]+?) +\|/gmu)].map(([, name, value]) => [
    name,
    value,
  ]);

  expect(new Set(documented.map(([name]) => name))).toEqual(new Set(Object.keys(mapSchema.shape)));
  const defaults = mapSchema.parse({ columns: { symbol: "s", time: "t", last: "l" }, timezone: "UTC" });
  for (const name of ["timeFormat", "ambiguous", "expirationFormat", "delayed", "header", "decimal"] as const)
    expect(documented).toContainEqual([name, `\`${String(defaults[name])}\``]);
});
