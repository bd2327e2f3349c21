/** CSV files as programs and people write them, and maps with slips. */
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { handOnDatabases } from "../../support/database.ts";
import { backfillWorld } from "../world.ts";
import { backfill, files, HEADER, letters, MAP, rows } from "./csvFiles.ts";

handOnDatabases();

const AT = "2026-11-18T09:30:00";

test("quoted line breaks, and a line that is no row, leave the lines of what follows as they are", async () => {
  const world = await backfillWorld();
  const given = files(
    `Symbol,"Na\nme",Time,Last\nAAPL,"Apple\nInc, ""the"" one",${AT},1\nA${"x".repeat(40_000)}\nMSFT,x,${AT},bad\n`,
    "timezone: UTC\ncolumns: { symbol: Symbol, description: 2, time: Time, last: Last }\n",
  );

  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ read: 3, stored: 1, deadLettered: 2 });
  expect(await letters(world)).toEqual([
    "malformed | quotes.csv line 5: it is no row: it is longer than 16384 bytes",
    'MSFT | malformed | quotes.csv line 6: Last is "bad": "bad" is not a decimal number',
  ]);
  const { rows: found } = await world.pool.query("select description from instruments");
  expect(found).toEqual([{ description: 'Apple\nInc, "the" one' }]);
});

test("an empty file, a header alone, a directory and gzip that is cut are errors, exit code 2, and say why", async () => {
  const world = await backfillWorld();
  const zip = gzipSync(`${HEADER}\n${`A,${AT},1,1,1,1\n`.repeat(2_000)}`);
  const cases: [{ file: string; map: string }, string][] = [
    [files(""), "it is empty"],
    [files(`${HEADER}\n`), "holds no row"],
    [{ ...files(HEADER), file: "." }, "--map does not go with --csv and a directory"],
    [files(zip.subarray(0, zip.length / 2), MAP, "q.csv.gz"), "its gzip is damaged: unexpected end of file"],
  ];

  for (const [given, why] of cases) {
    const { exitCode, stderr } = await backfill(world, given);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(why);
  }
});

test.each([
  ["the character 0 in a price", "300\0", "MSFT"],
  ["the character 0 in a symbol", "300", "MS\0FT"],
  ["a price that is cut in the midst of a character", `${"9".repeat(39)}\u{1f600}zz`, "MSFT"],
])(
  "%s costs its row alone, and the journal of that import can be loaded again",
  async (_name, last, symbol) => {
    const world = await backfillWorld();
    const given = files(
      `Symbol,Time,Last\nAAPL,${AT},150.1\n${symbol},${AT},${last}\nGE,${AT},100\n`,
      "timezone: UTC\ncolumns: { symbol: Symbol, time: Time, last: Last }\n",
    );

    const trial = await backfill(world, given, "--dry-run");
    const { report, exitCode } = await backfill(world, given);
    const told = await letters(world);
    const again = { ...(await backfillWorld()), journalDir: world.journalDir };
    const replayed = await run(["backfill", "--journal", world.journalDir], again.env);

    expect([trial.exitCode, exitCode, replayed.exitCode]).toEqual([1, 1, 1]);
    expect(trial.report).toMatchObject({ read: 3, deadLettered: 1 });
    expect(report).toMatchObject({ read: 3, stored: 2, deadLettered: 1 });
    expect(told).toEqual([expect.stringMatching(/malformed \| quotes\.csv line 3: (Last|Symbol) is "/)]);
    expect(await letters(again)).toEqual(told);
    expect(await rows(again, "q.last")).toEqual(await rows(world, "q.last"));
  },
);

test("a map whose texts hold the character 0 and half of a character is kept beside its rows as any other", async () => {
  const world = await backfillWorld();
  const map = String.raw`
timezone: UTC
source: "a\0b"
absent: ["\0", "\ud83d"]
constants: { description: "c\0d" }
columns: { symbol: Symbol, time: Time, last: Last }
`;

  const { report, exitCode, stderr } = await backfill(world, files(`Symbol,Time,Last\nA,${AT},1\n`, map));

  expect([exitCode, exitCode === 0 ? "" : stderr, report]).toEqual([
    ...[0, "", expect.objectContaining({ stored: 1 })],
  ]);
  const { rows: found } = await world.pool.query(
    `select s.name, i.description, r.request -> 'absent' ->> 0 as absent
     from responses r join sources s on s.id = r.source_id, instruments i`,
  );
  expect(found).toEqual([{ name: "a\ufffdb", description: "c\ufffdd", absent: "\ufffd" }]);
});

const CSV = "Symbol,Time,Last,Last,\u001b[31mred\n";
const COLUMNS = "columns: { symbol: Symbol, time: Time, last: 3 }\n";

test.each([
  [
    "names that the file or the map has not, or twice",
    "timezon: UTC\ncolumns:\n  symbol: Symbl\n  time: [Time, Foo]\n  last: Last\n  bid: 0\n",
    [
      /^1: timezon is not an option here/,
      /^3: columns\.symbol is Symbl: expected one of Symbol, Time, Last, Last, \\u001b\[31mred$/,
      /^4: columns\.time is Foo: expected one of/,
      /^5: columns\.last is Last: the header has it 2 times: give the column's number, from 1 on$/,
      /^6: columns\.bid is 0: expected one of/,
    ],
  ],
  [
    "a zone and a pattern that nobody knows, a contract in part",
    'timezone: Mars/Olympus\ntimeFormat: "%Q"\ncolumns:\n  symbol: Symbol\n  time: Time\n  strike: 3\n',
    [
      /^1: timezone is Mars\/Olympus/,
      /^2: timeFormat is "%Q": .*%Q is not known$/,
      /^3: columns is not enough: expected a column of values, such as last, bid or ask$/,
      /^6: columns\.strike is 3: expiration, type and strike go together$/,
    ],
  ],
  [
    "numbers, signs and times that cannot be",
    `knownAt: at noon\nskip: many\nnumberSigns: perhaps\nsymbols: { classMark: b, upper: 1 }\n${COLUMNS}`,
    [
      /^1: knownAt is at noon: expected close, close - 15m, close \+ 15m, time \+ 1m, or time \+ 60m until close$/,
      /^2: skip is many: expected a number of lines, from 0 to 1000$/,
      /^3: numberSigns is perhaps: expected true or false$/,
      /^4: symbols\.upper is 1: expected true or false$/,
      /^4: symbols\.classMark is b: expected a character, such as -$/,
    ],
  ],
  [
    "what does not go together",
    `volumeOf: bar\nknownAt: close\nconstants: { time: "16:00" }\n${COLUMNS}`,
    [
      /^1: volumeOf is bar: needs columns\.volume, whose numbers are added up/,
      /^3: constants\.time is "16:00": does not go with knownAt/,
    ],
  ],
  [
    "what is done to a value that cannot have it done",
    `timezone: UTC\n${COLUMNS}scale: { last: -1, symbol: 2 }\nstrip: { last: { prefix: x } }\nwholePart: [last]\n`,
    [
      /^3: scale\.last is -1: expected a number above 0, such as 0\.001/,
      /^3: scale\.symbol is not an option here/,
      /^4: strip\.last is not an option here/,
      /^5: wholePart\[0\] is last: expected bidSize/,
    ],
  ],
  [
    "one value of two columns",
    "timezone: UTC\ncolumns: { symbol: Symbol, time: Time, last: 3, close: 4 }\n",
    [/^2: columns\.close is 4: expected last or close/],
  ],
])("the problems of a map come all at once, each with its line: %s", async (_what, map, problems) => {
  const world = await backfillWorld();
  const given = files(CSV, map);

  const { exitCode, stderr } = await run(["backfill", "--csv", given.file, "--map", given.map], world.env);

  expect(exitCode).toBe(2);
  const told = stderr.split("\n").filter((line) => line.includes("map.yaml:"));
  expect(told.map((line) => line.replace(/^.*map\.yaml:/u, ""))).toEqual(
    problems.map((problem) => expect.stringMatching(problem)),
  );
});

test("a map without a zone is refused where a time of the file has no offset", async () => {
  const { exitCode, stderr } = await backfill(
    await backfillWorld(),
    files(`${HEADER}\nA,${AT},1,,,\n`, MAP.replace("timezone: America/New_York", "")),
  );

  expect(exitCode).toBe(2);
  expect(stderr).toContain("timezone is missing");
});
