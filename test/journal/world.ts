/** What the journal's tests share: a directory of their own, a clock moved by hand, records to keep. */
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "@jest/globals";
import { type Clock, instantFromDate } from "../../src/ground/clock.ts";
import { nodeFs, type JournalFile, type JournalFs } from "../../src/journal/fs.ts";
import { readSegment } from "../../src/journal/reader.ts";
import type { JournalRecord, ResponseRecord } from "../../src/journal/record.ts";
import { SEGMENT_LIST } from "../../src/journal/segmentList.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { openJournal, type Journal } from "../../src/journal/writer.ts";

const made: string[] = [];

afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

/** A directory that is removed when the test file ends. */
export function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-journal-"));
  made.push(dir);
  return join(dir, "journal");
}

/** A clock that moves only by `advance`; its chance counts up, so names differ. */
export function handClock(wall = "2026-11-20T22:50:00.000Z"): Clock & { advance: (ms: number) => void } {
  let nowMs = Date.parse(wall);
  let drawn = 0;
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    uptimeMs: () => nowMs,
    sleep: () => Promise.resolve(),
    random: (length) => {
      const bytes = Buffer.alloc(length);
      bytes.writeUInt32BE((drawn += 1), length - 4);
      return bytes;
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

/** One hour in ms. */
export const HOUR = 3_600_000;

/** The answer number `n`, told from all others by its body. */
export function answer(n: number, bodyBytes = 200): ResponseRecord {
  const at = instantFromDate(new Date(Date.UTC(2026, 10, 20, 22, 50) + n));
  const body = new Uint8Array(Buffer.from(`<response id="${n}">`.padEnd(bodyBytes, "quote ")));
  return {
    kind: "response",
    requestId: uuidv7(n, new Uint8Array(10)),
    observedAt: at,
    requestedAt: at,
    source: { kind: "simulated", name: "seed 1" },
    jobs: ["us-equities"],
    slotAt: at,
    request: { symbols: ["AAPL", "MSFT"], delayed: false },
    status: 200,
    headers: { date: "Fri, 20 Nov 2026 22:50:00 GMT" },
    body,
  };
}

/** The numbers from 0 to `count` - 1. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

/** Opens a journal that is looked after only when told, and whose problems fail the test unless it listens. */
export function open(
  dir: string,
  options: Partial<Parameters<typeof openJournal>[0]> = {},
): Promise<Journal> {
  const onProblem = (problem: Error) => {
    throw problem;
  };
  return openJournal({ dir, clock: handClock(), upkeep: false, onProblem, ...options });
}

/** Everything one segment holds. */
export type JournalItem = ReturnType<typeof readSegment> extends AsyncGenerator<infer Item> ? Item : never;

export async function itemsOf(dir: string, name: string, from = 0): Promise<JournalItem[]> {
  const items: JournalItem[] = [];
  for await (const item of readSegment(dir, name, { from })) items.push(item);
  return items;
}

/** The files of a journal's directory, without its list. */
export async function filesIn(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((file) => file !== SEGMENT_LIST);
}

/** Every record of a journal, segment by segment. */
export async function recordsOf(dir: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (const { name } of await listSegments(dir))
    for (const item of await itemsOf(dir, name)) if (item.kind === "record") records.push(item.record);
  return records;
}

/** Records as text: jest compares long byte arrays slowly. */
export function asText(records: JournalRecord[]): string[] {
  return records.map((record) =>
    JSON.stringify(record, (key, value: unknown) =>
      key === "body" ? Buffer.from(value as Uint8Array).toString("latin1") : value,
    ),
  );
}

/** The answers with these numbers as text. */
export function answersAsText(numbers: number[], bodyBytes: (n: number) => number = () => 200): string[] {
  return asText(numbers.map((n) => answer(n, bodyBytes(n))));
}

/** The real file system with some operations replaced. */
export function fsWith(replaced: Partial<JournalFs>): JournalFs {
  return { ...nodeFs, ...replaced };
}

/** A file's operations, to replace some of them. */
export function plainFile(file: JournalFile): JournalFile {
  return {
    read: (...args) => file.read(...args),
    write: (...args) => file.write(...args),
    datasync: () => file.datasync(),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
}

/** A file system that stops for good after `operations` changes, as a killed process does. */
export function dyingAfter(operations: number, fs = nodeFs): { fs: JournalFs; died: () => boolean } {
  let left = operations;
  const alive = () => {
    left -= 1;
    if (left < 0) throw errno("EIO");
  };
  const changing =
    <Args extends unknown[], T>(step: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      alive();
      return step(...args);
    };
  const dying: JournalFs = {
    ...fs,
    open: async (path, flags) => {
      if (flags !== "r") alive();
      const file = plainFile(await fs.open(path, flags));
      return {
        ...file,
        write: changing(file.write),
        datasync: changing(file.datasync),
        truncate: changing(file.truncate),
      };
    },
    rename: changing(fs.rename),
    unlink: changing(fs.unlink),
    syncDirectory: changing(fs.syncDirectory),
  };
  return { fs: dying, died: () => left < 0 };
}

/** A file as a power cut would leave it: what was synced of it, and its name when its directory was; null: it had none. */
type OnDisk = { bytes: Buffer; path: string | null };

/**
 * The real file system, and a power cut. What that leaves is the worst there may be: of what was written without a sync
 * nothing, files whose directory was not synced since under their old names or gone, and what was removed is removed.
 */
export function powerCutFs(): { fs: JournalFs; cutPower: () => Promise<void> } {
  const onDisk = new Map<string, OnDisk>();
  const fs = fsWith({
    open: async (path, flags) => {
      if (flags === "r") return nodeFs.open(path, flags);
      const before = await readFile(path).catch(() => null);
      const file = await nodeFs.open(path, flags);
      const entry = onDisk.get(path) ?? { bytes: before ?? Buffer.alloc(0), path: before && path };
      onDisk.set(path, entry);
      const datasync = async (): Promise<void> => {
        await file.datasync();
        const [now] = [...onDisk].find(([, each]) => each === entry) ?? [];
        if (now !== undefined) entry.bytes = await readFile(now);
      };
      return { ...plainFile(file), datasync };
    },
    rename: async (from, to) => {
      await nodeFs.rename(from, to);
      onDisk.set(to, onDisk.get(from) ?? { bytes: await readFile(to), path: from });
      onDisk.delete(from);
    },
    unlink: async (path) => {
      await nodeFs.unlink(path);
      onDisk.delete(path);
    },
    syncDirectory: async (path) => {
      await nodeFs.syncDirectory(path);
      for (const [file, entry] of onDisk) if (dirname(file) === path) entry.path = file;
    },
  });
  const cutPower = async (): Promise<void> => {
    for (const file of onDisk.keys()) await rm(file, { force: true });
    for (const { bytes, path } of onDisk.values()) if (path !== null) await writeFile(path, bytes);
    onDisk.clear();
  };
  return { fs, cutPower };
}

/** An error as the operating system gives it. */
export function errno(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}
