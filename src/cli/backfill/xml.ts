/** `quotekeeper backfill --xml`: saved answers of the service. */
import type { Config } from "../../config/loadEnvironment.ts";
import type { Instant } from "../../instant.ts";
import type { Edges } from "../edges.ts";
import type { CommonRequest } from "./program.ts";

/** What was asked for. */
export type XmlRequest = CommonRequest & {
  /** Files and directories, as given. */
  paths: string[];
  timePattern: string | null;
  /** The source's name in the archive; null: `xml`. */
  name: string | null;
  delayed: boolean;
  from: Instant | null;
  to: Instant | null;
};

export function backfillXml(_config: Config, _edges: Edges, _request: XmlRequest): Promise<number> {
  throw new Error("to be written");
}
