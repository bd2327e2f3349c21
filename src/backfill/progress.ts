/** How far a backfill has come. */
export type BackfillProgress = {
  /** What is done at the moment, in words: `reading 20261120T14-...`. */
  doing: string;
  /** How much is done, and of how much; of the whole backfill, also what earlier runs did. */
  done: number;
  total: number;
  /** What `done` and `total` count. */
  unit: "bytes" | "files" | "rows" | "calls";
  /** Quotes read so far. */
  quotes: number;
  /** Time left, in ms, where something better is known than the rate so far: a budget of calls. */
  leftMs?: number;
};

/** Told often; whoever shows it decides how often. */
export type OnProgress = (progress: BackfillProgress) => void;
