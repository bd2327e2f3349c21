import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { loadBatch } from "../../src/archive/load/loadBatch.ts";
import { loadSegment, startLoader } from "../../src/archive/load/loader.ts";
import type { LoadReport } from "../../src/archive/load/batch.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { AnswerRows, QuoteUnit } from "../../src/read/rowTypes.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { anyCharacter } from "../support/anyCharacter.ts";
import { contentOf, countsOf, followOwnRows, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { handOnDatabases, poolOn } from "../support/database.ts";
import { answerRecord, at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

/** Answers about equities and options, with absent fields, exponents, dividends that change, and a malformed item. */
function manyAnswers(count: number, from = 0) {
  return Array.from({ length: count }, (_, n) =>
    answerRecord(
      at(from + n),
      answerXml(
        ...Array.from({ length: 20 }, (_, s) =>
          equityXml(`S${s}`, {
            quote: { lastprice: `${s}.${n}0`, bidprice: s % 4 === 0 ? "" : "1E+3", change: "-3.0E-6" },
            extended: { volume: String(n * 1_000_003), eps: "0.0450" },
            dividend: s % 3 === 0 ? {} : { amt: `0.${1 + (n >> 3)}0`, yield: n % 2 === 0 ? "1.50" : "1.5" },
          }),
        ),
        equityXml("BAD", { instrument: { sectyp: "<b/>" } }),
        optionXml({ strike: String(100 + (n % 5)) }),
      ),
    ),
  );
}

const ROWS = ["responses", "quotes", "extended_quotes", "dividends", "dead_letters", "instruments"];

async function rowsContent(pool: pg.Pool) {
  const content = await contentOf(pool);
  return Object.fromEntries(ROWS.map((table) => [table, content[table]]));
}

describe("however rows come in, they are the same rows", () => {
  handOnDatabases();

  const cutFrom = (second: number, ...tables: string[]): string =>
    tables.map((table) => `delete from ${table} where observed_at >= '${at(second)}'`).join("; ");

  test("a dead letter of an earlier release goes when its answer is loaded again without one", async () => {
    const world = await loadingWorld();
    const letters = () => rowsOfQuery(world.pool, "select * from dead_letters order by observed_at, ordinal");
    await world.append(...manyAnswers(2));
    await world.load();
    const before = await letters();
    await world.pool.query(
      `insert into dead_letters select (jsonb_populate_record(d, '{"ordinal": 7, "detail": "of an earlier release"}')).* from dead_letters d`,
    );

    await world.forgetPositions();
    await world.load();

    expect(before).toHaveLength(2);
    expect(await letters()).toEqual(before);
  });

  test("volumes that come again to quotes that are there are in the bars", async () => {
    const world = await loadingWorld();
    const bars = () => rowsOfQuery(world.pool, "select * from bars_5m order by instrument_id, bar_at");
    // Bars are kept of dates that their series have ended.
    const later = answerRecord("2026-11-23T15:00:00.000000Z", answerXml(equityXml("S1")));
    await world.append(...manyAnswers(20), later);
    await world.load();
    const before = await bars();
    await world.pool.query("delete from extended_quotes");
    await followOwnRows(world.pool);
    const without = await bars();

    await world.forgetPositions();
    await world.load();

    expect(without).not.toEqual(before);
    expect(await bars()).toEqual(before);
  });

  test.each([
    [
      "their answers are there while they are not",
      "truncate quotes, extended_quotes, dividends, dead_letters",
      { responses: 0, quotes: 880, repeated: 0, dividends: 65, deadLetters: 40 },
    ],
    [
      "some are there while their answers are not",
      `truncate responses; ${cutFrom(39, "quotes")}; ${cutFrom(10, "extended_quotes")}`,
      { responses: 40, quotes: 22, repeated: 858, dividends: 0 },
    ],
    [
      "old and new ones are in one batch",
      cutFrom(30, "responses", "quotes", "extended_quotes"),
      { responses: 10, quotes: 220, repeated: 660 },
    ],
  ])("rows come in the same when %s", async (_when, change, report) => {
    const { pool, append, load, forgetPositions } = await loadingWorld();
    await append(...manyAnswers(40));
    await load();
    const content = await rowsContent(pool);

    await pool.query(change);
    await forgetPositions();

    expect(await load()).toMatchObject(report);
    expect(await rowsContent(pool)).toEqual(content);
  });

  test("rows come in the same in one batch or in many", async () => {
    const answers = manyAnswers(24).map((record, offset) => rowsOf(record, { segment: "s", offset }));
    const [one, many] = [await loadingWorld(), await loadingWorld()];
    const loadCut = async (pool: pg.Pool, size: number) => {
      for (let from = 0; from < 24; from += size) {
        const batch = {
          segment: "s",
          from,
          to: from + size,
          answers: answers.slice(from, from + size),
          notes: [],
        };
        await loadBatch(pool, batch);
      }
    };

    await loadCut(one.pool, 24);
    await loadCut(many.pool, 6);

    expect(await contentOf(many.pool)).toEqual(await contentOf(one.pool));
  });

  test("an answer that stands twice in a journal is stored once", async () => {
    const { pool, append, load } = await loadingWorld();
    const answers = manyAnswers(2);
    await append(...answers, ...answers);

    expect(await load()).toMatchObject({ responses: 2, quotes: 44, repeated: 44, deadLetters: 2 });
    expect(await countsOf(pool)).toMatchObject({ responses: 2, quotes: 44, extended_quotes: 44 });
  });
});

describe("a batch", () => {
  handOnDatabases();

  const batch = (answers: AnswerRows[]) => ({ segment: "s", from: 0, to: 10, answers, notes: [] });

  test("a batch without answers moves the position, and one without quotes is loaded as it is", async () => {
    const { pool } = await loadingWorld();

    expect(await loadBatch(pool, batch([]))).toMatchObject({ responses: 0 });
    const empty = rowsOf(answerRecord(at(0), answerXml()), { segment: "s", offset: 10 });
    expect(await loadBatch(pool, { ...batch([empty]), from: 10, to: 20 })).toMatchObject({
      responses: 1,
      quotes: 0,
    });
    expect(await rowsOfQuery(pool, "select loaded_to from journal_positions")).toEqual([{ loaded_to: "20" }]);
  });

  test.each([0, 5, 20])(
    "a batch that begins at %d of a segment loaded to 10 is another program's, and stores nothing",
    async (from) => {
      const { pool } = await loadingWorld();
      await loadBatch(pool, batch([]));
      const answer = rowsOf(answerRecord(at(0), answerXml(equityXml("A"))), { segment: "s", offset: 5 });

      expect(await loadBatch(pool, { ...batch([answer]), from, to: 30 })).toBeNull();
      expect(await countsOf(pool)).toMatchObject({ responses: 0, quotes: 0, instruments: 0 });
      expect(await rowsOfQuery(pool, "select loaded_to from journal_positions")).toEqual([
        { loaded_to: "10" },
      ]);
    },
  );

  test("a batch across months, old ones too, lands in each month's partition", async () => {
    const { pool, append, load } = await loadingWorld();
    const times = [
      "2011-03-16T14:51:44.123456Z",
      "2026-10-31T23:59:59.999999Z",
      "2026-11-01T00:00:00.000000Z",
    ] as const;
    await append(...times.map((time) => answerRecord(time, answerXml(equityXml("A")))));

    expect(await load()).toMatchObject({ quotes: 3 });
    for (const table of ["quotes", "extended_quotes", "responses"]) {
      const months = await rowsOfQuery(
        pool,
        `select distinct date_trunc('month', observed_at)::date as month from ${table} order by 1`,
      );
      expect(months.map(({ month }) => month)).toEqual(["2011-03-01", "2026-10-01", "2026-11-01"]);
    }
  });
});

test("a partition that was dropped meanwhile is made again, and no quote is lost to its absence", async () => {
  const { pool, journalDir, append } = await loadingWorld();
  const reports: LoadReport[] = [];
  const loader = startLoader({
    ...{ pool, journalDir, clock: createTestClock() },
    onLoaded: (report) => reports.push(report),
  });
  await append(...manyAnswers(2));
  await loader.drain();
  const parts = await rowsOfQuery(
    pool,
    "select inhrelid::regclass::text as part from pg_inherits where inhparent = 'quotes'::regclass",
  );
  for (const { part } of parts) await pool.query(`drop table ${String(part)}`);

  await append(...manyAnswers(2, 60));
  await loader.drain();
  await loader.close(5_000);

  expect(reports).toHaveLength(2);
  expect(reports[1]).toMatchObject({ responses: 2, quotes: 44, deadLetters: 2 });
});

describe("two loaders at once", () => {
  /** Each segment names some underlyings itself and assumes others, in an order of its own. */
  function crossing(segment: number) {
    const symbols = Array.from({ length: 12 }, (_, n) => `X${(n * 5 + segment * 7) % 12}`);
    return Array.from({ length: 20 }, (_, n) =>
      answerRecord(
        at(segment * 100 + n),
        answerXml(
          ...symbols.map((symbol, s) =>
            (s + segment) % 2 === 0
              ? equityXml(symbol)
              : optionXml({ underlying: symbol, strike: String(n % 3) }),
          ),
        ),
      ),
    );
  }

  test("two loaders with the same instruments in other orders neither wait for ever nor lose a row", async () => {
    const { url, pool, journalDir, append } = await loadingWorld();
    for (let segment = 0; segment < 8; segment++) await append(...crossing(segment));
    const names = (await listSegments(journalDir)).map(({ name }) => name);
    const options = { journalDir, clock: createTestClock() };
    const loadInOrder = async (loader: pg.Pool, segments: readonly string[]) => {
      for (const name of segments) await loadSegment({ ...options, pool: loader }, name, 0);
    };

    await Promise.all([loadInOrder(pool, names), loadInOrder(poolOn(url), names.toReversed())]);

    // 6 options bring their 6 underlyings along: 18 rows an answer.
    expect(await countsOf(pool)).toMatchObject({
      responses: 160,
      quotes: 160 * 18,
      extended_quotes: 160 * 18,
    });
    expect(await rowsOfQuery(pool, "select count(*) from instruments where option_type is null")).toEqual([
      { count: "12" },
    ]);
  });

  test("two loaders with the same answers in two segments store each row once", async () => {
    const { url, pool, journalDir, append } = await loadingWorld();
    await append(...manyAnswers(15));
    await append(...manyAnswers(15));
    const [first = "", second = ""] = (await listSegments(journalDir)).map(({ name }) => name);
    const options = { journalDir, clock: createTestClock() };

    const reports = await Promise.all([
      loadSegment({ ...options, pool }, first, 0),
      loadSegment({ ...options, pool: poolOn(url) }, second, 0),
    ]);

    expect(reports.map(({ responses }) => responses).sort((a, b) => a - b)).toEqual([0, 15]);
    expect(reports.reduce((sum, { quotes }) => sum + quotes, 0)).toBe(15 * 22);
    expect(reports.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(15 * 22);
  });

  const inTheWay = (times: number) => `
    create sequence tries;
    create function in_the_way() returns trigger language plpgsql as $$ begin
      if nextval('tries') <= ${times} then raise exception 'in the way' using errcode = '40P01'; end if;
      return null;
    end $$;
    create trigger in_the_way after insert on responses for each statement execute function in_the_way()`;

  test("a loader that the database ends in a deadlock tries again at once", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...manyAnswers(3));
    await pool.query(inTheWay(3));

    expect(await load()).toMatchObject({ responses: 3, quotes: 66, repeated: 0 });
  });

  test("a loader gives up after five deadlocks, and nothing is stored", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...manyAnswers(3));
    await pool.query(inTheWay(5));

    await expect(load()).rejects.toMatchObject({ code: "40P01" });
    expect(await countsOf(pool)).toMatchObject({ responses: 0, quotes: 0, journal_positions: 0 });
  });
});

/** Citus has no triggers on tables that are cut. */
const testTriggers = unlessOnCitus("which has no triggers on cut tables: a load that finds no partition.");

testTriggers(
  "a missing partition refuses no quote: it stops the load, and no quote is lost to it",
  async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...manyAnswers(1));
    await pool.query(`create function no_partition() returns trigger language plpgsql as
    $$ begin raise exception 'no partition' using errcode = '23514'; end $$;
    create trigger no_partition before insert on extended_quotes for each statement execute function no_partition()`);

    await expect(load()).rejects.toMatchObject({ code: "23514" });
    expect(await countsOf(pool)).toMatchObject({ quotes: 0, dead_letters: 0 });
  },
);

describe("what is stored is what was read", () => {
  handOnDatabases();

  /** One answer with one unit for each of the changes. */
  function answerWith(changes: readonly ((unit: QuoteUnit) => QuoteUnit)[]): AnswerRows {
    const record = answerRecord(at(0), answerXml(...changes.map((_, n) => equityXml(`S${n}`))));
    const rows = rowsOf(record, { segment: "s", offset: 0 });
    return { ...rows, units: rows.units.map((unit, n) => changes[n]?.(unit) ?? unit) };
  }
  const batch = (answer: AnswerRows) => ({ segment: "s", from: 0, to: 1, answers: [answer], notes: [] });

  const digits = (maxLength: number) =>
    fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength });
  const decimal = fc
    .tuple(
      fc.constantFrom("", "-", "+"),
      digits(30),
      fc.option(digits(30)),
      fc.option(fc.integer({ min: -320, max: 300 })),
    )
    .map(([sign, whole, fraction, exponent]) =>
      [sign, whole, fraction === null ? "" : `.${fraction}`, exponent === null ? "" : `E${exponent}`].join(
        "",
      ),
    );

  test.each(["by COPY", "by merging"])("numbers are stored to the last digit, %s", async (way) => {
    const { pool } = await loadingWorld();
    const texts = fc.sample(
      fc.tuple(
        fc.option(decimal),
        fc.option(decimal),
        fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      ),
      { numRuns: 400, seed: 7 },
    );
    const answer = answerWith(
      texts.map(([last, delta, volume]) => (unit) => ({
        ...unit,
        quote: {
          ...unit.quote,
          last,
          extended: { ...unit.quote.extended, delta, volume: volume?.toString() ?? null },
        },
      })),
    );
    await loadBatch(pool, batch(answer));
    if (way === "by merging") {
      await pool.query("truncate quotes, extended_quotes, journal_positions");
      await loadBatch(pool, batch(answer));
    }

    const wrong = await rowsOfQuery(
      pool,
      `select place from unnest($1::text[], $2::text[], $3::text[]) with ordinality as given (last, delta, volume, place)
       join instruments i on i.symbol = 'S' || place - 1
       left join quotes q on q.instrument_id = i.id
       left join extended_quotes e on e.instrument_id = i.id
       where (q.last::text, e.delta::text, e.volume::text)
         is distinct from (given.last::numeric::text, given.delta::numeric::text, given.volume::bigint::text)`,
      [
        texts.map(([last]) => last),
        texts.map(([, delta]) => delta),
        texts.map(([, , volume]) => volume?.toString() ?? null),
      ],
    );
    expect(wrong).toEqual([]);
    expect(await countsOf(pool)).toMatchObject({ quotes: 400, extended_quotes: 400, dead_letters: 0 });
  });

  test("names are stored with quotes, backslashes, braces, white space and any other character", async () => {
    const { pool } = await loadingWorld();
    const name = fc.oneof(
      fc.string({ unit: fc.constantFrom(..."\\\"'{},\t\n \u0000NUL123 é🙂"), minLength: 1 }),
      fc.string({ unit: anyCharacter, minLength: 1 }),
    );
    const symbols = [
      ...new Set(
        fc.sample(name, { numRuns: 300, seed: 3 }).map((text) => text.replaceAll("\u0000", "\u{FFFD}")),
      ),
    ];
    const descriptions = fc.sample(fc.option(name), { numRuns: symbols.length, seed: 4 });

    await loadBatch(
      pool,
      batch(
        answerWith(
          symbols.map((symbol, n) => (unit) => ({
            ...unit,
            instrument: { ...unit.instrument, symbol, description: descriptions[n] ?? null },
          })),
        ),
      ),
    );

    const rows = await rowsOfQuery(pool, "select symbol, description from instruments");
    const stored = new Map(rows.map(({ symbol, description }) => [symbol, description]));
    expect(stored).toEqual(
      new Map(
        symbols.map((symbol, n) => [symbol, descriptions[n]?.replaceAll("\u0000", "\u{FFFD}") ?? null]),
      ),
    );
    expect(await countsOf(pool)).toMatchObject({ quotes: symbols.length, dead_letters: 0 });
  });

  test("a value that is no number is a dead letter, whatever it holds: no tab or line end becomes a column or a row", async () => {
    const { pool } = await loadingWorld();
    const poison = ["1\t2", "1\n2", "\\N", "1\\t", "", "1\r\n2", "\u0000"];
    const answer = answerWith(poison.map((bid) => (unit) => ({ ...unit, quote: { ...unit.quote, bid } })));

    expect(await loadBatch(pool, batch(answer))).toMatchObject({ quotes: 0, deadLetters: poison.length });
    expect(await countsOf(pool)).toMatchObject({ quotes: 0, extended_quotes: 0 });
  });
});
