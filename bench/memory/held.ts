/** What a process holds in memory, and where: by Linux, and by `watch.js` in it. */
import { existsSync, readFileSync } from "node:fs";

const KB = 1_024;
const MB = 1_024 * KB;

/** How often is looked, in ms. */
const LOOK_EVERY_MS = 1_000;

/** The settings that have a program tell of its heap. @param file it writes there */
export function watchedBy(file: string): Record<string, string> {
  const watch = new URL("watch.js", import.meta.url).href;
  return { NODE_OPTIONS: `--import ${watch}`, MEMORY_FILE: file };
}

/** Resident bytes: all, those of files, and the part of all that no other process shares. */
type Resident = { atMs: number; rss: number; files: number; pss: number };

type Heap = { atMs: number; threadId: number; external: number; held: Record<string, number>; used: number };

/** In MB. `places`: medians of where it lies. */
export type Held = {
  median: number;
  most: number;
  peak: number;
  pss: number;
  places: Record<string, number>;
};

/** Looks at a process until it is told to end. */
export class MemoryWatch {
  readonly #pid: number;
  readonly #file: string;
  readonly #seen: Resident[] = [];
  readonly #looking: NodeJS.Timeout;
  #peak = 0;

  /** @param file what `watchedBy` had */
  constructor(pid: number, file: string) {
    [this.#pid, this.#file] = [pid, file];
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  end(): void {
    clearInterval(this.#looking);
  }

  #look(): void {
    try {
      const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
      const pss = bytesIn(readFileSync(`/proc/${this.#pid}/smaps_rollup`, "utf8"), "Pss");
      const [rss, files] = [bytesIn(status, "VmRSS"), bytesIn(status, "RssFile")];
      this.#peak = bytesIn(status, "VmHWM");
      if (rss > 0) this.#seen.push({ atMs: Date.now(), rss, files, pss });
    } catch {
      // It has ended.
    }
  }

  /** What it held from some time on. @param warmUpMs this long since the first look counts for `peak` alone */
  held(warmUpMs: number): Held {
    const fromMs = (this.#seen[0]?.atMs ?? 0) + warmUpMs;
    const settled = this.#seen.filter(({ atMs }) => atMs >= fromMs);
    const rss = settled.map((one) => one.rss / MB);
    const heaps = this.#heaps().filter(({ atMs }) => atMs >= fromMs);
    return {
      median: median(rss),
      most: Math.max(...rss),
      peak: this.#peak / MB,
      pss: median(settled.map((one) => one.pss / MB)),
      places: placesOf(settled, heaps),
    };
  }

  #heaps(): Heap[] {
    if (!existsSync(this.#file)) return [];
    // The last line may be written at this moment.
    const lines = readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Heap);
  }
}

/** The medians of each place; what V8 does not count is the allocator's, with the buffers that V8 counts as external. */
function placesOf(resident: readonly Resident[], heaps: readonly Heap[]): Record<string, number> {
  const own = heaps.filter(({ threadId }) => threadId === 0);
  const ofSpace = (name: string): number => median(own.map(({ held }) => (held[name] ?? 0) / MB));
  const heap = median(own.map(({ held }) => Object.values(held).reduce((sum, bytes) => sum + bytes, 0) / MB));
  const anonymous = median(resident.map(({ rss, files }) => (rss - files) / MB));
  const external = median(own.map((one) => one.external / MB));
  return {
    "Node's own files": median(resident.map(({ files }) => files / MB)),
    "new objects": ofSpace("new_space") + ofSpace("new_large_object_space"),
    "old objects": ofSpace("old_space"),
    "large objects": ofSpace("large_object_space"),
    code: ofSpace("code_space") + ofSpace("code_large_object_space"),
    buffers: external,
    "the rest of the allocator": Math.max(0, anonymous - heap - external),
    "in use of the heap": median(own.map(({ used }) => used / MB)),
    "threads beside the main one": new Set(heaps.map(({ threadId }) => threadId)).size - 1,
  };
}

function bytesIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * KB;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** One place a line. */
export function placesSaid(places: Held["places"]): string[] {
  return Object.entries(places).map(
    ([place, value]) => `    ${place.padEnd(28)}${Number.isInteger(value) ? value : value.toFixed(1)}`,
  );
}
