import { expect, test } from "@jest/globals";

import { listSegments } from "../../src/journal/segments.ts";
import { answer, freshDir, handClock, HOUR, itemsOf, open, recordsOf, upTo, filesIn } from "./world.ts";

test("the journal gives back every answer and note as it was appended, byte for byte", async () => {
  const dir = freshDir();
  const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const records = [
    answer(1),
    { ...answer(2), body: everyByte, slotAt: null },
    { ...answer(3), body: new Uint8Array(0) },
    {
      kind: "note" as const,
      at: "2026-11-20T22:50:00.000001Z",
      note: { missed: ["Ärger"], reason: "budget" },
    },
  ];
  const journal = await open(dir);

  for (const record of records) await journal.append(record);
  await journal.close();

  expect(await recordsOf(dir)).toStrictEqual(records);
});

test("the journal names where each record lies, one behind the other", async () => {
  const dir = freshDir();
  const journal = await open(dir);

  const first = await journal.append(answer(1));
  const second = await journal.append(answer(2));
  await journal.close();

  expect(first.segment).toMatch(/^20261120T22-[0-9a-f-]{36}$/);
  expect(first.offset).toBe(0);
  expect(second).toEqual({ segment: first.segment, offset: first.end, end: 2 * first.end });
  expect(await itemsOf(dir, first.segment, first.end)).toMatchObject([
    { kind: "record", offset: second.offset, end: second.end, record: answer(2) },
    { kind: "end", end: second.end, tail: null },
  ]);
});

test("the journal keeps several writers in one directory apart", async () => {
  const dir = freshDir();
  const clock = handClock();
  const [start, poll] = [await open(dir, { clock }), await open(dir, { clock })];

  await Promise.all(upTo(20).map((n) => (n % 2 ? start : poll).append(answer(n))));
  await Promise.all([start.close(), poll.close()]);

  const ids = (await recordsOf(dir)).map((record) => record.kind === "response" && record.requestId);
  expect(ids.sort()).toEqual(upTo(20).map((n) => answer(n).requestId));
  expect(await filesIn(dir)).toHaveLength(2);
});

test("compression changes neither a record nor its offsets", async () => {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  const positions = await Promise.all(upTo(50).map((n) => journal.append(answer(n, 3_000))));
  const segment = positions[0]?.segment ?? "";
  const plain = await itemsOf(dir, segment);

  clock.advance(HOUR);
  expect(await journal.compressClosed()).toEqual([segment]);

  expect(await filesIn(dir)).toEqual([`${segment}.journal.gz`]);
  expect(await itemsOf(dir, segment)).toEqual(plain);
  expect((await itemsOf(dir, segment, positions[31]?.end))[0]).toEqual(plain[32]);
  expect(await listSegments(dir)).toMatchObject([
    { name: segment, compressed: true, bytes: positions[49]?.end },
  ]);
  await journal.close();
});
