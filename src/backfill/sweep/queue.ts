/** The calls that a sweep still makes: symbols in batches, a contract each, and those that are asked again. Pure. */
import type { BatchSize } from "../../collect/batchSize.ts";
import type { QuoteCall } from "../../quotes-api/request.ts";
import type { Wanted } from "./plan.ts";

/** A call and how often it was made in vain. */
export type Piece = {
  call: QuoteCall;
  failures: number;
  /** How many calls had been answered when it failed first; null: it never did. */
  answeredBefore: number | null;
  /** Not to be made before. */
  notBeforeMs: number;
  /** Why it failed last; null: never. */
  setback: Setback | null;
  /** Whether it was refused once because of the machine's clock. */
  clockTried: boolean;
};

/** How a call fails: no answer, a 5xx, a refusal of what it asks for, an answer that cannot be read. */
export type Setback = "transport" | "server_error" | "refused" | "malformed";

/** A call that was never made. */
export function freshPiece(call: QuoteCall): Piece {
  return {
    call,
    failures: 0,
    answeredBefore: null,
    notBeforeMs: -Infinity,
    setback: null,
    clockTried: false,
  };
}

export class SweepQueue {
  #symbols: string[] = [];
  #contracts: QuoteCall[] = [];
  #again: Piece[] = [];
  readonly #delayed: boolean;

  constructor(delayed: boolean) {
    this.#delayed = delayed;
  }

  /** Takes instruments in, each once. */
  add(wanted: readonly Wanted[]): void {
    for (const { call } of wanted) {
      if (call.form === "symbols") this.#symbols.push(...call.symbols);
      else this.#contracts.push(call);
    }
  }

  /** Takes a call back that is to be made again. */
  again(piece: Piece): void {
    this.#again.push(piece);
  }

  /** The next call to make; null when none is ready. */
  next(nowMs: number, { size }: BatchSize): Piece | null {
    const ready = this.#again.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs);
    if (ready >= 0) return this.#again.splice(ready, 1)[0] ?? null;
    if (this.#symbols.length > 0) {
      const symbols = this.#symbols.splice(0, size);
      return freshPiece({ form: "symbols", symbols, delayed: this.#delayed });
    }
    const contract = this.#contracts.shift();
    return contract ? freshPiece(contract) : null;
  }

  /** When the next call is ready: -Infinity when it is, Infinity when there is none. */
  get readyAtMs(): number {
    if (this.#symbols.length > 0 || this.#contracts.length > 0) return -Infinity;
    return Math.min(Infinity, ...this.#again.map(({ notBeforeMs }) => notBeforeMs));
  }

  /** Calls still to be made, as far as is known. */
  callsLeft({ size }: BatchSize): number {
    return this.#again.length + Math.ceil(this.#symbols.length / size) + this.#contracts.length;
  }

  /** The calls that are left, as they would be made. */
  calls({ size }: BatchSize): QuoteCall[] {
    const batches: QuoteCall[] = [];
    for (let first = 0; first < this.#symbols.length; first += size) {
      const symbols = this.#symbols.slice(first, first + size);
      batches.push({ form: "symbols", symbols, delayed: this.#delayed });
    }
    return [...this.#again.map(({ call }) => call), ...batches, ...this.#contracts];
  }

  /** Whether all that is left has failed at least so often. */
  allFailed(times: number): boolean {
    return (
      this.#symbols.length === 0 &&
      this.#contracts.length === 0 &&
      this.#again.every(({ failures }) => failures >= times)
    );
  }

  /** Takes the calls out that were made in vain. */
  giveUp(): Piece[] {
    return this.#again.splice(0);
  }
}
