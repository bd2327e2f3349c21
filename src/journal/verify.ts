/**
 * Reads a whole journal and says what is undamaged in it and what is not; a repair sets damaged bytes aside. Nothing is
 * deleted and no segment is changed: see quarantine.ts.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { readCompleteness, unreadableOf, vanishedOf } from "./completeness.ts";
import { nodeFs, type JournalFs } from "./fs.ts";
import { namedError, readSegment, type DamageItem } from "./reader.ts";
import type { Damage, JournalReport, QuarantineNote, SegmentReport } from "./journalReports.ts";
import { segmentOfFile } from "./segmentName.ts";
import type { ListedSegment } from "./segmentList.ts";
import { filesOf, segmentInfo, type SegmentInfo } from "./segments.ts";
import { DAMAGED_DIR, knownDamage, type KnownDamage, setAside } from "./quarantine.ts";

type VerifyOptions = {
  clock: Clock;
  fs?: JournalFs;
  /** Names of segments that a database has loaded: those of which nothing is left here are missing. Default: none. */
  loaded?: Iterable<string>;
  /** Only segments that are not compressed yet: quick at a start, and where a crash leaves its traces. */
  plainOnly?: boolean;
};

/**
 * An open segment without a write for so long is complete: a write takes milliseconds, so an unfinished record at its
 * end never will be whole.
 */
const QUIET_MS = 5_000;

/**
 * Reads the whole journal. An unreadable file is a finding, and the others are read.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function verifyJournal(dir: string, options: VerifyOptions): Promise<JournalReport> {
  const fs = options.fs ?? nodeFs;
  const known = await knownDamage(dir, fs).catch(namedError);
  const strangers = (await filesOf(dir, fs)).filter(
    (file) => /\.journal(\.closed|\.gz)?$/.test(file) && segmentOfFile(file) === null,
  );
  const { segments: infos, list, findings } = await readCompleteness(dir, fs);
  if (known instanceof QuotekeeperError) findings.push(unreadableOf(DAMAGED_DIR, known));
  findings.push(...vanishedOf({ segments: infos, list }, options.loaded ?? []));
  const segments: SegmentReport[] = [];
  for (const info of infos) {
    if (info.unreadable !== null || (options.plainOnly && info.compressed)) continue;
    const nowMs = options.clock.now().getTime();
    const { altered, unreadable, ...report } = await verifySegment(dir, info, {
      fs,
      nowMs,
      listed: list.segments.get(info.name),
      known: known instanceof QuotekeeperError ? () => false : known,
    });
    segments.push(report);
    if (unreadable !== null) findings.push(unreadableOf(info.name, unreadable));
    if (altered !== null) findings.push({ segment: info.name, problem: "altered", detail: altered });
  }
  const damages = segments.flatMap((segment) => segment.damages);
  const setAside = damages.filter(({ isSetAside }) => isSetAside).length;
  return {
    segments,
    records: segments.reduce((sum, { records }) => sum + records, 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    damages: { setAside, fresh: damages.length - setAside },
    findings,
    listed: list.standing !== null,
    strangers,
  };
}

type VerifySegmentOptions = {
  known: KnownDamage;
  fs: JournalFs;
  nowMs: number;
  listed: ListedSegment | undefined;
};

async function verifySegment(
  dir: string,
  info: SegmentInfo,
  { known, fs, nowMs, listed }: VerifySegmentOptions,
): Promise<SegmentReport & { altered: string | null; unreadable: QuotekeeperError | null }> {
  const { name, state } = info;
  const report: SegmentReport = { name, state, bytes: 0, records: 0, damages: [], unfinished: null };
  const add = (damage: Damage, inFile: DamageItem["inFile"]) =>
    report.damages.push({ damage, inFile, isSetAside: known(name, damage) });

  const hash = createHash("sha256");
  const onBytes = (bytes: Uint8Array): void => void hash.update(bytes);
  for await (const item of readSegment(dir, name, { fs, onBytes })) {
    if (item.kind === "record") [report.records, report.bytes] = [report.records + 1, item.end];
    else if (item.kind === "damage") add(item.damage, item.inFile);
    else if (item.kind === "unreadable") return { ...report, altered: null, unreadable: item.error };
    else {
      report.bytes = item.end + (item.tail?.length ?? 0);
      if (item.tail === null) continue;
      const mtimeMs = (await segmentInfo(dir, name, fs))?.mtimeMs ?? 0;
      if (Math.abs(nowMs - mtimeMs) < QUIET_MS) report.unfinished = item.tail;
      else add(item.tail, null);
    }
  }
  return { ...report, altered: alteredOf(report, hash.digest("hex"), listed), unreadable: null };
}

/** In words, how a whole segment differs from the listed one. A damaged segment is known to differ. */
function alteredOf(
  { bytes, damages }: SegmentReport,
  sha256: string,
  listed: ListedSegment | undefined,
): string | null {
  const finished = listed?.sha256 ?? null;
  if (listed === undefined || finished === null || finished === sha256) return null;
  if (damages.some(({ damage }) => damage.reason !== "behind_end")) return null;
  return bytes === listed.bytes
    ? "its bytes are not those that it was finished with"
    : `it holds ${bytes} bytes, and was finished with ${listed.bytes}`;
}

type RepairReport = {
  found: JournalReport;
  setAside: QuarantineNote[];
};

/**
 * Sets aside every fresh damage, so that `verifyJournal` finds none afterwards. Safe while a writer runs.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE or JOURNAL_WRITE_FAILED
 */
export async function repairJournal(dir: string, options: VerifyOptions): Promise<RepairReport> {
  const found = await verifyJournal(dir, options);
  const notes: QuarantineNote[] = [];
  for (const { name, damages } of found.segments)
    for (const damage of damages)
      if (!damage.isSetAside) notes.push(await setAside({ dir, fs: options.fs ?? nodeFs }, name, damage));
  return { found, setAside: notes };
}
