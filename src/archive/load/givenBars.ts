/**
 * Gives the database the bars of what is loaded. Five minutes are kept when they are over, and until then this
 * load remembers their parts, so that nobody reads the rows again. Whether what it remembers is still all there is, it knows
 * from the transaction that wrote the session bar last: when that is none of its own, the rows are read.
 */
import type pg from "pg";
import type { Numbers } from "../../read/copyLines.ts";
import { BEGIN_STORING } from "../connect/transaction.ts";
import type { BarPart, PartFields, SeriesBars } from "./barParts.ts";

/** Series that are remembered; beyond it all are forgotten, and the rows are read. */
const MAX_SERIES = 100_000;

/** So many parts a load that is in no hurry lets come together before it keeps the bars of them. */
const MANY_PARTS = 6_000;

/** What opens a transaction that will give the bars of its rows. */
export const BEGIN_WITH_BARS = `${BEGIN_STORING}; set local quotekeeper.bars_given = 'on'`;

/** What such a transaction says when it will not after all. */
export const BARS_FROM_ROWS = "set local quotekeeper.bars_given = 'off'";

/** What stands in place of a transaction on Citus, where bars are always kept from the rows: what is remembered says when. */
const ROWS_TELL = "rows";

/** Parts of the bars of a series since the last one that was kept. */
type Remembered = {
  /** `1,2`: instrument and source. */
  series: string;
  parts: readonly BarPart[];
  /** The transactions that wrote its session bar: one that brought rows, and one that kept bars behind it. */
  writtenBy: readonly string[];
};

/** What was given since bars were kept last. */
type Waiting = {
  names: Set<string>;
  parts: number;
  areSomeOver: boolean;
  written: Omit<Written, "before">[];
};

function nothingWaits(): Waiting {
  return { names: new Set(), parts: 0, areSomeOver: false, written: [] };
}

/** The bars that one load gives. */
export class GivenBars {
  readonly #remembered = new Map<string, Remembered>();
  #waiting = nothingWaits();
  /** Whether the next keeping is of all series: a load before this one may have been killed before it kept its bars. */
  #isOfAll = true;

  /**
   * Gives the bars of rows that were copied in this transaction, which began with `BEGIN_WITH_BARS`.
   *
   * @param bars of each series, in its place
   * @returns remembers them, to be called when the transaction is committed
   */
  async give(
    client: pg.ClientBase,
    bars: readonly SeriesBars[],
    numbers: readonly Numbers[],
  ): Promise<() => void> {
    const series = numbers.map(({ instrumentId, sourceId }) => `${instrumentId},${sourceId}`);
    const {
      rows: [written],
    } = await client.query<Written>({
      name: "add_bar_parts",
      text: `select min(first_at)::date - 1 as "fromDate", max(last_at)::date as "toDate", pg_current_xact_id()::xid::text as by,
          array(
            select instrument_id || ',' || source_id || ',' || delayed || ',' || coalesce(written_by, '')
            from add_bar_parts($1)
          ) as before
        from unnest($1::bar_part[])`,
      values: [arrayOf(bars.map(({ days }, place) => rowsOf(series[place], days)))],
    });
    return () => {
      if (written) this.#remember(bars, series, written);
    };
  }

  /** Whether bars that are over wait; `many`: so many that a load in no hurry keeps them. */
  areWaiting(many: boolean): boolean {
    return this.#waiting.areSomeOver && (!many || this.#waiting.parts >= MANY_PARTS);
  }

  /** Keeps the bars that are over. */
  async keep(pool: pg.Pool): Promise<void> {
    const { names, written } = this.#waiting;
    const known = [...names].flatMap((name) => this.#remembered.get(name) ?? []);
    const isOfAll = this.#isOfAll;
    [this.#waiting, this.#isOfAll] = [nothingWaits(), false];
    const { rows: kept } = await pool.query<{ by: string }>({
      name: "keep_ended_bars",
      text: `select pg_current_xact_id()::xid::text as by, keep_ended_bars(min(from_date), max(to_date), $3, $4, $5)
        from unnest($1::date[], $2::date[]) as d (from_date, to_date)`,
      values: [
        written.map(({ fromDate }) => fromDate),
        written.map(({ toDate }) => toDate),
        arrayOf(
          known.map((one) =>
            rowsOf(
              one.series,
              one.parts.map(({ fields }) => fields),
            ),
          ),
        ),
        written.map(({ by }) => by),
        isOfAll,
      ],
    });
    for (const one of known) {
      const current = one.parts.at(-1)?.fiveMinutes;
      one.parts = one.parts.filter(({ fiveMinutes }) => fiveMinutes === current);
      one.writtenBy = [...one.writtenBy, ...kept.map(({ by }) => by)];
    }
  }

  #remember(
    bars: readonly SeriesBars[],
    series: readonly string[],
    { fromDate, toDate, by, before: writtenBefore }: Written,
  ): void {
    if (this.#remembered.size > MAX_SERIES) this.forget();
    const before = new Set(writtenBefore);
    const waiting = this.#waiting;
    waiting.written.push({ fromDate, toDate, by });
    bars.forEach(({ parts: given }, place) => {
      for (const delayed of [false, true]) {
        const fresh = given.filter((part) => part.delayed === delayed);
        if (fresh.length === 0) continue;
        const name = `${series[place]},${delayed}`;
        const known = this.#remembered.get(name);
        if (before.has(`${name},`)) {
          // There may be rows of others behind them.
          this.#remembered.delete(name);
          waiting.areSomeOver = true;
          continue;
        }
        const isWhole =
          known?.writtenBy.some(
            (one) => before.has(`${name},${one}`) || before.has(`${name},${ROWS_TELL}`),
          ) ?? false;
        const parts = isWhole ? [...(known?.parts ?? []), ...fresh] : fresh;
        this.#remembered.set(name, { series: series[place] ?? "", parts, writtenBy: [by] });
        waiting.names.add(name);
        waiting.parts += fresh.length;
        waiting.areSomeOver ||= !isWhole || parts[0]?.fiveMinutes !== fresh.at(-1)?.fiveMinutes;
      }
    });
  }

  /** For a transaction of which nobody knows whether it was committed: the bars of all that wait are kept from the rows. */
  forget(): void {
    this.#remembered.clear();
    this.#isOfAll = true;
  }
}

/** Parts of a series as the database takes them. */
function rowsOf(series: string | undefined, all: readonly PartFields[]): string {
  return all.map((fields) => `"(${series},${fields})"`).join();
}

function arrayOf(rows: readonly string[]): string {
  return `{${rows.filter((row) => row !== "").join()}}`;
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

/** Whether each series has numbers of its own: else their quotes are not in the order of their times. */
export function areApart(numbers: readonly Numbers[]): boolean {
  return (
    new Set(numbers.map(({ instrumentId, sourceId }) => `${instrumentId},${sourceId}`)).size ===
    numbers.length
  );
}
