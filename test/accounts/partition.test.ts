/** Jobs spread over accounts, counted beside a plain list of which jobs want what. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { partition, type Partition, type Sharer, type JobWants } from "../../src/accounts/partition.ts";

const sharer = (name: string, limit = 60, windowMs = 60_000): Sharer => ({ name, limit, windowMs });
const FOUR = ["main", "second", "third", "fourth"].map((name) => sharer(name));

function wantedBy(job: string, fields: Partial<JobWants> = {}): JobWants {
  const nothing = { symbols: [], contracts: [], watchlist: null };
  return { job, priority: 0, delayed: false, account: null, ...nothing, ...fields };
}

/** `S001`, `S002` ... */
function named(count: number, letter = "S"): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(3, "0")}`);
}

function namesOf({ symbols, contracts, watchlist }: JobWants): string[] {
  return [...symbols, ...contracts, ...(watchlist === null ? [] : [watchlist])];
}

/** How many of these names each account has. */
function shares(names: readonly string[], ownerOf: Partition): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) {
    const owner = String(ownerOf(name, false));
    counts[owner] = (counts[owner] ?? 0) + 1;
  }
  return counts;
}

/** The calls of each account, by the jobs that want them: a contract each, and a block of symbols each. */
function callsOf(wanted: readonly JobWants[], ownerOf: Partition, blockSize: number): Map<string, string[]> {
  const calls = new Map<string, string[]>();
  const blocks = new Map<string, string[]>();
  const add = (jobs: string, name: string): unknown => calls.set(jobs, [...(calls.get(jobs) ?? []), name]);
  for (const delayed of [false, true]) {
    const jobs = wanted.filter((job) => job.delayed === delayed);
    for (const name of new Set(jobs.flatMap(namesOf))) {
      const by = jobs.filter((job) => namesOf(job).includes(name));
      const key = [delayed, ...by.map(({ job }) => job).sort()].join();
      if (by.some(({ symbols }) => symbols.includes(name)))
        blocks.set(key, [...(blocks.get(key) ?? []), name]);
      else add(key, String(ownerOf(name, delayed)));
    }
  }
  for (const [key, names] of blocks)
    names.sort().forEach((name, place) => {
      const owner = String(ownerOf(name, key.startsWith("true")));
      if (place % blockSize === 0) add(key, owner);
      else expect(calls.get(key)?.at(-1)).toBe(owner);
    });
  return calls;
}

const anySharers = fc
  .uniqueArray(fc.constantFrom("main", "second", "third", "a", "B"), { minLength: 1 })
  .chain((names) =>
    fc.tuple(...names.map((name) => fc.constantFrom(30, 60, 120).map((limit) => sharer(name, limit)))),
  );

const someOf = (names: string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...names), { maxLength: 40 });

/** Jobs that share names, some of them named twice. */
const anyWanted = (account: fc.Arbitrary<string | null>): fc.Arbitrary<JobWants[]> =>
  fc.uniqueArray(
    fc.record({
      job: fc.constantFrom("a", "b", "c", "d", "a-b", "Z"),
      priority: fc.nat(2),
      delayed: fc.boolean(),
      account,
      symbols: someOf(named(40)),
      contracts: someOf(named(40, "C:")),
      watchlist: fc.constantFrom(null, "watchlist ONE", "watchlist TWO"),
    }),
    { selector: ({ job }) => job, maxLength: 6 },
  );

const anyPin = fc.constantFrom(null, "main", "second", "gone");

test("the order of jobs, names and accounts does not matter", () => {
  fc.assert(
    fc.property(anyWanted(anyPin), anySharers, fc.nat(8), (wanted, sharers, by) => {
      const turned = <Item>(items: readonly Item[]): Item[] =>
        [...items.slice(by), ...items.slice(0, by)].reverse();
      const ownerOf = partition(wanted, sharers, 3);

      const other = partition(
        turned(wanted).map((job) => ({
          ...job,
          ...{ symbols: turned(job.symbols), contracts: turned(job.contracts) },
        })),
        turned(sharers),
        3,
      );

      const seen = wanted.flatMap((job) => namesOf(job).map((name) => [name, job.delayed] as const));
      expect(seen.map(([name, delayed]) => other(name, delayed))).toEqual(
        seen.map(([name, delayed]) => ownerOf(name, delayed)),
      );
    }),
  );
});

test("everything has an owner that takes part, but a watchlist of an absent account", () => {
  fc.assert(
    fc.property(anyWanted(anyPin), anySharers, (wanted, sharers) => {
      const names = sharers.map(({ name }) => name);
      const ownerOf = partition(wanted, sharers, 3);

      for (const job of wanted)
        for (const name of namesOf(job)) {
          const by = wanted.filter((one) => one.delayed === job.delayed && namesOf(one).includes(name));
          const pins = by.filter(({ account }) => account !== null && names.includes(account));
          const owner = ownerOf(name, job.delayed);
          if (pins.length > 0) expect(pins.map(({ account }) => account)).toContain(owner);
          else if (name === job.watchlist && by.every(({ account }) => account !== null))
            expect(owner).toBeNull();
          else expect(names).toContain(owner);
        }
    }),
  );
});

test("no account has more calls than its share of them, rounded up", () => {
  fc.assert(
    fc.property(anyWanted(fc.constant(null)), anySharers, (wanted, sharers) => {
      const ownerOf = partition(wanted, sharers, 3);

      const calls = [...callsOf(wanted, ownerOf, 3).values()].flat();
      const rate = sharers.reduce((sum, { limit }) => sum + limit, 0);
      for (const { name, limit } of sharers)
        expect(calls.filter((owner) => owner === name).length).toBeLessThanOrEqual(
          Math.ceil((calls.length * limit) / rate),
        );
    }),
  );
});

test("contracts and blocks of 100 symbols go to four accounts of 60 calls in equal parts", () => {
  const [symbols, contracts] = [named(2_000), named(400, "C:")];

  const ownerOf = partition([wantedBy("equities", { symbols }), wantedBy("options", { contracts })], FOUR);

  expect(Object.values(shares(symbols, ownerOf))).toEqual([500, 500, 500, 500]);
  expect(Object.values(shares(contracts, ownerOf))).toEqual([100, 100, 100, 100]);
});

test("an account of twice the calls in half the time has four times as much", () => {
  const contracts = named(100, "C:");

  const ownerOf = partition(
    [wantedBy("options", { contracts })],
    [sharer("slow"), sharer("quick", 120, 30_000)],
  );

  expect(shares(contracts, ownerOf)).toEqual({ slow: 20, quick: 80 });
});

test("what one job alone wants is spread evenly too, whatever else is due at other times", () => {
  const minutely = wantedBy("minutely", { contracts: named(240, "M:") });
  const hourly = wantedBy("hourly", { contracts: named(2_400, "H:") });

  const ownerOf = partition([minutely, hourly], FOUR);

  expect(Object.values(shares(minutely.contracts, ownerOf))).toEqual([60, 60, 60, 60]);
});

test("a hundred jobs of one symbol each are spread as evenly as one of a hundred", () => {
  const names = named(100);

  const ownerOf = partition(
    names.map((symbol) => wantedBy(`of-${symbol}`, { symbols: [symbol] })),
    FOUR,
  );

  expect(Object.values(shares(names, ownerOf))).toEqual([25, 25, 25, 25]);
});

test("a symbol that two jobs want is asked by one account for both, and no block mixes it with others", () => {
  const both = named(6, "B");
  const one = wantedBy("one", { symbols: [...named(6, "A"), ...both] });
  const two = wantedBy("two", { symbols: [...both, ...named(6, "C")] });

  const calls = callsOf([one, two], partition([one, two], FOUR, 3), 3);

  expect([...calls].map(([jobs, owners]) => [jobs, owners.length])).toEqual([
    ["false,one", 2],
    ["false,one,two", 2],
    ["false,two", 2],
  ]);
});

test("a symbol list that names a contract asks where the contract is asked", () => {
  const contracts = named(50, "C:");
  const wanted = [wantedBy("options", { contracts }), wantedBy("list", { symbols: contracts })];

  const ownerOf = partition(wanted, FOUR);

  expect(Object.keys(shares(contracts, ownerOf))).toHaveLength(4);
});

test("what nobody wants has no owner, and without accounts nothing has", () => {
  const wanted = [wantedBy("equities", { symbols: ["AAPL"] })];

  expect(partition(wanted, FOUR)("MSFT", false)).toBeNull();
  expect(partition(wanted, FOUR)("AAPL", true)).toBeNull();
  expect(partition(wanted, [])("AAPL", false)).toBeNull();
});

test("collectors of all versions give the second account the same names", () => {
  const wanted = [
    wantedBy("equities", { symbols: named(8), watchlist: "watchlist DEFAULT" }),
    wantedBy("options", { contracts: ["AAPL:2026-12-18:CALL:150", "AAPL:2026-12-18:PUT:150"] }),
  ];

  const ownerOf = partition(wanted, [sharer("main"), sharer("second", 30)], 2);

  expect(wanted.flatMap(namesOf).filter((name) => ownerOf(name, false) === "second")).toEqual([
    "S003",
    "S004",
    "watchlist DEFAULT",
  ]);
});

describe("pins", () => {
  const pinned = (job: string, account: string, priority = 0): JobWants =>
    wantedBy(job, { account, priority, symbols: ["AAPL"], contracts: ["C:1"], watchlist: "watchlist W" });

  test("the pin of the job with the higher priority holds, then that of the job whose name comes first", () => {
    const [a, b, c] = [pinned("a", "main"), pinned("b", "second"), pinned("c", "third", 1)];

    expect(partition([b, a], FOUR)("AAPL", false)).toBe("main");
    expect(partition([b, a, c], FOUR)("AAPL", false)).toBe("third");
    expect(partition([b, a, { ...c, account: "gone" }], FOUR)("AAPL", false)).toBe("main");
  });

  test("what is pinned to one account counts there, so that it has less of the rest", () => {
    const contracts = named(100, "C:");
    const wanted = [wantedBy("options", { contracts }), wantedBy("p", { contracts: named(20, "P:") })];

    const ownerOf = partition(
      [...wanted.slice(0, 1), { ...wantedBy("p", wanted[1]), account: "main" }],
      FOUR,
    );

    expect(shares(contracts, ownerOf)).toMatchObject({ main: 10, second: 30, third: 30, fourth: 30 });
  });
});

describe("what a change moves", () => {
  const contracts = named(240, "C:");
  const options = wantedBy("options", { contracts });

  function moved(names: readonly string[], before: Partition, after: Partition): string[] {
    return names.filter((name) => before(name, false) !== after(name, false));
  }

  test("an account that goes, or comes back, moves its own calls and a twentieth of the others at most", () => {
    const before = partition([options], FOUR);

    for (const { name } of FOUR) {
      const after = partition(
        [options],
        FOUR.filter((one) => one.name !== name),
      );

      const others = moved(contracts, before, after).filter((each) => before(each, false) !== name);
      expect(others.length).toBeLessThanOrEqual(240 / 20);
    }
  });

  test("a new symbol moves at most one symbol of each block, as long as it opens no new one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 599 }), (place) => {
        const symbols = named(600).filter((_, index) => index !== place);
        const rest = wantedBy("rest", { symbols: [...symbols.slice(0, 50), ...named(30, "R")] });

        const before = partition([wantedBy("equities", { symbols }), rest], FOUR);
        const after = partition([wantedBy("equities", { symbols: named(600) }), rest], FOUR);

        expect(moved(symbols, before, after).length).toBeLessThanOrEqual(6);
      }),
    );
  });

  test("a new job moves no call of jobs that it shares nothing with, where each is spread evenly", () => {
    const symbols = named(2_000);
    const equities = wantedBy("equities", { symbols });
    const before = partition([options, equities], FOUR);

    const after = partition([options, equities, wantedBy("b-new", { contracts: named(7, "N:") })], FOUR);

    expect(moved([...contracts, ...symbols], before, after)).toEqual([]);
  });
});
