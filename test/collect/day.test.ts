/** The whole collector in virtual time, where a day turns into the next; all of a day is in `npm run test:fuzz`. */
import { test } from "@jest/globals";
import { fullDemand } from "./fullDemand.ts";

// Midnight in New York, where a contract's day ends, is 05:00 UTC.
test("over midnight a 60-call budget is used whole, never exceeded, and every slot adds up", () =>
  fullDemand({ start: "2026-11-20T04:00:00Z", hours: 2 }));
