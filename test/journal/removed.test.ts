/** A journal whose directory is removed, or whose disk is unmounted, while it is written. */
import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { acceptMissing } from "../../src/journal/acceptMissing.ts";
import { readCompleteness } from "../../src/journal/completeness.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import { answer, answersAsText, asText, freshDir, handClock, HOUR, open, recordsOf } from "./world.ts";

/** A journal with an older segment and one that is written, in which answers 0 and 1 are. */
async function begun() {
  const dir = freshDir();
  const clock = handClock();
  const problems: string[] = [];
  const gone: string[] = [];
  const journal = await open(dir, {
    clock,
    onProblem: ({ message }) => problems.push(message),
    onGone: (since) => gone.push(since.toISOString()),
  });
  const { segment: older } = await journal.append(answer(0));
  clock.advance(HOUR);
  const { segment: newer } = await journal.append(answer(1));
  clock.advance(60_000);
  return { dir, clock, journal, problems, gone, older, newer };
}

const missing = (segment: string) => ({ segment, problem: "missing", detail: "its file is not there" });

test("a directory that was removed is made again for its owner alone, and every later answer is kept", async () => {
  const { dir, journal, older, newer } = await begun();
  rmSync(dir, { recursive: true });

  await journal.append(answer(2));
  await journal.append(answer(3));
  await journal.close();

  expect(asText(await recordsOf(dir))).toEqual(answersAsText([2, 3]));
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect((await readCompleteness(dir)).findings).toEqual([missing(older), missing(newer)]);
});

test("a directory that was removed is told once, with the time at which its files were last seen", async () => {
  const { dir, clock, journal, gone } = await begun();
  const seenAt = new Date(clock.now().getTime() - 60_000).toISOString();
  rmSync(dir, { recursive: true });
  await journal.append(answer(2));
  rmSync(dir, { recursive: true });
  await journal.append(answer(3));
  await journal.close();

  expect(gone).toEqual([seenAt]);
  expect(journal.health().failure).toBeNull();
});

test("a directory that is removed between two segments is made again", async () => {
  const { dir, clock, journal, gone, older, newer } = await begun();
  rmSync(dir, { recursive: true });
  clock.advance(2 * HOUR);

  await journal.append(answer(2));
  await journal.close();

  expect(asText(await recordsOf(dir))).toEqual(answersAsText([2]));
  expect(gone).toHaveLength(1);
  expect((await readCompleteness(dir)).findings).toEqual([missing(older), missing(newer)]);
});

test("answers go below the place of a disk that was unmounted, and the disk's list misses them when it is mounted again", async () => {
  const { dir, journal, gone, older, newer } = await begun();
  renameSync(dir, `${dir}-disk`);
  mkdirSync(dir, { mode: 0o700 });

  const { segment: below } = await journal.append(answer(2));
  const whileUnmounted = await readCompleteness(dir);
  renameSync(dir, `${dir}-below`);
  renameSync(`${dir}-disk`, dir);
  await journal.append(answer(3));
  await journal.close();

  expect(gone).toHaveLength(1);
  expect(whileUnmounted.findings).toEqual([missing(older), missing(newer)]);
  expect((await readCompleteness(dir)).findings).toEqual([missing(below)]);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([0, 1, 3]));
});

test("a segment that another process has closed meanwhile is not gone", async () => {
  const { dir, clock, journal, gone, newer } = await begun();
  const tomorrow = new Date(clock.now().getTime() + 48 * HOUR);
  const other = await open(dir, { clock: { ...clock, now: () => tomorrow } });
  const closed = await other.compressClosed();
  await other.close();

  await journal.append(answer(2));
  await journal.close();

  expect(closed).toContain(newer);
  expect(gone).toEqual([]);
  expect((await readCompleteness(dir)).findings).toEqual([]);
});

test("segments that the database has loaded and of which nothing is left are missing, until somebody accepts that they are gone", async () => {
  const { dir, clock, journal, older, newer } = await begun();
  await journal.close();
  rmSync(dir, { recursive: true });
  const loaded = [older, newer];

  const found = await verifyJournal(dir, { clock, loaded });
  const accepted = await acceptMissing(dir, { names: [older, newer], beforeHour: null }, { clock, loaded });

  expect(found.findings).toEqual(
    loaded.map((segment) => ({
      segment,
      problem: "missing",
      detail: expect.stringContaining("has loaded it"),
    })),
  );
  expect(accepted).toEqual(loaded.map((segment) => ({ segment, as: "away" })));
  expect((await verifyJournal(dir, { clock, loaded })).findings).toEqual([]);
});
