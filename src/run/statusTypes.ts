/** What `status` reports. */
import type { z } from "zod";
import type { statusJson } from "./statusJson.ts";

export type StatusReport = z.infer<typeof statusJson>;

export type Line = StatusReport["lines"][number];

/** `ok`, or what a person has to see to, or nothing to say yet. */
export type LineState = Line["state"];

/** What it says of each account, and besides: of which market its newest answer is, and whether misses for `budget` go on. */
export type AccountStatus = StatusReport["accounts"][number] & {
  market: string | null;
  outOfBudget: boolean;
};
