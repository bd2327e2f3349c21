/** Whoever may write where files are read from, and lets a link lead to somebody's secrets. */
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { run } from "../cli/edges.ts";
import { backfillWorld, type BackfillWorld } from "../backfill/world.ts";
import { directoryOf, lasts, saved } from "../backfill/xml/saved.ts";
import { asText, recordsOf } from "../journal/world.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { tempDir } from "../support/tempDir.ts";

const SHADOW = `root:$6$hunter2:19000::\n${"daemon:*:19000::\n".repeat(40)}`;

let world: BackfillWorld;
let shadow: string;

beforeAll(async () => {
  world = await backfillWorld();
  shadow = join(directoryOf([["shadow", SHADOW]]), "shadow");
});

type Told = { exitCode: number; stdout: string; stderr: string; remarks: string[] };

async function backfilled(...argv: string[]): Promise<Told> {
  const outcome = await run(["backfill", ...argv, "--json"], world.env);
  const { remarks = [] } = (
    outcome.stdout.startsWith("{") ? JSON.parse(outcome.stdout) : {}
  ) as Partial<Told>;
  return { ...outcome, remarks };
}

/** Everything that a backfill has left behind: the journal, all dead letters. */
async function leftBehind(): Promise<string> {
  const letters = await rowsOfQuery(world.pool, "select d::text as line from dead_letters d");
  return [...asText(await recordsOf(world.journalDir)), ...letters.map(({ line }) => String(line))].join(
    "\n",
  );
}

test("links, pipes and links to directories in a directory are passed over and counted; its files come in", async () => {
  const dir = directoryOf([
    ["20261118T143000Z.xml", saved({ AAPL: "1" })],
    ["below/20261118T143100Z.xml", saved({ AAPL: "2" })],
  ]);
  symlinkSync(shadow, join(dir, "20261118T143200Z.xml"));
  symlinkSync(join(dir, "20261118T143000Z.xml"), join(dir, "below/20261118T143300Z.xml"));
  symlinkSync(join(shadow, ".."), join(dir, "elsewhere"));
  symlinkSync(dir, join(dir, "below/again"));
  // The time of an answer is nothing that a link may tell either.
  symlinkSync(shadow, join(dir, "20261118T143000Z.xml.json"));

  const { exitCode, remarks } = await backfilled("--xml", dir);

  expect(exitCode).toBe(0);
  expect(await leftBehind()).not.toContain("hunter2");
  expect(await lasts(world.pool)).toEqual(["11-18 14:30:00.000000 AAPL 1", "11-18 14:31:00.000000 AAPL 2"]);
  expect(remarks).toContainEqual(
    expect.stringMatching(/^Passed {4}5 links or devices: .*143200Z\.xml.*below.again/),
  );
});

test("a link that is named is followed inside its own directory, and refused where it leads out of it", async () => {
  const dir = directoryOf([["day/20261118T143400Z.xml", saved({ AAPL: "3" })]]);
  symlinkSync("day/20261118T143400Z.xml", join(dir, "20261118T143400Z.xml"));
  symlinkSync("day", join(dir, "today"));
  symlinkSync(shadow, join(dir, "out.xml"));
  symlinkSync(join(shadow, ".."), join(dir, "outside"));
  symlinkSync("out.xml", join(dir, "twice.xml"));

  const followed = await backfilled("--xml", join(dir, "20261118T143400Z.xml"), join(dir, "today"));
  const refused = [];
  for (const name of ["out.xml", "outside", "twice.xml"])
    refused.push(await backfilled("--xml", join(dir, name)));
  refused.push(await backfilled("--csv", join(dir, "out.xml")));
  refused.push(await backfilled("--symbols-file", join(dir, "out.xml")));

  expect(await leftBehind()).not.toContain("hunter2");
  expect(followed.exitCode).toBe(0);
  expect(await lasts(world.pool)).toContain("11-18 14:34:00.000000 AAPL 3");
  for (const { exitCode, stderr } of refused)
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining("(a link that leads out of its directory)"),
    ]);
});

test("of a file that is no answer at most 200 characters are left in the journal, dead letters and messages", async () => {
  const secret = `${"ä".repeat(200)}hunter2`;
  const dir = directoryOf([
    ["20261118T144100Z.xml", secret],
    [
      "20261118T144200Z.xml",
      `<?xml version="1.0"?><config>${" ".repeat(200)}<password>hunter2</password></config>`,
    ],
    ["20261118T144300Z", secret],
    // A broken answer is one: all of it may be wanted.
    ["20261118T144400Z.xml", `<response id="1"><quotes>${" ".repeat(200)}wanted`],
  ]);

  const { stdout, stderr } = await backfilled("--xml", dir, join(dir, "20261118T144300Z"));

  expect(`${stdout}${stderr}`).not.toContain("hunter2");
  const left = await leftBehind();
  expect(left).toContain("wanted");
  expect(left).not.toContain("hunter2");
  const letters = await rowsOfQuery(
    world.pool,
    "select char_length(fragment) as length from dead_letters where fragment like 'ä%'",
  );
  expect(letters).toEqual([{ length: 200 }, { length: 200 }]);
});

test("a job file that is a link comes in from its own directory, as container platforms mount it, and from nowhere else", async () => {
  const job = (name: string): string => `name: ${name}\nschedule: "* * * * *"\nsymbols: [AAPL]\n`;
  const dir = directoryOf([
    ["..2026/a.yaml", job("mounted")],
    ["b.yaml", `name: b\nschedule: "* * * * *"\nsymbolsFile: list.txt\n`],
  ]);
  symlinkSync("..2026", join(dir, "..data"));
  symlinkSync("..data/a.yaml", join(dir, "a.yaml"));
  symlinkSync(shadow, join(dir, "list.txt"));
  symlinkSync(shadow, join(dir, "c.yaml"));

  const { stdout, stderr } = await run(["jobs", "check"], { QUOTEKEEPER_JOBS_DIR: dir });

  expect(stdout).toContain("mounted");
  expect(stderr).toMatch(/b\.yaml:3: symbolsFile .*list\.txt cannot be read \(outside the jobs directory/);
  expect(stderr).toMatch(/c\.yaml:1: the file cannot be read \(a link that leads out/);
  expect(`${stdout}${stderr}`).not.toContain("hunter2");
});

test("a journal's segment that is a link is refused, and nothing of what it leads to is set aside", async () => {
  const dataDir = tempDir();
  const journal = join(dataDir, "journal");
  mkdirSync(journal);
  symlinkSync(shadow, join(journal, "20261120T22-0192f5a0-0000-7000-8000-000000000001.journal.closed"));

  const repaired = await run(["journal", "repair"], { QUOTEKEEPER_DATA_DIR: dataDir });
  const replayed = await backfilled("--journal", journal);

  for (const { exitCode, stderr } of [repaired, replayed])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/JOURNAL_UNREADABLE.*a link, not a file/)]);
  expect(readdirSync(journal)).toHaveLength(1);
});
