/** The instruments that calls ask for, remembered from answer to answer. */
import type { InstrumentKey } from "../market/instrument.ts";
import { keyText } from "../quotes/keyText.ts";
import { askedInstruments, keyOfSymbol, type QuoteCall, type SavedCall } from "../quotes/call.ts";

/** An instrument that may be asked for, and in which answers it was last asked for, answered and brought along. */
export type Name = { askedIn: number; place: number; mainIn: number; underlyingIn: number };

export class AskedNames {
  /** The number of the answer under way. */
  answer = 0;
  readonly #byKey = new Map<string, Name>();
  readonly #bySymbol = new Map<string, Name | null>();

  get size(): number {
    return this.#byKey.size + this.#bySymbol.size;
  }

  clear(): void {
    this.#byKey.clear();
    this.#bySymbol.clear();
  }

  /** Begins an answer. */
  open(): void {
    this.answer += 1;
  }

  /** Notes what was asked for. @returns how many instruments, null when nobody knows, undefined when it is not plain */
  ask(call: QuoteCall | SavedCall): number | null | undefined {
    if (call.form === "watchlist" || call.form === "saved") return null;
    if (call.form !== "symbols" && call.form !== "option") return undefined;
    const names =
      call.form === "symbols"
        ? call.symbols.map((symbol) => this.#ofSymbol(symbol))
        : askedInstruments(call)?.map((key) => this.#unlessRooted(key));
    let place = 0;
    for (const name of names ?? []) {
      // Answers need not say roots: `matchAnswer` then tells which contract is meant.
      if (name === null || name.askedIn === this.answer) return undefined;
      name.askedIn = this.answer;
      name.place = place++;
    }
    return place;
  }

  of(key: InstrumentKey): Name {
    return same(this.#byKey, keyText(key), { askedIn: 0, place: 0, mainIn: 0, underlyingIn: 0 });
  }

  #ofSymbol(symbol: string): Name | null {
    const known = this.#bySymbol.get(symbol);
    if (known !== undefined) return known;
    const name = this.#unlessRooted(keyOfSymbol(symbol));
    this.#bySymbol.set(symbol, name);
    return name;
  }

  /** Null: of a contract with a root. */
  #unlessRooted(key: InstrumentKey): Name | null {
    return key.kind === "option" && key.root !== undefined ? null : this.of(key);
  }
}

/** The value that was kept by this text first. */
export function same<Value>(kept: Map<string, Value>, text: string, value: Value): Value {
  const known = kept.get(text);
  if (known !== undefined) return known;
  kept.set(text, value);
  return value;
}

/** Rows in the order of what was asked for. @param places of the rows there */
export function inOrder<Row>(rows: readonly Row[], places: readonly number[]): Row[] {
  return rows
    .map((row, at) => ({ row, place: places[at] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ row }) => row);
}
