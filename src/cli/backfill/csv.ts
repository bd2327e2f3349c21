/** `quotekeeper backfill --csv`: quotes from elsewhere. */
import type { Config } from "../../config/loadEnvironment.ts";
import type { Instant } from "../../instant.ts";
import type { Edges } from "../edges.ts";
import type { CommonRequest } from "./program.ts";

/** What was asked for. */
export type CsvRequest = CommonRequest & {
  file: string;
  map: string;
  /** The source's name in the archive; null: the map's, or else `csv`. */
  name: string | null;
  from: Instant | null;
  to: Instant | null;
};

export function backfillCsv(_config: Config, _edges: Edges, _request: CsvRequest): Promise<number> {
  throw new Error("to be written");
}
