/** What a long load remembers of the directory of instruments, so as not to ask again. */
import type { InstrumentRow } from "../../read/rowTypes.ts";

/** Most numbers that are remembered: some 20 MB. */
const MOST_KNOWN = 100_000;

/** An instrument that was found: a text for its identity, and how it was asked for. */
type FoundInstrument = { identity: string; row: InstrumentRow; id: number };

export function isDescribedAlike(a: InstrumentRow, b: InstrumentRow): boolean {
  return (
    a === b ||
    (a.exchange === b.exchange &&
      a.description === b.description &&
      a.contractSize === b.contractSize &&
      a.underlying === b.underlying &&
      a.assumedType === b.assumedType &&
      a.writtenStrike === b.writtenStrike)
  );
}

/** Numbers that were found before, by the instruments' identities, and how the archive describes them. */
export class KnownInstruments {
  readonly #described = new Map<number, InstrumentRow>();
  readonly #sure = new Map<string, number>();
  /** Instruments whose type was only assumed: right until one is added, which may be the one that was meant. */
  readonly #assumed = new Map<string, number>();

  /** Forgets all, because the transaction that found it was undone. */
  clear(): void {
    this.#sure.clear();
    this.#assumed.clear();
    this.#described.clear();
  }

  /** Whether the archive says this of an instrument already. */
  isDescribed(id: number, row: InstrumentRow): boolean {
    const known = this.#described.get(id);
    return known !== undefined && isDescribedAlike(known, row);
  }

  describe(id: number, row: InstrumentRow): void {
    this.#described.set(id, row);
  }

  get(identity: string, { assumedType }: InstrumentRow): number | undefined {
    return this.#sure.get(identity) ?? (assumedType ? this.#assumed.get(identity) : undefined);
  }

  /** Remembers what was found. @param added whether some of it had to be added */
  take(found: readonly FoundInstrument[], added: boolean): void {
    if (this.#sure.size + this.#assumed.size + found.length > MOST_KNOWN) this.clear();
    if (added) this.#assumed.clear();
    for (const { identity, row, id } of found)
      (row.assumedType ? this.#assumed : this.#sure).set(identity, id);
  }
}
