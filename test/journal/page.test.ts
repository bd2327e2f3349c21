/**
 * The page alone: this reader is written from docs/journal.md and uses nothing of the program. What it reads is held against
 * what was appended.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import type { JournalRecord } from "../../src/journal/record.ts";
import { answer, asText, freshDir, handClock, HOUR, open, upTo } from "./world.ts";

const PAGE = readFileSync(new URL("../../docs/journal.md", import.meta.url), "utf8");

type Read = { head: Record<string, unknown>; body: Buffer };

/** Every record of a directory, segment by segment in the order of their names. Damage is an error here. */
function readDirectory(dir: string): Read[] {
  const files = readdirSync(dir).filter((file) => /\.journal(\.closed|\.gz)?$/.test(file));
  return files.sort().flatMap((file) => {
    const bytes = readFileSync(join(dir, file));
    const uuid = file.slice("20261120T22-".length, file.indexOf(".")).replaceAll("-", "");
    return readFrames(file.endsWith(".gz") ? gunzipSync(bytes) : bytes, uuid);
  });
}

function readFrames(bytes: Buffer, uuid: string): Read[] {
  const records: Read[] = [];
  for (let at = 0; at < bytes.length;) {
    const header = bytes.subarray(at, at + 64);
    const [headBytes, bodyBytes] = [header.readUInt32LE(12), header.readUInt32LE(16)];
    const end = at + 64 + headBytes + bodyBytes;
    const content = bytes.subarray(at + 64, end);
    expect(header.toString("hex", 0, 8)).toBe("ff514b4a0d0a1afe");
    expect([header.readUInt16LE(8), header.readUInt16LE(10)]).toEqual([1, 1]);
    expect(header.toString("hex", 20, 36)).toBe(uuid);
    expect(header.subarray(36, 56)).toEqual(sha256(content).subarray(0, 20));
    expect(header.subarray(56)).toEqual(sha256(header.subarray(0, 56)).subarray(0, 8));
    const head = JSON.parse(content.toString("utf8", 0, headBytes)) as Record<string, unknown>;
    records.push({ head, body: content.subarray(headBytes) });
    at = end;
  }
  return records;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** The fields of a kind of record by the page's table. */
function fieldsOf(kind: string): string[] {
  const section = PAGE.split("\n## ").find((each) => each.startsWith("The head\n")) ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` +\| (both|`(\w+)`) +\|/gm)];
  return rows.filter(([, , of, one]) => of === "both" || one === kind).map(([, field = ""]) => field);
}

test("a reader that is written from the page alone reads every record, and the page names every field of its head", async () => {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  const appended: JournalRecord[] = [...upTo(6).map(ofSecond), note(1)];
  for (const [place, record] of appended.entries()) {
    if (place === 4) clock.advance(HOUR);
    if (place === 5) await journal.compressClosed();
    await journal.append(record);
  }
  await journal.close();

  const read = readDirectory(dir);

  expect(asText(read.map(({ head, body }) => asRecord(head, body)))).toEqual(asText(appended));
  for (const { head } of read)
    expect(Object.keys(head).sort()).toEqual(fieldsOf(String(head["kind"])).sort());
  expect(fieldsOf("response")).toHaveLength(12);
});

function note(second: number): JournalRecord {
  return {
    kind: "note",
    at: `2026-11-20T23:50:0${second}.000000Z`,
    note: { type: "down", job: "j", slots: [], due: [] },
  };
}

/** An answer of another service to another account's call, in the order of a record that was read. */
function ofSecond(n: number): JournalRecord {
  const { body, ...head } = answer(n);
  return asRecord({ ...head, account: "second", service: "tradier" }, Buffer.from(body));
}

function asRecord(head: Record<string, unknown>, body: Buffer): JournalRecord {
  return (head["kind"] === "note" ? head : { ...head, body }) as unknown as JournalRecord;
}

test("the list says of each finished segment what a reader of one's own finds in it", async () => {
  const dir = freshDir();
  const clock = handClock();
  const journal = await open(dir, { clock });
  for (const n of upTo(4)) {
    await journal.append(answer(n));
    clock.advance(HOUR);
  }
  await journal.compressClosed();
  await journal.close();

  const lines = readFileSync(join(dir, "segments.jsonl"), "utf8").split("\n").slice(1);
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const finished = events.filter(({ event }) => event === "finished");
  const files = readdirSync(dir).filter((file) => file.endsWith(".gz"));

  expect(finished).toHaveLength(4);
  for (const { segment, bytes, sha256: sum } of finished) {
    const plain = gunzipSync(
      readFileSync(join(dir, files.find((file) => file.startsWith(String(segment))) ?? "")),
    );
    expect([plain.length, sha256(plain).toString("hex")]).toEqual([bytes, sum]);
  }
  expect(new Set(events.map(({ event }) => String(event)))).toEqual(
    new Set(["listed", "begun", "finished", "compressed"]),
  );
  for (const { event } of events) expect(PAGE).toMatch(new RegExp(`^\\| \`${String(event)}\` +\\|`, "m"));
});
