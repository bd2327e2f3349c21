import { describe, expect, test } from "@jest/globals";
import { capChangesAtMs } from "../../../src/collect/governor/samples.ts";
import {
  burstsAtMs,
  learn,
  ownCap,
  perhapsLost,
  reckoned,
  withSuspicion,
} from "../../../src/collect/governor/secondClient.ts";
import type { GovernorState, SecondClientSample } from "../../../src/collect/governor/state.ts";
import { NO_RATE_LIMIT, type RateLimit } from "../../../src/quotes/rateLimit.ts";
import { callsAnsweredAt, every, readingAt, readingOf, sampleAt, SIXTY_A_MINUTE, stateOf } from "./states.ts";

const MINUTE_MS = 60_000;

/** A program that was seen this often, a minute apart, the last time at 30 min. */
function seenEachMinute(
  counts: readonly number[],
  known: Partial<SecondClientSample> = {},
): SecondClientSample[] {
  const firstMs = (31 - counts.length) * MINUTE_MS;
  return counts.map((count, index) => sampleAt(firstMs + index * MINUTE_MS, count, known));
}

test("another program is reckoned with for as long as what it took is held, by the most of it", () => {
  const samples = [sampleAt(0, 12), sampleAt(30_000, 9)];
  const countAt = (atMs: number): number => reckoned(stateOf({ samples }), atMs).secondCount;

  expect([countAt(119_999), countAt(120_000), countAt(149_999), countAt(150_000)]).toEqual([12, 9, 9, 0]);
});

test("a program that came in four of the last fifteen windows is reckoned with for longer, with what a quarter of them showed", () => {
  const over = 33 * MINUTE_MS;
  const regularOf = (counts: readonly number[], atMs = over): number =>
    reckoned(stateOf({ samples: seenEachMinute(counts) }), atMs).regularCount;

  expect(regularOf([9, 8, 7])).toBe(0);
  expect(regularOf([9, 6, 7, 8])).toBe(8);
  expect(regularOf([1, 2, 3, 4, 5, 6, 7, 8])).toBe(6);
  expect(regularOf([9, 6, 7, 8], 41 * MINUTE_MS)).toBe(8);
  expect(regularOf([9, 6, 7, 8], 42 * MINUTE_MS)).toBe(0);
  expect(reckoned(stateOf({ samples: seenEachMinute([9, 6, 7, 8]) }), over).secondCount).toBe(8);
});

test("another program is reckoned with by the most of each window; a window in which it showed nothing is none of them", () => {
  const twiceAWindow = [6, 9, 8].flatMap((count, window) => [
    ...[sampleAt(window * MINUTE_MS, count), sampleAt(window * MINUTE_MS + 1_000, 1)],
  ]);

  expect(reckoned(stateOf({ samples: twiceAWindow }), 5.5 * MINUTE_MS).regularCount).toBe(0);
  expect(reckoned(stateOf({ samples: seenEachMinute([6, 0, 0, 9, 8]) }), 33 * MINUTE_MS).regularCount).toBe(
    0,
  );
  expect(
    reckoned(stateOf({ samples: [...twiceAWindow, sampleAt(3 * MINUTE_MS, 7)] }), 5.5 * MINUTE_MS)
      .regularCount,
  ).toBe(8);
});

test("another program is reckoned with as one that comes at once when half of its calls appeared between two answers close to each other", () => {
  const comesAtOnce = (known: Partial<SecondClientSample>): boolean =>
    reckoned(stateOf({ samples: [sampleAt(0, 10, known)] }), 1_000).comeAtOnce;

  expect(comesAtOnce({ spanMs: 14_999, appearedCount: 5 })).toBe(true);
  expect(comesAtOnce({ spanMs: 15_000, appearedCount: 5 })).toBe(false);
  expect(comesAtOnce({ spanMs: 1_000, appearedCount: 4 })).toBe(false);
  expect(comesAtOnce({ atOnceCount: 5 })).toBe(true);
  expect(comesAtOnce({ atOnceCount: 4 })).toBe(false);
});

test("another program is reckoned with as one that came at once once, unless the last answer says that it comes evenly", () => {
  const burst = sampleAt(0, 10, { spanMs: 1_000, appearedCount: 5 });
  const state = stateOf({ samples: [sampleAt(0, 10, { atOnceCount: 9 }), sampleAt(10_000, 10)] });

  expect(reckoned(stateOf({ samples: [burst, sampleAt(10_000, 10)] }), 11_000).comeAtOnce).toBe(true);
  expect(reckoned(state, 11_000).comeAtOnce).toBe(false);
});

test("another program's bursts are at the times when half of its calls appeared at once", () => {
  const burst = { spanMs: 1_000, appearedCount: 5 };
  const state = stateOf({
    samples: [
      sampleAt(0, 10, burst),
      sampleAt(9_000, 10, { ...burst, appearedCount: 4 }),
      sampleAt(60_000, 10, burst),
    ],
  });

  expect(burstsAtMs(state, reckoned(state, 61_000))).toEqual([0, 60_000]);
});

/** Calls that stay unsent beside one that takes `regularCount` each minute and took `latelyCount` lately. */
const spareBeside = (
  regularCount: number,
  latelyCount: number,
  manner: "evenly" | "at once" = "evenly",
  known: Partial<GovernorState> = {},
): number => {
  const samples = [
    ...seenEachMinute([...Array<number>(4).fill(regularCount), latelyCount]),
    sampleAt(30 * MINUTE_MS, latelyCount, { atOnceCount: manner === "at once" ? 60 : 0 }),
  ];
  return reckoned(stateOf({ samples, ...known }), 30 * MINUTE_MS + 1_000).spareCount;
};

test("beside another program one call stays unsent, or a full count would hide what it still asks for", () => {
  expect(spareBeside(0, 10)).toBe(1);
  expect(spareBeside(10, 10)).toBe(1);
  expect(spareBeside(10, 12)).toBe(1);
  expect(spareBeside(0, 1)).toBe(1);
  expect(spareBeside(0, 10, "at once")).toBe(1);
});

test("no call stays unsent beside a program that is known to take so much and comes at once, or where few calls are ours", () => {
  expect(spareBeside(10, 10, "at once")).toBe(0);
  expect(spareBeside(10, 11, "at once")).toBe(1);
  expect(spareBeside(41, 41)).toBe(0);
  expect(spareBeside(40, 40)).toBe(1);
  expect(spareBeside(41, 42)).toBe(1);
});

test("no call stays unsent where the spare call itself is what the program took once, if the service never forgot", () => {
  expect(spareBeside(10, 11)).toBe(0);
  expect(spareBeside(10, 11, "evenly", { forgotAtMs: 1_000 })).toBe(1);
});

test("work that can wait leaves another program three calls more than it was seen to make", () => {
  const config = { ...SIXTY_A_MINUTE, evenly: true };

  expect(spareBeside(41, 41, "at once", { config })).toBe(3);
  expect(reckoned(stateOf({ config }), 0).spareCount).toBe(0);
});

test("the rest of the limit is ours, one call at least", () => {
  expect(ownCap(stateOf({}), 0)).toBe(60);
  expect(ownCap(stateOf({ samples: [sampleAt(0, 30)] }), 1_000)).toBe(29);
  expect(ownCap(stateOf({ samples: [sampleAt(0, 60)] }), 1_000)).toBe(1);
});

test("what refusals taught counts only where no header tells", () => {
  const backOff = { capCount: 45, stepCount: 1, tookStep: false, changedAtMs: 0, patienceWindows: 20 };

  expect(ownCap(stateOf({ backOff }), 0)).toBe(45);
  expect(ownCap(stateOf({ backOff, seesCount: true }), 0)).toBe(60);
  expect(ownCap(stateOf({ backOff, samples: [sampleAt(0, 30)] }), 1_000)).toBe(29);
});

test("the calls that are ours become more when the first of what is held is held no longer", () => {
  const samples = [sampleAt(20_000, 5), sampleAt(0, 5), sampleAt(10_000, 5)];
  const changesAtMs = (atMs: number): number => capChangesAtMs(stateOf({ samples }), atMs);

  expect([changesAtMs(30_000), changesAtMs(120_000), changesAtMs(140_000)]).toEqual([
    120_000,
    130_000,
    Infinity,
  ]);
});

const AT_MS = 100_000;

/** What is reckoned with after a refusal, and for how many windows. */
const suspected = (
  samples: readonly SecondClientSample[],
  known: Partial<GovernorState> = {},
): { count: number | undefined; windows: number } => {
  const last = withSuspicion(stateOf({ samples, ...known }), AT_MS).at(-1);
  return { count: last?.windowCount, windows: ((last?.holdsUntilMs ?? 0) - AT_MS) / MINUTE_MS };
};
const lately = (count: number, known: Partial<SecondClientSample> = {}): SecondClientSample[] => [
  sampleAt(90_000, count, known),
];
const again = { faultAtMs: AT_MS - 3 * MINUTE_MS + 1 };

test("a refusal where nobody was seen means four calls of another program, for six windows", () => {
  expect(suspected([])).toEqual({ count: 4, windows: 6 });
});

test("a refusal beside another program means two calls more, for two windows", () => {
  expect(suspected(lately(10))).toEqual({ count: 12, windows: 2 });
  expect(suspected(lately(59))).toEqual({ count: 60, windows: 2 });
  expect(suspected(lately(10), { faultAtMs: AT_MS - 3 * MINUTE_MS })).toEqual({ count: 12, windows: 2 });
});

test("a refusal again within three windows means twice as many, up to half the limit, for six windows", () => {
  expect(suspected(lately(10), again)).toEqual({ count: 20, windows: 6 });
  expect(suspected(lately(25), again)).toEqual({ count: 30, windows: 6 });
  expect(suspected(lately(25), { ...again, limit: 45 })).toEqual({ count: 27, windows: 6 });
  expect(suspected(lately(40), again)).toEqual({ count: 42, windows: 6 });
});

test("a refusal again by a program of more than ten calls that comes at once halves what is ours, for four windows", () => {
  const atOnce = { atOnceCount: 60 };

  expect(suspected(lately(10, atOnce), again)).toEqual({ count: 20, windows: 6 });
  expect(suspected(lately(11, atOnce), again)).toEqual({ count: 36, windows: 4 });
  expect(suspected(lately(11, atOnce))).toEqual({ count: 13, windows: 2 });
  expect(suspected(lately(50, atOnce), again)).toEqual({ count: 55, windows: 4 });
  expect(suspected(lately(59, atOnce), again)).toEqual({ count: 60, windows: 4 });
});

test("a refusal guesses nothing where more was counted of the program before, or the program comes from window to window", () => {
  const regularly = [3, 2, 1, 0].map((window) => sampleAt(AT_MS - window * MINUTE_MS - 1, 10));
  const twoMore = [...regularly.slice(0, -1), sampleAt(AT_MS - 2, 12, { mostCount: 10 })];
  const threeMore = [...twoMore, sampleAt(AT_MS - 1, 13, { mostCount: 10 })];

  expect(suspected(lately(10, { mostCount: 25 }), again)).toEqual({ count: 25, windows: 2 });
  expect(suspected(lately(10, { mostCount: 11 }), again)).toEqual({ count: 12, windows: 2 });
  expect(suspected(twoMore, again)).toEqual({ count: 14, windows: 2 });
  expect(suspected(threeMore, again)).toEqual({ count: 26, windows: 6 });
});

test("a refusal keeps what was seen, and what was counted and came at once since the program is about", () => {
  const samples = lately(10, { mostCount: 25, atOnceCount: 7 });

  expect(withSuspicion(stateOf({ samples }), AT_MS)).toEqual([
    ...samples,
    {
      ...{ atMs: AT_MS, spanMs: 0, appearedCount: 0, provedCount: 25, windowCount: 25 },
      ...{ mostCount: 25, atOnceCount: 7, holdsUntilMs: AT_MS + 2 * MINUTE_MS },
    },
  ]);
  expect(withSuspicion(stateOf({}), AT_MS)).toMatchObject([{ mostCount: 0, atOnceCount: 0 }]);
});

test("a refusal in the first window after a restart that knows the journal alone means no other program", () => {
  const restarted = stateOf({ continued: true, startedAtMs: 60_000 });

  expect(withSuspicion(restarted, AT_MS)).toEqual([]);
  expect(perhapsLost(restarted, 119_999)).toBe(true);
  expect(perhapsLost(restarted, 120_000)).toBe(false);
  expect(perhapsLost({ ...restarted, continued: false }, AT_MS)).toBe(false);
});

const limitAfter = (headers: RateLimit, mayRise?: boolean): number =>
  learn(
    stateOf({ config: { ...SIXTY_A_MINUTE, mayRise }, finished: callsAnsweredAt(1_000) }),
    { sentAtMs: 800, answeredAtMs: 1_000 },
    headers,
  ).limit;

test.each([
  [{ used: 1, remaining: 39, limit: 40, expire: null }, 40],
  [{ used: 2, remaining: 39, limit: 40, expire: null }, 60],
  [{ used: 1, remaining: 89, limit: 90, expire: null }, 60],
  [{ used: 40, remaining: null, limit: 40, expire: null }, 60],
  [{ used: null, remaining: 40, limit: 40, expire: null }, 60],
  [{ used: 1, remaining: 39, limit: null, expire: null }, 60],
  [NO_RATE_LIMIT, 60],
])(
  "the limit in force is what headers that agree among themselves name, not above what is set: %j",
  (headers, limit) => {
    expect(limitAfter(headers)).toBe(limit);
  },
);

test("the limit in force may be up to ten times as high where none is set", () => {
  expect(limitAfter({ used: 1, remaining: 89, limit: 90, expire: null }, true)).toBe(90);
  expect(limitAfter({ used: 1, remaining: 599, limit: 600, expire: null }, true)).toBe(600);
  expect(limitAfter({ used: 1, remaining: 600, limit: 601, expire: null }, true)).toBe(600);
});

describe("an answer at 200 s that tells the count", () => {
  const AT_MS = 200_000;
  const call = { sentAtMs: AT_MS - 200, answeredAtMs: AT_MS };

  const ownCalls = (lastMs: number) => callsAnsweredAt(...Array<number>(4).fill(lastMs - 500), lastMs, AT_MS);

  /** What is known after headers that say `used`, when the answer before it, at `lastMs`, was our fifth and said 5. */
  const after = (
    used: number,
    { lastMs = 198_000, ...known }: { lastMs?: number } & Partial<GovernorState> = {},
  ): GovernorState =>
    learn(
      stateOf({
        ...{ lastReading: readingAt(lastMs, 5), finished: ownCalls(lastMs) },
        ...known,
      }),
      call,
      readingOf(used),
    );
  /** The newest of what was proved. */
  const proved = (...args: Parameters<typeof after>): SecondClientSample | undefined =>
    after(...args).samples.at(-1);

  test("an answer's count is read from Used, or else from what Remaining leaves of the limit, and never as more than the limit", () => {
    const usedCountOf = (said: Partial<RateLimit>): number | undefined =>
      learn(stateOf({ finished: callsAnsweredAt(AT_MS) }), call, { ...NO_RATE_LIMIT, ...said }).lastReading
        ?.usedCount;

    expect(usedCountOf({ used: 7, remaining: 10 })).toBe(7);
    expect(usedCountOf({ remaining: 10 })).toBe(50);
    expect(usedCountOf({ remaining: 60 })).toBe(0);
    expect(usedCountOf({ remaining: 61 })).toBeUndefined();
    expect(usedCountOf({ used: 1_000 })).toBe(60);
    expect(usedCountOf({ used: 0 })).toBe(0);
    expect(usedCountOf({ limit: 60 })).toBeUndefined();
  });

  test("an answer's count proves no other program while our own calls explain it", () => {
    expect(after(6).samples).toEqual([]);
    expect(after(2, { lastReading: null }).samples).toEqual([]);
    expect(after(6)).toMatchObject({ lastReading: { usedCount: 6, answeredAtMs: AT_MS } });
  });

  test("an answer's count proves what it rose by beyond our own calls, and what it is above all of ours", () => {
    expect(proved(13)).toEqual({
      ...{ atMs: AT_MS, spanMs: 2_000, appearedCount: 7, provedCount: 7, windowCount: 0 },
      ...{ mostCount: 0, atOnceCount: 7, holdsUntilMs: AT_MS + 2 * MINUTE_MS },
    });
    expect(proved(13, { finished: callsAnsweredAt(198_000, AT_MS) })).toMatchObject({
      ...{ appearedCount: 7, provedCount: 11 },
    });
    expect(proved(3, { lastReading: null, finished: callsAnsweredAt(AT_MS) })).toMatchObject({
      ...{ spanMs: 0, appearedCount: 0, provedCount: 2 },
    });
    expect(proved(2, { lastReading: null, finished: callsAnsweredAt(AT_MS) })).toMatchObject({
      provedCount: 1,
    });
  });

  test("an answer's count counts for no more than the answer before bears out", () => {
    const before = sampleAt(198_000, 3, { provedCount: 4, mostCount: 3 });

    expect(proved(13, { samples: [before] })).toMatchObject({
      provedCount: 7,
      windowCount: 4,
      mostCount: 4,
    });
    expect(proved(13, { samples: [{ ...before, provedCount: 40 }] })).toMatchObject({ windowCount: 7 });
    expect(proved(13, { samples: [{ ...before, mostCount: 30 }] })).toMatchObject({ mostCount: 30 });
  });

  test("an answer's count sums what appeared over a little less than a window", () => {
    const earlier = (atMs: number): SecondClientSample[] => [
      sampleAt(atMs, 0, { spanMs: 1_000, appearedCount: 20 }),
    ];

    expect(proved(13, { samples: earlier(143_001) })).toMatchObject({ provedCount: 27 });
    expect(proved(13, { samples: earlier(143_000) })).toMatchObject({ provedCount: 7 });
    expect(after(6, { samples: earlier(143_001) }).samples).toHaveLength(2);
    expect(after(6, { samples: earlier(143_000) }).samples).toHaveLength(1);
  });

  test("a count after a long silence counts the last window's part of what appeared, if it came evenly", () => {
    const finished = callsAnsweredAt(80_000, ...Array<number>(30).fill(190_000), AT_MS);

    // 40 in two windows; the thirty calls of our own leave nothing above.
    expect(proved(46 + 30, { lastMs: 80_000, finished })).toMatchObject({
      ...{ spanMs: 120_000, appearedCount: 24, provedCount: 29 },
    });
    expect(proved(35 + 20, { lastMs: 80_000, finished })).toMatchObject({
      ...{ appearedCount: 19, provedCount: 24 },
    });
  });

  test("an answer's count forgets what was proved fifteen windows ago", () => {
    const old = sampleAt(AT_MS - 15 * MINUTE_MS + 1, 5);

    expect(after(6, { samples: [old] }).samples).toEqual([old]);
    expect(after(6, { samples: [{ ...old, atMs: old.atMs - 1 }] }).samples).toEqual([]);
  });

  test("an answer's count shows a program that comes evenly when most of what appeared did not come at once", () => {
    const before = (appearedCount: number): SecondClientSample[] => [
      sampleAt(190_000, 10, { spanMs: 2_000, appearedCount, atOnceCount: 9 }),
    ];

    // Seven came at once now; what the answer before showed is half of the ten that are borne out, or less.
    expect(proved(13, { samples: before(5) })).toMatchObject({ windowCount: 10, atOnceCount: 7 });
    expect(proved(13, { samples: before(4) })).toMatchObject({ windowCount: 10, atOnceCount: 9 });
  });

  test("a program that came at once stays one that does, while nothing of it is borne out", () => {
    const before = sampleAt(190_000, 0, { atOnceCount: 9 });

    expect(proved(13, { samples: [before] })).toMatchObject({ windowCount: 0, atOnceCount: 9 });
  });

  test("a count is held for a moment only, where an earlier run's calls may have been lost with its journal", () => {
    const restarted = { continued: true, startedAtMs: 190_000, lastReading: null };

    expect(proved(13, restarted)).toMatchObject({ holdsUntilMs: AT_MS });
    expect(proved(60, restarted)).toMatchObject({ holdsUntilMs: AT_MS + 2_000 });
    expect(proved(13, { ...restarted, lastReading: readingAt(198_000, 5) })).toMatchObject({
      holdsUntilMs: AT_MS + 2 * MINUTE_MS,
    });
    expect(proved(13, { ...restarted, continued: false })).toMatchObject({
      holdsUntilMs: AT_MS + 2 * MINUTE_MS,
    });
  });
});

describe("what appears while a run has watched for less than a window", () => {
  const AT_MS = 200_000;

  /** What is proved of so many calls that appeared between answers this far apart, at 0 s and `AT_MS` of the watch. */
  const provedOf = (
    appearedCount: number,
    {
      watchedMs,
      spanMs = watchedMs,
      samples = [],
    }: { watchedMs: number; spanMs?: number; samples?: SecondClientSample[] },
  ): SecondClientSample | undefined => {
    const lastReading = readingAt(AT_MS - spanMs, 5);
    // Enough calls of our own, all before the answer before, that nothing lies above them.
    const finished = callsAnsweredAt(...Array<number>(50).fill(AT_MS - spanMs - 500), AT_MS - spanMs, AT_MS);
    return learn(
      stateOf({ startedAtMs: AT_MS - watchedMs, lastReading, finished, samples }),
      { sentAtMs: AT_MS - 200, answeredAtMs: AT_MS },
      readingOf(6 + appearedCount),
    ).samples.at(-1);
  };

  test("what appears evenly in a run's first window is taken to go on so, up to half the limit", () => {
    expect(provedOf(7, { watchedMs: 30_000 })).toMatchObject({ provedCount: 14, mostCount: 0 });
    expect(provedOf(7, { watchedMs: 20_000 })).toMatchObject({ provedCount: 21 });
    expect(provedOf(20, { watchedMs: 30_000 })).toMatchObject({ provedCount: 30 });
    expect(provedOf(35, { watchedMs: 30_000 })).toMatchObject({ provedCount: 35 });
    expect(provedOf(7, { watchedMs: 60_000, spanMs: 59_000 })).toMatchObject({ provedCount: 7 });
  });

  test("what appears at once in a run's first window is taken to come once a window", () => {
    expect(provedOf(7, { watchedMs: 30_000, spanMs: 2_000 })).toMatchObject({ provedCount: 7 });
  });

  test("what appears in a run's first window counts what came at once once and projects the rest, or projects all of it when no half came at once", () => {
    const before = (appearedCount: number): SecondClientSample[] => [
      sampleAt(AT_MS - 3_000, 0, { spanMs: 1_000, appearedCount }),
    ];

    expect(provedOf(7, { watchedMs: 30_000, spanMs: 2_000, samples: before(2) })).toMatchObject({
      provedCount: 11,
    });
    expect(provedOf(4, { watchedMs: 30_000, spanMs: 2_000, samples: before(4) })).toMatchObject({
      provedCount: 16,
    });
  });

  test("what appears in a run's first window is projected to no more than ten times as much", () => {
    const before = [sampleAt(AT_MS - 2_000, 0, { spanMs: 500, appearedCount: 1 })];

    expect(provedOf(1, { watchedMs: 3_000, spanMs: 1_000, samples: before })).toMatchObject({
      provedCount: 20,
    });
  });

  test("what appears in a run's first window does not raise the most that was ever counted", () => {
    const before = [sampleAt(AT_MS - 3_000, 0, { provedCount: 9, mostCount: 2 })];

    expect(provedOf(7, { watchedMs: 30_000, spanMs: 2_000, samples: before })).toMatchObject({
      ...{ windowCount: 7, mostCount: 2 },
    });
    expect(provedOf(7, { watchedMs: 60_000, spanMs: 2_000, samples: before })).toMatchObject({
      ...{ windowCount: 7, mostCount: 7 },
    });
  });
});

describe("a service that looks back less than a window", () => {
  const AT_MS = 200_000;
  const call = { sentAtMs: AT_MS - 200, answeredAtMs: AT_MS };

  /** What is known of forgetting after `used`, when thirty calls were surely sent and the answer before said 30. */
  const forgot = (used: number, known: Partial<GovernorState> = {}): (number | null)[] => {
    const finished = callsAnsweredAt(...every(1_000, 171_000, AT_MS), AT_MS);
    const lastReading = readingAt(198_200, 30);
    const { forgotAtMs, resetAtMs } = learn(
      stateOf({ finished, lastReading, ...known }),
      call,
      readingOf(used),
    );
    return [forgotAtMs, resetAtMs];
  };

  test("a service that looks back less than a window is known by a count of two calls fewer than surely counted", () => {
    expect(forgot(29)).toEqual([null, null]);
    expect(forgot(28)).toEqual([AT_MS, null]);
    expect(forgot(5, { lastReading: null })).toEqual([AT_MS, null]);
  });

  test("a service has begun a new window when the count fell by more than may have come back meanwhile, and three", () => {
    // In the two seconds since the answer before was sent, two calls may have come back.
    expect(forgot(26, { resetAtMs: 7 })).toEqual([AT_MS, 7]);
    expect(forgot(25, { resetAtMs: 7 })).toEqual([AT_MS, AT_MS]);
    expect(forgot(25, { limit: 60, lastReading: readingAt(150_000, 30) })).toEqual([AT_MS, null]);
  });
});

describe("an answer that overtook another one", () => {
  const AT_MS = 200_000;
  const finished = callsAnsweredAt(...every(1_000, 150_000, AT_MS), 199_900, AT_MS);

  /** Whether a higher count is passed over as an older one. */
  const isPassedOver = (used: number, sentAtMs: number): boolean =>
    learn(
      stateOf({ finished, lastReading: readingAt(199_900, 1) }),
      { sentAtMs, answeredAtMs: AT_MS },
      readingOf(used),
    ).lastReading?.answeredAtMs !== AT_MS;

  test("an answer that overtook another one is passed over when both were under way together and our own calls explain it", () => {
    expect(isPassedOver(52, 199_800)).toBe(true);
    expect(isPassedOver(52, 199_899)).toBe(true);
    expect(isPassedOver(52, 199_900)).toBe(false);
    expect(isPassedOver(53, 199_800)).toBe(false);
    expect(isPassedOver(2, 199_800)).toBe(false);
  });
});
