/** The bench's figures as text and as JSON, and the bounds they must keep. */
import { availableParallelism, loadavg } from "node:os";
import type { BulkFigures } from "./bulk.ts";
import type { LiveFigures } from "./live.ts";

/** Bulk loading reaches at least these shares of the limit: rows that are new, and rows that are there. */
const LEAST_SHARES = { ours: 0.6, replayed: 0.6 };
/** One live answer takes at most so many times as long as the transaction by hand. */
const MOST_TIMES = { commit: 2, fromJournal: 3 };

/** What is printed with `--json`. */
export type Report = ReturnType<typeof reportOf>;

/** Medians, ratios and whether they keep the bounds; ratios are medians of each round's own. */
export function reportOf(bulk: BulkFigures, live: LiveFigures) {
  const share = (rates: readonly number[]) =>
    median(rates.map((rate, round) => rate / (bulk.limit[round] ?? Infinity)));
  const times = (way: readonly number[]) =>
    median(way.map((ms, answer) => ms / (live.byHand[answer] ?? NaN)));
  const figures = {
    machine: { processors: availableParallelism(), loadAverage: loadavg()[0] ?? NaN },
    bulk: {
      ...{ rowCount: bulk.rowCount, batchCount: bulk.batchCount },
      rowsPerSecond: {
        limit: median(bulk.limit),
        ours: median(bulk.ours),
        withBars: median(bulk.withBars),
        replayed: median(bulk.replayed),
      },
      shareOfLimit: {
        ours: share(bulk.ours),
        withBars: share(bulk.withBars),
        replayed: share(bulk.replayed),
      },
      rounds: bulk.limit.map((limit, round) => ({
        ...{ limit, ours: bulk.ours[round], replayed: bulk.replayed[round] },
      })),
      statements: {
        ours: Object.fromEntries(bulk.statements.ours),
        replayed: Object.fromEntries(bulk.statements.replayed),
      },
    },
    live: {
      quoteCount: live.quoteCount,
      answerCount: live.commit.length,
      timesByHand: { commit: times(live.commit), fromJournal: times(live.fromJournal) },
      medianMs: {
        byHand: median(live.byHand),
        json: live.json.length > 0 ? median(live.json) : null,
        parse: median(live.parse),
        commit: median(live.commit),
        fromJournal: median(live.fromJournal),
      },
      p95Ms: {
        byHand: quantile(live.byHand, 0.95),
        parse: quantile(live.parse, 0.95),
        commit: quantile(live.commit, 0.95),
        fromJournal: quantile(live.fromJournal, 0.95),
      },
    },
  };
  const { shareOfLimit } = figures.bulk;
  const { timesByHand } = figures.live;
  const misses = [
    ...(["ours", "replayed"] as const)
      .filter((way) => shareOfLimit[way] < LEAST_SHARES[way])
      .map((way) => `${WAYS[way]} is below ${LEAST_SHARES[way]} of the limit`),
    ...(["commit", "fromJournal"] as const)
      .filter((way) => timesByHand[way] > MOST_TIMES[way])
      .map((way) => `a live answer, ${WAYS[way]}, takes more than ${MOST_TIMES[way]} times the hand-written`),
  ];
  return { ...figures, misses };
}

const WAYS = {
  ours: "loading new rows",
  replayed: "loading rows that are there",
  commit: "from rows in memory through commit",
  fromJournal: "from journal append through commit",
};

/** Prints the report for people. */
export function printReport({ machine, bulk, live, misses }: Report): void {
  const { rowsPerSecond, shareOfLimit } = bulk;
  console.log(
    `\nBulk: ${count(bulk.rowCount)} rows of quotes and extended_quotes, medians of ${bulk.rounds.length} rounds`,
  );
  line("limit: psql \\copy of prepared text", rowsPerSecond.limit);
  line(`our loader, ${bulk.batchCount} batches`, rowsPerSecond.ours, shareOfLimit.ours);
  line("the same, and the bars of these rows", rowsPerSecond.withBars, shareOfLimit.withBars);
  line("our loader, every row there already", rowsPerSecond.replayed, shareOfLimit.replayed);
  for (const [name, times] of Object.entries(bulk.statements)) {
    console.log(
      `\nThe server's time, ${name === "ours" ? "new rows" : "rows that are there"}, of one round:`,
    );
    for (const [kind, took] of Object.entries(times).sort(([, a], [, b]) => b - a))
      console.log(`  ${kind.padEnd(44)}${ms(took)}`);
  }
  console.log(
    `\nLive: answers of ${live.quoteCount} quotes, ${live.answerCount} of them one by one   median      p95`,
  );
  const rows = [
    ["two COPYs and a commit by hand", "byHand"],
    ["parse, from bytes to rows", "parse"],
    ["commit, from rows in memory", "commit"],
    [WAYS.fromJournal, "fromJournal"],
  ] as const;
  for (const [name, of] of rows) {
    const beside =
      of === "commit" || of === "fromJournal" ? `   ${live.timesByHand[of].toFixed(2)} times` : "";
    console.log(`  ${name.padEnd(44)}${ms(live.medianMs[of])}${ms(live.p95Ms[of])}${beside}`);
  }
  const { json, parse } = live.medianMs;
  if (json !== null)
    console.log(
      `  JSON.parse of the same bytes${ms(json).padStart(25)}   ${(parse / json).toFixed(2)} times`,
    );
  const { processors, loadAverage } = machine;
  console.log(
    `\n${processors} processors, load ${loadAverage.toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "\nAll bounds hold." : `\n${misses.join("; ")}.`);
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
