import { expect, test } from "@jest/globals";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readCompleteness } from "../../src/journal/completeness.ts";
import { nodeFs, type JournalFile, type JournalFs } from "../../src/journal/fs.ts";
import { SEGMENT_LIST } from "../../src/journal/segmentList.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { createTestClock } from "../support/clock.ts";
import type { QuotekeeperError } from "../../src/ground/errors.ts";
import {
  answer,
  answersAsText,
  asText,
  errno,
  filesIn,
  freshDir,
  fsWith,
  handClock,
  HOUR,
  itemsOf,
  open,
  plainFile,
  powerCutFs,
  recordsOf,
  upTo,
} from "./world.ts";

/** A file system whose written files pass through `change`. */
function filesThrough(change: (file: JournalFile) => Partial<JournalFile>): JournalFs {
  return fsWith({
    open: async (path, flags) => {
      const plain = plainFile(await nodeFs.open(path, flags));
      return flags === "wx" ? { ...plain, ...change(plain) } : plain;
    },
  });
}

test("group commit puts 100 answers that arrive together on disk with two syncs", async () => {
  let syncs = 0;
  const fs = filesThrough((file) => ({
    datasync: () => {
      syncs += 1;
      return file.datasync();
    },
  }));
  const dir = freshDir();
  const journal = await open(dir, { fs });

  const appended = upTo(100).map((n) => journal.append(answer(n)));
  await appended[0];
  const more = upTo(100).map((n) => journal.append(answer(100 + n)));
  await Promise.all([...appended, ...more]);
  await journal.close();

  expect(syncs).toBe(2);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText(upTo(200)));
});

test("group commit acknowledges no answer before it is synced", async () => {
  const order: string[] = [];
  const fs = filesThrough((file) => ({
    datasync: async () => {
      await file.datasync();
      order.push("synced");
    },
  }));
  const journal = await open(freshDir(), { fs });

  await journal.append(answer(1)).then(() => order.push("acknowledged"));
  await journal.close();

  expect(order).toEqual(["synced", "acknowledged"]);
});

test("group commit survives a file system that takes only a few bytes at a time", async () => {
  const fs = filesThrough((file) => ({
    write: (bytes, offset, length, position) => file.write(bytes, offset, Math.min(length, 7), position),
  }));
  const dir = freshDir();
  const journal = await open(dir, { fs });

  await Promise.all(upTo(3).map((n) => journal.append(answer(n))));
  await journal.close();

  expect(asText(await recordsOf(dir))).toEqual(answersAsText(upTo(3)));
});

test("a segment is followed by a new one when its hour is over, also while the old one was idle", async () => {
  const dir = freshDir();
  const clock = handClock("2026-11-20T22:59:59.999Z");
  const journal = await open(dir, { clock });

  const first = await journal.append(answer(1));
  clock.advance(1);
  const second = await journal.append(answer(2));
  clock.advance(5 * HOUR);
  const third = await journal.append(answer(3));
  await journal.close();

  expect([first, second, third].map(({ segment }) => segment.slice(0, 12))).toEqual([
    "20261120T22-",
    "20261120T23-",
    "20261121T04-",
  ]);
  expect((await listSegments(dir)).map(({ name }) => name)).toEqual([
    first.segment,
    second.segment,
    third.segment,
  ]);
});

test("a segment is continued when the clock is set back a little across the hour, and not when it was wrong by days", async () => {
  const clock = handClock("2026-11-20T23:00:00.001Z");
  const journal = await open(freshDir(), { clock });

  const first = await journal.append(answer(1));
  clock.advance(-5);
  const second = await journal.append(answer(2));
  clock.advance(-48 * HOUR);
  const third = await journal.append(answer(3));
  await journal.close();

  expect(second).toMatchObject({ segment: first.segment, offset: first.end });
  expect(third.segment).toMatch(/^20261118T22-/);
});

test("a segment is followed by a new one before it grows beyond its size, and holds one record however large", async () => {
  const dir = freshDir();
  const journal = await open(dir, { maxSegmentBytes: 2_000 });

  await Promise.all([100, 100, 100, 5_000, 100].map((bodyBytes, n) => journal.append(answer(n, bodyBytes))));
  await journal.close();

  const counts = [];
  for (const { name } of await listSegments(dir)) counts.push((await itemsOf(dir, name)).length - 1);
  expect(counts).toEqual([3, 1, 1]);
});

test("a segment is closed in its name when the journal is closed, with everything that was appended before", async () => {
  const dir = freshDir();
  const journal = await open(dir);

  const appended = journal.append(answer(1));
  await journal.close();

  await expect(appended).resolves.toMatchObject({ offset: 0 });
  expect(await filesIn(dir)).toEqual([expect.stringMatching(/\.journal\.closed$/)]);
  await expect(journal.append(answer(2))).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
});

const journalFile = (path: string) => path.endsWith(".journal");

test.each(["open", "write", "half a write", "sync", "directory sync", "check"])(
  "a disk that is full at the %s refuses the answers under way, keeps the others, and takes new ones when space returns",
  async (where) => {
    const dir = freshDir();
    let full = false;
    const enospc = async () => {
      if (full) throw errno("ENOSPC");
    };
    const files = filesThrough((file) => ({
      write: async (bytes, offset, length, position) => {
        if (where === "half a write" && full && offset > 0) throw errno("ENOSPC");
        if (where === "write") await enospc();
        const part = where === "half a write" && full ? Math.floor(length / 2) : length;
        return file.write(bytes, offset, part, position);
      },
      datasync: async () => {
        if (where === "sync") await enospc();
        await file.datasync();
      },
    }));
    const fs: JournalFs = {
      ...files,
      open: async (path, flags) => {
        if (where === "open" && flags === "wx") await enospc();
        return files.open(path, flags);
      },
      syncDirectory: async (path) => {
        if (where === "directory sync") await enospc();
        await nodeFs.syncDirectory(path);
      },
      stat: async (path) => {
        if (where === "check" && journalFile(path)) await enospc();
        return nodeFs.stat(path);
      },
    };
    const clock = handClock();
    const journal = await open(dir, { clock, fs });
    await journal.append(answer(0));
    // Opening and the directory sync happen at the next segment.
    if (["open", "directory sync"].includes(where)) clock.advance(HOUR);

    full = true;
    const refused = await Promise.allSettled([1, 2].map((n) => journal.append(answer(n))));
    const third = await Promise.allSettled([journal.append(answer(3))]);
    const during = journal.health();
    full = false;
    const taken = await journal.append(answer(4));
    await journal.close();

    for (const each of [...refused, ...third])
      expect(each).toMatchObject({ status: "rejected", reason: { code: "JOURNAL_WRITE_FAILED" } });
    expect(String((refused[0] as PromiseRejectedResult).reason)).toContain("ENOSPC");
    expect(String((refused[0] as PromiseRejectedResult).reason)).toContain(dir);
    expect(during.failure).toMatchObject({ code: "JOURNAL_WRITE_FAILED" });
    expect(journal.health().failure).toBeNull();
    expect(taken.offset).toBe(0);
    expect(asText(await recordsOf(dir))).toEqual(answersAsText([0, 4]));
    expect(await filesIn(dir)).toHaveLength(2);
  },
);

test("a disk that is full when a finished segment is renamed costs nothing but a delay", async () => {
  const dir = freshDir();
  const clock = handClock();
  const problems: QuotekeeperError[] = [];
  let full = true;
  const fs = fsWith({
    rename: (from, to) => (full ? Promise.reject(errno("ENOSPC")) : nodeFs.rename(from, to)),
  });
  const journal = await open(dir, { clock, fs, onProblem: (problem) => problems.push(problem) });
  await journal.append(answer(0));

  clock.advance(HOUR);
  await journal.append(answer(1));
  clock.advance(HOUR);
  await journal.append(answer(2));
  const whileFull = await journal.compressClosed();
  full = false;
  const after = await journal.compressClosed();
  await journal.close();

  expect(problems.map(({ code }) => code)).toContain("JOURNAL_COMPRESSION_FAILED");
  expect(whileFull).toEqual([]);
  expect(after).toHaveLength(2);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([0, 1, 2]));
});

test("a disk that is full at compression leaves the plain segment and nothing next to it", async () => {
  const dir = freshDir();
  const clock = handClock();
  const problems: QuotekeeperError[] = [];
  const fs = fsWith({
    open: async (path, flags) => {
      if (path.endsWith(".tmp")) throw errno("ENOSPC");
      return nodeFs.open(path, flags);
    },
  });
  const journal = await open(dir, { clock, fs, onProblem: (problem) => problems.push(problem) });
  await journal.append(answer(0));
  clock.advance(HOUR);

  expect(await journal.compressClosed()).toEqual([]);
  await journal.close();

  expect(problems).toMatchObject([{ code: "JOURNAL_COMPRESSION_FAILED" }]);
  expect(await filesIn(dir)).toEqual([expect.stringMatching(/\.journal\.closed$/)]);
});

test("the cap on the journal's size refuses a record that would exceed it, and accepts it once somebody has made room", async () => {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock, maxTotalBytes: 2_500 });
  await journal.append(answer(1, 1_000));

  const refused = journal.append(answer(2, 1_000));
  await expect(refused).rejects.toMatchObject({ code: "JOURNAL_FULL" });
  await expect(journal.append(answer(3, 10))).resolves.toBeDefined();
  expect(journal.health().totalBytes).toBeLessThanOrEqual(2_500);

  clock.advance(HOUR);
  await journal.compressClosed();
  for (const file of await filesIn(dir)) await rename(join(dir, file), join(dirname(dir), file));
  await expect(journal.append(answer(2, 1_000))).resolves.toMatchObject({ offset: 0 });
  expect(journal.health().failure).toBeNull();
  await journal.close();
});

test("the cap on the journal's size counts what was there before", async () => {
  const dir = freshDir();
  const before = await open(dir);
  await before.append(answer(1, 1_000));
  await before.close();

  const journal = await open(dir, {
    clock: handClock("2026-11-21T06:00:00.000Z"),
    maxTotalBytes: 2_000,
  });

  await expect(journal.append(answer(2, 1_000))).rejects.toMatchObject({ code: "JOURNAL_FULL" });
  await journal.close();
});

test("answers are kept although the list of segments cannot be read, and that is told", async () => {
  const dir = freshDir();
  await mkdir(join(dir, SEGMENT_LIST), { recursive: true });
  const problems: string[] = [];
  const journal = await open(dir, { onProblem: ({ message }) => problems.push(message) });

  await journal.append(answer(1));
  await journal.close();

  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1]));
  expect(problems[0]).toMatch(/^JOURNAL_UNREADABLE: .*segments\.jsonl cannot be read: EISDIR/);
});

test.each([1, 2, 3])(
  "a power cut after the acknowledgement of answer %d leaves it and those before it",
  async (count) => {
    const dir = freshDir();
    const clock = handClock();
    const { fs, cutPower } = powerCutFs();
    const journal = await open(dir, { fs, clock });
    for (const n of upTo(count)) {
      // The third begins a segment of its own.
      if (n === 2) clock.advance(HOUR);
      await journal.append(answer(n));
    }

    await cutPower();

    expect(asText(await recordsOf(dir))).toEqual(answersAsText(upTo(count)));
    expect((await readCompleteness(dir)).findings).toEqual([]);
    await journal.close();
  },
);

test("a power cut does not bring back an answer whose append was refused", async () => {
  const dir = freshDir();
  const { fs, cutPower } = powerCutFs();
  let fails = false;
  const stat = (path: string) => (fails ? Promise.reject(errno("EIO")) : nodeFs.stat(path));
  const journal = await open(dir, { fs: { ...fs, stat } });
  await journal.append(answer(0));

  fails = true;
  await expect(journal.append(answer(1))).rejects.toMatchObject({ code: "JOURNAL_WRITE_FAILED" });
  await cutPower();

  expect(asText(await recordsOf(dir))).toEqual(answersAsText([0]));
  await journal.close();
});

test("the next answer is kept when the segment disappears while it is written, and a problem is reported", async () => {
  const dir = freshDir();
  const problems: QuotekeeperError[] = [];
  const journal = await open(dir, { onProblem: (problem) => problems.push(problem) });
  const { segment } = await journal.append(answer(1));

  await rm(join(dir, `${segment}.journal`));
  const second = await journal.append(answer(2));
  await journal.close();

  expect(second.segment).not.toBe(segment);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([2]));
  expect(problems).toMatchObject([{ code: "JOURNAL_WRITE_FAILED" }]);
});

test("an answer goes into a new segment when somebody shortens the segment behind its write", async () => {
  const dir = freshDir();
  const problems: QuotekeeperError[] = [];
  let shortenTo: number | null = null;
  const fs = filesThrough((file) => ({
    datasync: async () => {
      await file.datasync();
      if (shortenTo !== null) await file.truncate(shortenTo);
      shortenTo = null;
    },
  }));
  const journal = await open(dir, { fs, onProblem: (problem) => problems.push(problem) });
  const first = await journal.append(answer(1));

  shortenTo = first.end + 100;
  const second = await journal.append(answer(2));
  await journal.close();

  expect(second.segment).not.toBe(first.segment);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1, 2]));
  expect(problems).toMatchObject([{ code: "JOURNAL_WRITE_FAILED" }]);
});

test("no answer is lost or doubled when another process takes this one for dead and compresses its segment", async () => {
  const dir = freshDir();
  const clock = handClock();
  const later = handClock("2026-11-21T06:00:00.000Z");
  const other = await open(dir, { clock: later });
  let stopped = false;
  // This process decides to write, is stopped for hours, and writes when it runs again.
  const fs = filesThrough((file) => ({
    write: async (...args) => {
      if (stopped) {
        stopped = false;
        await other.compressClosed();
      }
      return file.write(...args);
    },
  }));
  const journal = await open(dir, { clock, fs, onProblem: () => undefined });
  await journal.append(answer(1));

  stopped = true;
  await journal.append(answer(2));
  await Promise.all([journal.close(), other.close()]);

  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1, 2]));
});

test("a body over the limit is refused before anything is written", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const tooLong = { ...answer(1), body: new Uint8Array(8 * 1024 * 1024 + 1) };

  await expect(journal.append(tooLong)).rejects.toMatchObject({ code: "JOURNAL_RECORD_TOO_LARGE" });
  await journal.append({ ...answer(2), body: tooLong.body.subarray(1) });
  await journal.close();

  expect((await listSegments(dir))[0]?.bytes).toBeGreaterThan(8 * 1024 * 1024);
});

test("a directory that cannot be made, naming it and the setting", async () => {
  const dir = freshDir();
  await mkdir(dirname(dir), { recursive: true });
  await writeFile(dir, "a file");

  await expect(open(join(dir, "journal"))).rejects.toMatchObject({
    code: "DATA_DIR_UNWRITABLE",
    message: expect.stringContaining("QUOTEKEEPER_DATA_DIR"),
  });
});

test("a directory on a disk that may only be read is refused", async () => {
  const fs = fsWith({ access: () => Promise.reject(errno("EROFS")) });

  await expect(open(freshDir(), { fs })).rejects.toMatchObject({
    code: "DATA_DIR_UNWRITABLE",
    message: expect.stringContaining("EROFS"),
  });
});

test("no file is made before the first answer", async () => {
  const dir = freshDir();

  const journal = await open(dir);
  await journal.close();

  expect(await filesIn(dir)).toEqual([]);
  expect((await stat(dir)).isDirectory()).toBe(true);
});

test("a slow disk is named once a minute, and nothing is lost", async () => {
  const clock = createTestClock();
  const problems: string[] = [];
  let syncMs = 8_000;
  const fs = filesThrough(() => ({ datasync: async () => clock.advance(syncMs) }));
  const dir = freshDir();
  const journal = await open(dir, { fs, clock, onProblem: ({ message }) => problems.push(message) });

  for (const n of upTo(9)) await journal.append(answer(n));
  syncMs = 100;
  await journal.append(answer(10));
  await journal.close();

  expect(problems.length).toBe(2);
  expect(problems[0]).toMatch(/^DISK_SLOW: .*: a write took 8\.0 s until it was on the disk/);
  expect(await recordsOf(dir)).toHaveLength(10);
});
