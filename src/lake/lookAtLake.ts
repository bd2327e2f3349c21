/** A look at a lake for `status`: no file of it is read but its manifests. */
import type pg from "pg";
import { readKnownLake } from "../archive/export/lakeRows.ts";
import { QuotekeeperError } from "../errors.ts";
import { LakeFiles } from "./lakeFiles.ts";
import { lackingDates, requireOwn, withoutFiles } from "./whichLake.ts";

/** What is seen. */
export type LakeSight = {
  /** The last exchange date that the lake has; null: it has none. */
  through: string | null;
  /** What a person has to see to; null: nothing. */
  fault: string | null;
};

/**
 * @param dir the lake's directory
 * @param pool the archive's database; null: it cannot be asked
 */
export async function lookAtLake(dir: string, pool: pg.Pool | null): Promise<LakeSight> {
  const files = new LakeFiles(dir);
  try {
    const manifest = await files.read();
    const through = (await files.dates()).at(-1) ?? null;
    if (pool === null) return { through, fault: null };
    const known = await readKnownLake(pool);
    const lacking = await lackingDates(files, known.dropped, null);
    if (lacking.length > 0) throw withoutFiles(dir, lacking);
    if (manifest !== null || known.known !== null) requireOwn(dir, manifest, known);
    return { through, fault: null };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { through: null, fault: error.message };
  }
}
