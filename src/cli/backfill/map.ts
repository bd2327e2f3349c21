/** The map of `backfill --csv --map`: a SELECT that makes a plain table of a vendor's files. */
import { basename, extname, join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import type { TableRows } from "../../backfill/csv/readRows.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Edges } from "../../run/edges.ts";

type OpenMap = {
  file: string;
  sql: string;
  table: (files: readonly string[]) => { file: string; rows: AsyncIterable<TableRows> };
};

export async function openMap(_config: Config, _edges: Edges, _file: string): Promise<OpenMap> {
  throw new QuotekeeperError("USAGE", "not yet");
}
