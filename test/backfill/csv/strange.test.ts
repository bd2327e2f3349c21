/** CSV files as programs and people write them, and maps with slips. */
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { handOnDatabases } from "../../support/database.ts";
import { backfillWorld } from "../world.ts";
import { backfill, files, HEADER, letters, MAP, rows } from "./csvFiles.ts";

handOnDatabases();

const AT = "2026-11-18T09:30:00";

test("a file of a German spreadsheet is read: semicolons, decimal commas, points between thousands, its own dates", async () => {
  const world = await backfillWorld();
  const given = files(
    "Kürzel;Zeit;Kurs;Stück\r\nSAP;18.11.2026 09:30:00;1.234,50;21.261\r\nSAP;18.11.2026 09:31:00;12.5;7\r\n",
    `timezone: Europe/Berlin
timeFormat: "%d.%m.%Y %H:%M:%S"
delimiter: ";"
decimal: ","
columns: { symbol: Kürzel, time: Zeit, last: Kurs, volume: Stück }
`,
  );

  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ read: 2, stored: 1, deadLettered: 1 });
  expect(await rows(world)).toEqual(["2026-11-18 08:30:00.000000 SAP 1234.50 21261"]);
  expect(await letters(world)).toEqual([
    'SAP | malformed | quotes.csv line 3: Kurs is "12.5": expected a number with a decimal comma',
  ]);
});

test("text that is not as the map says is set aside, never stored as something else", async () => {
  const world = await backfillWorld();
  const bytes = Buffer.from(`Symbol,Name,Time,Last\nMC,Mo\u00ebt,${AT},1\n`, "latin1");
  const map = "timezone: UTC\ncolumns: { symbol: Symbol, description: Name, time: Time, last: Last }\n";

  const asUtf8 = await backfill(world, files(bytes, map));
  const asItIs = await backfill(world, files(bytes, `encoding: windows-1252\n${map}`));

  expect([asUtf8.exitCode, asItIs.exitCode]).toEqual([1, 0]);
  expect(await letters(world)).toEqual([
    "malformed | quotes.csv line 2: it is not UTF-8; see `encoding` of the map",
  ]);
  const { rows: found } = await world.pool.query("select symbol, description from instruments");
  expect(found).toEqual([{ symbol: "MC", description: "Moët" }]);
});

test("values that no market has are set aside: prices and counts below zero, absurd ones, words, names that are none", async () => {
  const world = await backfillWorld();
  const given = files(
    [
      HEADER,
      `A,${AT},-1,2,1,1`,
      `A,2026-11-18T09:31:00,1,2,1e300,1`,
      `A,2026-11-18T09:32:00,1,2,1,-10`,
      `A,${AT},1,2,Infinity,1`,
      `A B,${AT},1,2,1,1`,
      `A\u0000B,${AT},1,2,1,1`,
      `A,2126-11-18T09:30:00,1,2,1,1`,
      `B,${AT},-0.00,2,1E5,NaN`,
      "",
    ].join("\n"),
  );

  const { report } = await backfill(world, given);

  expect(report).toMatchObject({ read: 8, stored: 3, deadLettered: 5 });
  expect(await rows(world)).toEqual([
    "2026-11-18 14:30:00.000000 B 0.00 2 100000",
    "2026-11-18 14:31:00.000000 A 1 2 1",
    "2026-11-18 14:32:00.000000 A 1 2 1",
  ]);
  const lines = await letters(world);
  expect(lines.slice(0, 6)).toEqual([
    'A | malformed | quotes.csv line 2: Bid is "-1": it is below zero; list it under `absent` of the map if it stands for no value',
    'A | odd_field | quotes.csv line 3: Last is "1e300": "1e300" has more than 15 digits before the point',
    expect.stringMatching(/odd_field .*line 4: Volume is "-10": it is below zero/),
    expect.stringContaining('line 5: Last is "Infinity": "Infinity" is not a decimal number'),
    'A B | malformed | quotes.csv line 6: Symbol is "A B": expected a symbol',
    expect.stringContaining("line 7: Symbol is"),
  ]);
  expect(lines[6]).toContain("that is before 1980 or after 2099");
});

test("what may be below zero is kept so: change, earnings, price to earnings, delta", async () => {
  const world = await backfillWorld();
  const given = files(
    `Symbol,Time,c,p,e,r,d\nA,${AT},-1.5,-2.25,-0.10,-30,-0.45\n`,
    `timezone: UTC
columns: { symbol: Symbol, time: Time, change: c, pctChange: p, earningsPerShare: e, peRatio: r, delta: d }
`,
  );

  await backfill(world, given);

  expect(await rows(world, "q.change, q.pct_change, e.earnings_per_share, e.pe_ratio, e.delta")).toEqual([
    "2026-11-18 09:30:00.000000 A -1.5 -2.25 -0.10 -30 -0.45",
  ]);
});

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

test("slips of a map and columns that its file has not come together, by line; a name that is there twice is no name", async () => {
  const world = await backfillWorld();
  const csv = `Symbol,Time,Last,Last,\u001b[31mred\n`;
  const slips = files(
    csv,
    "timezon: UTC\ncolumns:\n  symbol: Symbl\n  time: [Time, Foo]\n  last: Last\n  bid: 0\n",
  );

  const { exitCode, stderr } = await run(["backfill", "--csv", slips.file, "--map", slips.map], world.env);

  expect(exitCode).toBe(2);
  const told = stderr.split("\n").filter((line) => line.includes("map.yaml:"));
  expect(told.map((line) => line.replace(/^.*map\.yaml:/u, ""))).toEqual([
    expect.stringMatching(/^1: timezon is not an option here/),
    "3: columns.symbol is Symbl: expected one of Symbol, Time, Last, Last, \\u001b[31mred",
    expect.stringMatching(/^4: columns\.time is Foo: expected one of/),
    "5: columns.last is Last: the header has it 2 times: give the column's number, from 1 on",
    expect.stringMatching(/^6: columns\.bid is 0: expected one of/),
  ]);
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

test("--csv without --map, and --map without --csv, are wrong usage", async () => {
  const world = await backfillWorld();

  const alone = await run(["backfill", "--csv", "a.csv"], world.env);
  const other = await run(["backfill", "--journal", "--map", "m.yaml"], world.env);

  expect([alone.exitCode, other.exitCode]).toEqual([2, 2]);
  expect(alone.stderr).toContain("--csv needs --map");
  expect(other.stderr).toContain("--map does not go with --journal");
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
    expect([trial.report, report]).toEqual(
      [0, 1].map(() => expect.objectContaining({ read: 3, stored: 2, deadLettered: 1 })),
    );
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
