import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld } from "../world.ts";
import { backfill, directoryOf, gzipped, lasts, MINUTES, rowsOf, saved, touch } from "./saved.ts";

handOnDatabases();

test("plain files and .gz give equal rows", async () => {
  const contents: unknown[] = [];
  for (const path of [directoryOf(MINUTES), directoryOf(gzipped(MINUTES))]) {
    const world = await backfillWorld();
    const { exitCode, report, remarks } = await backfill(world, "--xml", path);
    expect({ path, exitCode, remarks, report }).toMatchObject({
      exitCode: 0,
      remarks: ["Times     3 by the time in its name", expect.stringContaining("America/New_York")],
      report: { answers: 3, newAnswers: 3, read: 6, stored: 6, repeated: 0, deadLettered: 0, dividends: 2 },
    });
    contents.push(await rowsOf(world.pool));
  }

  expect(contents[1]).toEqual(contents[0]);
});

test("a packed file is refused by its name before anything is read, and in a directory costs itself alone", async () => {
  const world = await backfillWorld();
  const packed = ["a.zip", "b.tar", "c.tar.gz", "d.TGZ", "e.tar.xz"];
  const dir = directoryOf([
    ...MINUTES,
    ...packed.map((name): [string, string] => [name, saved({ AAPL: "9" })]),
  ]);

  for (const name of packed) {
    const refused = await backfill(world, "--xml", dir, join(dir, name));
    const how = name.endsWith("zip") ? "unzip" : "tar -xf";
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`${name} is a packed file: unpack it first, with \`${how}\``),
    ]);
  }
  expect(await lasts(world.pool)).toEqual([]);
  const { exitCode, report, remarks } = await backfill(world, "--xml", dir);

  expect([exitCode, report]).toEqual([
    1,
    expect.objectContaining({ answers: 3, stored: 6, deadLettered: 0 }),
  ]);
  expect(remarks).toContainEqual(
    expect.stringMatching(/^Unread {4}5: \S+a\.zip \(a packed file: unpack it first, with `unzip`\), /),
  );
});

test("files that operating systems put beside answers are none, and are named", async () => {
  const helpers: [string, string][] = [
    ["__MACOSX/._20261118T143000Z.xml", "\u0000\u0005\u0016\u0007"],
    ["._20261118T143100Z.xml", "\u0000\u0005\u0016\u0007"],
    [".DS_Store", "Bud1"],
    ["Thumbs.db", "x"],
    ["desktop.ini", "[.ShellClassInfo]"],
  ];
  const world = await backfillWorld();

  const { exitCode, report, remarks } = await backfill(world, "--xml", directoryOf([...MINUTES, ...helpers]));

  expect({ exitCode, report }).toMatchObject({
    exitCode: 0,
    report: { answers: 3, stored: 6, deadLettered: 0 },
  });
  expect(remarks.find((line) => line.startsWith("Not XML   5: "))).toContain("._20261118T143100Z.xml");
});

test("rows of an import are never the account's: their source is of kind import, its name as given", async () => {
  const world = await backfillWorld();

  await backfill(world, "--xml", directoryOf(MINUTES), "--name", "old laptop", "--delayed");

  const { rows } = await world.pool.query(
    "select distinct s.kind, s.name, q.delayed from quotes q join sources s on s.id = q.source_id",
  );
  expect(rows).toEqual([{ kind: "import", name: "old laptop", delayed: true }]);
});

test("a pattern that cannot be one is wrong usage, and nothing is read", async () => {
  const world = await backfillWorld();

  const { exitCode, stderr } = await backfill(
    world,
    "--xml",
    directoryOf(MINUTES),
    "--time-pattern",
    "%m%d-%H%Q",
  );

  expect(exitCode).toBe(2);
  expect(stderr).toContain("--time-pattern %m%d-%H%Q: %Q is not known");
  expect(await lasts(world.pool)).toEqual([]);
});

test("the time comes from the pattern, else a sidecar, else the name, else the mtime, and the report says so", async () => {
  const world = await backfillWorld();
  const answer = (last: string) => saved({ AAPL: last });
  const dir = directoryOf([
    ["q-18Nov2026-0930.xml", answer("1")],
    ["20200101T000000Z-b.xml", answer("2")],
    ["20200101T000000Z-b.json", JSON.stringify({ observedAt: "2026-11-18T14:31:00.5Z" })],
    ["c.xml", answer("3")],
    ["c.xml.headers", "HTTP/1.1 200 OK\r\nDate: Wed, 18 Nov 2026 14:32:00 GMT\r\nServer: x\r\n"],
    ["d.xml", answer("4")],
    ["d.meta.json", JSON.stringify({ observedAt: "2026-11-18T14:33:00Z" })],
    ["e-2026-11-18T09-34-00-0500.xml", answer("5")],
    ["f-20261118T093500.xml", answer("6")],
    ["g.xml", answer("7")],
  ]);
  touch(join(dir, "g.xml"), "2026-11-18T14:36:00.250Z");

  const { exitCode, remarks, stderr } = await backfill(
    world,
    "--xml",
    dir,
    "--time-pattern",
    "q-%d%b%Y-%H%M",
  );

  expect(exitCode).toBe(0);
  // Nothing but how far it has come: the last line of progress.
  expect(JSON.parse(stderr)).toMatchObject({ msg: "reading saved answers", unit: "bytes", quotes: 7 });
  expect(await lasts(world.pool)).toEqual([
    "11-18 14:30:00.000000 AAPL 1",
    "11-18 14:31:00.500000 AAPL 2",
    "11-18 14:32:00.000000 AAPL 3",
    "11-18 14:33:00.000000 AAPL 4",
    "11-18 14:34:00.000000 AAPL 5",
    "11-18 14:35:00.000000 AAPL 6",
    "11-18 14:36:00.250000 AAPL 7",
  ]);
  expect(remarks.slice(0, 4)).toEqual([
    "Times     1 by --time-pattern",
    "Times     3 by a file beside it",
    "Times     2 by the time in its name",
    "Times     1 by when the file was written (mtime)",
  ]);
  expect(remarks[4]).toMatch(/^Pattern {3}6 do not fit --time-pattern, such as .*20200101T000000Z-b\.xml$/);
});

test("different answers of one second are all kept, and the same one under two names is kept once", async () => {
  const world = await backfillWorld();
  const files: [string, string][] = [
    ["a/20261118T143000Z.xml", saved({ AAPL: "1" })],
    ["b/20261118T143000Z.xml", saved({ AAPL: "2" })],
    ["c/20261118T143000Z.xml", saved({ AAPL: "1" })],
    ["d/20261118T143000Z.xml", saved({ AAPL: "3" })],
  ];
  const dir = directoryOf(files);

  const first = await backfill(world, "--xml", dir);
  const rows = await lasts(world.pool);
  rmSync(join(dir, "a"), { recursive: true });
  const second = await backfill(world, "--xml", dir);
  const another: [string, string] = ["20261118T143000Z.xml", saved({ AAPL: "4" })];
  const third = await backfill(world, "--xml", directoryOf([another]));

  expect(first.report).toMatchObject({ answers: 4, newAnswers: 3, read: 4, stored: 3, repeated: 1 });
  expect(rows).toEqual([
    "11-18 14:30:00.000000 AAPL 1",
    "11-18 14:30:00.000001 AAPL 2",
    "11-18 14:30:00.000002 AAPL 3",
  ]);
  expect(second.report).toMatchObject({ answers: 3, stored: 0, repeated: 3 });
  expect(third.report).toMatchObject({ answers: 1, stored: 1, repeated: 0 });
  expect(await lasts(world.pool)).toEqual([...rows, "11-18 14:30:00.000003 AAPL 4"]);
});

test("a truncated answer, an HTML page and damaged gzip cost themselves alone, each is named", async () => {
  const world = await backfillWorld();
  const whole = saved({ AAPL: "1" });
  const dir = directoryOf([
    ...MINUTES,
    ["20261118T150000Z.xml", whole.slice(0, whole.length / 2)],
    ["20261118T150100Z.xml", "<html><body>Not now</body></html>"],
    ["20261118T150200Z.xml", ""],
    ["20261118T150300Z.xml.gz", gzipSync(whole).subarray(0, 60)],
    ["20261118T150400Z.xml", Buffer.alloc(8 * 1024 * 1024 + 1, " ")],
    ["bomb.xml.gz", gzipSync(Buffer.alloc(100_000_000))],
    ["README.txt", "these are my answers"],
    ["picture.png", Buffer.from([0x89, 0x50])],
    ["renamed-20261118T150500Z.dat", whole],
  ]);
  const { exitCode, report, remarks } = await backfill(world, "--xml", dir);

  expect(exitCode).toBe(1);
  expect(report).toMatchObject({ answers: 7, read: 7 + 3, deadLettered: 3 });
  expect(remarks).toContainEqual(expect.stringMatching(/^Not XML {3}2: .*README\.txt, .*picture\.png$/));
  expect(remarks).toContainEqual(
    expect.stringMatching(/^Unread {4}3: .*150300Z\.xml\.gz \(.*no answer is larger than 8388608/),
  );
  const { rows } = await world.pool.query("select reason, count(*)::int as n from dead_letters group by 1");
  expect(rows).toEqual([{ reason: "malformed", n: 3 }]);
});

test("only answers within --from and --to are taken", async () => {
  const world = await backfillWorld();

  const { report, remarks } = await backfill(
    world,
    ...["--xml", directoryOf(MINUTES), "--from", "2026-11-18T14:31:00Z", "--to", "2026-11-18T14:32:00Z"],
  );

  expect(report).toMatchObject({ answers: 1, stored: 2 });
  expect(remarks).toContain("Outside   2 were received outside --from and --to");
});

test("a path that is not there and a directory without an answer are errors, exit code 2", async () => {
  const world = await backfillWorld();
  const empty = tempDir();
  writeFileSync(join(empty, "notes.txt"), "none");

  const missing = await run(["backfill", "--xml", join(empty, "nowhere")], world.env);
  const nothing = await run(["backfill", "--xml", empty], world.env);

  expect(missing.exitCode).toBe(2);
  expect(missing.stderr).toContain("BACKFILL_NOTHING");
  expect(nothing.exitCode).toBe(2);
  expect(nothing.stderr).toContain("there is no saved answer");
});
