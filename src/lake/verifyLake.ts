/** Reads a lake from the disk, every byte of it, and says what is not as its manifests have it. */
import { fileDigests } from "./fileDigests.ts";
import type { LakeFiles, LakeTable } from "./lakeFiles.ts";
import { isSame } from "./lakeTables.ts";

/** What was found. */
type VerifyReport = {
  dates: number;
  files: number;
  rows: number;
  bytes: number;
  /** Files that are missing, changed or do not hold what they should, and dates that were cut short. */
  faults: { path: string; what: string }[];
};

/** @throws QuotekeeperError LAKE_INVALID when a manifest cannot be read */
export async function verifyLake(
  files: LakeFiles,
  { signal, onFile }: { signal: AbortSignal; onFile: (path: string, rows: number) => void },
): Promise<VerifyReport> {
  const report: VerifyReport = { dates: 0, files: 0, rows: 0, bytes: 0, faults: [] };
  const verify = async (file: LakeTable): Promise<void> => {
    signal.throwIfAborted();
    report.files += 1;
    report.rows += file.rows;
    report.bytes += file.bytes;
    const what = await faultOf(files, file);
    if (what !== null) report.faults.push({ path: file.path, what });
    onFile(file.path, report.rows);
  };
  for (const file of (await files.read())?.tables ?? []) await verify(file);
  for (const date of await files.dates()) {
    const day = await files.readDay(date);
    if (!day) continue;
    report.dates += 1;
    if (!day.complete || day.replacing)
      report.faults.push({
        path: `days/${date}.json`,
        what: "a run was cut short: run `quotekeeper lake` again",
      });
    for (const file of day.tables) await verify(file);
  }
  return report;
}

async function faultOf(files: LakeFiles, file: LakeTable): Promise<string | null> {
  if (!(await files.is(file))) return "is missing, or its bytes are not those of the manifest";
  try {
    return isSame(file, await fileDigests(files.pathOf(file)))
      ? null
      : "does not hold what the manifest says";
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}
