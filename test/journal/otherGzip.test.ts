/** Segments that somebody has packed anew with a program of his own. */
import { execFileSync } from "node:child_process";
import { expect, test } from "@jest/globals";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { compressClosed } from "../../src/journal/compress.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { readSegment } from "../../src/journal/reader.ts";
import { segmentFile } from "../../src/journal/segmentName.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { repairJournal, verifyJournal } from "../../src/journal/verify.ts";
import {
  answer,
  answersAsText,
  asText,
  freshDir,
  handClock,
  HOUR,
  itemsOf,
  open,
  recordsOf,
  upTo,
} from "./world.ts";

/** A compressed segment of 30 answers; its plain bytes; where each record begins. */
async function compressed() {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  const positions = await Promise.all(upTo(30).map((n) => journal.append(answer(n, 20_000))));
  clock.advance(HOUR);
  await journal.compressClosed();
  await journal.close();
  const name = positions[0]?.segment ?? "";
  const path = join(dir, segmentFile(name, "compressed"));
  return { dir, name, path, clock, positions, plain: gunzipSync(await readFile(path)) };
}

const ALL = answersAsText(upTo(30), () => 20_000);

test.each([
  ["by gzip itself", (plain: Buffer) => execFileSync("gzip", ["-9", "-c"], { input: plain })],
  [
    "in two members",
    (plain: Buffer) => Buffer.concat([gzipSync(plain.subarray(0, 99_999)), gzipSync(plain.subarray(99_999))]),
  ],
  ["with a name and a sum in its header", (plain: Buffer) => withNameAndSum(gzipSync(plain))],
])(
  "a segment that another program packed %s is read as before, whole and from any record on, and is undamaged",
  async (_how, pack) => {
    const { dir, name, path, clock, plain, positions } = await compressed();
    await writeFile(path, pack(plain));

    const from = positions[20]?.offset ?? 0;
    const rest = (await itemsOf(dir, name, from)).flatMap((item) =>
      item.kind === "record" ? [item.record] : [],
    );
    const part = [];
    for await (const item of readSegment(dir, name, { from, until: positions[22]?.offset ?? 0 }))
      part.push(item);

    expect(asText(await recordsOf(dir))).toEqual(ALL);
    expect(asText(rest)).toEqual(ALL.slice(20));
    expect(part.map(({ kind }) => kind)).toEqual(["record", "record", "end"]);
    expect(await verifyJournal(dir, { clock })).toMatchObject({
      records: 30,
      bytes: plain.length,
      damages: { fresh: 0, setAside: 0 },
      findings: [],
    });
    expect(await listSegments(dir)).toMatchObject([{ name, bytes: plain.length }]);
  },
);

test("a segment that another program packed and that was damaged is never read wrong, and the damage is named", async () => {
  const { dir, path, clock, plain } = await compressed();
  const packed = gzipSync(plain);
  packed.fill(0xff, packed.length - 2_000, packed.length - 1_900);
  await writeFile(path, packed);

  const records = asText(await recordsOf(dir));
  const { damages } = await verifyJournal(dir, { clock });

  expect(records.length).toBeGreaterThan(0);
  expect(ALL).toEqual(expect.arrayContaining(records));
  expect(damages.fresh).toBeGreaterThan(0);
});

test("the missing end is named of a segment that another program packed and that was cut off", async () => {
  const { dir, name, path, plain } = await compressed();
  const packed = gzipSync(plain);
  await writeFile(path, packed.subarray(0, packed.length - 3));

  expect((await itemsOf(dir, name)).at(-2)).toMatchObject({
    kind: "damage",
    damage: { offset: plain.length, length: 0, reason: "damaged_compression" },
  });
});

test.each([
  ["ours", (bytes: Buffer) => bytes],
  ["of gzip", (_bytes: Buffer, plain: Buffer) => gzipSync(plain)],
])(
  "junk behind the end of a segment, %s, is named with its place, costs no record, and is known once it was set aside",
  async (_whose, packed) => {
    const { dir, name, path, clock, plain } = await compressed();
    const file = packed(await readFile(path), plain);
    await writeFile(path, file);
    await appendFile(path, "<html>not of the journal</html>".repeat(9));

    const found = await verifyJournal(dir, { clock });
    const { setAside } = await repairJournal(dir, { clock });
    const after = await verifyJournal(dir, { clock });

    expect(found.records).toBe(30);
    expect(found.segments[0]?.damages).toEqual([
      {
        damage: { offset: plain.length, length: 0, reason: "behind_end" },
        inFile: { at: file.length, length: 279 },
        isSetAside: false,
      },
    ]);
    expect(setAside).toMatchObject([{ segment: name, fileBytes: 279 }]);
    expect(after.damages).toEqual({ setAside: 1, fresh: 0 });
  },
);

test("junk behind the end of a segment does not keep a closed segment from being compressed", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const { segment } = await journal.append(answer(1));
  await journal.close();
  await appendFile(join(dir, segmentFile(segment, "closed")), "junk");

  const clock = handClock("2026-11-21T06:00:00.000Z");
  const done = await compressClosed({ dir, fs: nodeFs, clock, onProblem: () => undefined });

  expect(done).toEqual([segment]);
  expect((await verifyJournal(dir, { clock })).damages).toEqual({ setAside: 1, fresh: 0 });
});

/** The same member with the optional parts of RFC 1952, section 2.3: extra field, name, comment, header's CRC-16. */
function withNameAndSum(member: Buffer): Buffer {
  const header = Buffer.from(member.subarray(0, 10));
  header[3] = 2 + 4 + 8 + 16;
  const extra = Buffer.from([6, 0, 0x41, 0x42, 2, 0, 7, 7]);
  const optional = [extra, Buffer.from("a name\0"), Buffer.from("a comment\0"), Buffer.from([0, 0])];
  return Buffer.concat([header, ...optional, member.subarray(10)]);
}
