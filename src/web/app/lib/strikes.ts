/** A chain's rows, its money, and the stops of its time slider. Pure. */
import type { ChainView, Contract } from "../../../archive/ask/dashboardTypes.ts";
import { MINUTE_MS } from "./format.ts";

export type StrikeRow = { strike: string; call: Contract | null; put: Contract | null };

/** Strikes that are shown below the money, and above it. */
const EACH_SIDE = 12;

/** Calls and puts side by side, ascending by strike. */
export function strikeRows(contracts: readonly Contract[]): StrikeRow[] {
  const rows = new Map<string, StrikeRow>();
  for (const contract of contracts) {
    const row = rows.get(contract.strike) ?? { strike: contract.strike, call: null, put: null };
    rows.set(contract.strike, row);
    if (contract.optionType === "CALL") row.call = contract;
    else row.put = contract;
  }
  return [...rows.values()].sort((a, b) => Number(a.strike) - Number(b.strike));
}

export function contractsOf(rows: readonly StrikeRow[]): Contract[] {
  return rows.flatMap(({ call, put }) => [call, put]).filter((each) => each !== null);
}

/** The strike nearest to the underlying's price; null without one. */
export function atTheMoney(rows: readonly StrikeRow[], underlyingLast: string | null): string | null {
  if (underlyingLast === null) return null;
  const away = ({ strike }: StrikeRow): number => Math.abs(Number(strike) - Number(underlyingLast));
  return [...rows].sort((a, b) => away(a) - away(b))[0]?.strike ?? null;
}

/** The strikes around the money. Where the money is not known, all. */
export function nearTheMoney(rows: readonly StrikeRow[], money: string | null): readonly StrikeRow[] {
  const at = rows.findIndex(({ strike }) => strike === money);
  return at < 0 ? rows : rows.slice(Math.max(0, at - EACH_SIDE), at + EACH_SIDE + 1);
}

/** The slider's stops, epoch ms: a minute each, closed hours left out. The last one is the newest. */
export function stopsOf(spans: ChainView["spans"]): number[] {
  return spans.flatMap(({ from, to }) => {
    const [first, last] = [Date.parse(from), Date.parse(to)];
    const minutes = Math.max(1, Math.ceil((last - first) / MINUTE_MS));
    // A span's last stop is just behind what was observed last, whose time has microseconds.
    return Array.from({ length: minutes }, (_, stop) => Math.min(first + (stop + 1) * MINUTE_MS, last + 1));
  });
}

/** Where the slider stands at an instant: the last stop by then. */
export function stopAt(stops: readonly number[], atMs: number): number {
  return Math.max(
    0,
    stops.findLastIndex((stop) => stop <= atMs),
  );
}
