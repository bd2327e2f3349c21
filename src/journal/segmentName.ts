/**
 * Names of segments, `20261120T22-<uuidv7>`: the UTC hour they were opened in, then a UUID that makes
 * them unique among processes. They sort by time. The name is the same in every state of the file:
 *
 * - `<name>.journal`: a writer may still append to it
 * - `<name>.journal.closed`: nobody appends any more
 * - `<name>.journal.gz`: compressed, verified; the same offsets
 *
 * A segment only ever moves down this list.
 */

/** How a segment lies on disk. */
export type SegmentState = "open" | "closed" | "compressed";

const SUFFIXES = { open: ".journal", closed: ".journal.closed", compressed: ".journal.gz" } as const;

/** The states in the order a segment passes through them. */
export const SEGMENT_STATES: readonly SegmentState[] = ["open", "closed", "compressed"];

const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const HOUR_MS = 3_600_000;

/** The number of the UTC hour since 1970 that `epochMs` lies in. */
export function hourOf(epochMs: number): number {
  return Math.floor(epochMs / HOUR_MS);
}

/**
 * @param nowMs epoch ms
 * @param randomBytes at least 10 random bytes
 */
export function newSegmentName(nowMs: number, randomBytes: Uint8Array): string {
  const hour = new Date(nowMs).toISOString().slice(0, 13).replaceAll("-", "");
  return `${hour}-${uuidv7(nowMs, randomBytes)}`;
}

/** The hour a segment was opened in, as `hourOf` counts; null when this is no segment's name. */
export function segmentHour(name: string): number | null {
  const [, year, month, day, hour] = NAME.exec(name) ?? [];
  return year === undefined
    ? null
    : hourOf(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour)));
}

/** The 16 bytes that every frame of the segment carries; null when this is no segment's name. */
export function segmentId(name: string): Buffer | null {
  const uuid = NAME.exec(name)?.[5];
  return uuid === undefined ? null : uuidBytes(uuid);
}

/** The name of the file that holds a segment in a state, relative to the journal's directory. */
export function segmentFile(name: string, state: SegmentState): string {
  return name + SUFFIXES[state];
}

/** Which segment a file holds, and in which state; null for any other file. */
export function segmentOfFile(file: string): { name: string; state: SegmentState } | null {
  const state = SEGMENT_STATES.find((each) => file.endsWith(SUFFIXES[each]));
  if (state === undefined) return null;
  const name = file.slice(0, -SUFFIXES[state].length);
  return NAME.test(name) ? { name, state } : null;
}

// UUID version 7 (RFC 9562, section 5.7): sorts by the time it was made.

/**
 * @param nowMs epoch ms
 * @param randomBytes at least 10 random bytes
 * @returns the UUID in lower case
 */
export function uuidv7(nowMs: number, randomBytes: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes.set(randomBytes.subarray(0, 10), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The 16 bytes of a UUID. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}
