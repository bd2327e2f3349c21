/** What docs/backfill-csv.md shows works as it stands there. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { backfillWorld } from "../world.ts";
import { backfill, fileOf, letters, rows } from "./csvFiles.ts";

/** The blocks of code of a language on the page. */
const PAGE = readFileSync(new URL("../../../docs/backfill-csv.md", import.meta.url), "utf8");
const blocks = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gsu"))].map(([, block = ""]) => block);
const [plain = "", vendors = ""] = blocks("csv");

test("the file of the documentation is imported as it says", async () => {
  const world = await backfillWorld();

  const { exitCode, report } = await backfill(world, fileOf(plain));

  expect({ exitCode, report }).toMatchObject({
    exitCode: 0,
    report: { answers: 1, newAnswers: 1, read: 3, stored: 3, repeated: 0, deadLettered: 0 },
  });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 150.10 150.12 150.11 1200",
    "2026-11-18 14:30:00.000000 MSFT 300.00 800",
    "2026-11-18 14:31:00.000000 AAPL 2026-12-18 CALL 150 5.10 5.20 12",
  ]);
  const { rows: sources } = await world.pool.query("select name from sources where kind = 'import'");
  expect(sources).toEqual([{ name: "quotes" }]);
});

test("the file and the map of the documentation are imported as it says", async () => {
  const world = await backfillWorld();
  const map = fileOf(blocks("sql").find((sql) => sql.includes("from input")) ?? "", "map.sql");

  const { exitCode } = await backfill(world, fileOf(vendors), "--map", map);

  expect({ exitCode, letters: await letters(world) }).toEqual({ exitCode: 0, letters: [] });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 AAPL 150.10 150.12 150.11 1200",
    "2026-11-18 14:30:00.000000 MSFT 300.00 800",
    "2026-11-18 14:31:00.000000 AAPL 150.20 150.22 150.21 2400",
  ]);
});
