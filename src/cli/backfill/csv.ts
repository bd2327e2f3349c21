/** `quotekeeper backfill --csv`: a CSV file that a map describes. */
import { basename, resolve } from "node:path";
import type pg from "pg";
import type { CsvReading } from "../../read/csvCall.ts";
import { createRowReader, type RowReader } from "../../read/rowReader.ts";
import { readKnownPieces, timesBehind } from "../../archive/refill/knownPieces.ts";
import { cutPieces } from "../../backfill/csv/pieces.ts";
import { type ReadMap, readMap } from "../../backfill/csv/readMap.ts";
import { readRows, readStart, sizeOf } from "../../backfill/csv/readRows.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import type { BackfillReport } from "../../archive/refill/backfillReport.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../errors.ts";
import { jobsInvalid } from "../../config/yamlFile.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { CALENDAR_FILE, readJobs } from "../../schedule/readJobs.ts";
import { createObserver } from "../../clock.ts";
import type { TimeRange } from "../../journal/record.ts";
import { isDirectory } from "../../plainFiles.ts";
import type { Edges } from "../../run/edges.ts";
import { backfillExported } from "./exported.ts";
import { importFile } from "./importing.ts";
import type { CommonRequest } from "./report.ts";
import { counted } from "../../figures.ts";

type CsvRequest = CommonRequest &
  TimeRange & {
    file: string;
    /** Null only with a directory. */
    map: string | null;
    /** The source's name in the archive; null: the map's, or else `csv`. */
    name: string | null;
    replace: boolean;
  };

/** @returns 0; 1 when a row could not be stored */
export async function backfillCsv(config: Config, edges: Edges, request: CsvRequest): Promise<number> {
  const { from, to, dryRun, json } = request;
  const file = resolve(edges.directory, request.file);
  if (await isDirectory(file).catch(() => false))
    return backfillDirectory(config, edges, { ...request, directory: file });
  if (request.map === null)
    throw new QuotekeeperError("USAGE", "--csv needs --map, unless it is an export's directory");
  const total = await sizeOf(file);
  const {
    call: given,
    skip,
    source,
  } = await readMap(resolve(edges.directory, request.map), {
    csvFile: file,
    startOf: (form) => readStart(file, form),
    overrides: await calendarOverrides(config),
  });
  const call: CsvReading = { ...given, ...(request.replace && { replace: true as const }) };
  const name = request.name ?? source ?? "csv";
  let outside = 0;
  const within = isWithin(call, { from, to });
  const wanted = (row: Buffer, header: Buffer | null): boolean => {
    const is = within(row, header);
    if (!is) outside++;
    return is;
  };
  const read = async function* (pool: pg.Pool | null): AsyncGenerator<PieceBatch, void> {
    const known = await readKnownPieces(pool, name, "csv");
    const observe = timesBehind(known, createObserver(edges.clock));
    const bounded = from === null && to === null ? null : wanted;
    const options = { call, name, known, observe, wanted: bounded, doing: basename(file) };
    let pieces = 0;
    for await (const batch of cutPieces(options, readRows(file, { ...call, skip }))) {
      pieces += batch.pieces.length;
      yield batch;
    }
    if (pieces === 0 && outside === 0) throw new QuotekeeperError("BACKFILL_NOTHING", `${file} holds no row`);
  };
  const asked = { kind: "csv" as const, file, call, name, from, to };
  const remarksOf = (report: BackfillReport): string[] => [
    `Source    ${name}, of kind import; ${zoneText(call)}`,
    ...cutTexts(report),
    ...(outside > 0 ? [`Outside   ${counted(outside, "row")} outside --from and --to`] : []),
  ];
  const shown = { config, edges, title: "reading rows", json, remarksOf };
  return importFile(shown, { asked, name, dryRun, total, read });
}

/** The days of jobs/calendar.yaml; none without that file. @throws QuotekeeperError JOBS_INVALID */
async function calendarOverrides({ jobsDir }: Config): Promise<CalendarOverride[]> {
  const { calendar, problems } = await readJobs(jobsDir).catch(() => ({ calendar: [], problems: [] }));
  const wrong = problems.filter(({ file }) => basename(file) === CALENDAR_FILE);
  if (wrong.length > 0) throw jobsInvalid(wrong);
  return calendar;
}

function backfillDirectory(
  config: Config,
  edges: Edges,
  { map, name, replace, from, to, dryRun, json, directory }: CsvRequest & { directory: string },
): Promise<number> {
  const given = Object.entries({ map, name, replace, from, to }).find(
    ([, value]) => value !== null && value !== false,
  );
  if (given !== undefined)
    throw new QuotekeeperError(
      "USAGE",
      `--${given[0]} does not go with --csv and a directory, which is an export's`,
    );
  return backfillExported(config, edges, { format: "csv", directory, dryRun, json });
}

function cutTexts({ cutTimes, cutFractions }: BackfillReport): string[] {
  return [
    ...(cutTimes > 0
      ? [
          `Cut       ${counted(cutTimes, "time")} to microseconds: what they say beyond that is in the journal`,
        ]
      : []),
    ...(cutFractions > 0
      ? [`Cut       the fractions of ${counted(cutFractions, "count")}, as wholePart of the map says`]
      : []),
  ];
}

function zoneText({ time }: ReadMap["call"]): string {
  if (time.knownAt?.startsWith("close") === true) return `known at ${time.knownAt} of each date's session`;
  if (time.timezone === null) return "each time has its own offset";
  return `times without an offset are taken for ${time.timezone}`;
}

/** Whether a row's time is in the range. A row without a readable time counts as in it, so that it is reported. */
function isWithin(
  call: ReadMap["call"],
  { from, to }: TimeRange,
): (row: Buffer, header: Buffer | null) => boolean {
  let reader: RowReader | null = null;
  return (row, header) => {
    reader ??= createRowReader(call, header);
    const fields = reader.fieldsOf(row);
    const at = fields.ok ? reader.timeOf(fields.value) : fields;
    return !at.ok || ((from === null || at.value >= from) && (to === null || at.value < to));
  };
}
