/** The bench's figures as text and as JSON, and the bounds they must keep. */
import { availableParallelism, loadavg } from "node:os";
import type { BulkFigures } from "./bulk.ts";
import type { LiveFigures } from "./live.ts";

/** Bulk loading reaches at least this share of the limit. */
export const LEAST_SHARE = 0.5;
/** One live answer is committed in less than this, median, ms. */
export const MOST_COMMIT_MS = 15;

/** What is printed with `--json`. */
export type Report = ReturnType<typeof reportOf>;

/** Medians, ratios and whether they keep the bounds; ratios are medians of each round's own. */
export function reportOf(bulk: BulkFigures, live: LiveFigures) {
  const share = (rates: readonly number[]) =>
    median(rates.map((rate, round) => rate / (bulk.limit[round] ?? Infinity)));
  const figures = {
    machine: { processors: availableParallelism(), loadAverage: loadavg()[0] ?? NaN },
    bulk: {
      ...{ rowCount: bulk.rowCount, batchCount: bulk.batchCount, limitName: bulk.limitName },
      rowsPerSecond: {
        limit: median(bulk.limit),
        ours: median(bulk.ours),
        replayed: median(bulk.replayed),
        drizzle: median(bulk.drizzle),
      },
      shareOfLimit: { ours: share(bulk.ours), replayed: share(bulk.replayed), drizzle: share(bulk.drizzle) },
      rounds: bulk.limit.map((limit, round) => ({ limit, ours: bulk.ours[round] })),
    },
    live: {
      quoteCount: live.quoteCount,
      answerCount: live.commit.length,
      medianMs: {
        parse: median(live.parse),
        commit: median(live.commit),
        fromJournal: median(live.fromJournal),
      },
      p95Ms: {
        parse: quantile(live.parse, 0.95),
        commit: quantile(live.commit, 0.95),
        fromJournal: quantile(live.fromJournal, 0.95),
      },
    },
  };
  const misses = [
    ...(figures.bulk.shareOfLimit.ours >= LEAST_SHARE
      ? []
      : [`bulk loading is below ${LEAST_SHARE} of the limit`]),
    ...(figures.live.medianMs.commit < MOST_COMMIT_MS
      ? []
      : [`a live answer takes ${MOST_COMMIT_MS} ms or more to commit`]),
  ];
  return { ...figures, misses };
}

/** Prints the report for people. */
export function printReport({ machine, bulk, live, misses }: Report): void {
  const { rowsPerSecond, shareOfLimit } = bulk;
  console.log(
    `\nBulk: ${count(bulk.rowCount)} rows of quotes and extended_quotes, medians of ${bulk.rounds.length} rounds`,
  );
  line(`limit: ${bulk.limitName}`, rowsPerSecond.limit);
  line(`our loader, ${bulk.batchCount} batches`, rowsPerSecond.ours, shareOfLimit.ours);
  line("our loader, every row there already", rowsPerSecond.replayed, shareOfLimit.replayed);
  line("Drizzle values(), a sample", rowsPerSecond.drizzle, shareOfLimit.drizzle);
  console.log(
    `\nLive: answers of ${live.quoteCount} quotes, ${live.answerCount} of them one by one   median      p95`,
  );
  for (const [name, of] of [
    ["parse, from bytes to rows", "parse"],
    ["commit, from rows in memory", "commit"],
    ["from journal append through commit", "fromJournal"],
  ] as const)
    console.log(`  ${name.padEnd(44)}${ms(live.medianMs[of])}${ms(live.p95Ms[of])}`);
  const { processors, loadAverage } = machine;
  console.log(
    `\n${processors} processors, load ${loadAverage.toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "\nBoth bounds hold." : `\n${misses.join("; ")}.`);
}

function line(name: string, rate: number, share?: number): void {
  const ratio = share === undefined ? "" : `   ${share.toFixed(2)} of the limit`;
  console.log(`  ${name.padEnd(44)}${count(rate).padStart(9)} rows/s${ratio}`);
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`.padStart(11);
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}
