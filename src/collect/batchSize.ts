/** How many symbols go into one call: learned from the service, which says 414 to a list that is too long. */
import type { Batch } from "../services/service.ts";
import { type PlannedCall, symbolCount } from "./callPlan.ts";

/** Full calls in a row that must succeed before the size grows by one. */
const CALLS_PER_STEP = 3;

type BatchSize = {
  readonly size: number;
  /** The longest list that was answered, 0 at first. */
  readonly worked: number;
  /** The shortest list that was refused, Infinity at first. */
  readonly tooLong: number;
  readonly successes: number;
  readonly batch: Batch;
};

export function firstBatchSize(batch: Batch): BatchSize {
  return { size: batch.first, worked: 0, tooLong: Infinity, successes: 0, batch };
}

/** A list of `length` symbols was refused with 414: half of it is tried from now on, or what has worked before. */
export function afterTooLong(before: BatchSize, length: number): BatchSize {
  const { batch } = before;
  const tooLong = Math.min(before.tooLong, length);
  const worked = before.worked < tooLong ? before.worked : 0;
  const size = Math.max(batch.least, Math.min(before.size, Math.max(worked, Math.ceil(length / 2))));
  return { size, worked, tooLong, successes: 0, batch };
}

/** A list of `length` symbols was answered: after a few full ones the size grows, but not to one that was refused. */
export function afterSuccess(before: BatchSize, length: number): BatchSize {
  const known = { ...before, worked: Math.max(before.worked, length) };
  if (length < before.size) return known;
  const successes = before.successes + 1;
  if (successes < CALLS_PER_STEP) return { ...known, successes };
  const { least, most } = before.batch;
  const size = Math.max(least, Math.min(before.size + 1, most, before.tooLong - 1));
  return { ...known, size, successes: 0 };
}

function forgiven(before: BatchSize): BatchSize {
  return { ...before, tooLong: Infinity };
}

/** Each kind of list by itself: those of contracts, where the service has them apart, and all others. */
export class BatchSizes {
  #contracts: BatchSize | null;
  #others: BatchSize;

  constructor(batch: Batch) {
    const { contracts } = batch;
    this.#contracts = contracts ? firstBatchSize({ ...batch, first: contracts, most: contracts }) : null;
    this.#others = firstBatchSize(batch);
  }

  get size(): number {
    return this.#others.size;
  }

  /** Undefined: contracts have no lists of their own. */
  get contractsOfAList(): number | undefined {
    return this.#contracts?.size;
  }

  learn(planned: PlannedCall, after: typeof afterSuccess): void {
    const isOfContracts = planned.call.form === "symbols" && planned.call.of !== undefined;
    const length = symbolCount(planned);
    if (isOfContracts && this.#contracts) this.#contracts = after(this.#contracts, length);
    else this.#others = after(this.#others, length);
  }

  forgive(): void {
    this.#contracts &&= forgiven(this.#contracts);
    this.#others = forgiven(this.#others);
  }
}
