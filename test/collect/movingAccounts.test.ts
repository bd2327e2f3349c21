/** Two collectors that share four accounts, which move between them while slots last: the ledgers of both together. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { Shares } from "../../src/accounts/shares.ts";
import { Collector } from "../../src/collector/collector.ts";
import { type EpochTerms } from "../../src/accounts/lease/agreement.ts";
import { type StoredIn } from "../../src/collect/dueShares.ts";
import { type LedgerNote, mergeEntries, sharesIn, type SlotEntry } from "../../src/journal/ledger.ts";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { contractsOf, symbolsNamed } from "./due.ts";
import { entriesOf, failure, jobOf, LISTED, quotesFor, startWorld, type World } from "./world.ts";
import { runs } from "../support/runs.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const START = "2026-11-20T14:30:00Z";
const NAMES = ["main", "second", "third", "fourth"];

const JOBS = [
  jobOf({ name: "list", symbols: symbolsNamed(700) }),
  jobOf({ name: "contracts", options: contractsOf(60) }),
  jobOf({
    name: "chain",
    chains: [
      {
        ...{ underlying: "AAPL", expirations: ["2026-12-18"] },
        ...{ strikes: { around: "last", percent: "10", step: "1" }, types: ["CALL"] },
      },
    ],
  }),
  jobOf({
    name: "whole",
    chains: [{ underlying: "SPX", expirations: "listed", strikes: "all", types: ["CALL", "PUT"] }],
  }),
];

const sharer = (name: string) => ({ name, limit: 60, windowMs: 60_000 });

type Two = {
  world: World;
  collectors: { collector: Collector; called: Set<string>; notes: LedgerNote[] }[];
  /** An account goes from one to the other; without `leaves` the first one is dead. */
  move: (account: string, gapMs: number) => Promise<void>;
};

/** Each so-many-th call fails; calls of some accounts, at some epoch ms, are refused for their credentials. */
type Failing = { failsEach?: number; isRefused?: (account: string | null, sentAt: number) => boolean };

/** What both have agreed on, as it was from an instant on. */
function startTwo(
  agreed: [from: string, agreed: EpochTerms][],
  { failsEach = Infinity, isRefused = () => false }: Failing = {},
): Two {
  const agreedAt = (at: Date): EpochTerms | null =>
    agreed.findLast(([from]) => Date.parse(from) <= at.getTime())?.[1] ?? null;
  const sharers = NAMES.map(sharer);
  const calledBy = [new Set(["main", "second"]), new Set(["third", "fourth"])];
  const sharesOf = (called: ReadonlySet<string>) => new Shares(sharers, (name) => called.has(name));
  const [one, other] = calledBy as [Set<string>, Set<string>];
  let answered = 0;
  const world = startWorld({
    ...{ start: START, jobs: JOBS, accounts: [...one], shares: sharesOf(one), agreedAt },
    respond: ({ planned, sentAt }) => {
      if (isRefused(planned.account, sentAt)) return failure("unauthorized");
      answered += 1;
      return answered % failsEach === 0
        ? failure("server_error")
        : quotesFor(planned, { last: { AAPL: "150.00" } });
    },
  });
  const notes: LedgerNote[] = [];
  const silent = () => undefined;
  const second = new Collector({
    ...{ jobs: JOBS, calendar: alwaysOpen, exchange: createCalendar(), clock: world.clock, earlier: null },
    ...{ log: { debug: silent, info: silent, warn: silent, error: silent } },
    ...{ run: "01940000-0000-7000-8000-000000000001", shares: sharesOf(other), agreedAt },
    batch: REFERENCE.batch,
    onNote: (note) => void notes.push(structuredClone(note)),
    accounts: [...other].map(world.account),
  });
  second.start();
  const collectors = [
    { collector: world.collector, called: one, notes: world.notes },
    { collector: second, called: other, notes },
  ];
  const storedIn: StoredIn = ({ instruments, window }) =>
    Promise.resolve(storedWithin(world, instruments, window));
  const move = async (account: string, gapMs: number): Promise<void> => {
    const from = collectors.find(({ called }) => called.has(account));
    const to = collectors.find((one) => one !== from);
    from?.called.delete(account);
    let hasLeft = false;
    void from?.collector.stopCalling(account).then(() => (hasLeft = true));
    await world.pass(gapMs);
    while (!hasLeft) await world.pass(100);
    to?.called.add(account);
    await to?.collector.startCalling(world.account(account), storedIn);
  };
  return { world, collectors, move };
}

/** What was asked for within a window and answered, by the service's own log. */
function storedWithin(
  world: World,
  names: readonly string[],
  { from, to }: { from: Date; to: Date },
): Set<string> {
  const asked = world.calls.filter(
    ({ brought, sentAt }) => brought && sentAt >= from.getTime() && sentAt < to.getTime(),
  );
  const stored = new Set(asked.flatMap((call) => call.names));
  return new Set(names.filter((name) => stored.has(name)));
}

/** The ledgers of both together, by slot, as the archive merges them; of the slots that are over. */
function slotsOf({ collectors, world }: Two, until: string): Map<string, SlotEntry[]> {
  const shares = new Map<string, SlotEntry>();
  for (const { notes } of collectors)
    for (const entry of entriesOf(notes)) {
      const key = `${entry.slotAt} ${entry.job} ${entry.account}`;
      const before = shares.get(key);
      shares.set(key, before ? mergeEntries(before, entry) : entry);
    }
  expect(world.calls.length).toBeGreaterThan(0);
  const slots = new Map<string, SlotEntry[]>();
  for (const entry of shares.values()) {
    if (entry.slotAt >= until) continue;
    const key = `${entry.slotAt} ${entry.job}`;
    slots.set(key, [...(slots.get(key) ?? []), entry]);
  }
  return slots;
}

function expectRecounted(two: Two, until: string): void {
  for (const [key, shares] of slotsOf(two, until)) {
    const due = shares.flatMap((share) => share.due);
    expect([key, due.length]).toEqual([key, new Set(due).size]);
    const from = new Date(shares[0]?.slotAt ?? "");
    const stored = storedWithin(two.world, due, { from, to: new Date(+from + 60_000) });
    for (const { account, due: own, misses } of shares)
      expect([key, account, misses.map(([name]) => name).sort()]).toEqual([
        key,
        account,
        own.filter((name) => !stored.has(name)).sort(),
      ]);
  }
}

/** Shares of slots before an instant that a collector has opened and never settled. */
function leftOpen({ collectors }: Two, until: string): string[] {
  return collectors.flatMap(({ notes }) => {
    const settled = new Set(
      entriesOf(notes).map(({ slotAt, job, account }) => `${slotAt} ${job} ${account}`),
    );
    return notes
      .flatMap((note) =>
        note.type === "opened" && note.slotAt < until
          ? sharesIn(note).map(({ account }) => `${note.slotAt} ${note.job} ${account}`)
          : [],
      )
      .filter((share) => !settled.has(share));
  });
}

/** What several answers to calls for one slot brought. */
function broughtTwice({ world }: Two): string[] {
  const brought = world.calls.flatMap(({ planned, names, brought }) =>
    brought ? names.map((name) => `${planned.slotAt} ${name}`) : [],
  );
  const once = new Set<string>();
  return brought.filter((one) => once.has(one) || !once.add(one));
}

const ALL: EpochTerms = { number: 1, accounts: NAMES, prices: null };
const PRICED: EpochTerms = {
  ...{ number: 2, accounts: NAMES },
  prices: { date: "2026-11-20", of: { AAPL: "150.00" }, listed: { SPX: LISTED } },
};
const THREE: EpochTerms = { ...PRICED, number: 3, accounts: NAMES.slice(0, 3) };

test("each instrument is one account's in each slot, also while a chain's price or list is only one collector's", async () => {
  const two = startTwo([
    [START, ALL],
    ["2026-11-20T14:31:30.500Z", PRICED],
    ["2026-11-20T14:33:30.500Z", THREE],
  ]);

  await two.world.until("2026-11-20T14:36:00.000Z");

  expectRecounted(two, "2026-11-20T14:35:00");
  const slots = slotsOf(two, "2026-11-20T14:35:00");
  for (const minute of ["14:30", "14:31", "14:32", "14:33", "14:34"]) {
    const due = (job: string): number =>
      (slots.get(`2026-11-20T${minute}:00.000000Z ${job}`) ?? []).flatMap((share) => share.due).length;
    expect([minute, due("list"), due("contracts"), due("chain"), due("whole")]).toEqual([
      ...[minute, 700, 60, 31, 30],
    ]);
  }
  const misses = [...slots.values()].flat().flatMap((share) => share.misses);
  expect(misses).toEqual([]);
  const askers = new Map<string, Set<string>>();
  for (const { planned, names, account } of two.world.calls)
    for (const name of names) {
      const key = `${planned.slotAt} ${name}`;
      askers.set(key, (askers.get(key) ?? new Set()).add(account));
    }
  expect([...askers].filter(([, accounts]) => accounts.size > 1)).toEqual([]);
});

test.each([
  ["after a refusal", "2026-11-20T14:31:20Z"],
  ["while a call is under way that will be refused", "2026-11-20T14:31:00.100Z"],
])(
  "a collector whose account another one has taken %s no longer says that it is refused",
  async (_when, at) => {
    const refusedUntil = Date.parse("2026-11-20T14:31:30Z");
    const isRefused = (account: string | null, sentAt: number): boolean =>
      account === "second" && sentAt < refusedUntil;
    const two = startTwo([[START, PRICED]], { isRefused });
    const refusedOf = () => two.collectors.map(({ collector }) => collector.knows().refused);

    await two.world.until(at);
    await two.move("second", 15_000);
    await two.world.until("2026-11-20T14:36:00Z");

    expect(two.world.calls.some(({ account, brought }) => account === "second" && brought)).toBe(true);
    expect(refusedOf()).toEqual([[], []]);
  },
);

/** A collector of three accounts, and what has it call the fourth one. */
function startThree(agreedAt?: (at: Date) => EpochTerms) {
  const called = new Set(NAMES.slice(0, 3));
  const shares = new Shares([...called].map(sharer), (name) => called.has(name));
  const jobs = JOBS.slice(0, 2);
  const world = startWorld({
    start: START,
    jobs,
    accounts: [...called],
    shares,
    ...(agreedAt && { agreedAt }),
  });
  const takeFourth = async (): Promise<void> => {
    called.add("fourth");
    await world.collector.startCalling(world.account("fourth"), () => Promise.resolve(new Set()));
  };
  return { world, takeFourth };
}

test("an account that comes to share the jobs in the midst of a slot has its share from the next slot on", async () => {
  const { world, takeFourth } = startThree();
  await world.until("2026-11-20T14:30:20Z");

  world.collector.shareAmong([], [sharer("fourth")]);
  await takeFourth();
  await world.until("2026-11-20T14:31:50Z");

  const asked = world.calls.flatMap(({ planned, names }) => names.map((name) => `${planned.slotAt} ${name}`));
  expect(asked.length).toBe(2 * 760);
  expect(new Set(asked).size).toBe(asked.length);
  const slots = world.calls.flatMap(({ planned, account }) => (account === "fourth" ? [planned.slotAt] : []));
  expect([...new Set(slots)]).toEqual(["2026-11-20T14:31:00.000000Z"]);
});

/** The names that are due at each slot of a job, and those of them that are missed. */
function countsOf(
  notes: readonly LedgerNote[],
  until: string,
): Record<string, [due: number, missed: number]> {
  const counts: Record<string, [number, number]> = {};
  for (const { job, slotAt, due, misses } of entriesOf(notes)) {
    if (slotAt >= until) continue;
    const [dueBefore, missedBefore] = counts[`${slotAt.slice(11, 16)} ${job}`] ?? [0, 0];
    counts[`${slotAt.slice(11, 16)} ${job}`] = [dueBefore + due.length, missedBefore + misses.length];
  }
  return counts;
}

test("an account that comes and cannot be called for minutes has no share before that: the others ask for all", async () => {
  const { world, takeFourth } = startThree();
  await world.until("2026-11-20T14:30:20Z");

  world.collector.shareAmong([], [sharer("fourth")]);
  await world.until("2026-11-20T14:32:20Z");
  await takeFourth();
  await world.until("2026-11-20T14:34:10Z");

  const minutes = ["14:30", "14:31", "14:32", "14:33"];
  expect(countsOf(world.notes, "2026-11-20T14:34")).toEqual(
    Object.fromEntries(
      minutes.flatMap((at) => [
        [`${at} list`, [700, 0]],
        [`${at} contracts`, [60, 0]],
      ]),
    ),
  );
  const slots = world.calls.flatMap(({ planned, account }) =>
    account === "fourth" ? [String(planned.slotAt).slice(11, 16)] : [],
  );
  expect([...new Set(slots)]).toEqual(["14:33", "14:34"]);
});

test("an account that collectors have agreed on, and that nobody could call for minutes: what its slots lack is its share", async () => {
  const agreedAt = (at: Date): EpochTerms =>
    at < new Date("2026-11-20T14:30:30Z") ? THREE : { ...PRICED, number: 4 };
  const { world, takeFourth } = startThree(agreedAt);
  await world.until("2026-11-20T14:30:30Z");

  world.collector.shareAmong([], [sharer("fourth")]);
  await world.until("2026-11-20T14:33:20Z");
  await takeFourth();
  await world.until("2026-11-20T14:35:10Z");

  const counts = countsOf(world.notes, "2026-11-20T14:35");
  const lacking = world.collector.jobs.map(({ job }) => world.collector.shareOf(job, "fourth").length);
  expect(Math.min(...lacking)).toBeGreaterThan(0);
  const slots = ["14:30", "14:31", "14:32", "14:33", "14:34"].map((at) =>
    ["list", "contracts"].map((job) => counts[`${at} ${job}`]),
  );
  const without = [
    [700 - (lacking[0] ?? 0), 0],
    [60 - (lacking[1] ?? 0), 0],
  ];
  const whole = [
    [700, 0],
    [60, 0],
  ];
  expect(slots).toEqual([whole, without, without, whole, whole]);
});

test("what waits at an account that is taken out of the file goes to others, and is missed where nobody asks for it", async () => {
  const two = startTwo([[START, PRICED]]);
  const [one] = two.collectors;
  await two.world.until("2026-11-20T14:30:00.200Z");

  one?.called.delete("second");
  void one?.collector.replaceAccounts(["second"], []);
  await two.world.until("2026-11-20T14:31:30Z");

  expectRecounted(two, "2026-11-20T14:31:00");
});

/** The collectors have agreed on three accounts and on four in turn; a new agreement begins at a half second. */
function inTurn(afterSeconds: readonly number[]): [from: string, agreed: EpochTerms][] {
  let atMs = Date.parse(START) + 500;
  return [
    [START, PRICED],
    ...afterSeconds.map((seconds, place): [string, EpochTerms] => {
      atMs += seconds * 1_000;
      const { accounts } = place % 2 === 0 ? THREE : PRICED;
      return [new Date(atMs).toISOString(), { ...PRICED, accounts, number: 3 + place }];
    }),
  ];
}

test("accounts move and agreements change at any moment of a slot: due = stored + missed, and what was asked for is not asked again", async () => {
  const move = fc.record({
    account: fc.constantFrom(...NAMES),
    afterMs: fc.integer({ min: 0, max: 70_000 }),
    gapMs: fc.integer({ min: 0, max: 15_000 }),
  });
  const changes = fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 5 }), changes, async (moves, afterSeconds) => {
      const two = startTwo(inTurn(afterSeconds), { failsEach: 5 });
      try {
        for (const { account, afterMs, gapMs } of moves) {
          await two.world.pass(afterMs);
          await two.move(account, gapMs);
        }
        const endsAt = new Date(two.world.clock.now().getTime() + 121_000);
        await two.world.until(endsAt.toISOString());
        expectRecounted(two, new Date(+endsAt - 60_000).toISOString().slice(0, 17));
        expect(broughtTwice(two)).toEqual([]);
        expect(leftOpen(two, new Date(+endsAt - 61_000).toISOString())).toEqual([]);
      } finally {
        await two.world.end(0);
        await two.collectors[1]?.collector.close(0).catch(() => undefined);
      }
    }),
    {
      numRuns: runs(5),
      examples: [
        // It goes in the moment in which it shares the jobs no more.
        [
          [
            { account: "main", afterMs: 44_109, gapMs: 5_924 },
            { account: "fourth", afterMs: 10_467, gapMs: 0 },
          ],
          [60],
        ],
      ],
    },
  );
}, 120_000);

test("of an account that comes in the midst of a slot, what no longer fits in is down; of one that was there, budget", async () => {
  const called = new Set(["main"]);
  const shares = new Shares(["main", "second"].map(sharer), (name) => called.has(name));
  const jobs = [jobOf({ name: "contracts", options: contractsOf(200) })];
  const world = startWorld({ start: START, jobs, accounts: [...called], shares });

  await world.until("2026-11-20T14:30:40Z");
  called.add("second");
  await world.collector.startCalling(world.account("second"), () => Promise.resolve(new Set()));
  await world.until("2026-11-20T14:31:10Z");

  const entries = entriesOf(world.notes).filter(({ slotAt }) => slotAt.slice(11, 16) === "14:30");
  const reasons = entries.map(({ account, misses }) => [
    account,
    ...new Set(misses.map(([, reason]) => reason)),
  ]);
  expect(reasons.sort()).toEqual([
    ["main", "budget"],
    ["second", "down"],
  ]);
});

const OTHER_JOBS = [jobOf({ name: "other", symbols: symbolsNamed(3), schedule: "* * * * * *" })];

test.each<[what: string, comes: (world: World) => unknown]>([
  [
    "an account is taken",
    ({ collector, account }) => collector.startCalling(account("second"), () => Promise.resolve(new Set())),
  ],
  ["other jobs are read", ({ collector }) => collector.replaceJobs(OTHER_JOBS, alwaysOpen, createCalendar())],
])(
  "where %s as the collector ends, nothing more is asked for and no slot is opened",
  async (_what, comes) => {
    const called = new Set(["main"]);
    const shares = new Shares(["main", "second"].map(sharer), (name) => called.has(name));
    const world = startWorld({ start: START, jobs: JOBS, accounts: [...called], shares });
    await world.until("2026-11-20T14:30:40Z");
    called.add("second");
    const closed = world.collector.close(0);
    await world.pass(1);
    await closed;
    const [asked, noted] = [world.calls.length, world.notes.length];

    await comes(world);
    await world.until("2026-11-20T14:33:00Z");

    expect([world.calls.length, world.notes.length]).toEqual([asked, noted]);
  },
);
