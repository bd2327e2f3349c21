/** docs/python-r.md, run word by word by Python and R, where they and their packages are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { fillFixture } from "../scripts/sql/fixture.ts";
import { READER } from "../src/archive/connect/fixedNames.ts";
import { run } from "./cli/edges.ts";
import { rowsOfQuery } from "./support/archive.ts";
import { freshDatabase, type TestDatabase } from "./support/database.ts";
import { tempDir } from "./support/tempDir.ts";

const page = readFileSync(new URL("../docs/python-r.md", import.meta.url), "utf8");

/** The page's blocks of a language; those of a package that is not installed are left out, and said so. */
function textOf(
  language: string,
  isThere: (name: string) => boolean,
  optional: Record<string, RegExp>,
): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(
    ([, text = ""]) => text,
  );
  const missing = Object.entries(optional).filter(([name]) => !isThere(name));
  if (missing.length > 0) leaveOut(`${language}: what needs ${missing.map(([name]) => name).join(", ")}`);
  return blocks.filter((text) => !missing.some(([, needs]) => needs.test(text))).join("\n");
}

const leaveOut = (what: string): unknown =>
  process.stderr.write(`Left out of docs/python-r.md, because it is not installed here: ${what}.\n`);

/** A program, and whether it has a package. */
type Language = { program: string; has: (name: string) => boolean };

const ends = (program: string, args: string[]): boolean =>
  spawnSync(program, args, { stdio: "ignore" }).status === 0;
const pythonAt = (program: string): Language => ({
  program,
  has: (name) => ends(program, ["-c", `import ${name}`]),
});
// Debian's packages are its own Python's, which may not be the first one on the PATH.
const [python = pythonAt("python3")] = ["python3", "/usr/bin/python3"]
  .map(pythonAt)
  .filter(({ has }) => has("psycopg"));
const r: Language = { program: "Rscript", has: (name) => ends("Rscript", ["-e", `library(${name})`]) };

function testWhere({ program, has }: Language, packages: string[]): typeof test.skip {
  const missing = packages.filter((name) => !has(name));
  if (missing.length === 0) return test;
  leaveOut(`${program}, or its ${missing.join(", ")}`);
  return test.skip;
}

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  database = await freshDatabase();
  await fillFixture(database.pool);
  dir = tempDir();
  // The page's own commands.
  for (const [, line = ""] of page.matchAll(/^quotekeeper (export .+)$/gm)) {
    const argv = line.split(" ").map((word) => (word.startsWith("year") ? join(dir, word) : word));
    const { exitCode, stderr } = await run(argv, { DATABASE_URL: database.url });
    expect([exitCode, stderr]).toEqual([0, expect.anything()]);
  }
});

/** What a program prints last: the page's text, and then a line that sums up what it has made. */
function lastLineOf(program: string, text: string): string {
  const { hostname, port, username, password, pathname } = new URL(database.url);
  const output = execFileSync(program, ["-"], {
    ...{ cwd: dir, input: text, encoding: "utf8" },
    env: {
      // Where most readers of New York times sit: frames must not shift with it.
      ...{ PATH: process.env["PATH"], LC_ALL: "C.UTF-8", TZ: "America/New_York" },
      ...{
        PGHOST: hostname,
        PGPORT: port,
        PGDATABASE: pathname.slice(1),
        PGUSER: username,
        PGPASSWORD: password,
      },
      PGOPTIONS: `-c role=${READER}`,
    },
  });
  return output.trim().split("\n").at(-1) ?? "";
}

/** The same sums, by the database. */
async function sums(): Promise<string> {
  const [row] = await rowsOfQuery(
    database.pool,
    `select (select count(*) || ' ' || round(sum(bid), 2) from latest_quotes where option_type is not null) || ' '
         || (select count(*) || ' ' || round(sum(close), 2) from (
               select distinct on (bar_at) last as close
               from (select date_bin('15 minutes', observed_at, '2000-01-01 00:00+00') as bar_at, * from quotes where instrument_id = 1) q
               cross join (select max(observed_at) as at from quotes where instrument_id > 10) n
               where bar_at >= n.at - interval '1 day' and bar_at < n.at
               order by bar_at, observed_at desc) b) || ' '
         || (select count(*) || ' ' || round(sum(close), 2) from bars_1d) as sums`,
  );
  return String(row?.["sums"]);
}

testWhere(python, ["psycopg", "pandas"])("Python makes the frames that the page says", async () => {
  const text = textOf("python", python.has, { pyarrow: /read_parquet/ });

  const printed = lastLineOf(
    python.program,
    `${text}
print(len(chain), f"{chain.bid.sum():.2f}", len(bars), f"{bars.close.sum():.2f}", len(year_of_csv), f"{year_of_csv.close.sum():.2f}")
`,
  );

  expect(printed).toBe(await sums());
});

testWhere(r, ["DBI", "RPostgreSQL"])("R makes the frames that the page says", async () => {
  const text = textOf("r", r.has, { arrow: /arrow::/ });

  const printed = lastLineOf(
    r.program,
    `${text}
cat(sprintf("%d %.2f %d %.2f %d %.2f\\n", nrow(chain), sum(chain$bid), nrow(bars), sum(bars$close), nrow(year_of_csv), sum(year_of_csv$close)))
`,
  );

  expect(printed).toBe(await sums());
});
