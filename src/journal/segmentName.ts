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
import { dateOf } from "../ground/clock.ts";
import type { TimeRange } from "./record.ts";
import { uuidBytes, uuidv7 } from "./uuid.ts";

export type SegmentState = "open" | "closed" | "compressed";

const SUFFIXES = { open: ".journal", closed: ".journal.closed", compressed: ".journal.gz" } as const;

/** In the order a segment passes through them. */
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

/** As `hourOf` counts; null when this is no segment's name. */
export function segmentHour(name: string): number | null {
  const [, year, month, day, hour] = NAME.exec(name) ?? [];
  return year === undefined
    ? null
    : hourOf(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour)));
}

/** How far a record may lie from the hour in its segment's name, in hours: clocks are set. */
const HOURS_AROUND = 3;

/** Whether a segment may hold records of a range. */
export function mayHold({ from, to }: TimeRange): (segment: { name: string }) => boolean {
  const first = from === null ? -Infinity : hourOf(dateOf(from).getTime()) - HOURS_AROUND;
  const last = to === null ? Infinity : hourOf(dateOf(to).getTime()) + HOURS_AROUND;
  return ({ name }) => {
    const hour = segmentHour(name) ?? 0;
    return hour >= first && hour <= last;
  };
}

/** The 16 bytes that every frame of the segment carries; null when this is no segment's name. */
export function segmentId(name: string): Buffer | null {
  const uuid = NAME.exec(name)?.[5];
  return uuid === undefined ? null : uuidBytes(uuid);
}

/** Relative to the journal's directory. */
export function segmentFile(name: string, state: SegmentState): string {
  return name + SUFFIXES[state];
}

/** Null for any file that holds no segment. */
export function segmentOfFile(file: string): { name: string; state: SegmentState } | null {
  const state = SEGMENT_STATES.find((each) => file.endsWith(SUFFIXES[each]));
  if (state === undefined) return null;
  const name = file.slice(0, -SUFFIXES[state].length);
  return NAME.test(name) ? { name, state } : null;
}
