/**
 * Gives the database the bars of what is loaded. Five minutes are kept when a quarter of an hour is over, and until then
 * this load remembers their parts, so that nobody reads the rows again. Whether what it remembers is still all there is, it
 * knows from the transaction that wrote the session bar last: when that is none of its own, the rows are read.
 */
import type pg from "pg";
import type { Numbers } from "../read/copyLines.ts";
import type { BarPart } from "./barParts.ts";

/** Series that are remembered; beyond it all are forgotten, and the rows are read. */
const MAX_SERIES = 100_000;

const QUARTER = 3;

/** What opens a transaction that will give the bars of its rows. */
export const BEGIN_WITH_BARS = "begin; set local quotekeeper.bars_given = 'on'";

/** What such a transaction says when it will not after all. */
export const BARS_FROM_ROWS = "set local quotekeeper.bars_given = 'off'";

/** Parts of the bars of a series since the last quarter of an hour. */
type Remembered = {
  parts: readonly BarPart[];
  /** The transactions that wrote its session bar: one that brought rows, and one that kept bars behind it. */
  writtenBy: readonly string[];
};

/** The bars that one load gives. */
export class GivenBars {
  readonly #remembered = new Map<string, Remembered>();

  /**
   * Gives the bars of rows that were copied in this transaction, which began with `BEGIN_WITH_BARS`.
   *
   * @param bars of each series, in its place
   * @returns what keeps the bars that are over, to be called when the transaction is committed
   */
  async give(
    client: pg.ClientBase,
    bars: readonly (readonly BarPart[])[],
    numbers: readonly Numbers[],
  ): Promise<(pool: pg.Pool) => Promise<void>> {
    const rows = (parts: readonly BarPart[], place: number): string[] => {
      const { instrumentId, sourceId } = numbers[place] ?? { instrumentId: 0, sourceId: 0 };
      return parts.map(({ fields }) => `"(${instrumentId},${sourceId},${fields})"`);
    };
    const {
      rows: [written = NOTHING_WRITTEN],
    } = await client.query<Written>({
      name: "add_bar_parts",
      text: `select min(first_at)::date - 1 as "fromDate", max(last_at)::date as "toDate", pg_current_xact_id()::xid::text as by,
          array(
            select instrument_id || ',' || source_id || ',' || delayed || ',' || coalesce(written_by, '')
            from add_bar_parts($1)
          ) as before
        from unnest($1::bar_part[])`,
      values: [`{${bars.flatMap(rows).join()}}`],
    });
    return async (pool) => {
      const { parts, names, areSomeOver } = this.#remember(bars, numbers, written);
      if (!areSomeOver) return;
      const { fromDate, toDate, by } = written;
      const { rows: kept } = await pool.query<{ by: string }>({
        name: "keep_ended_bars",
        text: "select pg_current_xact_id()::xid::text as by, keep_ended_bars($1, $2, $3, $4)",
        values: [fromDate, toDate, `{${parts.flatMap(rows).join()}}`, by],
      });
      for (const name of names) {
        const remembered = this.#remembered.get(name);
        if (remembered) remembered.writtenBy = [...remembered.writtenBy, ...kept.map((row) => row.by)];
      }
    };
  }

  /** @returns parts of each series in its place, those before among them; and whether any of them may be over */
  #remember(
    bars: readonly (readonly BarPart[])[],
    numbers: readonly Numbers[],
    { by, before }: Written,
  ): { parts: BarPart[][]; names: string[]; areSomeOver: boolean } {
    if (this.#remembered.size > MAX_SERIES) this.forget();
    const writtenBefore = new Set(before);
    const names: string[] = [];
    let areSomeOver = false;
    const all = bars.map((parts, place) =>
      [false, true].flatMap((delayed) => {
        const fresh = parts.filter((part) => part.delayed === delayed);
        if (fresh.length === 0) return [];
        const name = `${numbers[place]?.instrumentId},${numbers[place]?.sourceId},${delayed}`;
        const known = this.#remembered.get(name);
        if (writtenBefore.has(`${name},`)) {
          // There may be rows of others behind them.
          this.#remembered.delete(name);
          areSomeOver = true;
          return [];
        }
        const isWhole = known?.writtenBy.some((by) => writtenBefore.has(`${name},${by}`)) ?? false;
        const [older, quarter] = [isWhole ? (known?.parts ?? []) : [], quarterOf(fresh.at(-1))];
        const whole = [...older, ...fresh];
        const current = whole.filter((part) => quarterOf(part) === quarter);
        this.#remembered.set(name, { parts: current, writtenBy: [by] });
        names.push(name);
        areSomeOver ||= !isWhole || current.length < whole.length;
        return whole;
      }),
    );
    return { parts: all, names, areSomeOver };
  }

  /** For a transaction of which nobody knows whether it was committed. */
  forget(): void {
    this.#remembered.clear();
  }
}

/** What a transaction wrote. */
type Written = {
  /** Dates among which those of its rows are. */
  fromDate: string | null;
  toDate: string | null;
  /** Its number. */
  by: string;
  /** Those that had written the bars of its series before: `1,2,false,815`; `1,2,false,` has bars made from the rows. */
  before: string[];
};

const NOTHING_WRITTEN: Written = { fromDate: null, toDate: null, by: "", before: [] };

function quarterOf(part: BarPart | undefined): number {
  return part === undefined ? NaN : Math.floor(part.fiveMinutes / QUARTER);
}

/** Whether each series has numbers of its own: else their quotes are not in the order of their times. */
export function areApart(numbers: readonly Numbers[]): boolean {
  return (
    new Set(numbers.map(({ instrumentId, sourceId }) => `${instrumentId},${sourceId}`)).size ===
    numbers.length
  );
}
