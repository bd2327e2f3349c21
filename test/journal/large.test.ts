/** A journal of years is looked at without being read. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { readCompleteness } from "../../src/journal/completeness.ts";
import { compressMember, endMarker } from "../../src/journal/compressed.ts";
import { contentOf, writeFrame } from "../../src/journal/frame.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { newSegmentName, segmentFile, segmentId } from "../../src/journal/segmentName.ts";
import { SEGMENT_LIST } from "../../src/journal/segmentList.ts";
import { answer, freshDir, fsWith, handClock, HOUR, upTo } from "./world.ts";

const SEGMENTS = 1_000;

/** Compressed segments of one record each, listed by hand. */
async function largeJournal(): Promise<string> {
  const dir = freshDir();
  mkdirSync(dir, { recursive: true });
  const clock = handClock();
  const lines: object[] = [];
  for (const n of upTo(SEGMENTS)) {
    const segment = newSegmentName(clock.now().getTime(), clock.random(10));
    const content = contentOf(answer(n));
    const frame = Buffer.alloc(content.frameBytes);
    writeFrame(frame, 0, content, segmentId(segment) ?? Buffer.alloc(16));
    const member = await compressMember(frame, 0);
    const file = Buffer.concat([member, endMarker(frame.length)]);
    writeFileSync(join(dir, segmentFile(segment, "compressed")), file);
    const mark = member.subarray(-8).toString("hex");
    lines.push({ event: "found", segment, bytes: frame.length, fileBytes: file.length, mark });
    clock.advance(HOUR);
  }
  const list = [...lines, { event: "listed", again: false }].map((line) => `\n${JSON.stringify(line)}`);
  writeFileSync(join(dir, SEGMENT_LIST), list.join(""));
  return dir;
}

test("to look at a journal takes one look at each file, and opens none but the list", async () => {
  const dir = await largeJournal();
  const seen = { opened: [] as string[], looks: 0 };
  const fs = fsWith({
    open: (path, flags) => {
      seen.opened.push(path);
      return nodeFs.open(path, flags);
    },
    peek: (path, tailBytes) => {
      seen.looks += 1;
      return nodeFs.peek(path, tailBytes);
    },
  });

  const { segments, findings } = await readCompleteness(dir, fs);

  expect(segments).toHaveLength(SEGMENTS);
  expect(findings).toEqual([]);
  expect(seen).toEqual({ opened: [join(dir, SEGMENT_LIST)], looks: SEGMENTS });
});
