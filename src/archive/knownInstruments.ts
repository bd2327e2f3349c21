/** What a long load remembers of the directory of instruments, so as not to ask again. */
import type { InstrumentRow } from "../read/rowTypes.ts";

/** Most numbers that are remembered: some 20 MB. */
const MOST_KNOWN = 100_000;

/** An instrument that was found: a text for its identity, and how it was asked for. */
type FoundInstrument = { identity: string; row: InstrumentRow; id: number };

/** Numbers that were found before, by the instruments' identities. */
export class KnownInstruments {
  readonly #sure = new Map<string, number>();
  /** Of those whose type was only assumed: true until an instrument is added, which may be the one that was meant. */
  readonly #assumed = new Map<string, number>();

  /** Forgets all: the transaction that found them was undone. */
  clear(): void {
    this.#sure.clear();
    this.#assumed.clear();
  }

  /** The number of an instrument; undefined when it is not known. */
  get(identity: string, { assumedType }: InstrumentRow): number | undefined {
    return this.#sure.get(identity) ?? (assumedType ? this.#assumed.get(identity) : undefined);
  }

  /** Takes up what was found, and whether some of it had to be added. */
  take(found: readonly FoundInstrument[], added: boolean): void {
    if (this.#sure.size + this.#assumed.size + found.length > MOST_KNOWN) this.clear();
    if (added) this.#assumed.clear();
    for (const { identity, row, id } of found)
      (row.assumedType ? this.#assumed : this.#sure).set(identity, id);
  }
}
