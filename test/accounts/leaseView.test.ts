/** What a collector decides by its newest look at leases and collectors. */
import { expect, test } from "@jest/globals";
import type { SeenCollector, SeenLease } from "../../src/accounts/lease/leaseStore.ts";
import { claimable, expiredLease, hasTooMany, lossOf } from "../../src/accounts/lease/leaseView.ts";

const OWN = { id: "own", run: "own run", number: 0, dead: [] };

const collector = (id: string, number: number): SeenCollector => ({
  id,
  number,
  name: id,
  run: `${id} run`,
  beat: 1,
  stopped: false,
  seenAgoMs: 0,
  jobsDigest: "",
  files: { jobs: {}, accounts: {}, calendar: "" },
  knows: { refused: [], prices: null },
  clockOffsetMs: 0,
});

const lease = (account: string, holder: string, given: Partial<SeenLease> = {}): SeenLease => ({
  account,
  fence: 1,
  holder,
  run: `${holder} run`,
  beat: 1,
  released: false,
  expired: false,
  ...given,
});

function viewOf(
  leases: SeenLease[],
  stillMs: Record<string, number> = {},
): Parameters<typeof expiredLease>[0] {
  const collectors = [collector("own", 0), collector("peer", 1)];
  return {
    look: { nowMs: 0, collectors, leases, epochs: [], drained: [] },
    lookedAtMs: 0,
    alive: collectors,
    stillMs: new Map(Object.entries(stillMs)),
  };
}

test("a collector that has its quota claims a free account only when nobody else has acquired it for 11 s", () => {
  const view = viewOf([lease("one", "own")]);
  const claimedAfter = (freeMs: number): string[] =>
    claimable(view, OWN, { free: new Map([["two", freeMs]]), wanted: 2, heldCount: 1 });

  expect([claimedAfter(4_001), claimedAfter(11_000), claimedAfter(11_001)]).toEqual([[], [], ["two"]]);
});

test("a collector that is short of its quota claims free accounts at once, and only as many as it lacks", () => {
  const free = new Map(["two", "three", "four"].map((account) => [account, 0]));

  expect(claimable(viewOf([]), OWN, { free, wanted: 4, heldCount: 0 })).toEqual(["two", "three"]);
});

test("a lease is taken over only when the database calls it expired and it was watched for 7 s", () => {
  const expired = lease("one", "peer", { expired: true });

  expect(expiredLease(viewOf([expired], { one: 6_999 }), "one")).toBeNull();
  expect(expiredLease(viewOf([lease("one", "peer")], { one: 9_000 }), "one")).toBeNull();
  expect(expiredLease(viewOf([expired], { one: 7_000 }), "one")).toBe(expired);
});

test("a collector has too many accounts only while a peer has fewer than its quota", () => {
  const own = ["one", "two", "three"].map((account) => lease(account, "own"));
  const hasSurplus = (...peers: SeenLease[]): boolean =>
    hasTooMany(viewOf([...own, ...peers]), OWN, { wanted: 4, heldCount: 3 });

  expect(hasSurplus()).toBe(true);
  expect(hasSurplus(lease("four", "peer", { released: true }))).toBe(true);
  expect(hasSurplus(lease("four", "peer"), lease("five", "peer"))).toBe(false);
});

test("a lease that is not renewed is lost to a peer or to another process of the same collector, or the database was restored", () => {
  expect(lossOf(lease("one", "peer", { fence: 3 }), 2, OWN)).toBe("lost");
  expect(lossOf(lease("one", "own", { fence: 3, run: "another run" }), 2, OWN)).toBe("replaced");
  expect(lossOf(lease("one", "own", { fence: 1, run: "another run" }), 2, OWN)).toBe("restored");
  expect(lossOf(undefined, 2, OWN)).toBe("restored");
});
