/** Every kind of damage in every segment at every position costs the records it touches, and no other. */
import { beforeAll, expect, test } from "@jest/globals";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { FRAME_HEADER_BYTES } from "../../src/journal/frame.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import type { JournalFs } from "../../src/journal/fs.ts";
import { readSegment } from "../../src/journal/reader.ts";
import { segmentFile, segmentId } from "../../src/journal/segmentName.ts";
import type { DamageReason } from "../../src/journal/journalReports.ts";
import { FrameScanner } from "../../src/journal/scanner.ts";
import { DAMAGED_DIR } from "../../src/journal/quarantine.ts";
import { repairJournal, verifyJournal } from "../../src/journal/verify.ts";
import type { Position } from "../../src/journal/segmentWriter.ts";
import {
  answer,
  answersAsText,
  asText,
  dyingAfter,
  errno,
  freshDir,
  fsWith,
  handClock,
  HOUR,
  open,
  powerCutFs,
  recordsOf,
  upTo,
} from "./world.ts";
import { runs } from "../support/runs.ts";

const PER_SEGMENT = 5;
const SEGMENTS = [0, 1, 2];
const PLACES = { first: 0, middle: 2, last: PER_SEGMENT - 1 };

/** Three finished segments with five answers each; copied for every case. */
const whole = freshDir();
const positions: Position[] = [];

/** The length of the body of answer `n`; 100 is the one appended after the damage. */
const bodyBytes = (n: number) => (n === 100 ? 200 : 500 + n);

beforeAll(async () => {
  const clock = handClock();
  const journal = await open(whole, { clock });
  for (const n of upTo(SEGMENTS.length * PER_SEGMENT)) {
    if (n > 0 && n % PER_SEGMENT === 0) clock.advance(HOUR);
    positions.push(await journal.append(answer(n, bodyBytes(n))));
  }
  await journal.close();
});

/** Of the next day. */
const clock = handClock("2026-11-21T06:00:00.000Z");

async function copied(): Promise<string> {
  const dir = freshDir();
  await cp(whole, dir, { recursive: true });
  return dir;
}

async function compress(dir: string): Promise<void> {
  const journal = await open(dir, { clock });
  await journal.compressClosed();
  await journal.close();
}

function at(segment: number, place: number): Position {
  const position = positions[segment * PER_SEGMENT + place];
  if (position === undefined) throw new Error("no such record");
  return position;
}

type Kind = {
  /** Damages the frame of one record within the bytes of its segment. */
  damage: (bytes: Buffer, frame: Position) => Buffer;
  /** How many records from that one on are touched. */
  touched: (place: number) => number;
  reason: DamageReason;
};

const one = () => 1;

const KINDS: Record<string, Kind> = {
  "a torn record, with everything behind it": {
    damage: (bytes, { offset, end }) => bytes.subarray(0, Math.floor((offset + end) / 2)),
    touched: (place) => PER_SEGMENT - place,
    reason: "torn_tail",
  },
  "a bad header": { damage: (bytes, { offset }) => flip(bytes, offset), touched: one, reason: "bad_header" },
  "a bad length": {
    damage: (bytes, { offset }) => bytes.fill(0x7f, offset + 12, offset + 20),
    touched: one,
    reason: "bad_length",
  },
  "a bad checksum": {
    damage: (bytes, { offset }) => flip(bytes, offset + 36),
    touched: one,
    reason: "bad_checksum",
  },
  "a damaged body": {
    damage: (bytes, { end }) => flip(bytes, end - 100),
    touched: one,
    reason: "damaged_body",
  },
  "a zeroed block": {
    damage: (bytes, { offset, end }) => bytes.fill(0, offset, end),
    touched: one,
    reason: "zeroed",
  },
  "a scramble from there to the end of the segment": {
    damage: (bytes, { offset }) => {
      for (let index = offset; index < bytes.length; index += 1)
        bytes[index] = ((bytes[index] ?? 0) * 31 + index * 17 + 5) % 256;
      return bytes;
    },
    touched: (place) => PER_SEGMENT - place,
    reason: "bad_header",
  },
};

function flip(bytes: Buffer, index: number): Buffer {
  bytes[index] = (bytes[index] ?? 0) ^ 0x10;
  return bytes;
}

const cases = Object.entries(KINDS).flatMap(([kind, how]) =>
  SEGMENTS.flatMap((segment) =>
    Object.entries(PLACES).map(([name, place]) => ({ kind, how, segment, name, place })),
  ),
);

test.each(cases)(
  "the undamaged records survive $kind at the $name record of segment $segment, the damaged bytes are set aside, and the next append works",
  async ({ how, segment, place }) => {
    const dir = await copied();
    const frame = at(segment, place);
    const path = join(dir, segmentFile(frame.segment, "closed"));
    const damaged = how.damage(await readFile(path), frame);
    await writeFile(path, damaged);

    const journal = await open(dir, { clock });
    const { setAside } = await repairJournal(dir, { clock });
    await journal.append(answer(100));
    await journal.close();

    const lost = upTo(how.touched(place)).map((n) => segment * PER_SEGMENT + place + n);
    const kept = [...upTo(SEGMENTS.length * PER_SEGMENT), 100].filter((n) => !lost.includes(n));
    expect(asText(await recordsOf(dir))).toEqual(answersAsText(kept, bodyBytes));
    expect(setAside).toMatchObject([{ segment: frame.segment, offset: frame.offset, reason: how.reason }]);
    const { offset, length, file } = setAside[0] ?? { offset: 0, length: 0, file: "" };
    expect(await readFile(join(dir, DAMAGED_DIR, file))).toEqual(damaged.subarray(offset, offset + length));
    expect(await readFile(path)).toEqual(damaged);
    expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 1, fresh: 0 });
  },
);

test("a copy that a power cut leaves with its note is whole, at whatever step it came", async () => {
  const { segment, offset, end } = at(0, 1);
  const file = segmentFile(segment, "closed");
  const damaged = flip(await readFile(join(whole, file)), end - 100);

  let copies = 0;
  let steps = 0;
  for (let died = true; died; steps += 1) {
    const dir = await copied();
    await writeFile(join(dir, file), damaged);
    const power = powerCutFs();
    const dying = dyingAfter(steps, power.fs);
    await repairJournal(dir, { clock, fs: dying.fs }).catch(() => undefined);
    died = dying.died();
    await power.cutPower();

    const { damages } = await verifyJournal(dir, { clock });
    if (damages.setAside === 0) continue;
    copies += 1;
    const copy = await readFile(join(dir, DAMAGED_DIR, `${segment}-${offset}.bin`));
    expect(copy).toEqual(damaged.subarray(offset, end));
  }

  expect(steps).toBeGreaterThan(8);
  expect(copies).toBeGreaterThan(0);
});

test("a damage whose copy is gone, though its note is there, is set aside once more", async () => {
  const dir = await copied();
  const { segment, end } = at(0, 1);
  const path = join(dir, segmentFile(segment, "closed"));
  await writeFile(path, flip(await readFile(path), end - 100));
  const [first] = (await repairJournal(dir, { clock })).setAside;
  await rm(join(dir, DAMAGED_DIR, first?.file ?? ""));

  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 0, fresh: 1 });
  expect((await repairJournal(dir, { clock })).setAside).toEqual([first]);
  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 1, fresh: 0 });
});

test("a damage in a compressed segment is set aside, and costs no other record", async () => {
  const dir = await copied();
  await compress(dir);
  const name = at(1, 0).segment;
  const path = join(dir, segmentFile(name, "compressed"));
  const bytes = await readFile(path);

  let last = 0;
  for (const _ of upTo(PER_SEGMENT - 1)) last += bytes.readUInt32LE(last + 28);
  await writeFile(path, flip(Buffer.from(bytes), last + 60));
  const kept = upTo(SEGMENTS.length * PER_SEGMENT).filter((n) => n !== 2 * PER_SEGMENT - 1);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText(kept, bodyBytes));
  const { setAside } = await repairJournal(dir, { clock });

  expect(setAside).toMatchObject([{ offset: at(1, PER_SEGMENT - 1).offset, reason: "damaged_compression" }]);
  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 1, fresh: 0 });
});

test("a compressed segment whose end was cut off keeps its undamaged records, and the missing end is set aside", async () => {
  const dir = await copied();
  await compress(dir);
  const path = join(dir, segmentFile(at(2, 0).segment, "compressed"));
  const bytes = await readFile(path);

  await writeFile(path, bytes.subarray(0, bytes.length - 100));

  expect(await recordsOf(dir)).toHaveLength(SEGMENTS.length * PER_SEGMENT - 1);
  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 0, fresh: 1 });
});

test("damage is compressed with its segment, set aside, and keeps every offset where it was", async () => {
  const dir = await copied();
  const path = join(dir, segmentFile(at(0, 2).segment, "closed"));
  await writeFile(path, (await readFile(path)).fill(0, at(0, 2).offset, at(0, 3).offset));
  const before = await verifyJournal(dir, { clock });

  await compress(dir);

  expect(await readdir(join(dir, DAMAGED_DIR))).toHaveLength(2);
  const after = await verifyJournal(dir, { clock });
  expect(after).toMatchObject({ records: before.records, bytes: before.bytes });
  expect(after.damages).toEqual({ setAside: 1, fresh: 0 });
});

async function firstSegment(): Promise<{ id: Buffer; bytes: Buffer; frames: Position[] }> {
  const { segment } = at(0, 0);
  const bytes = await readFile(join(whole, segmentFile(segment, "closed")));
  const frames = upTo(PER_SEGMENT).map((place) => at(0, place));
  return { id: segmentId(segment) ?? Buffer.alloc(0), bytes, frames };
}

test("a changed byte costs the record it lies in and no other, wherever it lies and however the bytes are cut", async () => {
  const { id, bytes, frames } = await firstSegment();

  fc.assert(
    fc.property(
      fc.nat(bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.integer({ min: 1, max: 3_000 }),
      (index, mask, chunkBytes) => {
        const changed = Buffer.from(bytes);
        changed[index] = (changed[index] ?? 0) ^ mask;

        const { items, tail } = scan(changed, id, chunkBytes);

        const touched = frames.find(({ offset, end }) => offset <= index && index < end);
        const survivors = upTo(PER_SEGMENT).filter((place) => frames[place] !== touched);
        expect(asText(recordsIn(items))).toEqual(answersAsText(survivors, bodyBytes));
        const damages = items.flatMap((item) => (item.kind === "damage" ? [item.damage] : []));
        expect([...damages, ...(tail === null ? [] : [tail])]).toMatchObject([
          { offset: touched?.offset, length: (touched?.end ?? 0) - (touched?.offset ?? 0) },
        ]);
      },
    ),
    { numRuns: runs(400) },
  );
});

test("bytes changed, lost or inserted anywhere cost the records they touch and no other", async () => {
  const { id, bytes, frames } = await firstSegment();

  fc.assert(
    fc.property(
      fc.nat(bytes.length - 1),
      fc.nat(2_500),
      fc.uint8Array({ maxLength: 300 }),
      (from, removed, inserted) => {
        const to = Math.min(bytes.length, from + removed);
        fc.pre(to > from || inserted.length > 0);
        const changed = Buffer.concat([bytes.subarray(0, from), inserted, bytes.subarray(to)]);

        const { items } = scan(changed, id, 4_096);

        const untouched = upTo(PER_SEGMENT).filter((place) => {
          const { offset, end } = frames[place] ?? { offset: 0, end: 0 };
          return end <= from || offset >= to;
        });
        const survivors = asText(recordsIn(items));
        expect(survivors).toEqual(expect.arrayContaining(answersAsText(untouched, bodyBytes)));
        expect(survivors.length).toBeLessThanOrEqual(PER_SEGMENT);
      },
    ),
    { numRuns: runs(200) },
  );
});

test("a changed byte of a compressed segment costs at most the record it lies in, and is never read as something else", async () => {
  const dir = await copied();
  await compress(dir);
  const { segment } = at(0, 0);
  const bytes = await readFile(join(dir, segmentFile(segment, "compressed")));
  const written = answersAsText(upTo(PER_SEGMENT), bodyBytes);

  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (index, mask) => {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ mask;
      const records: JournalRecord[] = [];
      let damages = 0;
      for await (const item of readSegment(dir, segment, { fs: fsOfOneFile(changed) })) {
        if (item.kind === "record") records.push(item.record);
        if (item.kind === "damage") damages += 1;
      }

      const read = asText(records);
      expect(read.length).toBeGreaterThanOrEqual(PER_SEGMENT - 1);
      expect(written).toEqual(expect.arrayContaining(read));
      expect(damages).toBeGreaterThanOrEqual(PER_SEGMENT - read.length);
    }),
    { numRuns: 200 },
  );
});

/** A file system whose only content is a compressed segment. */
function fsOfOneFile(bytes: Buffer): JournalFs {
  return fsWith({
    open: async (path) => {
      if (!path.endsWith(".gz")) throw errno("ENOENT");
      return {
        read: async (into, offset, length, position) => ({
          bytesRead: bytes.copy(into, offset, position, position + length),
        }),
        write: () => Promise.reject(errno("EBADF")),
        datasync: () => Promise.resolve(),
        truncate: () => Promise.reject(errno("EBADF")),
        close: () => Promise.resolve(),
      };
    },
  });
}

test("a record of another version of this program is passed over and reported, and costs no other", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const later = { kind: "heartbeat", at: "2026-11-20T22:50:00.000000Z" } as unknown as JournalRecord;
  await journal.append(answer(0));
  const { offset, end } = await journal.append({ ...later, body: new Uint8Array(3) } as JournalRecord);
  await journal.append(answer(1));
  await journal.close();

  const { segments } = await verifyJournal(dir, { clock });

  expect(segments).toMatchObject([
    { records: 2, damages: [{ damage: { offset, length: end - offset, reason: "unknown_record" } }] },
  ]);
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([0, 1], () => 200));
});

test("a segment stored inside a body is not read as records, even when the body is damaged", async () => {
  const dir = freshDir();
  const inner = await readFile(join(whole, segmentFile(at(0, 0).segment, "closed")));
  const outer = { ...answer(0), body: new Uint8Array(inner) };
  const journal = await open(dir, { clock: handClock("2026-11-23T15:00:00.000Z") });
  const position = await journal.append(outer);
  await journal.append(answer(1));
  await journal.close();

  const undamaged = await recordsOf(dir);
  const path = join(dir, segmentFile(position.segment, "closed"));
  await writeFile(path, flip(await readFile(path), position.offset + FRAME_HEADER_BYTES + 5));

  expect(asText(undamaged)).toEqual(asText([outer, answer(1)]));
  expect(asText(await recordsOf(dir))).toEqual(answersAsText([1]));
});

test("frames of another segment, as stale blocks after a power cut, are damage", async () => {
  const id = segmentId(at(1, 0).segment) ?? Buffer.alloc(0);
  const stale = await readFile(join(whole, segmentFile(at(0, 0).segment, "closed")));

  expect(scan(stale, id, 4_096)).toMatchObject({
    items: [],
    tail: { offset: 0, length: stale.length, reason: "foreign" },
  });
});

function recordsIn(items: ReturnType<FrameScanner["push"]>): JournalRecord[] {
  return items.flatMap((item) => (item.kind === "record" ? [item.record] : []));
}

function scan(bytes: Buffer, id: Buffer, chunkBytes: number) {
  const scanner = new FrameScanner(id, 0);
  const items: ReturnType<FrameScanner["push"]> = [];
  for (let from = 0; from < bytes.length; from += chunkBytes)
    items.push(...scanner.push(bytes.subarray(from, from + chunkBytes)));
  const { items: last, tail } = scanner.finish();
  return { items: [...items, ...last], tail };
}
