/** `quotekeeper backfill --symbols-file|--chain`: every instrument polled once, within the budget. */
import type { Config } from "../../config/loadEnvironment.ts";
import type { Edges } from "../edges.ts";
import type { CommonRequest } from "./program.ts";

/** What was asked for. */
export type SweepRequest = CommonRequest & {
  symbolsFile: string | null;
  chains: string[];
  delayed: boolean;
  /** Begin anew although an earlier sweep of the same was not finished. */
  restart: boolean;
};

export function backfillSweep(_config: Config, _edges: Edges, _request: SweepRequest): Promise<number> {
  throw new Error("to be written");
}
