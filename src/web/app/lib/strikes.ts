/** A chain's rows, its money, and the stops of its time slider. Pure. */
import type { ChainView, Contract } from "../../../archive/ask/dashboardTypes.ts";
import { MINUTE_MS } from "./format.ts";

export type StrikeRow = { strike: string; call: Contract | null; put: Contract | null };

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

/** The strike nearest to the underlying's price; null without one. */
export function atTheMoney(rows: readonly StrikeRow[], underlyingLast: string | null): string | null {
  if (underlyingLast === null) return null;
  const price = Number(underlyingLast);
  const away = ({ strike }: StrikeRow): number => Math.abs(Number(strike) - price);
  return (
    rows.reduce<StrikeRow | null>((best, row) => (best && away(best) <= away(row) ? best : row), null)
      ?.strike ?? null
  );
}

/** How many stops the slider has: a minute each, closed hours left out. */
export function stopCount(spans: ChainView["spans"]): number {
  return spans.reduce((sum, each) => sum + minutesOf(each), 0);
}

/** The instant of a stop, ISO 8601; null for the last one, which is the newest. */
export function instantOfStop(spans: ChainView["spans"], stop: number): string | null {
  let before = 0;
  for (const each of spans) {
    const minutes = minutesOf(each);
    if (stop < before + minutes) {
      if (stop === stopCount(spans) - 1) return null;
      const at = Date.parse(each.from) + (stop - before + 1) * MINUTE_MS;
      return new Date(Math.min(at, Date.parse(each.to) + 1)).toISOString();
    }
    before += minutes;
  }
  return null;
}

function minutesOf({ from, to }: ChainView["spans"][number]): number {
  return Math.max(1, Math.ceil((Date.parse(to) - Date.parse(from)) / MINUTE_MS));
}

/** Where the slider stands at an instant: the stop whose chain is the newest that was observed by then. */
export function stopOfInstant(spans: ChainView["spans"], at: string): number {
  const ms = Date.parse(at);
  let before = 0;
  let stop = 0;
  for (const each of spans) {
    const from = Date.parse(each.from);
    if (ms < from) break;
    const minutes = minutesOf(each);
    stop = before + Math.min(minutes - 1, Math.max(0, Math.ceil((ms - from) / MINUTE_MS) - 1));
    before += minutes;
  }
  return stop;
}

/** Which contracts are shown. `within`: how far the underlying may be from the strike, percent; null: any, with any moneyness. */
export type ContractFilter = { within: number | null; volume: number };

/** Whether a contract is shown; one whose moneyness or volume is not known has neither. */
export function passes({ moneyness, volume }: Contract, filter: ContractFilter): boolean {
  const near =
    filter.within === null || (moneyness !== null && 100 * Math.abs(moneyness - 1) <= filter.within + 1e-9);
  return near && (filter.volume === 0 || Number(volume ?? 0) >= filter.volume);
}
