/**
 * What all collectors of an archive go by: the epochs, one after the other, each with its accounts and prices. So each instrument
 * is due at one account, whoever calls it.
 *
 * Files: in force -> changed here -> proposed as an epoch, when all collectors have the same -> in force, when that epoch begins.
 */
import type { Clock } from "../../ground/clock.ts";
import type { FilesReport } from "./filesDigest.ts";
import { epochFromMs, ROUND_EVERY_MS } from "./leaseRules.ts";
import type { Epoch, Knows, Look, SeenCollector } from "./leaseStore.ts";

export type EpochTerms = {
  number: number;
  accounts: readonly string[];
  /** What chains are expanded by; null: nothing is known yet. */
  prices: Epoch["prices"];
};

/** Most epochs that are remembered: slots that still last began in one of them. */
const EPOCHS_REMEMBERED = 100;

/** The epochs known before with those of a look: the database forgets those that are over. */
export function joinedEpochs(known: readonly Epoch[], now: readonly Epoch[]): readonly Epoch[] {
  const [first] = now;
  if (!first) return known;
  return [...known.filter(({ number }) => number < first.number), ...now].slice(-EPOCHS_REMEMBERED);
}

/** The agreement for the slots at an instant, which is a slot's name whatever the clock of the collector that opens it. */
export function agreedIn(epochs: readonly Epoch[], at: Date): EpochTerms | null {
  const inForce = epochs.findLast(({ fromMs }) => fromMs <= at.getTime()) ?? epochs[0];
  if (!inForce) return null;
  const { number, accounts, prices } = inForce;
  return { number, accounts, prices };
}

/** What this collector would have in the next epoch. Clocks: epoch ms UTC, and how far each is ahead of the database's. */
type NextEpoch = {
  files: FilesReport;
  knows: Knows;
  peers: readonly SeenCollector[];
  nowMs: number;
  offsetMs: number;
  isAlone: boolean;
};

/**
 * The epoch to propose, null: there is nothing to change, or the collectors have different files. All collectors come to the same
 * epoch, and the first proposal counts.
 */
export function proposal(
  { epochs, drained }: Pick<Look, "epochs" | "drained">,
  next: NextEpoch,
): Omit<Epoch, "number"> | null {
  const { files, knows, peers, nowMs, offsetMs, isAlone } = next;
  if (peers.some(({ jobsDigest }) => jobsDigest !== files.digest)) return null;
  const newest = epochs.at(-1);
  const known = [knows, ...peers.map((peer) => peer.knows)];
  const refused = known.flatMap((one) => one.refused);
  const named = files.accounts.map(({ name }) => name).sort();
  const undrained = named.filter((account) => !drained.includes(account));
  const called = undrained.filter((account) => !refused.includes(account));
  const accounts = [called, undrained, named].find((some) => some.length > 0) ?? [];
  const prices = known.reduce((merged, one) => mergedPrices(merged, one.prices), newest?.prices ?? null);
  const wanted = { jobsDigest: files.digest, accounts, prices };
  if (newest && textOf(newest) === textOf(wanted)) return null;
  const aheadMs = peers.map(({ clockOffsetMs }) => (clockOffsetMs ?? offsetMs) - offsetMs);
  return { ...wanted, fromMs: epochFromMs(nowMs, isAlone ? null : aheadMs) };
}

/** The first price and the first list that any collector reports of a symbol stay for the day. */
function mergedPrices(first: Knows["prices"], other: Knows["prices"]): Knows["prices"] {
  if (!other || (first && first.date > other.date)) return first;
  if (first?.date !== other.date) return other;
  const of = { ...other.of, ...first.of };
  const listed = { ...other.listed, ...first.listed };
  return { date: first.date, of, ...(Object.keys(listed).length > 0 && { listed }) };
}

function textOf({ jobsDigest, accounts, prices }: Omit<Epoch, "number" | "fromMs">): string {
  const ordered = prices && [
    prices.date,
    Object.entries(prices.of).sort(),
    Object.entries(prices.listed ?? {}).sort(),
  ];
  return JSON.stringify([jobsDigest, [...accounts].sort(), ordered]);
}

export class FilesInForce {
  newest: FilesReport;
  #inForce: FilesReport;
  #waiting: { files: FilesReport; use: () => Promise<void> } | null = null;

  constructor(files: FilesReport) {
    this.newest = files;
    this.#inForce = files;
  }

  get accounts(): string[] {
    return this.#inForce.accounts.map(({ name }) => name).sort();
  }

  /** Uses new files at once. @param use begins to use them */
  async use(files: FilesReport, use: () => Promise<void>): Promise<void> {
    this.newest = files;
    this.#waiting = null;
    await use();
    this.#inForce = files;
  }

  /** Uses new files later: see `useAgreed`. */
  useLater(files: FilesReport, use: () => Promise<void>): void {
    this.newest = files;
    this.#waiting = { files, use };
  }

  /**
   * Uses files that wait when the epoch begins that all have agreed on, or when the other collectors are gone. An epoch that does
   * not begin before the next round is left to that round.
   */
  async useAgreed(
    { epochs, isAlone }: { epochs: readonly Epoch[]; isAlone: boolean },
    { now, sleep }: Pick<Clock, "now" | "sleep">,
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = this.#waiting;
    if (!waiting) return;
    const epoch = epochs.find(({ jobsDigest }) => jobsDigest === waiting.files.digest);
    const beginsInMs = epoch ? epoch.fromMs - now().getTime() : isAlone ? 0 : Infinity;
    if (beginsInMs > ROUND_EVERY_MS) return;
    this.#waiting = null;
    await sleep(Math.max(0, beginsInMs), signal).catch(() => undefined);
    await waiting.use();
    this.#inForce = waiting.files;
  }
}
