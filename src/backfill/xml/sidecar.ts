/** Files beside saved answers that say when each was received. Pure. */
import { createLocalReader } from "../../read/localTime.ts";
import { readIso } from "../../read/isoTime.ts";
import type { Instant } from "../../clock.ts";
import { NAME_ZONE, plausible } from "./savedTime.ts";

/** Longest sidecar that is read, in bytes. */
export const MAX_SIDECAR_BYTES = 65_536;

/** What follows the answer's name, with or without its `.xml`, in the order in which they are looked for. */
export const SIDECAR_ENDINGS = [".meta.json", ".json", ".headers", ".hdr"] as const;

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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const observedAt = (value as { observedAt?: unknown } | null)?.observedAt;
  if (typeof observedAt !== "string") return null;
  const read = readIso(observedAt.trim(), createLocalReader(NAME_ZONE, "earlier"));
  return read?.ok === true ? plausible(read.micros) : null;
}

function fromHeaders(text: string): Instant | null {
  const date = /^date:[ \t]*(.+?)[ \t]*\r?$/imu.exec(text)?.[1];
  const ms = date === undefined ? NaN : Date.parse(date);
  return Number.isNaN(ms) ? null : plausible(BigInt(ms) * 1_000n);
}
