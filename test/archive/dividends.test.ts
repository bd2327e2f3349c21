import { afterEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { loadAll, startLoader } from "../../src/archive/load/loader.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { openJournal } from "../../src/journal/writer.ts";
import type { DividendData } from "../../src/quotes/document.ts";
import { run } from "../cli/edges.ts";
import { countWaiting, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { handOnDatabases, poolOn } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { loadingWorld, type LoadingWorld } from "../support/loading.ts";
import { runs } from "../support/runs.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { answerXml, equityXml } from "../support/xml.ts";

handOnDatabases();

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** What is said at one second after the other: a change, a change back, and the same again. */
const SAID = ["0.24", "0.26", "0.240", "0.24"];

/** All orders of the seconds. */
function orders(left: readonly number[]): number[][] {
  if (left.length === 0) return [[]];
  return left.flatMap((one) => orders(left.filter((other) => other !== one)).map((rest) => [one, ...rest]));
}

const ORDERS = orders(SAID.map((_, second) => second));

/** A symbol for each order, in letters. */
const symbolOf = (place: number): string => `S${String(place).padStart(3, "0")}`;

/** The answers that come as the `round`th: of each symbol another second. */
function answersOf(round: number): JournalRecord[] {
  return SAID.map((amt, second) => {
    const items = ORDERS.flatMap((order, place) =>
      order[round] === second ? [equityXml(symbolOf(place), { dividend: { amt } })] : [],
    );
    return answerRecord(at(second + round / 1_000), answerXml(...items));
  });
}

/** Symbols by what the table has of them: seconds and amounts. */
async function symbolsByRows(pool: pg.Pool): Promise<Record<string, string[]>> {
  const rows = await rowsOfQuery(
    pool,
    `select symbol, string_agg(extract(second from date_trunc('second', observed_at))::int || ' ' || trim_scale(amount), ', ' order by observed_at) as told
     from dividends join instruments on id = instrument_id group by 1 order by 1`,
  );
  const symbols: Record<string, string[]> = {};
  for (const { symbol, told } of rows) (symbols[String(told)] ??= []).push(String(symbol));
  return symbols;
}

/** For each second in which of two journals it is, in every way. */
const SHARES = Array.from({ length: 2 ** SAID.length }, (_, bits) =>
  SAID.map((_, second) => (bits >> second) & 1),
);

const bySymbol = (a: { symbol: string }, b: { symbol: string }): number => (a.symbol < b.symbol ? -1 : 1);

describe("a dividend that changes and changes back", () => {
  const told = { "0 0.24, 1 0.26, 2 0.24": ORDERS.map((_, place) => symbolOf(place)) };

  test("a dividend has a row for each change, in whatever order its quotes are loaded", async () => {
    const { pool, append, load } = await loadingWorld();
    for (const round of SAID.keys()) {
      await append(...answersOf(round));
      await load();
    }

    expect(await symbolsByRows(pool)).toEqual(told);
  });

  test("a dividend has a row for each change, in whatever order journals are read", async () => {
    const { url, pool } = await loadingWorld();
    const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
    for (const round of SAID.keys()) {
      const dir = tempDir();
      await appendAll(dir, answersOf(round));
      expect(await run(["backfill", "--journal", dir], env)).toMatchObject({ exitCode: 0 });
    }

    expect(await symbolsByRows(pool)).toEqual(told);
  });

  test.each([
    ["second", 1],
    ["day", 86_400],
  ])(
    "a dividend has a row for each change when two programs load its quotes at the same time, one each %s",
    async (_, apart) => {
      const { url, pool, append, load } = await loadingWorld();
      // Instruments that are new are added by one after the other.
      const known = SHARES.map((share) => equityXml(share.join(""), { dividend: { amt: "" } }));
      await append(answerRecord(at(-1), answerXml(...known)));
      await load();
      // Late quotes write nothing to them.
      await pool.query("update instruments set last_seen_at = '2030-01-01'");
      // Of each symbol other quotes are in the second journal.
      const journals = [tempDir(), tempDir()];
      for (const [place, dir] of journals.entries())
        await appendAll(
          dir,
          SAID.map((amt, nth) => {
            const items = SHARES.filter((share) => share[nth] === place).map((share) =>
              equityXml(share.join(""), { dividend: { amt } }),
            );
            return answerRecord(at(nth * apart + place / 1_000), answerXml(...items));
          }),
          { clock: createTestClock(`2026-11-20T22:5${place + 1}:00Z`) },
        );
      const holder = await pool.connect();
      // Each has stored all that it brings when it notes the dates.
      await holder.query("begin; lock table late_days in share mode");
      const loads = journals.map((journalDir) =>
        loadAll({ pool: poolOn(url), journalDir, clock: createTestClock() }),
      );
      await until(async () => (await countWaiting(pool)) === loads.length, "both loads");
      await holder.query("commit");
      holder.release();
      await Promise.all(loads);

      const rows = await rowsOfQuery(
        pool,
        `select symbol, string_agg(trunc(extract(epoch from observed_at - '${at(0)}') / ${apart}) || ' ' || trim_scale(amount), ', ' order by observed_at) as told
         from dividends join instruments on id = instrument_id group by 1 order by 1`,
      );
      const told = "0 0.24, 1 0.26, 2 0.24";
      expect(rows).toEqual(SHARES.map((share) => ({ symbol: share.join(""), told })).sort(bySymbol));
    },
  );

  test("a dividend has one row for two quotes that say the same, even if last_seen_at lags behind the later one", async () => {
    const { pool, append, load } = await loadingWorld();
    const quote = (second: number) =>
      answerRecord(at(second), answerXml(equityXml("A", { dividend: { amt: "1" } })));
    await append(quote(2));
    await load();
    // What a loader that is killed between the two leaves.
    await pool.query("update instruments set last_seen_at = '2000-01-01'");
    await append(quote(1));
    await load();

    const rows = await rowsOfQuery(
      pool,
      "select extract(second from observed_at)::int as second from dividends",
    );
    expect(rows).toEqual([{ second: 1 }]);
  });

  test("has a row for the change back behind the quotes of one load, some of which do not tell the security's type", async () => {
    const { pool, append, load } = await loadingWorld();
    const quote = (second: number, amt: string, sectyp = "CS") =>
      answerRecord(at(second), answerXml(equityXml("A", { dividend: { amt }, instrument: { sectyp } })));
    await append(quote(5, "2"));
    await load();
    await append(quote(1, "1"), quote(3, "1", ""), quote(10, "1"));
    await load();

    const rows = await rowsOfQuery(pool, "select amount from dividends order by observed_at");
    expect(rows.map(({ amount }) => amount)).toEqual(["1", "2", "1"]);
  });
});

/** A dividend, and others that differ from it in one thing each. */
const FIRST: DividendData = { amount: "0.24", exDate: "2026-08-12", yield: "2.02" };
const WORDS: readonly DividendData[] = [
  FIRST,
  { ...FIRST, amount: "0.25" },
  { ...FIRST, exDate: "2026-11-12" },
  { ...FIRST, exDate: null },
  { ...FIRST, yield: "2.03" },
];

/** Of each symbol a dividend, the same again, and one that differs in one thing, twice. */
function changesInOneThing(): { records: JournalRecord[]; rows: object[] } {
  const changes = WORDS.slice(1).map((changed, place) => ({ symbol: symbolOf(place), changed }));
  const records = [1, 2, 3, 4].map((second) =>
    answerRecord(
      at(second),
      answerXml(
        ...changes.map(({ symbol, changed }) =>
          equityXml(symbol, { dividend: dividendTexts(second < 3 ? FIRST : changed) }),
        ),
      ),
    ),
  );
  const rows = changes.flatMap(({ symbol, changed }) => [
    { symbol, second: 1, ...FIRST },
    { symbol, second: 3, ...changed },
  ]);
  return { records, rows };
}

function dividendTexts({ amount, exDate, yield: part }: DividendData): Record<string, string> {
  return { amt: amount ?? "", exdate: exDate === null ? "" : `${exDate}T00:00:00-04:00`, yield: part ?? "" };
}

const ROWS = `select symbol, extract(second from observed_at)::int as second, amount, ex_date as "exDate", yield
  from dividends join instruments on id = instrument_id order by symbol, second`;

describe("a loader that follows a journal", () => {
  const quote = (second: number, amt: string) =>
    answerRecord(at(second), answerXml(equityXml("A", { dividend: { amt } })));

  /** An archive, and a loader of a journal that grows within one segment until the clock is moved. */
  async function growing() {
    const { url, pool, journalDir } = await loadingWorld();
    const clock = createTestClock("2026-11-20T22:50:00Z");
    const onProblem = (error: unknown): void => {
      throw error;
    };
    const journal = await openJournal({ dir: journalDir, clock, onProblem });
    const loader = startLoader({ pool, journalDir, clock, onFailure: onProblem });
    closing.push(() => loader.close(60_000), journal.close);
    const say = async (second: number, amt: string): Promise<void> => {
      loader.notify((await journal.append(quote(second, amt))).segment);
      await loader.drain();
    };
    await say(0, "1");
    await say(1, "1");
    return { url, pool, say };
  }

  test.each([2, -1])("goes on from a change that another program has loaded at second %i", async (second) => {
    const { url, pool, say } = await growing();
    const dir = tempDir();
    await appendAll(dir, [quote(second, "2")], { clock: createTestClock("2026-11-20T22:51:00Z") });
    await loadAll({ pool: poolOn(url), journalDir: dir, clock: createTestClock() });
    await say(3, "1");

    const rows = second === 2 ? "0 1, 2 2, 3 1" : "59 2, 0 1";
    expect(await symbolsByRows(pool)).toEqual({ [rows]: ["A"] });
  });
});

test("a change of the amount, the date or the yield alone is a change, loaded or read from a journal", async () => {
  const { records, rows } = changesInOneThing();
  const live = await loadingWorld();
  await live.append(...records);
  await live.load();
  const read = await loadingWorld();
  const dir = tempDir();
  await appendAll(dir, records);
  const env = { DATABASE_URL: read.url, QUOTEKEEPER_DATA_DIR: tempDir() };
  const { exitCode, stderr } = await run(["backfill", "--journal", dir], env);

  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  expect(await rowsOfQuery(live.pool, ROWS)).toEqual(rows);
  expect(await rowsOfQuery(read.pool, ROWS)).toEqual(rows);
});

describe("rows counted again from what quotes said", () => {
  /** Quotes are six days apart, so that they lie in several partitions. */
  const TIMES = Array.from({ length: 20 }, (_, place) => at(place * 6 * 86_400));
  const SYMBOLS = ["A", "B", "C"];
  /** `FIRST` in other digits as well: the number is the same. */
  const SAYINGS = [...WORDS, { ...FIRST, amount: "0.2400" }];

  /** Of each symbol what its quote of each time says, places in `SAYINGS`. */
  type Said = number[][];
  /** Quotes that are loaded, by the places of their times; or how many times from the first on lose their quotes. */
  type Step = number[] | number;

  const place = fc.nat({ max: TIMES.length - 1 });
  const saying = fc.nat({ max: SAYINGS.length - 1 });
  const said: fc.Arbitrary<Said> = fc.tuple(
    ...SYMBOLS.map(() => fc.array(saying, { minLength: TIMES.length, maxLength: TIMES.length })),
  );
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.uniqueArray(place, { minLength: 1, maxLength: 8 }) },
    { weight: 1, arbitrary: place },
  );

  /** @returns the quotes that were loaded, by the places of their times */
  async function take(
    world: LoadingWorld,
    run: number,
    all: Said,
    steps: readonly Step[],
  ): Promise<number[]> {
    const loaded = new Set<number>();
    let kept = 0;
    for (const one of steps) {
      if (typeof one === "number") {
        kept = Math.max(kept, one);
        for (const table of ["quotes", "extended_quotes"])
          await world.pool.query(`delete from ${table} where observed_at < $1`, [TIMES[kept]]);
        continue;
      }
      // An older quote that comes when those after it are gone cannot be held against them.
      const places = one.filter((each) => each >= kept || loaded.has(each));
      await world.append(
        ...places.map((each) => {
          const items = SYMBOLS.map((symbol, series) => {
            const dividend = dividendTexts(SAYINGS[all[series]?.[each] ?? 0] ?? FIRST);
            return equityXml(`${symbol}${run}`, { dividend });
          });
          return answerRecord(TIMES[each] ?? "", answerXml(...items));
        }),
      );
      await world.load();
      for (const each of places) loaded.add(each);
    }
    return [...loaded].sort((a, b) => a - b);
  }

  /** One pass over all that was loaded, in the order of time. */
  function recount(run: number, all: Said, loaded: readonly number[]): object[] {
    return SYMBOLS.flatMap((symbol, series) => {
      const rows: (DividendData & { symbol: string; at: string })[] = [];
      for (const each of loaded) {
        const word = SAYINGS[all[series]?.[each] ?? 0] ?? FIRST;
        const before = rows.at(-1);
        const isSame =
          before?.exDate === word.exDate &&
          before.yield === word.yield &&
          Number(before.amount) === Number(word.amount);
        if (!isSame)
          rows.push({
            symbol: `${symbol}${run}`,
            at: TIMES[each] ?? "",
            ...word,
            amount: String(Number(word.amount)),
          });
      }
      return rows;
    });
  }

  async function rowsOf(pool: pg.Pool, run: number): Promise<object[]> {
    return rowsOfQuery(
      pool,
      `select symbol, to_char(observed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, trim_scale(amount) as amount, ex_date as "exDate", yield
       from dividends join instruments on id = instrument_id where symbol ~ '^[A-C]${run}$' order by symbol, observed_at`,
    );
  }

  test("whatever is loaded in whatever pieces, lost and loaded again, dividends equal a recount of what quotes said", async () => {
    const world = await loadingWorld();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(said, fc.array(step, { minLength: 1, maxLength: 8 }), async (all, steps) => {
        run += 1;
        const loaded = await take(world, run, all, steps);

        expect(await rowsOf(world.pool, run)).toEqual(recount(run, all, loaded));
      }),
      { numRuns: runs(25) },
    );
  });

  test("dividends that were changed, deleted and added by hand are right again when their answers are read again", async () => {
    const world = await loadingWorld();
    const all = SYMBOLS.map((_, series) => TIMES.map((_, each) => (each >> series) % SAYINGS.length));
    const loaded = await take(world, 0, all, [[...TIMES.keys()]]);
    await world.pool.query(`
      delete from dividends where instrument_id = 1;
      update dividends set amount = amount * 1.0, yield = 7 where instrument_id = 2;
      insert into dividends select observed_at, instrument_id, source_id, '2026-11-12', 9, 9 from quotes where instrument_id = 3
        on conflict do nothing`);
    await world.forgetPositions();
    await world.load();

    expect(await rowsOf(world.pool, 0)).toEqual(recount(0, all, loaded));
  });
});

test("a quote that says nothing of a dividend has no row, whether it comes with others or after them", async () => {
  const { pool, append, load } = await loadingWorld();
  const quote = (second: number, dividend: Record<string, string>) =>
    answerRecord(at(second), answerXml(equityXml("A", { dividend })));
  await append(quote(1, { amt: "1" }), quote(2, {}), quote(3, { amt: "1" }), quote(4, { amt: "2" }));
  await load();
  await append(quote(5, {}));
  await load();
  await append(quote(6, { amt: "2" }));
  await load();

  expect(await symbolsByRows(pool)).toEqual({ "1 1, 4 2": ["A"] });
});
