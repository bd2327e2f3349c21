import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createObserver } from "../../src/ground/clock.ts";
import { openFeed } from "../../src/collector/feed.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { credentialsOf } from "../support/accounts.ts";
import { createTestClock } from "../support/clock.ts";
import { symbolsCall } from "../support/journal.ts";
import { startSimulatedService } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

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

test("of two accounts whose services tell different times, each signs by its own service's", async () => {
  const clock = createTestClock("2026-11-20T15:00:00Z");
  const ahead = createTestClock("2026-11-20T16:00:00Z");
  const observe = createObserver(clock);
  const names = ["main", "second"];
  const feeds = await Promise.all(
    [clock, ahead].map(async (time, place) => {
      const name = names[place] ?? "";
      const { baseUrl } = await startSimulatedService(time, { keys: [credentialsOf(name)] });
      const feed = { kind: "account" as const, baseUrl, credentials: credentialsOf(name) };
      const account = { name, feed, limit: 60, limitGiven: true, limitWindowMs: 60_000, service: REFERENCE };
      return openFeed(account, { dataDir: tempDir(), clock, observe });
    }),
  );
  try {
    const asked: number[][] = [];
    for (const { fetchQuotes } of feeds) {
      const ask = async (): Promise<number> => (await fetchQuotes(symbolsCall("AAPL"))).status;
      asked.push([await ask(), await ask()]);
    }

    expect(asked).toEqual([
      [200, 200],
      [401, 200],
    ]);
    // To the middle of the second that the service named.
    expect(feeds.map((feed) => feed.clockCorrectionMs())).toEqual([0, 3_600_500]);
  } finally {
    for (const feed of feeds) await feed.close();
  }
});

test("a refusal counts for the market that answered last, and the next start at the same address alone knows that market", async () => {
  const clock = createTestClock();
  const dataDir = tempDir();
  const open = (baseUrl: string) => {
    const feed = { kind: "account" as const, baseUrl, credentials: credentialsOf("main") };
    const account = {
      name: "main",
      feed,
      limit: 60,
      limitGiven: true,
      limitWindowMs: 60_000,
      service: REFERENCE,
    };
    return openFeed(account, { dataDir, clock, observe: createObserver(clock) });
  };
  const [here, elsewhere] = ["https://here.example", "https://elsewhere.example"];
  const first = await open(here);
  const before = first.sourceOf({ status: 503, headers: {}, request: symbolsCall("AAPL") });
  first.sourceOf({
    status: 200,
    headers: { "x-quotekeeper-source": "simulated" },
    request: symbolsCall("AAPL"),
  });
  const refusal = first.sourceOf({ status: 503, headers: {}, request: symbolsCall("AAPL") });
  await until(() => existsSync(join(dataDir, "service.json")), "the note of the market");

  const others = [await open(here), await open(elsewhere)];

  expect([before.kind, refusal.kind]).toEqual(["account", "simulated"]);
  expect(others.map((feed) => feed.ledgerSource())).toEqual(["simulated", "account"]);
  for (const feed of [first, ...others]) await feed.close();
});
