/** Sets damaged bytes aside. Nothing is deleted and no segment is changed: see quarantine.ts. */
import { nodeFs } from "./fs.ts";
import { setAside, type QuarantineNote } from "./quarantine.ts";
import { verifyJournal, type JournalReport, type VerifyOptions } from "./verify.ts";

/** What a repair found, and the copies it made. */
type RepairReport = {
  /** As `verifyJournal` gives it, before the repair. */
  found: JournalReport;
  setAside: QuarantineNote[];
};

/**
 * Sets aside every damage that has not been yet. Afterwards `verifyJournal` has no fresh damage.
 * Safe beside a running writer.
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
