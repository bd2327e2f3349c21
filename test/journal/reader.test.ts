import { expect, test } from "@jest/globals";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeFs } from "../../src/journal/fs.ts";
import { readSegment } from "../../src/journal/reader.ts";
import { segmentFile } from "../../src/journal/segmentName.ts";
import { CHUNK_BYTES } from "../../src/journal/byteRanges.ts";
import {
  answer,
  answersAsText,
  asText,
  errno,
  freshDir,
  fsWith,
  handClock,
  HOUR,
  itemsOf,
  type JournalItem,
  open,
  plainFile,
  upTo,
} from "./world.ts";

test("a reader beside the writer sees each record once, in order, going on from where it ended", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const { segment } = await journal.append(answer(0));
  const seen: string[] = [];
  let from = 0;
  const readOn = async () => {
    for await (const item of readSegment(dir, segment, { from })) {
      if (item.kind === "record") seen.push(...asText([item.record]));
      if (item.kind === "end") from = item.end;
    }
  };

  const writing = Promise.all(upTo(300).map((n) => journal.append(answer(n + 1))));
  for (let reads = 0; reads < 20; reads += 1) await readOn();
  await writing;
  await readOn();
  await journal.close();

  expect(seen).toEqual(answersAsText(upTo(301)));
});

test("a reader beside the writer stops before a record that is not whole yet, and reads it when it is", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const first = await journal.append(answer(1));
  const second = await journal.append(answer(2));
  const path = join(dir, segmentFile(first.segment, "open"));
  const bytes = await readFile(path);

  for (const cut of [1, 63, 64, 300]) {
    await writeFile(path, bytes.subarray(0, second.offset + cut));
    expect((await itemsOf(dir, first.segment)).slice(1)).toMatchObject([
      { kind: "end", end: first.end, tail: { offset: first.end, length: cut } },
    ]);
  }
  await appendFile(path, bytes.subarray(second.offset + 300));

  expect(await itemsOf(dir, first.segment, first.end)).toMatchObject([
    { kind: "record", record: answer(2) },
    { kind: "end", end: second.end, tail: null },
  ]);
  await journal.close();
});

test("a reader beside the writer reads no further than it is told", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const first = await journal.append(answer(1));
  await journal.append(answer(2));
  await journal.close();

  const items = [];
  for await (const item of readSegment(dir, first.segment, { until: first.end })) items.push(item);

  expect(items).toMatchObject([{ kind: "record" }, { kind: "end", end: first.end, tail: null }]);
});

test("a reader beside the writer goes on undisturbed while the segment is compressed under its hands", async () => {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  const positions = await Promise.all(upTo(40).map((n) => journal.append(answer(n, 100_000))));
  const segment = positions[0]?.segment ?? "";
  clock.advance(HOUR);

  let count = 0;
  for await (const item of readSegment(dir, segment)) {
    if (count === 0) await journal.compressClosed();
    if (item.kind === "record") count += 1;
  }
  await journal.close();

  expect(count).toBe(40);
});

test("a reader beside the writer holds only a few pieces of a segment at a time, and reads nothing while its caller is busy", async () => {
  const dir = freshDir();
  const journal = await open(dir);
  const positions = await Promise.all(upTo(80).map((n) => journal.append(answer(n, 100_000))));
  await journal.close();
  let bytesAsked = 0;
  const fs = fsWith({
    open: async (path, flags) => {
      const file = await nodeFs.open(path, flags);
      return {
        ...file,
        read: (into: Uint8Array, offset: number, length: number, position: number) => {
          bytesAsked += length;
          return file.read(into, offset, length, position);
        },
        close: () => file.close(),
      } as typeof file;
    },
  });

  const reading = readSegment(dir, positions[0]?.segment ?? "", { fs });
  await reading.next();
  const afterOne = bytesAsked;
  await reading.return();

  // A small piece, which does not hold it, and a large one.
  expect(afterOne).toBe(64 * 1024 + CHUNK_BYTES);
});

test("reading a segment of an unknown name is refused", async () => {
  await expect(itemsOf(freshDir(), "20261120T22-00000000-0000-7000-8000-000000000000")).rejects.toMatchObject(
    {
      code: "JOURNAL_UNREADABLE",
    },
  );
});

test.each([0, 1])(
  "when read %d of the disk fails, a segment yields the records before it and then the errno",
  async (good) => {
    const dir = freshDir();
    const journal = await open(dir);
    const { segment } = await journal.append(answer(1));
    // The first piece that is read ends in the midst of the second.
    await journal.append(answer(2, 100_000));
    await journal.close();
    let reads = 0;
    const fs = fsWith({
      open: async (path, flags) => {
        const file = await nodeFs.open(path, flags);
        const read: typeof file.read = (...given) =>
          reads++ < good ? file.read(...given) : Promise.reject(errno("EIO"));
        return { ...plainFile(file), read };
      },
    });

    const items: JournalItem[] = [];
    for await (const item of readSegment(dir, segment, { fs })) items.push(item);

    const error = { code: "JOURNAL_UNREADABLE", message: expect.stringContaining("EIO") };
    const record = { kind: "record", offset: 0 };
    expect(items).toMatchObject([...(good ? [record] : []), { kind: "unreadable", error }]);
  },
);
