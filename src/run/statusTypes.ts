/** What `status` reports. */
import type { z } from "zod";
import type { statusJson } from "./statusJson.ts";

/** The whole report, as `--json` prints it. */
export type StatusReport = z.infer<typeof statusJson>;

/** One line of it. */
export type Line = StatusReport["lines"][number];

/** `ok`, or what a person has to see to, or nothing to say yet. */
export type LineState = Line["state"];
