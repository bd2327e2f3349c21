/** How many symbols go into one call: learned from the service, which says 414 to a list that is too long. */

/** Symbols in one call to begin with (design, section 5). */
export const FIRST_BATCH_SIZE = 100;

/** The longest list reported to work (field notes, "Requests"). */
const MAX_BATCH_SIZE = 325;

/** Assumed: a list this short is never too long; a service that says so has another fault, and halving stops. */
export const MIN_BATCH_SIZE = 8;

/** Full calls in a row that must succeed before the size grows by one. */
const CALLS_PER_STEP = 3;

export type BatchSize = {
  readonly size: number;
  /** The longest list that was answered, 0 at first. */
  readonly worked: number;
  /** The shortest list that was refused, Infinity at first. */
  readonly tooLong: number;
  readonly successes: number;
};

export const firstBatchSize: BatchSize = {
  size: FIRST_BATCH_SIZE,
  worked: 0,
  tooLong: Infinity,
  successes: 0,
};

/** A list of `length` symbols was refused with 414: half of it is tried from now on, or what has worked before. */
export function afterTooLong(batch: BatchSize, length: number): BatchSize {
  const tooLong = Math.min(batch.tooLong, length);
  const worked = batch.worked < tooLong ? batch.worked : 0;
  const size = Math.max(MIN_BATCH_SIZE, Math.min(batch.size, Math.max(worked, Math.ceil(length / 2))));
  return { size, worked, tooLong, successes: 0 };
}

/** A list of `length` symbols was answered: after a few full ones the size grows, but not to one that was refused. */
export function afterSuccess(batch: BatchSize, length: number): BatchSize {
  const known = { ...batch, worked: Math.max(batch.worked, length) };
  if (length < batch.size) return known;
  const successes = batch.successes + 1;
  if (successes < CALLS_PER_STEP) return { ...known, successes };
  const size = Math.max(MIN_BATCH_SIZE, Math.min(batch.size + 1, MAX_BATCH_SIZE, batch.tooLong - 1));
  return { ...known, size, successes: 0 };
}

/** A new day: the service may take longer lists than yesterday. */
export function forgiven(batch: BatchSize): BatchSize {
  return { ...batch, tooLong: Infinity };
}
