/**
 * When a saved answer was received: told by its file's name, a file beside it (its sidecar), or when it was written.
 * Pure.
 */
import { compilePattern, type TimePattern } from "../../read/timePattern.ts";
import { exchangeMicros, type TimeResult } from "../../read/wallTime.ts";
import { findIso, readIso, EARLIEST, LATEST } from "../../read/cellTime.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { parsedJson } from "../../ground/outsideText.ts";
import { type Instant, instantOf, microsOf } from "../../ground/clock.ts";
import { EXCHANGE_ZONE } from "../../market/calendar/dates.ts";

/** How the time was found, the surest way first. */
export const WAYS = ["pattern", "sidecar", "name", "mtime"] as const;

export type Way = (typeof WAYS)[number];

/** The ways in words. */
export const WAY_TEXTS: Readonly<Record<Way, string>> = {
  pattern: "by --time-pattern",
  sidecar: "by a file beside it",
  name: "by the time in its name",
  mtime: "by when the file was written (mtime)",
};

type Clues = {
  path: string;
  /** What the file beside it says. */
  sidecar: Instant | null;
  mtime: Instant;
};

/** Assumed: a time in a file's name that has no offset is exchange time. */
export const NAME_ZONE = EXCHANGE_ZONE;

/**
 * Finds the time of a file. A local time that clocks show twice is the earlier one; one that they skip is none.
 *
 * @param timePattern of `--time-pattern`; with `/` in it, it is looked for in as many of the path's last names
 * @throws QuotekeeperError USAGE when it is no pattern
 */
export function createTimeFinder(timePattern: string | null): (clues: Clues) => { at: Instant; way: Way } {
  const pattern = timePattern === null ? null : compiled(timePattern);
  const depth = (timePattern ?? "").split("/").length;
  return ({ path, sidecar, mtime }) => {
    const names = path.split(/[\\/]/u);
    const given = pattern?.read(names.slice(-depth).join("/"), exchangeMicros);
    const byPattern = instantFrom(given ?? null);
    if (byPattern !== null) return { at: byPattern, way: "pattern" };
    if (sidecar !== null) return { at: sidecar, way: "sidecar" };
    const byName = instantFrom(findIso(names.at(-1) ?? "", exchangeMicros));
    if (byName !== null) return { at: byName, way: "name" };
    return { at: mtime, way: "mtime" };
  };
}

function compiled(timePattern: string): TimePattern {
  const read = compilePattern(timePattern);
  if (read.ok) return read.pattern;
  throw new QuotekeeperError("USAGE", `--time-pattern ${timePattern}: ${read.problem}`);
}

function instantFrom(read: TimeResult | null): Instant | null {
  return read?.ok === true ? plausible(read.micros) : null;
}

/** A time at which the service may have answered; null for others, which are numbers of another meaning. */
export function plausible(micros: bigint): Instant | null {
  return micros >= microsOf(EARLIEST) && micros < microsOf(LATEST) ? instantOf(micros) : null;
}

/** Longest sidecar that is read, in bytes. */
export const MAX_SIDECAR_BYTES = 65_536;

/** What follows the answer's name, with or without its `.xml`, in the order in which they are looked for. */
const SIDECAR_ENDINGS = [".meta.json", ".json", ".headers", ".hdr"] as const;

/** Whether a file may be one. */
export function isSidecar(path: string): boolean {
  return SIDECAR_ENDINGS.some((ending) => path.toLowerCase().endsWith(ending));
}

/** The paths at which an answer's sidecar may be: `a.xml.gz` has `a.xml.gz.json`, `a.xml.json`, `a.json` ... */
export function sidecarPaths(path: string): string[] {
  const stems = [path, path.replace(/\.gz$/iu, ""), path.replace(/\.xml(\.gz)?$/iu, "")];
  return [...new Set(stems)].flatMap((stem) => SIDECAR_ENDINGS.map((ending) => `${stem}${ending}`));
}

/**
 * The time that a sidecar says: `observedAt` of JSON, ISO 8601 (exchange time where it has no offset), or `Date` of a
 * block of HTTP headers. Null when it says none.
 */
export function readSidecar(path: string, content: Uint8Array): Instant | null {
  const text = Buffer.from(content).toString("utf8");
  return path.toLowerCase().endsWith(".json") ? fromJson(text) : fromHeaders(text);
}

function fromJson(text: string): Instant | null {
  const { observedAt } = Object(parsedJson(text)) as { observedAt?: unknown };
  if (typeof observedAt !== "string") return null;
  return instantFrom(readIso(observedAt.trim(), exchangeMicros));
}

function fromHeaders(text: string): Instant | null {
  const date = /^date:[ \t]*(.+?)[ \t]*\r?$/imu.exec(text)?.[1];
  const ms = date === undefined ? NaN : Date.parse(date);
  return Number.isNaN(ms) ? null : plausible(BigInt(ms) * 1_000n);
}
