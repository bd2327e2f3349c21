/** Where the time goes: the stages of a backfill one after the other, each alone, over some of the journal. */
import { readBatches } from "../../src/archive/load/readBatches.ts";
import { openSegment, type SegmentInfo } from "../../src/journal/segments.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { compressedRanges } from "../../src/journal/byteRanges.ts";
import { readSegment } from "../../src/journal/reader.ts";

/** Milliseconds of each stage, and the quotes they were for. */
export type Stages = { quotes: number; readMs: number; inflateMs: number; checkMs: number; parseMs: number };

/** Times the stages on some segments, each of which is in the file system's cache by then. */
export async function timeStages(journalDir: string, segments: readonly SegmentInfo[]): Promise<Stages> {
  const readMs = await timed(segments, async ({ path }) => {
    const file = await nodeFs.open(path, "r");
    const buffer = Buffer.alloc(1024 * 1024);
    for (let at = 0; ;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    await file.close();
  });
  const inflatedMs = await timed(segments, async ({ name }) => {
    const opened = await openSegment(journalDir, name, nodeFs);
    if (opened?.state !== "compressed") throw new Error(`${name} is not compressed`);
    for await (const span of compressedRanges(opened.file, 0, Number.MAX_SAFE_INTEGER)) void span;
    await opened.file.close();
  });
  const checkedMs = await timed(segments, async ({ name }) => {
    for await (const item of readSegment(journalDir, name)) void item;
  });
  let quotes = 0;
  const parsedMs = await timed(segments, async ({ name }) => {
    for await (const { answers } of readBatches(name, { journalDir, from: 0 }))
      quotes += answers.reduce((sum, { units }) => sum + units.length, 0);
  });
  return {
    quotes,
    readMs,
    inflateMs: inflatedMs - readMs,
    checkMs: checkedMs - inflatedMs,
    parseMs: parsedMs - checkedMs,
  };
}

async function timed(
  segments: readonly SegmentInfo[],
  work: (segment: SegmentInfo) => Promise<void>,
): Promise<number> {
  const startMs = performance.now();
  for (const segment of segments) await work(segment);
  return performance.now() - startMs;
}
