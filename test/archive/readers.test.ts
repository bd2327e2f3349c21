/** Answers that other threads read, over real ports. */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { afterEach, expect, test } from "@jest/globals";
import { serveReading, ThreadsReader } from "../../src/archive/load/readers.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { AnswerRows } from "../../src/read/rowTypes.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { answerXml, equityXml } from "../support/xml.ts";

const ports: MessagePort[] = [];
afterEach(() => ports.splice(0).forEach((port) => port.close()));

/** Another end that reads as a thread does. */
function openServed(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  serveReading(port2);
  ports.push(port1, port2);
  return port1;
}

/** Bodies that are parts of one read of a file, as the journal's reader gives them. */
const whole = Buffer.concat(recordedDocuments().map(({ body }) => Buffer.from(body)));
let end = 0;
const records = recordedDocuments().map(({ body }, place) => {
  const begin = end;
  end += Buffer.byteLength(body);
  return { ...answerRecord(at(place), ""), body: whole.subarray(begin, end) };
});
const position = { segment: "s", offset: 0 };

/** What is stored of an answer. */
function storedOf({ record, units, deadLetters, matched, answer }: AnswerRows): object {
  const missing = matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length;
  return { record, units, deadLetters, missing, outcome: answer.outcome };
}

test("answers that other threads read have the rows that this thread would read, each at its own answer", async () => {
  const { read } = new ThreadsReader(openServed, 3);

  const rows = await Promise.all(records.map((record) => read(record, position)));

  expect(rows.map(storedOf)).toEqual(records.map((record) => storedOf(rowsOf(record, position))));
  expect(rows.flatMap(({ units }) => units).length).toBeGreaterThan(1);
});

test("an answer that holds less than was asked for tells how much is missing, whichever thread reads it", async () => {
  const { read } = new ThreadsReader(openServed, 1);
  const record = answerRecord(at(0), answerXml(equityXml("A")), { request: symbolsCall("A", "B", "C") });

  const rows = await read(record, position);

  expect(storedOf(rows)).toMatchObject({ missing: 2 });
});

test("threads are opened while those that are open have something to read, and no more than were allowed", async () => {
  let opened = 0;
  const open = (): MessagePort => {
    opened += 1;
    return openServed();
  };
  const { read } = new ThreadsReader(open, 2);
  const large = { ...answerRecord(at(0), ""), body: Buffer.alloc(300_000) };

  await read(large, position);
  await read(large, position);
  const alone = opened;
  await Promise.all([1, 2, 3, 4, 5].map(() => read(large, position)));

  expect([alone, opened]).toEqual([1, 2]);
});

test("an answer whose thread ends with an error is not waited for: reading it fails with that error", async () => {
  const { port1 } = new MessageChannel();
  ports.push(port1);
  const { read } = new ThreadsReader(() => port1, 1);

  const reading = Promise.all(records.slice(0, 2).map((record) => read(record, position)));
  await new Promise((resolve) => setImmediate(resolve));
  port1.emit("error", new Error("no memory"));

  await expect(reading).rejects.toThrow("no memory");
});
