/** `quotekeeper journal list|verify|repair|accept`: the journal's health. No command changes a segment. */
import { parseDate } from "./arguments.ts";
import { command, option, word } from "./command.ts";
import { join } from "node:path";
import { ERRORS, QuotekeeperError } from "../ground/errors.ts";
import { acceptMissing } from "../journal/acceptMissing.ts";
import { errnoOf, fileSystem } from "../journal/fs.ts";
import {
  type Acceptance,
  journalAcceptJson,
  journalListJson,
  journalRepairJson,
  type JournalReport,
  journalVerifyJson,
  type QuarantineNote,
  type SegmentReport,
} from "../journal/journalReports.ts";
import { hourOf } from "../journal/segmentName.ts";
import { SEGMENT_LIST } from "../journal/segmentList.ts";
import { listSegments, type SegmentInfo } from "../journal/segments.ts";
import { DAMAGED_DIR } from "../journal/quarantine.ts";
import { repairJournal, verifyJournal } from "../journal/verify.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { readLoadedSegments } from "../archive/loadedSegments.ts";
import { journalDir } from "../journal/dataDir.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { bytes, counted } from "../ground/figures.ts";

/** Exit code 0; 1 when a segment cannot be read. */
const list = command({
  does: "its segments, oldest first",
  json: journalListJson,
  readsOnly: true,
  run: async (config, { stdout, stderr, env }, { printJson }) => {
    const segments = await listSegments(journalDir(config));
    const unreadable = segments.flatMap((segment) => segment.unreadable ?? []);
    if (printJson) printJson(segments.map(toJson));
    else if (segments.length === 0) say(stdout, "The journal is empty.");
    else {
      const columns = ["Segment", "State", ...right("Size", "On disk"), "Last written (New York)"];
      stdout.write(table(columns, segments.map(toCells), { stdout, env }));
    }
    for (const { message } of unreadable) say(stderr, message);
    return unreadable.length > 0 ? 1 : 0;
  },
});

/** Compares the segments with the journal's list and with what the database has loaded, too. */
const verify = command({
  does: "reads and checks every record, and names segments that are missing, cannot be read or do not belong here; exit code 1 when there is such a segment, or damage that has not been set aside",
  json: journalVerifyJson,
  readsOnly: true,
  run: async (config, { clock, stdout, stderr }, { printJson }) => {
    const { loaded, unasked } = await readLoadedSegments(config, clock);
    const report = await verifyJournal(journalDir(config), { clock, loaded });
    if (printJson) printJson(report);
    else say(stdout, ...describeReport(report));
    if (unasked !== null)
      say(stderr, `The database was not asked which segments it has loaded and are not here: ${unasked}.`);
    return report.damages.fresh + report.findings.length + report.strangers.length > 0 ? 1 : 0;
  },
});

const accept = command({
  does: "confirms that segments which `verify` names as missing are gone for good, or were moved elsewhere",
  options: {
    names: word("[segments...]", "names as `verify` gives them"),
    before: option("<date>", "all missing segments that were begun before this day (UTC)", parseDate),
  },
  json: journalAcceptJson,
  run: async (config, { clock, stdout }, { names, before, printJson }) => {
    if (names.length === 0 && before === null)
      throw new QuotekeeperError("USAGE", "name segments as `journal verify` does, or give --before");
    const dir = journalDir(config);
    const beforeHour = before === null ? null : hourOf(Date.parse(before));
    const { loaded } = await readLoadedSegments(config, clock);
    const options = { clock, fs: fileSystem(config.journalReaders), loaded };
    const accepted = await acceptMissing(dir, { names, beforeHour }, options).catch((cause: unknown) => {
      if (cause instanceof QuotekeeperError) throw cause;
      const detail = `${join(dir, SEGMENT_LIST)} cannot be written: ${errnoOf(cause)}`;
      throw new QuotekeeperError("JOURNAL_WRITE_FAILED", detail, { cause });
    });
    if (printJson) printJson({ accepted });
    else if (accepted.length === 0) say(stdout, "Nothing to accept.");
    else say(stdout, ...accepted.map(({ segment, as }) => `${segment}: ${ACCEPTED_AS[as]}`));
    return 0;
  },
});

/**
 * Deletes nothing and changes no segment. Exit code 1 when a person has to look at a file that is no segment or cannot be read;
 * else 0.
 */
const repair = command({
  does: "copies damaged bytes aside; harmless beside a running collector",
  json: journalRepairJson,
  run: async (config, { clock, stdout, stderr }, { printJson }) => {
    const dir = journalDir(config);
    const { found, setAside } = await repairJournal(dir, { clock, fs: fileSystem(config.journalReaders) });
    const { records, strangers } = found;
    if (printJson) printJson({ records, setAside, strangers });
    else {
      for (const note of setAside) say(stdout, describeNote(note));
      say(
        stdout,
        setAside.length === 0
          ? `Nothing to do: ${counts(found)}.`
          : `${setAside.length} damaged stretches are set aside in ${join(dir, DAMAGED_DIR)}; ${counts(found)} are whole.`,
      );
      say(stdout, ...strangers.map(describeStranger));
    }
    const unreadable = found.findings.filter(({ problem }) => problem === "unreadable");
    for (const { detail } of unreadable)
      say(stderr, new QuotekeeperError("JOURNAL_UNREADABLE", detail).message);
    return strangers.length + unreadable.length > 0 ? 1 : 0;
  },
});

export const journal = command({ commands: { list, verify, accept, repair } });

const ACCEPTED_AS: Readonly<Record<Acceptance["as"], string>> = {
  away: "may be elsewhere from now on",
  begun: "what is missing from before it was begun anew is nobody's question any more",
};

function toJson({ name, state, bytes, fileBytes, mtimeMs }: SegmentInfo) {
  return { name, state, bytes, fileBytes, writtenAt: new Date(mtimeMs).toISOString() };
}

function toCells({ name, state, bytes: size, fileBytes, mtimeMs }: SegmentInfo): string[] {
  // The size stands at the end of a compressed file, which a cut-off file lacks.
  const held = size === null ? "?" : bytes(size);
  return [name, state, held, bytes(fileBytes), exchangeTime(new Date(mtimeMs))];
}

function describeReport(report: JournalReport): string[] {
  const { damages, segments, strangers, findings, listed } = report;
  const summary =
    damages.fresh === 0
      ? `${counts(report)}, all whole${damages.setAside > 0 ? `; ${counted(damages.setAside, "damaged stretch was", "damaged stretches were")} set aside before` : ""}.`
      : `Whole: ${counts(report)}. New: ${counted(damages.fresh, "damaged stretch", "damaged stretches")}. \`quotekeeper journal repair\` sets aside what is damaged.`;
  const lines = [
    ...segments.flatMap(describeDamages),
    ...strangers.map(describeStranger),
    ...findings.map(
      ({ segment, problem, detail }) =>
        `${segment}: ${problem === "list_lost" ? "lost" : problem}: ${detail}`,
    ),
    summary,
  ];
  const unreadable = findings.filter(({ problem }) => problem === "unreadable");
  if (unreadable.length > 0) lines.push(ERRORS.JOURNAL_UNREADABLE.hint);
  if (findings.length > unreadable.length) lines.push(REMEDY);
  if (!listed && segments.length > 0 && findings.length === 0) lines.push(UNLISTED);
  return lines;
}

const REMEDY =
  "Copy back what is missing or was changed, and move away what should not be there. `quotekeeper journal accept` takes missing segments as gone for good.";

const UNLISTED =
  "No list of the segments is there yet, so a missing one would not be noticed; the next segment begins it.";

function describeDamages({ name, damages, unfinished }: SegmentReport): string[] {
  const lines = damages.map(({ damage: { offset, length, reason }, isSetAside }) => {
    const known = isSetAside ? " (set aside)" : "";
    return `${name} at ${offset}: ${counted(length, "byte")}, ${reason}${known}`;
  });
  if (unfinished) lines.push(`${name} at ${unfinished.offset}: a record is being written`);
  return lines;
}

function describeNote({ segment, offset, length, reason, file }: QuarantineNote): string {
  return `${segment} at ${offset}: ${counted(length, "byte")}, ${reason}, copied to ${DAMAGED_DIR}/${file}`;
}

function describeStranger(file: string): string {
  return `${file}: no segment has such a name, so it is not read`;
}

function counts({ records, segments }: JournalReport): string {
  return `${counted(records, "record")} in ${counted(segments.length, "segment")}`;
}
