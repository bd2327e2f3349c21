/** Stretches are the same whichever way their answers are read, and whichever thread reads them. */
import { appendFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, test } from "@jest/globals";
import { sampleAnswer } from "../../bench/backfill/sample.ts";
import { seeded } from "../../bench/governor/random.ts";
import { readStretches, sendStretches, type StretchRequest } from "../../src/archive/load/readStretches.ts";
import { Gathering, type Stretch } from "../../src/archive/load/stretch.ts";
import { EVER } from "../../src/journal/record.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { PlainReader } from "../../src/read/plainRows.ts";
import { madeAnswer } from "../fuzz/plainAnswers.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { tempDir } from "../support/tempDir.ts";

const random = seeded(18);

/** Answers of all kinds, in the order of time. */
const answers = [
  ...recordedDocuments().map(({ body }) => ({ body: Buffer.from(body) })),
  ...Array.from({ length: 200 }, (_, place) => madeAnswer(place)),
  ...Array.from({ length: 4 }, (_, place) => ({ body: Buffer.from(sampleAnswer(place, random).body) })),
].map((fields, place) => ({ ...answerRecord(at(place), ""), ...fields }));

const position = { segment: "s", offset: 0 };

function gathered(reader: PlainReader | null): Stretch {
  const gathering = new Gathering({ segment: "s", from: 0 }, reader);
  for (const record of answers) gathering.add(record, position);
  return gathering.finish();
}

test("a stretch is the same to the byte whether plain answers are read as bytes or as objects", () => {
  const plain = gathered(new PlainReader());

  expect(plain).toEqual(gathered(null));
  expect(plain.report.units).toBeGreaterThan(1_500);
});

describe("another thread", () => {
  const said = async (request: StretchRequest): Promise<unknown[]> => {
    const { port1, port2 } = new MessageChannel();
    const heard: unknown[] = [];
    port1.on("message", (one: { stretch?: Stretch }) => {
      heard.push(one);
      if ("stretch" in one) port1.postMessage("more");
    });
    const closed = once(port1, "close");
    await sendStretches(request, port2);
    await closed;
    return heard;
  };

  const journal = async (): Promise<StretchRequest> => {
    const journalDir = tempDir();
    for (const part of [answers.slice(0, 40), answers.slice(40, 80), answers.slice(80)])
      await appendAll(journalDir, part);
    const segments = await listSegments(journalDir);
    // Bytes that are no record, at the end of what can be read.
    appendFileSync(join(journalDir, segments[0]?.path.split("/").at(-1) ?? ""), "no record");
    const parts = segments.map(({ name }) => ({ name, from: 0 }));
    return { journalDir, parts, range: EVER, mayBeGone: false, alone: "exports" };
  };

  test("another thread sends what this one would read, stretch by stretch", async () => {
    const request = await journal();
    const expected: unknown[] = [];
    for await (const one of readStretches(request)) expected.push(one);

    const heard = await said(request);

    expect(expected.length).toBeGreaterThanOrEqual(2);
    expect(heard).toEqual([...expected, { ended: true }]);
  });

  test("another thread says why it cannot read a segment, after what it could read", async () => {
    const request = await journal();
    const gone = { name: "2026-01-01T00-0000000000000000", from: 0 };

    const heard = await said({ ...request, parts: [...request.parts.slice(0, 1), gone] });

    expect(heard.at(-1)).toMatchObject({ failed: { code: "JOURNAL_UNREADABLE" } });
    expect(heard.length).toBeGreaterThan(1);
  });
});
