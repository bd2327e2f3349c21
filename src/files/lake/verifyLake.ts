/** Reads a lake from the disk, every byte of it, and says what is not as its manifests, or the archive's database, have it. */
import type { KnownLake } from "../../archive/export/lakeRows.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { fileDigests } from "./fileDigests.ts";
import { type DayManifest, invalid, type LakeFiles, type LakeManifest, type LakeTable } from "./lakeFiles.ts";
import type { VerifyReport } from "./lakeReports.ts";
import { isSame } from "./lakeTables.ts";
import { lackingDates, requireOwn } from "./whichLake.ts";

/**
 * @param options.known what the archive's database knows; null: it was not asked
 * @throws QuotekeeperError LAKE_INVALID when there is no lake, or a manifest cannot be read
 */
export async function verifyLake(
  files: LakeFiles,
  options: { known: KnownLake | null; signal: AbortSignal; onFile: (path: string, rows: number) => void },
): Promise<VerifyReport> {
  const { known, signal, onFile } = options;
  const report: VerifyReport = { dates: 0, files: 0, rows: 0, bytes: 0, unfinished: [], faults: [] };
  const verify = async (file: LakeTable, other: LakeTable | null = null): Promise<void> => {
    signal.throwIfAborted();
    report.files += 1;
    report.rows += file.rows;
    report.bytes += file.bytes;
    // While one file takes another's place, it is one of both.
    const what = await faultOf(files, other && (await files.is(other)) ? other : file);
    if (what !== null) report.faults.push({ path: file.path, what });
    onFile(file.path, report.rows);
  };
  const lake = await files.read();
  if (lake === null) throw invalid(`${files.dir} holds no lake`);
  for (const file of lake.tables)
    await verify(
      file,
      lake.replacing.find(({ name }) => name === file.name),
    );
  const days = await files.days();
  for (const [date, day] of days) {
    if (!day.complete || day.replacing) report.unfinished.push(date);
    for (const file of day.tables)
      await verify(file, day.replacing?.name === file.name ? day.replacing : null);
  }
  report.dates = days.size;
  if (known) report.faults.push(...(await faultsKnown(known, { files, lake, days })));
  return report;
}

/** What the archive knows of its lake, and this directory does not have. Another archive knows nothing of it. */
async function faultsKnown(
  known: KnownLake,
  { files, lake, days }: { files: LakeFiles; lake: LakeManifest; days: ReadonlyMap<string, DayManifest> },
): Promise<VerifyReport["faults"]> {
  if (known.archive !== lake.archive) return [];
  try {
    requireOwn(files.dir, lake, known);
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return [{ path: "lake.json", what: error.detail }];
  }
  const lacking = await lackingDates(files, known.dropped, days);
  return lacking.map((date) => ({
    path: `days/${date}.json`,
    what: "quotes of this date were dropped from the database, and their files are not here",
  }));
}

/** What is wrong with a file; null: it holds what its manifest says. */
export async function faultOf(files: LakeFiles, file: LakeTable): Promise<string | null> {
  if (!(await files.is(file))) return "is missing, or its bytes are not those of the manifest";
  try {
    return isSame(file, await fileDigests(files.pathOf(file), file.rows))
      ? null
      : "does not hold what the manifest says";
  } catch (error) {
    return `cannot be read: ${error instanceof QuotekeeperError ? error.detail : (error as Error).message}`;
  }
}
