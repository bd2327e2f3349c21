import { expect, test } from "@jest/globals";
import { cp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { compressClosed } from "../../src/journal/compress.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { segmentFile } from "../../src/journal/segmentName.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import type { QuotekeeperError } from "../../src/ground/errors.ts";
import {
  answer,
  answersAsText,
  asText,
  dyingAfter,
  filesIn,
  freshDir,
  fsWith,
  handClock,
  HOUR,
  open,
  plainFile,
  powerCutFs,
  recordsOf,
  upTo,
} from "./world.ts";

/** The next morning. */
const LATER = "2026-11-21T06:00:00.000Z";

const quiet = () => undefined;

test("compression that a power cut ends at any step leaves every record readable once", async () => {
  const whole = freshDir();
  const journal = await open(whole);
  for (const n of upTo(3)) await journal.append(answer(n));
  await journal.close();

  let steps = 0;
  for (let died = true; died; steps += 1) {
    const dir = freshDir();
    await cp(whole, dir, { recursive: true });
    const power = powerCutFs();
    const dying = dyingAfter(steps, power.fs);
    await compressClosed({ dir, fs: dying.fs, clock: handClock(LATER), onProblem: quiet });
    died = dying.died();
    await power.cutPower();

    expect(asText(await recordsOf(dir))).toEqual(answersAsText(upTo(3)));
  }
  expect(steps).toBeGreaterThan(10);
});

test("compression leaves an open segment alone until ten minutes after its hour", async () => {
  const dir = freshDir();
  const clock = handClock("2026-11-20T22:50:00.000Z");
  const other = await open(dir, { clock: handClock("2026-11-20T22:50:00.000Z") });
  await other.append(answer(1));
  const run = () => compressClosed({ dir, fs: nodeFs, clock, onProblem: quiet });

  const inItsHour = await run();
  clock.advance(19 * 60_000);
  const soonAfter = await run();
  clock.advance(60_000);
  const later = await run();
  await other.close();

  expect([inItsHour, soonAfter, later.length]).toEqual([[], [], 1]);
});

test("compression by two processes at once gives one file", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  for (const n of upTo(20)) await journal.append(answer(n));
  await journal.close();
  const problems: QuotekeeperError[] = [];
  const run = (drawn: number) => {
    const clock = handClock(LATER);
    for (const _ of upTo(drawn)) clock.random(10);
    return compressClosed({ dir, fs: nodeFs, clock, onProblem: (problem) => problems.push(problem) });
  };

  await Promise.all([run(0), run(7)]);

  expect(problems).toEqual([]);
  expect(await filesIn(dir)).toEqual([expect.stringMatching(/\.journal\.gz$/)]);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText(upTo(20)));
});

test("compression gives a file that every gzip can unpack", async () => {
  const dir = freshDir();
  const journal = await open(dir, { clock: handClock() });
  await journal.append(answer(1));
  const { segment } = await journal.append(answer(2));
  await journal.close();
  const plain = await readFile(join(dir, segmentFile(segment, "closed")));

  await compressClosed({ dir, fs: nodeFs, clock: handClock(LATER), onProblem: quiet });

  expect(gunzipSync(await readFile(join(dir, segmentFile(segment, "compressed"))))).toEqual(plain);
});

test("compression stops when the segment becomes shorter meanwhile, and invents nothing for what is gone", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const { segment, end } = await journal.append(answer(1));
  await journal.append(answer(2));
  await journal.close();
  const problems: QuotekeeperError[] = [];
  const fs = fsWith({
    open: async (path, flags) => {
      const file = plainFile(await nodeFs.open(path, flags));
      const write: typeof file.write = async (...args) => {
        await truncate(join(dir, segmentFile(segment, "closed")), end + 10);
        return file.write(...args);
      };
      return path.endsWith(".tmp") && flags === "wx" ? { ...file, write } : file;
    },
  });

  const onProblem = (problem: QuotekeeperError) => problems.push(problem);
  await compressClosed({ dir, fs, clock: handClock(LATER), onProblem });

  expect(problems).toMatchObject([{ code: "JOURNAL_COMPRESSION_FAILED" }]);
  expect(await filesIn(dir)).toEqual([segmentFile(segment, "closed")]);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1]));
});

test("the plain segment stays when its compressed file cannot be read back as it was written", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  await journal.append(answer(1));
  await journal.close();
  const problems: QuotekeeperError[] = [];
  const fs = fsWith({
    open: async (path, flags) => {
      const file = await nodeFs.open(path, flags);
      if (flags === "r") return file;
      return {
        ...plainFile(file),
        // A bad block: one bit of what is written is lost.
        write: (bytes, offset, length, position) => {
          bytes[offset + 60] = (bytes[offset + 60] ?? 0) ^ 1;
          return file.write(bytes, offset, length, position);
        },
      };
    },
  });

  await compressClosed({
    dir,
    fs,
    clock: handClock(LATER),
    onProblem: (problem) => problems.push(problem),
  });

  expect(problems).toMatchObject([{ code: "JOURNAL_COMPRESSION_FAILED" }]);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1]));
});

test("a start after a crash sets the torn tail aside, reports it once, compresses the segment and goes on", async () => {
  const dir = freshDir();
  const dead = await open(dir);
  const { segment, end } = await dead.append(answer(1));
  const path = join(dir, segmentFile(segment, "open"));
  await writeFile(path, (await readFile(path)).subarray(0, end - 10));
  await dead.append(answer(2)).catch(quiet);
  const problems: QuotekeeperError[] = [];
  const onProblem = (problem: QuotekeeperError) => problems.push(problem);

  const clock = handClock(LATER);
  const journal = await open(dir, { clock, upkeep: true, onProblem });
  await journal.append(answer(3));
  await journal.compressClosed();
  await journal.close();
  const again = await open(dir, { clock, upkeep: true, onProblem });
  await again.compressClosed();
  await again.close();

  expect(problems).toMatchObject([{ code: "JOURNAL_DAMAGED" }]);
  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 1, fresh: 0 });
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([2, 3]));
  await dead.close();
});

test("a start after a crash takes bytes of the last seconds for a record under way, not for damage", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const { segment, end } = await journal.append(answer(1));
  const path = join(dir, segmentFile(segment, "open"));
  await writeFile(path, (await readFile(path)).subarray(0, end - 10));
  const { mtimeMs } = await nodeFs.stat(path);
  const verified = (afterMs: number) =>
    verifyJournal(dir, { clock: handClock(new Date(mtimeMs + afterMs).toISOString()) });

  const soon = await verified(1_000);
  const later = await verified(60_000);
  const underAClockSetBack = await verified(-60_000);

  expect(soon.damages).toEqual({ setAside: 0, fresh: 0 });
  expect(soon.segments).toMatchObject([{ unfinished: { offset: 0, length: end - 10 } }]);
  expect(later.damages).toEqual({ setAside: 0, fresh: 1 });
  expect(underAClockSetBack.damages).toEqual({ setAside: 0, fresh: 1 });
  await journal.close();
});

test("a file that is no segment by its name is reported, not passed over in silence", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const { segment } = await journal.append(answer(1));
  await journal.close();
  await cp(join(dir, segmentFile(segment, "closed")), join(dir, "copy.journal"));

  expect((await verifyJournal(dir, { clock: handClock(LATER) })).strangers).toEqual(["copy.journal"]);
  expect(await listSegments(dir)).toHaveLength(1);
});

test("what a kill left of a trial of the disk or of a compression goes after an hour, and not before", async () => {
  const dir = freshDir();
  const clock = handClock();
  await (await open(dir, { clock })).close();
  const left = (atMs: number): string[] => {
    const id = uuidv7(atMs, clock.random(10));
    return [`probe-${id}.tmp`, `probe-${id}.renamed.tmp`, `20261120T22-${id}.journal.gz.${id}.tmp`];
  };
  const old = left(clock.now().getTime() - HOUR - 1);
  const fresh = left(clock.now().getTime() - HOUR);
  for (const name of [...old, ...fresh]) await writeFile(join(dir, name), "");

  await compressClosed({ dir, fs: nodeFs, clock, onProblem: quiet });

  expect((await filesIn(dir)).sort()).toEqual(fresh.sort());
});

test("a journal that is not there yet is empty, and undamaged", async () => {
  const dir = freshDir();
  await rm(dir, { recursive: true, force: true, maxRetries: 10 });

  expect(await verifyJournal(dir, { clock: handClock() })).toEqual({
    segments: [],
    records: 0,
    bytes: 0,
    damages: { setAside: 0, fresh: 0 },
    findings: [],
    listed: false,
    strangers: [],
  });
});
