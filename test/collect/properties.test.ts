/** What holds of the collector whatever it is answered; tried much more often in `npm run test:fuzz`. */
import { test } from "@jest/globals";
import { runs } from "../support/runs.ts";
import { tryServices } from "./anyAnswers.ts";

test("whatever is answered, due = stored + missed at every slot of every job, and no window holds more than the limit", () =>
  tryServices(runs(5)));
