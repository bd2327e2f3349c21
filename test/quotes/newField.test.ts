/** CONTRIBUTING's recipe "A field of a quote", followed with a field that no answer has. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, jest, test } from "@jest/globals";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

// A copy of the program with one field more runs, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

/** A copy of the program's sources, in which the recipe can be followed. */
function checkout(): string {
  const dir = tempDir();
  for (const name of ["src", "migrations", "bin", "scripts", "package.json"])
    cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"), "junction");
  return dir;
}

/** The two steps: a line in `fields.ts`, a migration with its checksum. */
function followRecipe(dir: string): void {
  const fields = join(dir, "src", "quotes", "fields.ts");
  const [before = "", after = ""] = readFileSync(fields, "utf8").split(/(?<=\n)(?= {2}field\("delta")/);
  const line = '  field("tradeCount", "numtrades", { unit: "count", column: "trade_count" }),\n';
  writeFileSync(fields, before + line + after);
  const migration = "-- Trades of the session.\nalter table extended_quotes add column trade_count bigint;\n";
  writeFileSync(join(dir, "migrations", "9001_trade_count.sql"), migration);
  const sum = createHash("sha256").update(migration).digest("hex");
  appendFileSync(join(dir, "migrations", "checksums.txt"), `${sum}  9001_trade_count.sql\n`);
}

test("one line in fields.ts and a migration bring a field from an answer to the archive, an export and back", async () => {
  const dir = checkout();
  followRecipe(dir);
  const modules = [
    "cli/main",
    "archive/load/readThread",
    "services/reference/readDocument",
    "services/reference/writeDocument",
  ];
  await run(process.execPath, [join(dir, "scripts", "compile.js"), join(dir, "dist"), ...modules]);
  const answer = readFileSync(join(ROOT, "test", "recorded", "option-call", "response.xml"), "utf8").replace(
    "<openprice>",
    "<numtrades>4,512</numtrades>\n          <openprice>",
  );
  const saved = join(dir, "saved");
  mkdirSync(saved);
  writeFileSync(join(saved, "20261117-150000.xml"), answer);
  const [first, second] = [
    await freshDatabase({ migrated: false }),
    await freshDatabase({ migrated: false }),
  ];
  const quotekeeper = async ({ url }: { url: string }, ...args: string[]) => {
    const env = { ...process.env, DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
    return run(process.execPath, [join(dir, "bin", "quotekeeper.js"), ...args], { cwd: dir, env });
  };

  await quotekeeper(first, "backfill", "--xml", saved, "--time-pattern", "%Y%m%d-%H%M%S");
  await quotekeeper(first, "export", "--format", "csv", "--out", join(dir, "exported"));
  await quotekeeper(second, "backfill", "--csv", join(dir, "exported"));
  const written = await run(process.execPath, ["--input-type=module", "--eval", WRITE_AGAIN], {
    cwd: dir,
    env: { ...process.env, ANSWER: answer },
  });

  const stored = `select trade_count from extended_quotes join instruments on id = instrument_id
    where option_type is not null`;
  expect(await rowsOfQuery(first.pool, stored)).toEqual([{ trade_count: "4512" }]);
  expect(await rowsOfQuery(second.pool, stored)).toEqual([{ trade_count: "4512" }]);
  expect(JSON.parse(written.stdout)).toEqual({
    name: "4512",
    xml: expect.stringMatching(/<lowprice>[\d.]+<\/lowprice>\s*<numtrades>4512<\/numtrades>\s*<openprice>/),
  });
});

const WRITE_AGAIN = `
  const { readDocument } = await import("./dist/services/reference/readDocument.js");
  const { writeDocument } = await import("./dist/services/reference/writeDocument.js");
  const { id, items } = readDocument(Buffer.from(process.env.ANSWER));
  const instruments = items.map(({ item }) => item);
  const name = instruments[0].quote.extended.tradeCount;
  console.log(JSON.stringify({ name, xml: writeDocument({ id, instruments }) }));`;
