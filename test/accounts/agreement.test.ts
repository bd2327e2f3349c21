/** What collectors agree on of chains: the first price and the first list of a day stay. */
import { expect, test } from "@jest/globals";
import { proposal } from "../../src/accounts/lease/agreement.ts";
import type { ChainFacts, Epoch, SeenCollector } from "../../src/accounts/lease/leaseStore.ts";

const DAY = "2026-11-20";

/** The facts of the epoch that a collector proposes which knows `own`, beside one that knows `other`. */
function agreed(own: ChainFacts | null, other: ChainFacts | null, before: ChainFacts | null = null) {
  const epochs: Epoch[] =
    before === null ? [] : [{ number: 1, fromMs: 0, jobsDigest: "d", accounts: ["main"], prices: before }];
  const peer = {
    ...{ id: "b", number: 2, name: "b", run: "r", beat: 1, stopped: false, seenAgoMs: 0, jobsDigest: "d" },
    files: { jobs: {}, accounts: {}, calendar: "" },
    knows: { refused: [], prices: other },
    clockOffsetMs: 0,
  } satisfies SeenCollector;
  const files = {
    ...{ digest: "d", files: peer.files },
    accounts: [{ name: "main", limit: 60, windowMs: 60_000 }],
  };
  const next = {
    files,
    knows: { refused: [], prices: own },
    peers: [peer],
    nowMs: 0,
    offsetMs: 0,
    isAlone: false,
  };
  return proposal({ epochs, drained: [] }, next as unknown as Parameters<typeof proposal>[1])?.prices;
}

test("prices and lists of all collectors are agreed on, of two of one symbol the first in force", () => {
  const own = { date: DAY, of: { AAPL: "1" }, listed: { SPX: ["2026-12-18"] } };
  const other = { date: DAY, of: { AAPL: "2", IBM: "3" }, listed: { SPX: ["2026-12-04"], QQQ: [] } };

  expect(agreed(own, other)).toEqual({
    ...{ date: DAY, of: { AAPL: "1", IBM: "3" } },
    listed: { SPX: ["2026-12-18"], QQQ: [] },
  });
  expect(agreed(null, other, own)).toEqual({
    ...{ date: DAY, of: { AAPL: "1", IBM: "3" } },
    listed: { SPX: ["2026-12-18"], QQQ: [] },
  });
});

test("a list alone is a reason for another epoch, one that is agreed on already is none, and of another day the newer counts", () => {
  const priced = { date: DAY, of: { AAPL: "1" } };
  const listed = { ...priced, listed: { SPX: ["2026-12-18"] } };
  const tomorrow = { date: "2026-11-21", of: {}, listed: { SPX: ["2026-12-18", "2026-12-25"] } };

  expect(agreed(listed, null, priced)).toEqual(listed);
  expect(agreed(listed, null, listed)).toBeUndefined();
  expect(agreed(listed, tomorrow, listed)).toEqual(tomorrow);
});
