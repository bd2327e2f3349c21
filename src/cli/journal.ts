/** `quotekeeper journal list|verify|repair|accept`: the journal's health for people. None of them changes a segment. */
import { count, instant } from "../run/jsonWords.ts";
import { parseDate } from "./arguments.ts";
import { type AddCommand, EXIT_CODES, type Touches } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../config/loadEnvironment.ts";
import { ERRORS, QuotekeeperError } from "../errors.ts";
import { acceptFindings, type Accepted, type Finding } from "../journal/completeness.ts";
import { errnoOf, fileSystem } from "../journal/fs.ts";
import { hourOf } from "../journal/segmentName.ts";
import { SEGMENT_LIST } from "../journal/segmentList.ts";
import { listSegments, type SegmentInfo } from "../journal/segments.ts";
import { DAMAGED_DIR, type QuarantineNote } from "../journal/quarantine.ts";
import { repairJournal, type JournalReport, type SegmentReport, verifyJournal } from "../journal/verify.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import type { Edges } from "../run/edges.ts";
import { journalDir } from "../run/stations.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { bytes, counted } from "../figures.ts";

const state = z
  .enum(["open", "closed", "compressed"])
  .describe("`open`: may still be written. `closed`: no longer. `compressed`: proved and compressed.");

const reason = z.enum([
  "torn_tail",
  "bad_header",
  "bad_length",
  "bad_checksum",
  "damaged_body",
  "zeroed",
  "foreign",
  "unknown_version",
  "unknown_record",
  "damaged_compression",
  "behind_end",
]);

const place = z.strictObject({
  at: count.describe("Offset in the file."),
  length: count.describe("Length there."),
});

const damage = z.strictObject({
  offset: count.describe("Offset in the uncompressed segment."),
  length: count.describe("Length in bytes."),
  reason: reason.describe("What is wrong, see docs/journal-damage.md."),
});

/** `journal list --json`. */
export const journalListJson = z
  .array(
    z.strictObject({
      name: z.string().describe("Name of the segment."),
      state,
      bytes: count
        .nullable()
        .describe(
          "Uncompressed size; null when the end of a compressed file is damaged, or the file cannot be read.",
        ),
      fileBytes: count.describe("Size of the file."),
      writtenAt: instant.describe("When the file was last written."),
    }),
  )
  .describe("The segments, oldest first.");

/** `journal verify --json`. */
export const journalVerifyJson = z.strictObject({
  segments: z
    .array(
      z.strictObject({
        name: z.string().describe("Name of the segment."),
        state,
        bytes: count.describe("Uncompressed bytes read."),
        records: count.describe("Whole records."),
        damages: z
          .array(
            z.strictObject({
              damage: damage.describe("The stretch."),
              inFile: place.nullable().describe("Where it lies in a compressed file that cannot be read."),
              isSetAside: z.boolean().describe("Whether a copy of it has been set aside."),
            }),
          )
          .describe("Stretches that hold no record."),
        unfinished: damage.nullable().describe("What a writer seems to be writing just now; no damage."),
      }),
    )
    .describe("The segments, oldest first."),
  records: count.describe("Whole records of all segments."),
  bytes: count.describe("Uncompressed bytes of all segments."),
  damages: z
    .strictObject({
      setAside: count.describe("Those that have been set aside."),
      fresh: count.describe("Those that have not; the exit code is 1 then."),
    })
    .describe("Damaged stretches of all segments."),
  findings: z
    .array(
      z.strictObject({
        segment: z
          .string()
          .describe(
            "Name of the segment; `segments.jsonl`: the list of segments; `damaged`: the folder of set aside damage.",
          ),
        problem: z
          .enum(["missing", "foreign", "reordered", "altered", "unreadable", "list_lost"])
          .describe("What is wrong, see docs/journal-damage.md."),
        detail: z.string().describe("What was expected or found."),
      }),
    )
    .describe(
      "Segments that are missing, cannot be read or should not be there; the exit code is 1 when there are any.",
    ),
  listed: z
    .boolean()
    .describe("Whether the journal has a list of its segments; without one none of them can be missed."),
  strangers: z
    .array(z.string())
    .describe("Files that look like segments and are none; the exit code is 1 when there are any."),
});

/** `journal accept --json`. */
export const journalAcceptJson = z.strictObject({
  accepted: z
    .array(
      z.strictObject({
        segment: z.string().describe("Name of the segment; `segments.jsonl`: the list of segments."),
        as: z
          .enum(["away", "here", "begun"])
          .describe(
            "`away`: its file may be elsewhere. `here`: it belongs to this journal as it is. `begun`: the list was begun anew.",
          ),
      }),
    )
    .describe("What was accepted."),
});

/** `journal repair --json`. */
export const journalRepairJson = z.strictObject({
  records: count.describe("Whole records of all segments."),
  setAside: z
    .array(
      z.strictObject({
        segment: z.string().describe("Name of the segment."),
        offset: count.describe("Offset of the stretch in the uncompressed segment."),
        length: count.describe("Its length in bytes."),
        reason: reason.describe("What is wrong, see docs/journal-damage.md."),
        file: z.string().describe("File name of the copy."),
        fileBytes: count.describe("Size of the copy."),
        sha256: z.string().describe("SHA-256 of the copy."),
        inCompressedFile: place
          .nullable()
          .describe("Where it lies in a compressed file that cannot be read."),
      }),
    )
    .describe("What was set aside in this run."),
  strangers: z
    .array(z.string())
    .describe("Files that look like segments but are not; the exit code is 1 when there are any."),
});

type Output = { json: boolean };

/** `journal`, with a command for each thing that is done with it. */
export const addJournal: AddCommand = (journal, { run, edges }) => {
  const add = (
    name: string,
    description: string,
    { work, ...touches }: Touches & { work: typeof journalList },
  ): void =>
    void journal
      .command(name)
      .description(description)
      .option("--json", "print JSON", false)
      .addHelpText("after", EXIT_CODES)
      .action(({ json }: Output) => run((config) => work(config, edges, { json }), touches));
  add("list", "its segments, oldest first", { work: journalList, readsOnly: true });
  add(
    "verify",
    "reads and checks every record, and names segments that are missing, cannot be read or do not belong here; exit code 1 when there is such a segment, or damage that has not been set aside",
    { work: journalVerify, readsOnly: true },
  );
  journal
    .command("accept")
    .description(
      "confirms that segments which `verify` names are as you want them: they were moved elsewhere, or belong here",
    )
    .argument("[segments...]", "names as `verify` gives them")
    .option(
      "--before <date>",
      "everything missing or foreign that was begun before this day (UTC)",
      parseDate,
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", EXIT_CODES)
    .action((names: string[], { before = null, json }: Output & { before?: string | null }) =>
      run((config) => journalAccept(config, edges, { names, before, json })),
    );
  add("repair", "copies damaged bytes aside; harmless beside a running collector", { work: journalRepair });
};

/** Lists the segments, oldest first. @returns 0; 1 when one of them cannot be read */
async function journalList(
  config: Config,
  { stdout, stderr, env }: Edges,
  { json }: Output,
): Promise<number> {
  const segments = await listSegments(journalDir(config));
  const unreadable = segments.flatMap((segment) => segment.unreadable ?? []);
  if (json) printJson(stdout, journalListJson, segments.map(toJson));
  else if (segments.length === 0) say(stdout, "The journal is empty.");
  else {
    const columns = [
      { heading: "Segment" },
      { heading: "State" },
      { heading: "Size", right: true },
      { heading: "On disk", right: true },
      { heading: "Last written (New York)" },
    ];
    stdout.write(table(columns, segments.map(toCells), { stdout, env }));
  }
  for (const { message } of unreadable) say(stderr, message);
  return unreadable.length > 0 ? 1 : 0;
}

/**
 * Reads every record and proves it, and holds the segments against the journal's list.
 *
 * @returns 1 when there is damage that has not been set aside, a segment that is missing, foreign, reordered, altered or
 *   unreadable, or a file that is no segment; else 0
 */
async function journalVerify(config: Config, { clock, stdout }: Edges, { json }: Output): Promise<number> {
  const report = await verifyJournal(journalDir(config), { clock });
  if (json) printJson(stdout, journalVerifyJson, report);
  else say(stdout, ...describeReport(report));
  return report.damages.fresh + report.findings.length + report.strangers.length > 0 ? 1 : 0;
}

/**
 * Sets the bytes aside that hold no record. Nothing is deleted and no segment is changed.
 *
 * @returns 1 when a file is left that is no segment, or cannot be read, for a person to see to; else 0
 */
async function journalRepair(
  config: Config,
  { clock, stdout, stderr }: Edges,
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
  const unreadable = found.findings.filter(({ problem }) => problem === "unreadable");
  for (const { detail } of unreadable)
    say(stderr, new QuotekeeperError("JOURNAL_UNREADABLE", detail).message);
  return found.strangers.length + unreadable.length > 0 ? 1 : 0;
}

/** What `journal accept` is asked for. */
type AcceptArguments = Output & {
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
async function journalAccept(
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

function toCells({ name, state, bytes: size, fileBytes, mtimeMs }: SegmentInfo): string[] {
  // The end of a compressed file that was cut off says no longer how much it held.
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
    ...findings.map(({ segment, problem, detail }) => `${segment}: ${WORDS[problem]}: ${detail}`),
    summary,
  ];
  const unreadable = findings.filter(({ problem }) => problem === "unreadable");
  if (unreadable.length > 0) lines.push(ERRORS.JOURNAL_UNREADABLE.hint);
  if (findings.length > unreadable.length) lines.push(REMEDY);
  if (!listed && segments.length > 0 && findings.length === 0) lines.push(UNLISTED);
  return lines;
}

const WORDS: Readonly<Record<Finding["problem"], string>> = {
  missing: "missing",
  foreign: "foreign",
  reordered: "reordered",
  altered: "altered",
  unreadable: "unreadable",
  list_lost: "lost",
};

const REMEDY =
  "Bring back what should be there, and move away what should not; what is meant to be so `quotekeeper journal accept` takes.";

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
