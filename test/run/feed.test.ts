import { expect, test } from "@jest/globals";
import { createObserver } from "../../src/clock.ts";
import { openFeed } from "../../src/run/feed.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { createTestClock } from "../support/clock.ts";
import { symbolsCall } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";

test("the simulated service keeps its own time when the machine's clock is set back, and answers as soon as calls are signed by it", async () => {
  const clock = createTestClock("2026-11-20T15:00:00Z");
  const dataDir = tempDir();
  const account = { name: "default", ...loadConfig({}, dataDir) };
  const feed = await openFeed(account, { dataDir, clock, observe: createObserver(clock) });
  const ask = async (): Promise<number> => (await feed.fetchQuotes(symbolsCall("AAPL"))).status;
  try {
    const before = await ask();
    clock.advance(60_000);
    clock.setTo("2026-11-20T14:01:00Z");
    const refused = await ask();
    const signedByIts = await ask();
    clock.advance(60_000);
    const later = await ask();
    clock.setTo("2026-11-20T15:05:00Z");
    const [refusedAgain, setRight] = [await ask(), await ask()];

    expect([before, refused, signedByIts, later, refusedAgain, setRight]).toEqual([
      200, 401, 200, 200, 401, 200,
    ]);
    expect(feed.clockCorrectionMs()).toBe(0);
  } finally {
    await feed.close();
  }
});
