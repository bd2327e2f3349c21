/** Tables as programs and people write them, and headers with slips. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { exportableArchive } from "../../files/export/world.ts";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { backfillWorld } from "../world.ts";
import { backfill, fileOf, HEADER, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const AT = "2026-11-18T09:30:00Z";

test("quoted line breaks, and a line that is no row, leave the lines of what follows as they are", async () => {
  const world = await backfillWorld();
  const given = fileOf(
    `instrument,description,observed_at,last\nAAPL,"Apple\nInc, ""the"" one",${AT},1\nA${"x".repeat(40_000)}\nMSFT,x,${AT},bad\n`,
  );

  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ read: 3, stored: 1, deadLettered: 2 });
  expect(await letters(world)).toEqual([
    "malformed | quotes.csv line 4: it is no row: it is longer than 16384 bytes",
    'MSFT | malformed | quotes.csv line 5: last is "bad": "bad" is not a decimal number',
  ]);
  const { rows: found } = await world.pool.query("select description from instruments");
  expect(found).toEqual([{ description: 'Apple\nInc, "the" one' }]);
});

test("an empty file, a header alone, a directory and gzip that is cut are errors, exit code 2, and say why", async () => {
  const world = await backfillWorld();
  const zip = gzipSync(`${HEADER}\n${`A,${AT},1,1,1,1\n`.repeat(2_000)}`);
  const cases: [argv: string[], why: string][] = [
    [[fileOf("")], "it is empty"],
    [[fileOf(`${HEADER}\n`)], "there is no row"],
    [[".", "--name", "a"], "--name does not go with --csv and a directory"],
    [[fileOf(zip.subarray(0, zip.length / 2), "q.csv.gz")], "its gzip is damaged: unexpected end of file"],
    [
      [fileOf(zip.subarray(0, zip.length / 2), "q.csv.gz"), "--map", fileOf("select * from input", "m.sql")],
      "q.csv.gz: it cannot be read (Z_BUF_ERROR)",
    ],
    [[fileOf(HEADER), fileOf(HEADER)], "several files need --name"],
  ];

  for (const [[file = "", ...argv], why] of cases) {
    const { exitCode, stderr } = await backfill(world, file, ...argv);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(why);
  }
});

test("a mark of UTF-8, and gzip, are read; several files of one name are one source", async () => {
  const world = await backfillWorld();
  const text = `\u{feff}${HEADER}\r\nMo\u00ebt,${AT},,,1.5,\r\n`;

  const { exitCode } = await backfill(
    world,
    fileOf(gzipSync(text), "a.csv.gz"),
    fileOf(text.replace(AT, "2026-11-18T09:31:00+00:00"), "b.csv"),
    ...["--name", "mine"],
  );

  expect(exitCode).toBe(0);
  expect(await rows(world, "q.last")).toEqual([
    "2026-11-18 09:30:00.000000 Moët 1.5",
    "2026-11-18 09:31:00.000000 Moët 1.5",
  ]);
  const { rows: sources } = await world.pool.query("select name from sources where kind = 'import'");
  expect(sources).toEqual([{ name: "mine" }]);
});

test.each([
  ["the character 0 in a price", "300\0", "MSFT"],
  ["the character 0 in a symbol", "300", "MS\0FT"],
  ["a price that is cut in the midst of a character", `${"9".repeat(39)}\u{1f600}zz`, "MSFT"],
])(
  "%s costs its row alone, and the journal of that import can be loaded again",
  async (_name, last, symbol) => {
    const world = await backfillWorld();
    const given = fileOf(
      `instrument,observed_at,last\nAAPL,${AT},150.1\n${symbol},${AT},${last}\nGE,${AT},100\n`,
    );

    const trial = await backfill(world, given, "--dry-run");
    const { report, exitCode } = await backfill(world, given);
    const told = await letters(world);
    const again = { ...(await backfillWorld()), journalDir: world.journalDir };
    const replayed = await run(["backfill", "--journal", world.journalDir], again.env);

    expect([trial.exitCode, exitCode, replayed.exitCode]).toEqual([1, 1, 1]);
    expect(trial.report).toMatchObject({ read: 3, deadLettered: 1 });
    expect(report).toMatchObject({ read: 3, stored: 2, deadLettered: 1 });
    expect(told).toEqual([expect.stringMatching(/malformed \| quotes\.csv line 3: (last|instrument) is "/)]);
    expect(await letters(again)).toEqual(told);
    expect(await rows(again, "q.last")).toEqual(await rows(world, "q.last"));
  },
);

test("the mistakes of a header come all at once, each with what was likely meant", async () => {
  const world = await backfillWorld();
  const header = (text: string) => backfill(world, fileOf(`${text}\nx\n`));

  const first = await header("symbol,Bid,observed,strike,strike,\u001b[31mred");
  const second = await header("instrument,expiration,observed_at");

  expect([first.exitCode, second.exitCode]).toEqual([2, 2]);
  const told = ({ stderr }: { stderr: string }): string[] => {
    const { error } = JSON.parse(stderr) as { error: { detail: string } };
    return error.detail.split("\n  ").slice(1);
  };
  expect(told(first)).toEqual([
    "column 2 of the file has a name that no column of the archive has: Bid, did you mean bid?",
    "column 3 of the file has a name that no column of the archive has: observed, did you mean observed_at?",
    // A file of secrets may be taken for a table: only what is nearly a column's name is shown.
    "column 6 of the file has a name that no column of the archive has",
    "the column strike stands twice",
    "there is no column observed_at, the time of each row",
    "expiration, option_type and strike go together, and there is strike",
    "there is no column of values, such as bid, ask or last",
  ]);
  expect(told(second)).toEqual([
    "the column instrument says it all: it does not go with expiration",
    "expiration, option_type and strike go together, and there is expiration",
    "there is no column of values, such as bid, ask or last",
  ]);
});

test("the names of an export's own CSV come in as the options that they are", async () => {
  const archive = await exportableArchive();
  const out = join(tempDir(), "out");
  await run(["export", "--format", "csv", "--out", out], { DATABASE_URL: archive.url });
  const world = await backfillWorld();

  const { report } = await backfill(world, join(out, "quotes", "date=2026-11-20", "quotes.csv"));

  expect(report).toMatchObject({ read: 3, stored: 2, deadLettered: 1 });
  expect(await rows(world, "q.delayed, q.last")).toEqual([
    "2026-11-20 05:00:00.000000 AAPL t 12345678.12345678",
    "2026-11-20 21:00:00.000000 AAPL 2026-12-18 CALL 150.5 f 4.25",
  ]);
});

test("a text that looks like a contract and is none is set aside, whichever column has it", async () => {
  const world = await backfillWorld();
  const parts = "symbol,expiration,option_type,strike,observed_at,last";
  const contract = (symbol: string): string => `${symbol},2026-12-18,CALL,270,${AT},2`;

  await backfill(world, fileOf(`${HEADER}\nAAPL_121826C375,${AT},,,1,\n`));
  await backfill(world, fileOf(`${parts}\n${contract("AAPL261218C00270000")}\n${contract("AAPL")}\n`));

  expect(await letters(world)).toEqual([
    expect.stringContaining('line 2: instrument is "AAPL_121826C375": it looks like a contract and is none'),
    expect.stringContaining('line 2: symbol is "AAPL261218C00270000": expected the symbol of an underlying'),
  ]);
  expect(await rows(world, "q.last")).toEqual(["2026-11-18 09:30:00.000000 AAPL 2026-12-18 CALL 270 2"]);
});

test("a time has its offset or is in UTC; a date alone is none; what is below microseconds is cut, and said", async () => {
  const world = await backfillWorld();
  const csv = `instrument,observed_at,quoted_at,last
A,2026-11-18T09:30:00.123456789-05:00,2026-11-18 14:29:59Z,1
B,2026-11-18 14:30:00,,2
C,2026-11-18,,3
D,2026-11-18T14:30:00Z,yesterday,4
E,2026-11-18T14:30:00Z,2026-11-18T14:29:59Z,
`;

  const { report, remarks } = await backfill(world, fileOf(csv));

  expect(report).toMatchObject({ stored: 2, deadLettered: 3, cutTimes: 1 });
  expect(remarks).toContain("Cut       1 time to microseconds: what they say beyond that is in the journal");
  expect(await rows(world, "to_char(q.quoted_at at time zone 'UTC', 'HH24:MI:SS'), q.last")).toEqual([
    "2026-11-18 14:30:00.000000 B 2",
    "2026-11-18 14:30:00.123456 A 14:29:59 1",
  ]);
  expect(await letters(world)).toEqual([
    expect.stringContaining('line 4: observed_at is "2026-11-18": expected ISO 8601'),
    expect.stringContaining('line 5: quoted_at is "yesterday": expected ISO 8601'),
    expect.stringContaining("line 6: it has no value"),
  ]);
});
