/**
 * Keeps V8's heap near what lives in it. By default V8 trades memory for time as suits a process that has the machine for itself. Flags
 * hold for the whole process, and V8 reads these when it decides; they ask for no other start of Node.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** How far the heap of a command that lasts may grow, see `collectAfterGrowthOf`. What the flags cost: bench/memory/RESULTS.md. */
const GROWTH_PERCENT = 40;

/** The same of a small heap, which is collected quickly. */
const SMALL_GROWTH_PERCENT = 15;

/** Below it a heap is small, bytes: the example jobs keep 33 MB alive, 5,000 symbols 44 to 73. */
const SMALL_HEAP_BYTES = 40e6;

/** How often a heap is measured, ms; a start is through by then, and needs no collections. */
const MEASURE_EVERY_MS = 60_000;

/** What says when a heap is measured, and how many bytes of it are in use. */
type HeapOptions = { every: (measure: () => void, ms: number) => void; usedBytes: () => number };

const MEASURING: HeapOptions = {
  every: (measure, ms) => setInterval(measure, ms).unref(),
  usedBytes: () => getHeapStatistics().used_heap_size,
};

/** For a command that runs for months beside other programs; called before it loads much. */
export function keepHeapSmall({ every, usedBytes }: HeapOptions = MEASURING): void {
  keepNewSpace();
  keepCodeSmall();
  collectAfterGrowthOf(GROWTH_PERCENT);
  every(() => {
    const isSmall = usedBytes() < SMALL_HEAP_BYTES;
    // Without this flag V8 lets any heap grow by 8 MB.
    setFlagsFromString(isSmall ? "--optimize-for-size" : "--no-optimize-for-size");
    collectAfterGrowthOf(isSmall ? SMALL_GROWTH_PERCENT : GROWTH_PERCENT);
  }, MEASURE_EVERY_MS);
}

/** The compiler takes megabytes for one long function with all that it calls; at the pace of a poller their optimized code gains nothing. */
function keepCodeSmall(): void {
  setFlagsFromString("--max-optimized-bytecode-size=1000");
  setFlagsFromString("--max-inlined-bytecode-size-cumulative=150");
}

/** Has V8 collect garbage when the heap has grown by so much since the last full collection, in percent of what that one left. */
export function collectAfterGrowthOf(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * Keeps the two halves of the space for new objects at the size that they have now: at the beginning of a command 1 or 2 MB each, where
 * V8 lets them grow to 16. V8 allows growth again for all threads when a thread begins, so whoever starts one calls this again.
 */
export function keepNewSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  // One megabyte is collected before several threads have agreed on their parts of it.
  setFlagsFromString("--no-parallel-scavenge");
}
