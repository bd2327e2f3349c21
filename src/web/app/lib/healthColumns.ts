/** The figures of Health as columns of its pictures. Pure. */
import type { HealthView } from "../../../archive/ask/healthTypes.ts";
import { counted, thousands } from "../../../figures.ts";
import { exchangeDateOf, exchangeMoment, late } from "./format.ts";
import { reasonOf } from "./reasons.ts";

/** One column; parts without a value are left out. */
export type Column = {
  at: string;
  parts: { tone: string; value: number }[];
  title: string;
};

/** Outcomes of answers in words, in the order in which their columns stand. */
const OUTCOMES: Readonly<Record<string, string>> = {
  quotes: "with quotes",
  quota_fault: "refused for the limit",
  unauthorized: "not authorized",
  too_long: "list too long",
  refused: "refused",
  server_error: "the service's fault",
  malformed: "malformed",
};

type Tones = { tone: string; name: string; text: string }[];

type Part = { at: string; tone: string; value: number };

export function callColumns({ calls, step }: HealthView): { columns: Column[]; tones: Tones } {
  const parts = calls.map(({ at, outcome, calls: value }) => ({ at, tone: outcome, value }));
  return stacked(parts, {
    order: Object.keys(OUTCOMES),
    nameOf: (outcome) => OUTCOMES[outcome] ?? outcome,
    step,
  });
}

/**
 * Misses by reason. Those of unknown symbols are told and not drawn: they come at each slot until somebody corrects a job
 * file, and nothing else would be seen beside them.
 */
export function missColumns({ misses, step }: HealthView): {
  columns: Column[];
  tones: Tones;
  undrawn: number;
} {
  const parts = misses.map(({ at, reason, missed }) => ({ at, tone: reason, value: missed }));
  const { columns, tones } = stacked(parts, { order: [], nameOf: (reason) => reasonOf(reason).title, step });
  const isDrawn = ({ tone }: { tone: string }): boolean => tone !== "unknown_symbol";
  return {
    columns: columns.map((column) => ({ ...column, parts: column.parts.filter(isDrawn) })),
    tones,
    undrawn: parts.reduce((sum, part) => (isDrawn(part) ? sum : sum + part.value), 0),
  };
}

/** The most of each column first: the slowest twentieth stands on the median. */
export function lateColumns({ lateness, step }: HealthView): Column[] {
  return lateness.map(({ at, medianMs, p95Ms, mostMs, slots, of }) => ({
    at,
    parts: [
      { tone: "median", value: medianMs },
      { tone: "p95", value: p95Ms - medianMs },
    ],
    title: `${columnName(at, step)}: half within ${late(medianMs)}, 95 % within ${late(p95Ms)}, the last ${late(mostMs)} after its slot; measured at ${thousands(slots)} of ${counted(of, "slot")}`,
  }));
}

function stacked(
  parts: readonly Part[],
  how: { order: readonly string[]; nameOf: (tone: string) => string; step: HealthView["step"] },
): { columns: Column[]; tones: Tones } {
  const sums = new Map<string, number>();
  const byTime = new Map<string, Part[]>();
  for (const part of parts) {
    sums.set(part.tone, (sums.get(part.tone) ?? 0) + part.value);
    byTime.set(part.at, [...(byTime.get(part.at) ?? []), part]);
  }
  const place = (tone: string): number => (how.order.includes(tone) ? how.order.indexOf(tone) : 99);
  const order = [...sums].sort(([a, n], [b, m]) => place(a) - place(b) || m - n).map(([tone]) => tone);
  const columns = [...byTime]
    .sort(([a], [b]) => Date.parse(a) - Date.parse(b))
    .map(([at, of]) => {
      const sorted = of.toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
      const text = sorted.map(({ tone, value }) => `${thousands(value)} ${how.nameOf(tone)}`).join(", ");
      return { at, parts: sorted, title: `${columnName(at, how.step)}: ${text}` };
    });
  const tones = order.map((tone) => ({ tone, name: how.nameOf(tone), text: thousands(sums.get(tone) ?? 0) }));
  return { columns, tones };
}

/** What a column is called: its day, or its day and time. */
export function columnName(at: string, step: HealthView["step"]): string {
  if (step === "day") return exchangeDateOf(Date.parse(at));
  return exchangeMoment(at);
}
