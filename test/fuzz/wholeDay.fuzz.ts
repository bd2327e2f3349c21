/** A whole day of the whole collector, in virtual time. */
import { test } from "@jest/globals";
import { fullDemand } from "../collect/fullDemand.ts";

test("for 24 hours a 60-call budget is used whole, never exceeded, and every slot adds up", () =>
  fullDemand({ start: "2026-11-20T00:00:00Z", hours: 24 }));
