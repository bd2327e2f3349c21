/** `quotekeeper journal list|verify|repair|accept`: the journal's health for people. None of them changes a segment. */
import { join } from "node:path";
import type { z } from "zod";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import { acceptFindings, type Accepted } from "../journal/accept.ts";
import type { Finding } from "../journal/completeness.ts";
import { errnoOf, fileSystem } from "../journal/fs.ts";
import { repairJournal } from "../journal/repair.ts";
import { hourOf } from "../journal/segmentName.ts";
import { SEGMENT_LIST } from "../journal/segmentList.ts";
import { listSegments, type SegmentInfo } from "../journal/segments.ts";
import { DAMAGED_DIR, type QuarantineNote } from "../journal/quarantine.ts";
import { type JournalReport, type SegmentReport, verifyJournal } from "../journal/verify.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import type { Edges } from "../run/edges.ts";
import { journalAcceptJson, journalListJson, journalRepairJson, journalVerifyJson } from "./json/journal.ts";
import { printJson } from "./json/print.ts";
import { journalDir } from "../run/collection.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

type Output = { json: boolean };

/** Lists the segments, oldest first. @returns 0 */
export async function journalList(config: Config, { stdout, env }: Edges, { json }: Output): Promise<number> {
  const segments = await listSegments(journalDir(config));
  if (json) printJson(stdout, journalListJson, segments.map(toJson));
  else if (segments.length === 0) say(stdout, "The journal is empty.");
  else {
    const columns = [
      { heading: "Segment" },
      { heading: "State" },
      { heading: "Bytes", right: true },
      { heading: "On disk", right: true },
      { heading: "Last written (New York)" },
    ];
    stdout.write(table(columns, segments.map(toCells), stdout, env));
  }
  return 0;
}

/**
 * Reads every record and proves it, and holds the segments against the journal's list.
 *
 * @returns 1 when there is damage that has not been set aside, a segment that is missing, foreign, reordered or altered, or a
 *   file that is no segment; else 0
 */
export async function journalVerify(
  config: Config,
  { clock, stdout }: Edges,
  { json }: Output,
): Promise<number> {
  const report = await verifyJournal(journalDir(config), { clock });
  if (json) printJson(stdout, journalVerifyJson, report);
  else say(stdout, ...describeReport(report));
  return report.damages.fresh + report.findings.length + report.strangers.length > 0 ? 1 : 0;
}

/**
 * Sets the bytes aside that hold no record. Nothing is deleted and no segment is changed.
 *
 * @returns 1 when a file is left that is no segment, which nobody but a person can judge; else 0
 */
export async function journalRepair(
  config: Config,
  { clock, stdout }: Edges,
  { json }: Output,
): Promise<number> {
  const dir = journalDir(config);
  const { found, setAside } = await repairJournal(dir, { clock, fs: fileSystem(config.journalReaders) });
  if (json) {
    const { records, strangers } = found;
    printJson(stdout, journalRepairJson, { records, setAside, strangers });
  } else {
    for (const note of setAside) say(stdout, describeNote(note));
    say(
      stdout,
      setAside.length === 0
        ? `Nothing to do: ${counts(found)}.`
        : `${setAside.length} damaged stretches are set aside in ${join(dir, DAMAGED_DIR)}; ${counts(found)} are whole.`,
    );
    say(stdout, ...found.strangers.map(describeStranger));
  }
  return found.strangers.length > 0 ? 1 : 0;
}

/** What `journal accept` is asked for. */
export type AcceptArguments = Output & {
  /** Segments by name, or `segments.jsonl`. */
  names: string[];
  /** Everything missing or foreign that was begun before this day (UTC) as well, `YYYY-MM-DD`; null: nothing. */
  before: string | null;
};

/**
 * Writes down that what `verify` names is meant to be so.
 *
 * @returns 0
 * @throws QuotekeeperError USAGE when nothing is named
 */
export async function journalAccept(
  config: Config,
  { clock, stdout }: Edges,
  { json, names, before }: AcceptArguments,
): Promise<number> {
  if (names.length === 0 && before === null)
    throw new QuotekeeperError("USAGE", "name segments as `journal verify` does, or give --before");
  const dir = journalDir(config);
  const beforeHour = before === null ? null : hourOf(Date.parse(before));
  const options = { clock, fs: fileSystem(config.journalReaders) };
  const accepted = await acceptFindings(dir, { names, beforeHour }, options).catch((cause: unknown) => {
    if (cause instanceof QuotekeeperError) throw cause;
    const detail = `${join(dir, SEGMENT_LIST)} cannot be written: ${errnoOf(cause)}`;
    throw new QuotekeeperError("JOURNAL_WRITE_FAILED", detail, { cause });
  });
  if (json) printJson(stdout, journalAcceptJson, { accepted });
  else if (accepted.length === 0) say(stdout, "Nothing to accept.");
  else say(stdout, ...accepted.map(({ segment, as }) => `${segment}: ${ACCEPTED_AS[as]}`));
  return 0;
}

const ACCEPTED_AS: Readonly<Record<Accepted["as"], string>> = {
  away: "may be elsewhere from now on",
  here: "belongs to this journal as it is",
  begun: "what is missing from before it was begun anew is nobody's question any more",
};

function toJson({
  name,
  state,
  bytes,
  fileBytes,
  mtimeMs,
}: SegmentInfo): z.input<typeof journalListJson>[number] {
  return { name, state, bytes, fileBytes, writtenAt: new Date(mtimeMs).toISOString() };
}

function toCells({ name, state, bytes, fileBytes, mtimeMs }: SegmentInfo): string[] {
  // The end of a compressed file that was cut off says no longer how much it held.
  const held = bytes === null ? "?" : String(bytes);
  return [name, state, held, String(fileBytes), exchangeTime(new Date(mtimeMs))];
}

function describeReport(report: JournalReport): string[] {
  const { damages, segments, strangers, findings, listed } = report;
  const summary =
    damages.fresh === 0
      ? `${counts(report)}, all whole${damages.setAside > 0 ? `; ${damages.setAside} damaged stretches were set aside before` : ""}.`
      : `${counts(report)} are whole; ${damages.fresh} damaged stretches are new: \`quotekeeper journal repair\` sets them aside.`;
  const lines = [
    ...segments.flatMap(describeDamages),
    ...strangers.map(describeStranger),
    ...findings.map(({ segment, problem, detail }) => `${segment}: ${WORDS[problem]}: ${detail}`),
    summary,
  ];
  if (findings.length > 0) lines.push(REMEDY);
  if (!listed && segments.length > 0 && findings.length === 0) lines.push(UNLISTED);
  return lines;
}

const WORDS: Readonly<Record<Finding["problem"], string>> = {
  missing: "missing",
  foreign: "foreign",
  reordered: "reordered",
  altered: "altered",
  list_lost: "lost",
};

const REMEDY =
  "Bring back what should be there, and move away what should not; what is meant to be so `quotekeeper journal accept` takes.";

const UNLISTED =
  "No list of the segments is there yet, so a missing one would not be noticed; the next segment begins it.";

function describeDamages({ name, damages, unfinished }: SegmentReport): string[] {
  const lines = damages.map(({ damage: { offset, length, reason }, isSetAside }) => {
    const known = isSetAside ? " (set aside)" : "";
    return `${name} at ${offset}: ${length} bytes, ${reason}${known}`;
  });
  if (unfinished) lines.push(`${name} at ${unfinished.offset}: a record is being written`);
  return lines;
}

function describeNote({ segment, offset, length, reason, file }: QuarantineNote): string {
  return `${segment} at ${offset}: ${length} bytes, ${reason}, copied to ${DAMAGED_DIR}/${file}`;
}

function describeStranger(file: string): string {
  return `${file}: no segment has such a name, so it is not read`;
}

function counts({ records, segments }: JournalReport): string {
  return `${records} records in ${segments.length} segments`;
}
