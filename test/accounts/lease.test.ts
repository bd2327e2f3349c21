/** What rounds say of a clock, and when an epoch begins. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ClockOffset, epochFromMs } from "../../src/accounts/lease/leaseRules.ts";

const AT = Date.parse("2026-11-24T15:00:00Z");

describe("a clock's distance from the database's", () => {
  test("a clock's distance from the database's is 0 as long as a right clock could have asked and been answered so", () => {
    const offset = new ClockOffset();
    offset.saw({ sentMs: AT, answeredMs: AT + 1_400, databaseMs: AT + 1_390 });
    const late = offset.ms;
    offset.saw({ sentMs: AT + 2_000, answeredMs: AT + 3_500, databaseMs: AT + 2_001 });

    expect([late, offset.ms]).toEqual([0, 0]);
  });

  test("a clock's distance from the database's is the nearest end of what the fastest of the last rounds allows", () => {
    const offset = new ClockOffset();
    offset.saw({ sentMs: AT, answeredMs: AT + 1_000, databaseMs: AT - 5_100 });
    const slow = offset.ms;
    offset.saw({ sentMs: AT + 2_000, answeredMs: AT + 2_010, databaseMs: AT - 3_600 });
    offset.saw({ sentMs: AT + 4_000, answeredMs: AT + 4_900, databaseMs: AT - 1_500 });

    expect([slow, offset.ms]).toEqual([5_100, 5_600]);
  });

  test("a clock's distance from the database's is known again after a clock was set", () => {
    const offset = new ClockOffset();
    offset.saw({ sentMs: AT, answeredMs: AT + 10, databaseMs: AT + 5 });
    offset.saw({ sentMs: AT + 3_602_000, answeredMs: AT + 3_602_800, databaseMs: AT + 2_400 });

    expect(offset.ms).toBe(3_599_600);
  });

  test("a clock's distance from the database's is never taken for larger than it is, however late answers are", () => {
    const round = fc.record({ there: fc.nat(1_500), back: fc.nat(1_500), gap: fc.nat(3_000) });
    fc.assert(
      fc.property(
        fc.integer({ min: -100_000, max: 100_000 }),
        fc.array(round, { minLength: 1, maxLength: 10 }),
        (trueMs, rounds) => {
          const offset = new ClockOffset();
          let databaseMs = AT;
          for (const { there, back, gap } of rounds) {
            databaseMs += gap + there;
            const sentMs = databaseMs - there + trueMs;
            offset.saw({ sentMs, answeredMs: databaseMs + back + trueMs, databaseMs });
            databaseMs += back;
          }
          const fastest = Math.min(...rounds.map(({ there, back }) => there + back));
          expect(Math.abs(offset.ms)).toBeLessThanOrEqual(Math.abs(trueMs));
          expect(Math.abs(offset.ms - trueMs)).toBeLessThanOrEqual(fastest);
        },
      ),
    );
  });
});

describe("an epoch", () => {
  test("an epoch begins at a half second, when its lead has passed; where a collector is alone, at the last half second", () => {
    const at = Date.parse("2026-11-24T15:00:00.250Z");

    expect(new Date(epochFromMs(at, []))).toEqual(new Date("2026-11-24T15:00:14.500Z"));
    expect(new Date(epochFromMs(at, null))).toEqual(new Date("2026-11-24T14:59:59.500Z"));
    expect(new Date(epochFromMs(at + 500, null))).toEqual(new Date("2026-11-24T15:00:00.500Z"));
  });

  test("an epoch begins by the clock that is most ahead, and a clock that is off by more than a minute does not put it off longer", () => {
    const lead = (aheadMs: number[]): number => epochFromMs(AT, aheadMs) - AT - 500;

    expect([lead([-20_000]), lead([3_000, 1_000]), lead([3_600_000])]).toEqual([14_000, 17_000, 74_000]);
  });
});
