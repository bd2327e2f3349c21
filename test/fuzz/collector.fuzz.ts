/** What holds of the collector whatever it is answered. */
import { test } from "@jest/globals";
import { tryServices } from "../collect/anyAnswers.ts";

test("whatever is answered, due = stored + missed at every slot of every job, and no window holds more than the limit", () =>
  tryServices(500));
