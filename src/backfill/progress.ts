export type BackfillProgress = {
  /** The work at the moment, in words: `reading 20261120T14-...`. */
  doing: string;
  /** How much of the whole backfill is done, earlier runs included. */
  done: number;
  total: number;
  /** What `done` and `total` count. */
  unit: "bytes" | "files" | "rows" | "calls";
  quotes: number;
  /** Time left, in ms, if a budget of calls says it better than the rate so far. */
  leftMs?: number;
};

/** Called often; the display decides how often to show it. */
export type OnProgress = (progress: BackfillProgress) => void;
