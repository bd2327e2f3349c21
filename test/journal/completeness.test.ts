/** A journal misses its segments: which are gone, strange, or in the wrong place. */
import { createHash } from "node:crypto";
import { appendFile, copyFile, cp, mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readCompleteness } from "../../src/journal/completeness.ts";
import type { Finding } from "../../src/journal/journalReports.ts";
import { acceptMissing } from "../../src/journal/acceptMissing.ts";
import { compressClosed } from "../../src/journal/compress.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { hourOf, segmentFile } from "../../src/journal/segmentName.ts";
import { DAMAGED_DIR } from "../../src/journal/quarantine.ts";
import { SEGMENT_LIST } from "../../src/journal/segmentList.ts";
import type { Position } from "../../src/journal/segmentWriter.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import type { Journal } from "../../src/journal/writer.ts";
import { journalHealth } from "../../src/status/journalHealth.ts";
import {
  answer,
  answersAsText,
  asText,
  dyingAfter,
  errno,
  filesIn,
  freshDir,
  fsWith,
  handClock,
  HOUR,
  open,
  recordsOf,
  upTo,
} from "./world.ts";

/** The next day. */
const LATER = "2026-11-22T06:00:00.000Z";

const quiet = () => undefined;

/** Five finished segments of three answers, the first two compressed, and one that a killed writer left open. */
const whole = freshDir();
const positions: Position[] = [];
let names: string[] = [];
let journal: Journal;

beforeAll(async () => {
  const clock = handClock();
  journal = await open(whole, { clock });
  for (const n of upTo(18)) {
    if (n > 0 && n % 3 === 0) clock.advance(HOUR);
    if (n === 6) await journal.compressClosed();
    positions.push(await journal.append(answer(n)));
  }
  names = (await listSegments(whole)).map(({ name }) => name);
});
afterAll(() => journal.close());

async function copied(): Promise<string> {
  const dir = freshDir();
  await cp(whole, dir, { recursive: true });
  return dir;
}

/** The file that a segment lies in. */
async function fileOf(dir: string, name: string): Promise<string> {
  return join(dir, (await filesIn(dir)).find((file) => file.startsWith(name)) ?? "");
}

/** What `verify` and what `status` find. */
async function findingsIn(dir: string): Promise<{ verify: string[]; status: string[] }> {
  const words = (found: readonly { segment: string; problem: Finding["problem"] }[]) =>
    found.map(({ segment, problem }) => `${problem} ${segment}`);
  const { findings } = await verifyJournal(dir, { clock: handClock(LATER) });
  return { verify: words(findings), status: words((await readCompleteness(dir)).findings) };
}

/** What both find. */
async function agreed(dir: string): Promise<string[]> {
  const { verify, status } = await findingsIn(dir);
  expect(status).toEqual(verify);
  return verify;
}

test("a journal with all of its segments is complete, in whatever states they are", async () => {
  const states = (await listSegments(whole)).map(({ state }) => state);

  expect(states).toEqual(["compressed", "compressed", "closed", "closed", "closed", "open"]);
  expect(await agreed(whole)).toEqual([]);
});

test.each(upTo(6))("segment number %i of six is named as missing when it is gone", async (number) => {
  const dir = await copied();
  await rm(await fileOf(dir, names[number] ?? ""));

  expect(await agreed(dir)).toEqual([`missing ${names[number]}`]);
});

test("with several writers, a missing segment is noticed whichever process wrote it", async () => {
  const dir = freshDir();
  const writers = await Promise.all([0, 100].map((drawn) => opened(dir, drawn)));
  await Promise.all(writers.flatMap((writer) => upTo(5).map((n) => writer.append(answer(n)))));
  await Promise.all(writers.map((writer) => writer.close()));
  const complete = await agreed(dir);
  const [first, second] = await listSegments(dir);
  await rm(first?.path ?? "");
  await rm(second?.path ?? "");

  expect(complete).toEqual([]);
  expect((await agreed(dir)).sort()).toEqual([`missing ${first?.name}`, `missing ${second?.name}`]);
});

/** A writer whose names are not those of another one. */
function opened(dir: string, drawn: number) {
  const clock = handClock();
  for (const _ of upTo(drawn)) clock.random(10);
  return open(dir, { clock });
}

/** Appends an answer by a writer of its own. @returns its segment */
async function appended(dir: string, drawn: number, n: number): Promise<string> {
  const journal = await opened(dir, drawn);
  const { segment } = await journal.append(answer(n));
  await journal.close();
  return segment;
}

/** Puts a segment of another journal beside those of a journal. @returns its name */
async function addForeign(dir: string): Promise<string> {
  const other = freshDir();
  const segment = await appended(other, 500, 1);
  const file = segmentFile(segment, "closed");
  await copyFile(join(other, file), join(dir, file));
  return segment;
}

test("a segment from another journal is named as foreign", async () => {
  const dir = await copied();
  const segment = await addForeign(dir);

  expect(await agreed(dir)).toEqual([`foreign ${segment}`]);
});

test.each([
  ["compressed", 0, 1],
  ["plain", 2, 3],
])("two segments that have each other's names are both named, %s", async (_state, one, other) => {
  const dir = await copied();
  const [first, second] = [await fileOf(dir, names[one] ?? ""), await fileOf(dir, names[other] ?? "")];
  await rename(first, `${first}.x`);
  await rename(second, first);
  await rename(`${first}.x`, second);

  expect(await agreed(dir)).toEqual([`reordered ${names[one]}`, `reordered ${names[other]}`]);
});

test("a segment with another hour in its name is named with the segment that it holds", async () => {
  const dir = await copied();
  const [name = ""] = names;
  const moved = name.replace(/T\d\d/, "T03");
  await rename(await fileOf(dir, name), join(dir, segmentFile(moved, "compressed")));

  const { findings } = await readCompleteness(dir);

  expect(findings).toEqual([{ segment: moved, problem: "reordered", detail: `the file holds ${name}` }]);
});

test("a segment that lost its last record, cut where one ends, is altered, and reads as whole", async () => {
  const dir = await copied();
  await truncate(await fileOf(dir, names[3] ?? ""), positions[11]?.offset);

  const { damages, findings } = await verifyJournal(dir, { clock: handClock(LATER) });

  expect(damages).toEqual({ fresh: 0, setAside: 0 });
  expect(findings).toEqual([
    {
      segment: names[3],
      problem: "altered",
      detail: `it holds ${positions[11]?.offset} bytes, and was finished with ${positions[11]?.end}`,
    },
  ]);
});

test("a kill at any instant makes nothing missing or foreign, and what was kept is read", async () => {
  let steps = 0;
  for (let died = true; died; steps += 1) {
    const dir = freshDir();
    const dying = dyingAfter(steps);
    const clock = handClock();
    const kept: string[] = [];
    const journal = await open(dir, { clock, fs: dying.fs, onProblem: quiet });
    try {
      for (const n of upTo(2)) {
        await journal.append(answer(n));
        kept.push(...answersAsText([n]));
        clock.advance(HOUR);
      }
      await journal.compressClosed();
    } catch {
      // Killed.
    }
    await journal.close();
    died = dying.died();

    expect({ steps, found: await agreed(dir) }).toEqual({ steps, found: [] });
    await appended(dir, 900, 99);
    await compressClosed({ dir, fs: nodeFs, clock: handClock(LATER), onProblem: quiet });
    expect({ steps, found: await agreed(dir) }).toEqual({ steps, found: [] });
    expect(asText(await recordsOf(dir))).toEqual(expect.arrayContaining(kept));
  }
  expect(steps).toBeGreaterThan(20);
});

test("a kill that cuts a line of the list short costs that line alone", async () => {
  const dir = await copied();
  await appendFile(join(dir, SEGMENT_LIST), '\n{"at":"2026-11-21T04:00:00.000Z","event":"begun","segm');
  const segment = await appended(dir, 700, 50);
  const complete = await agreed(dir);
  await rm(await fileOf(dir, segment));

  expect(complete).toEqual([]);
  expect(await agreed(dir)).toEqual([`missing ${segment}`]);
});

test("a disk that is full at the list refuses the append, and leaves neither a file nor a finding behind", async () => {
  const dir = await copied();
  const before = await filesIn(dir);
  const fs = fsWith({
    open: (path, flags) => (flags === "a" ? Promise.reject(errno("ENOSPC")) : nodeFs.open(path, flags)),
  });
  const journal = await open(dir, { clock: handClock(LATER), fs });

  for (const n of [1, 2])
    await expect(journal.append(answer(n))).rejects.toMatchObject({ code: "JOURNAL_WRITE_FAILED" });
  await journal.close();

  expect(await filesIn(dir)).toEqual(before);
  expect(await agreed(dir)).toEqual([]);
});

test("the journal of an older version has no list and no findings; the next segment begins the list, and from then on no loss goes unnoticed", async () => {
  const dir = await olderJournal();
  const before = await verifyJournal(dir, { clock: handClock(LATER) });
  await appended(dir, 300, 40);
  const after = await agreed(dir);
  await rm(await fileOf(dir, names[0] ?? ""));
  await rm(await fileOf(dir, names[4] ?? ""));

  expect(before).toMatchObject({ records: 18, listed: false, findings: [], damages: { fresh: 0 } });
  expect(after).toEqual([]);
  expect(await agreed(dir)).toEqual([`missing ${names[0]}`, `missing ${names[4]}`]);
});

test("an older version's journal is not taken for listed when a kill cut its first list short", async () => {
  const dir = await olderJournal();
  await appended(dir, 300, 40);
  const list = join(dir, SEGMENT_LIST);
  const lines = (await readFile(list, "utf8")).split("\n");
  await writeFile(list, lines.slice(0, 3).join("\n"));
  // The segment that was begun had not been written either.
  for (const { name, path } of await listSegments(dir)) if (!names.includes(name)) await rm(path);

  const cut = await agreed(dir);
  await appended(dir, 300, 40);

  expect(cut).toEqual([]);
  expect(await agreed(dir)).toEqual([]);
  expect((await verifyJournal(dir, { clock: handClock(LATER) })).listed).toBe(true);
});

/** The same journal as the release before wrote it: without a list, zero in each frame where the mark is. */
async function olderJournal(): Promise<string> {
  const dir = await copied();
  await rm(join(dir, SEGMENT_LIST));
  for (const { path, compressed } of await listSegments(dir)) {
    if (compressed) continue;
    const bytes = await readFile(path);
    for (let at = 0; at < bytes.length;) {
      bytes.writeUInt16LE(0, at + 10);
      const sum = createHash("sha256")
        .update(bytes.subarray(at, at + 56))
        .digest();
      sum.copy(bytes, at + 56, 0, 8);
      at += 64 + bytes.readUInt32LE(at + 12) + bytes.readUInt32LE(at + 16);
    }
    await writeFile(path, bytes);
  }
  return dir;
}

test("a lost list is named until somebody accepts the loss, also after a new list was begun", async () => {
  const dir = await copied();
  await rm(join(dir, SEGMENT_LIST));
  const gone = await agreed(dir);
  await appended(dir, 300, 40);
  const anew = await agreed(dir);
  await accept(dir, [SEGMENT_LIST]);

  expect([gone, anew, await agreed(dir)]).toEqual([
    [`list_lost ${SEGMENT_LIST}`],
    [`list_lost ${SEGMENT_LIST}`],
    [],
  ]);
});

test("a person can begin a new list when the old one is lost", async () => {
  const dir = await copied();
  await rm(join(dir, SEGMENT_LIST));
  await accept(dir, [SEGMENT_LIST]);
  const accepted = await agreed(dir);
  await rm(await fileOf(dir, names[2] ?? ""));

  expect(accepted).toEqual([]);
  expect(await agreed(dir)).toEqual([`missing ${names[2]}`]);
});

function accept(dir: string, accepted: string[], before: string | null = null) {
  const beforeHour = before === null ? null : hourOf(Date.parse(before));
  return acceptMissing(dir, { names: accepted, beforeHour }, { clock: handClock(LATER) });
}

test("a person can accept segments as moved to another disk, by name or by day, and back", async () => {
  const [dir, disk] = [await copied(), freshDir()];
  await cp(dir, disk, { recursive: true });
  for (const name of names.slice(0, 4)) await rm(await fileOf(dir, name));

  const said = await accept(dir, [names[3] ?? ""], "2026-11-21");
  const left = await agreed(dir);
  const [first = ""] = names;
  await copyFile(await fileOf(disk, first), join(dir, segmentFile(first, "compressed")));

  // The first two were begun at 22 and 23 hours of the 20th, the third after midnight.
  expect(said).toEqual([names[3], names[0], names[1]].map((segment) => ({ segment, as: "away" })));
  expect(left).toEqual([`missing ${names[2]}`]);
  expect(await agreed(dir)).toEqual([`missing ${names[2]}`]);
});

test("what is foreign or was altered is not accepted: the error says to move the file away or to copy it back", async () => {
  const dir = await copied();
  const segment = await addForeign(dir);
  await truncate(await fileOf(dir, names[3] ?? ""), positions[11]?.offset);
  const before = (await findingsIn(dir)).verify;

  for (const name of [segment, names[3] ?? ""])
    await expect(accept(dir, [name])).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(/copy its file back if it was changed, move it away/),
    });
  await expect(accept(dir, [], "2027-01-01")).resolves.toEqual([]);

  expect(before).toEqual([`foreign ${segment}`, `altered ${names[3]}`]);
  expect((await findingsIn(dir)).verify).toEqual(before);
});

test("a list that is removed and accepted as lost is begun with the segments that are there, foreign and altered ones too", async () => {
  const dir = await copied();
  await addForeign(dir);
  await truncate(await fileOf(dir, names[3] ?? ""), positions[11]?.offset);

  await rm(join(dir, SEGMENT_LIST));
  await accept(dir, [SEGMENT_LIST]);

  expect(await agreed(dir)).toEqual([]);
});

test("a name that the journal neither has nor misses, or a file under a wrong name, is not accepted", async () => {
  const dir = await copied();
  const [name = ""] = names;
  const moved = name.replace(/T\d\d/, "T03");
  await rename(await fileOf(dir, name), join(dir, segmentFile(moved, "compressed")));

  await expect(accept(dir, ["20261120T22-nothing"])).rejects.toMatchObject({ code: "USAGE" });
  await expect(accept(dir, [moved])).rejects.toMatchObject({ code: "USAGE" });
});

test("an unreadable segment is named, and all others are read and compared with the list", async () => {
  const dir = await copied();
  const [gone = "", lost = ""] = names;
  await rm(await fileOf(dir, gone));
  await rename(await fileOf(dir, lost), join(dir, "elsewhere"));
  await mkdir(join(dir, segmentFile(lost, "closed")));
  await writeFile(join(dir, DAMAGED_DIR), "");

  const { findings, records, segments } = await verifyJournal(dir, { clock: handClock(LATER) });

  const cannot = expect.stringContaining("cannot be read: E");
  expect(findings).toEqual([
    { segment: lost, problem: "unreadable", detail: cannot },
    { segment: gone, problem: "missing", detail: expect.anything() },
    { segment: DAMAGED_DIR, problem: "unreadable", detail: cannot },
  ]);
  expect([records, segments.length]).toEqual([12, 4]);
  expect(await journalHealth(dir, new Map(), { clock: handClock(LATER), maxBytes: undefined })).toMatchObject(
    {
      state: "attention",
      text: expect.stringMatching(
        /^JOURNAL_UNREADABLE: .* cannot be read: EISDIR.*JOURNAL_INCOMPLETE: .*missing: /,
      ),
    },
  );
});

test("an unreadable list is named, and every segment is read", async () => {
  const dir = await copied();
  await rm(join(dir, SEGMENT_LIST));
  await mkdir(join(dir, SEGMENT_LIST));

  const { findings, records } = await verifyJournal(dir, { clock: handClock(LATER) });

  expect([findings.map(({ segment, problem }) => `${segment} ${problem}`), records]).toEqual([
    [`${SEGMENT_LIST} unreadable`],
    18,
  ]);
});
