/** Looks after segments that nobody writes any more, one step after the other, while others are written. */
import { join } from "node:path";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { compressClosed } from "./compress.ts";
import { errnoOf, type JournalFs } from "./fs.ts";
import { repairJournal } from "./verify.ts";
import { DAMAGED_DIR } from "./quarantine.ts";

type UpkeepOptions = {
  dir: string;
  fs: JournalFs;
  clock: Clock;
  onProblem: (problem: QuotekeeperError) => void;
  /** When it is aborted, no step begins and compressing stops. */
  signal: AbortSignal;
};

export type Upkeep = {
  /** Sets aside and reports what a crash damaged in segments that are not compressed yet. */
  setDamageAside: () => Promise<void>;
  /** Compresses closed and abandoned segments; resolves to their names. */
  compressClosed: () => Promise<string[]>;
  /** Resolves when every step begun so far has ended, however it did. */
  settled: () => Promise<void>;
};

export function createUpkeep(options: UpkeepOptions): Upkeep {
  let last: Promise<unknown> = Promise.resolve();
  const queued =
    <T>(step: (options: UpkeepOptions) => Promise<T>) =>
    (): Promise<T> => {
      const result = last.then(() => step(options));
      last = result.catch(() => undefined);
      return result;
    };
  return {
    setDamageAside: queued(setDamageAside),
    compressClosed: queued(compressClosed),
    settled: async () => void (await last),
  };
}

/** Starts a step without waiting for it; `onProblem` hears its failure. */
export function inBackground(
  step: () => Promise<unknown>,
  { dir, onProblem }: Pick<UpkeepOptions, "dir" | "onProblem">,
): void {
  step().catch((cause: unknown) => {
    const detail = `the upkeep of ${dir} was broken off: ${errnoOf(cause)}`;
    const problem = new QuotekeeperError("JOURNAL_COMPRESSION_FAILED", detail, { cause });
    onProblem(cause instanceof QuotekeeperError ? cause : problem);
  });
}

async function setDamageAside({ dir, clock, fs, onProblem, signal }: UpkeepOptions): Promise<void> {
  if (signal.aborted) return;
  const { setAside } = await repairJournal(dir, { clock, fs, plainOnly: true });
  const [first] = setAside;
  if (first === undefined) return;
  const detail = `${setAside.length} damaged stretches, the first in ${first.segment} at ${first.offset}`;
  onProblem(
    new QuotekeeperError("JOURNAL_DAMAGED", `${detail}, were set aside in ${join(dir, DAMAGED_DIR)}`),
  );
}
