export type BackfillProgress = {
  /** The work at the moment, in words: `reading 20261120T14-...`. */
  doing: string;
  /** How much of the whole backfill is done, earlier runs included. */
  done: number;
  total: number;
  /** What `done` and `total` count. */
  unit: "bytes" | "files" | "rows" | "instruments";
  quotes: number;
};

/** Called often; the display decides how often to show it. */
export type OnProgress = (progress: BackfillProgress) => void;
