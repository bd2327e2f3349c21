import { describe, expect, test } from "@jest/globals";
import { readPositions } from "../../src/archive/load/loadPosition.ts";
import { loadBatch } from "../../src/archive/load/loadBatch.ts";
import { contentOf, countsOf, rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases, poolOn } from "../support/database.ts";
import { answerRecord, at, symbolsCall, WATCHLIST_CALL } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const MAX_NAME = 255;

/** A few answers of every kind, with dividends, options, an unknown symbol and something malformed. */
function mixedAnswers(count: number, from = 0) {
  return Array.from({ length: count }, (_, n) =>
    answerRecord(
      at(from + n),
      answerXml(
        equityXml("A", {
          quote: { lastprice: `${20 + n}.10` },
          dividend: { amt: String(n >> 2), yield: "1.5" },
        }),
        equityXml("BAD", { instrument: { sectyp: n % 3 === 0 ? "<b/>" : "CS" } }),
        equityXml("NOSUCH", { unknown: "true" }),
        optionXml({ strike: String(100 + (n % 5)) }),
      ),
    ),
  );
}

describe("loading a journal", () => {
  handOnDatabases();

  test("makes its answers rows, and a second time adds nothing", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...mixedAnswers(12));

    const report = await load();
    const content = await contentOf(pool);

    expect(report).toMatchObject({ responses: 12, quotes: 44, repeated: 0, dividends: 3, deadLetters: 4 });
    expect(await countsOf(pool)).toMatchObject({
      responses: 12,
      quotes: 44,
      extended_quotes: 44,
      instruments: 8,
    });
    expect(await load()).toMatchObject({ responses: 0, quotes: 0, repeated: 0, deadLetters: 0 });
    expect(await contentOf(pool)).toEqual(content);
  });

  test("again from its beginning adds nothing: every table stays as it is, to the byte", async () => {
    const { pool, append, load, forgetPositions } = await loadingWorld();
    await append(...mixedAnswers(10));
    await append(...mixedAnswers(10, 60));
    await load();
    const content = await contentOf(pool);

    await forgetPositions();
    const report = await load();

    expect(report).toMatchObject({ responses: 0, quotes: 0, dividends: 0, deadLetters: 0, repeated: 72 });
    expect(await contentOf(pool)).toEqual(content);
  });

  test("goes on where it stopped", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...mixedAnswers(2));
    await load();
    await append(...mixedAnswers(3, 60));

    expect(await load()).toMatchObject({ responses: 3, repeated: 0 });
    expect(await countsOf(pool)).toMatchObject({ responses: 5, journal_positions: 2 });
  });

  test("takes in no stretch that begins behind where it stopped, or before", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...mixedAnswers(2));
    await load();
    const [[segment, position] = ["", 0]] = await readPositions(pool);
    const take = (from: number) => loadBatch(pool, { segment, from, to: from + 100, answers: [], notes: [] });

    expect(await take(position + 1)).toBeNull();
    expect(await take(position - 1)).toBeNull();
    expect(await readPositions(pool)).toEqual(new Map([[segment, position]]));
    expect(await take(position)).toMatchObject({ responses: 0 });
    expect(await readPositions(pool)).toEqual(new Map([[segment, position + 100]]));
  });

  test("by two programs at once stores each row once", async () => {
    const alone = await loadingWorld();
    const { url, pool, append, load } = await loadingWorld();
    for (const world of [alone.append, append])
      for (const minute of [0, 1, 2]) await world(...mixedAnswers(100, minute * 3_600));
    const other = poolOn(url);

    const [one, two] = await Promise.all([load(), load({ pool: other })]);
    await alone.load();

    expect(one.responses + two.responses).toBe(300);
    expect(one.quotes + two.quotes).toBe((await countsOf(pool))["quotes"]);
    expect(one.repeated + two.repeated).toBe(0);
    expect(await contentOf(pool)).toMatchObject(withoutIds(await contentOf(alone.pool)));
  });

  test("of any old month finds its partition", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(
      answerRecord("2011-03-16T14:51:44.123456Z", answerXml(equityXml("A"))),
      answerRecord(at(0), answerXml(equityXml("A"))),
    );

    await load();

    // Which table holds it is the storage tier's affair, see partitions.test.ts and tiers.test.ts.
    const rows = await rowsOfQuery(pool, "select observed_at from quotes order by 1");
    expect(rows).toEqual([
      { observed_at: "2011-03-16 14:51:44.123456+00" },
      { observed_at: "2026-11-20 22:50:00+00" },
    ]);
  });
});

describe("numbers", () => {
  test.each([
    "0.0450",
    "1E+3",
    "-3.0E-6",
    "2.68E0",
    "123456789012345.12345678901234567890123",
    "0.00",
    "1E-23",
  ])("%s comes out of numeric as the number that was sent", async (text) => {
    const { pool, append, load } = await world;
    const second = (clockSecond += 1);
    await append(answerRecord(at(second), answerXml(equityXml("A", { quote: { lastprice: text } }))));
    await load();

    const [row] = await rowsOfQuery(
      pool,
      "select last, last = $2::numeric as equal from quotes where observed_at = $1",
      [at(second), text],
    );

    expect(row).toMatchObject({ equal: true });
    if (!/e/i.test(text)) expect(row?.["last"]).toBe(text);
  });

  test("a volume above 2^53 comes out of bigint to the last digit", async () => {
    const { pool, append, load } = await loadingWorld();
    const extended = { volume: "9007199254740993", bidsize: "9223372036854775807", asksize: "1,000" };
    await append(answerRecord(at(0), answerXml(equityXml("A", { extended }))));
    await load();

    expect(await rowsOfQuery(pool, "select volume, bid_size, ask_size from extended_quotes")).toEqual([
      { volume: "9007199254740993", bid_size: "9223372036854775807", ask_size: "1000" },
    ]);
  });

  test("what is absent is null, and a zero is a zero", async () => {
    const { pool, append, load } = await loadingWorld();
    const quote = { bidprice: "", askprice: "0.00", lastprice: "na", pctchange: "null" };
    await append(answerRecord(at(0), answerXml(equityXml("A", { quote }))));
    await load();

    expect(await rowsOfQuery(pool, "select bid, ask, last, pct_change from quotes")).toEqual([
      { bid: null, ask: "0.00", last: null, pct_change: null },
    ]);
  });

  const world = loadingWorld();
  let clockSecond = 0;
});

describe("a quote that the database refuses", () => {
  const POISON = { quote: { lastprice: "666" } };

  test.each([
    ["first", 0],
    ["in the middle", 15],
    ["last", 29],
  ])("costs itself alone when it comes %s", async (_where, place) => {
    const { pool, append, load } = await loadingWorld();
    await pool.query("alter table extended_quotes add check (previous_close <> 666)");
    const items = Array.from({ length: 30 }, (_, n) =>
      equityXml(`S${n}`, n === place ? { extended: { prevclose: "666" } } : {}),
    );
    await append(answerRecord(at(0), answerXml(...items)));

    const report = await load();

    expect(report).toMatchObject({ responses: 1, quotes: 29, deadLetters: 1 });
    expect(await countsOf(pool)).toMatchObject({ quotes: 29, extended_quotes: 29 });
    expect(await rowsOfQuery(pool, "select instrument, reason, detail, fragment from dead_letters")).toEqual([
      {
        instrument: `S${place}`,
        reason: "refused_by_database",
        detail: expect.stringMatching(/^23514: /),
        fragment: expect.stringContaining('"previousClose":"666"'),
      },
    ]);
  });

  test("is one of several: the others land, and the same journal again adds nothing however it is cut", async () => {
    const { pool, append, load, forgetPositions } = await loadingWorld();
    await pool.query("alter table quotes add check (last <> 666)");
    const body = answerXml(
      equityXml("A"),
      equityXml("B", POISON),
      equityXml("C", { instrument: { sectyp: "<b/>" } }),
    );
    await append(
      ...Array.from({ length: 501 }, (_, n) => answerRecord(at(n), n % 100 === 0 ? body : answerXml())),
    );
    await load();
    const content = await contentOf(pool);

    // From the second answer on, and then from the beginning: other batches than the first time.
    await pool.query(
      "update journal_positions set loaded_to = (select journal_offset from responses order by observed_at limit 1 offset 1)",
    );
    const second = await load();
    await forgetPositions();
    const third = await load();

    expect(content).toMatchObject({ quotes: { rows: 6 }, dead_letters: { rows: 12 } });
    expect([second.deadLetters, third.deadLetters]).toEqual([0, 0]);
    expect(await contentOf(pool)).toEqual(content);
  });

  test("is never one whose symbol is too long for its index: that is found in reading", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(answerRecord(at(0), answerXml(equityXml("A"), equityXml(longSymbol()), equityXml("B"))));
    await append(
      answerRecord(at(60), answerXml(equityXml("A"), equityXml("\u{20000}".repeat(MAX_NAME / 2)))),
    );

    expect(await load()).toMatchObject({ responses: 2, quotes: 4, deadLetters: 1 });
    expect(await rowsOfQuery(pool, "select reason, detail from dead_letters")).toEqual([
      {
        reason: "malformed",
        detail: expect.stringMatching(/^instrument\/sym: ".{40}\.\.\." has 9000 characters$/),
      },
    ]);
  });

  test("headers that are garbage keep no answer out", async () => {
    const { pool, append, load } = await loadingWorld();
    const headers = {
      date: "Sat, 13 Sep 275760 00:00:00 GMT",
      "x-ratelimit-used": "99999999999999999999",
      "x-ratelimit-remaining": "-1",
      "x-ratelimit-expire": "NaN",
    };
    await append(answerRecord(at(0), answerXml(equityXml("A")), { headers }));

    expect(await load()).toMatchObject({ responses: 1, quotes: 1 });
    expect(
      await rowsOfQuery(pool, "select server_date, rate_limit_used, rate_limit_expire from responses"),
    ).toEqual([{ server_date: null, rate_limit_used: null, rate_limit_expire: null }]);
  });
});

describe("dividends", () => {
  handOnDatabases();

  const withDividend = (seconds: number, dividend: Record<string, string>, symbol = "A") =>
    answerRecord(at(seconds), answerXml(equityXml(symbol, { dividend })));
  const DIVIDENDS = "select observed_at, ex_date, amount, yield from dividends order by observed_at";
  const august = { amt: "0.31", exdate: "2026-08-12T00:00:00-04:00", yield: "2.02" };
  const november = { amt: "0.33", exdate: "2026-11-12T00:00:00-05:00", yield: "2.02" };

  test("are stored when they are first seen and when they differ, within a batch and across batches", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(...[august, august, november].map((dividend, n) => withDividend(n, dividend)));
    await load();
    await append(...[november, { ...november, amt: "0.330" }, august].map((d, n) => withDividend(60 + n, d)));
    await load();

    expect(await rowsOfQuery(pool, DIVIDENDS)).toEqual([
      { observed_at: "2026-11-20 22:50:00+00", ex_date: "2026-08-12", amount: "0.31", yield: "2.02" },
      { observed_at: "2026-11-20 22:50:02+00", ex_date: "2026-11-12", amount: "0.33", yield: "2.02" },
      { observed_at: "2026-11-20 22:51:02+00", ex_date: "2026-08-12", amount: "0.31", yield: "2.02" },
    ]);
  });

  test("are those of one instrument: another's are no change", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(withDividend(0, august), withDividend(1, november, "B"), withDividend(2, august));

    expect(await load()).toMatchObject({ dividends: 2 });
    expect(await countsOf(pool)).toMatchObject({ dividends: 2 });
  });

  test("with the yield 4.9E-324 have none, and an equity of which nothing is said has no row", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(
      withDividend(0, { amt: "0.0", exdate: "2003-03-12T00:00:00-05:00", yield: "4.9E-324" }),
      withDividend(1, {}, "B"),
    );
    await load();

    expect(await rowsOfQuery(pool, DIVIDENDS)).toEqual([
      { observed_at: "2026-11-20 22:50:00+00", ex_date: "2003-03-12", amount: "0.0", yield: null },
    ]);
  });
});

describe("instruments", () => {
  handOnDatabases();

  const INSTRUMENTS = `select i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.contract_size,
    u.symbol as underlying from instruments i left join instruments u on u.id = i.underlying_id
    order by i.symbol, i.expiration nulls first, i.strike`;

  test("are stored once however often and in whatever form they come", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(
      answerRecord(at(0), answerXml(optionXml({ strike: "120.0" }), equityXml("MRDN"))),
      answerRecord(at(1), answerXml(optionXml({ strike: "1.2E2" }))),
    );
    await load();
    await append(answerRecord(at(60), answerXml(equityXml("MRDN"), optionXml({ strike: "120.00" }))));
    await load();

    const mrdn = { symbol: "MRDN", contract_size: null, underlying: null };
    expect(await rowsOfQuery(pool, INSTRUMENTS)).toEqual([
      { ...mrdn, security_type: "CS", expiration: null, option_type: null, strike: null },
      {
        symbol: "MRDN",
        security_type: "OPT",
        expiration: "2027-01-15",
        option_type: "CALL",
        strike: "120",
        contract_size: "100",
        underlying: "MRDN",
      },
    ]);
    expect(await countsOf(pool)).toMatchObject({ quotes: 6 });
  });

  test("are unique, absent parts counting as equal", async () => {
    const { pool } = await loadingWorld();
    const insert = `insert into instruments (security_type, symbol, first_seen_at, last_seen_at)
      values ('CS', 'A', now(), now())`;
    await pool.query(insert);

    await expect(pool.query(insert)).rejects.toMatchObject({ code: "23505" });
  });

  test("keep when they were seen first and last, also when an older answer comes later", async () => {
    const { pool, append, load } = await loadingWorld();
    const named = (desc: string) => answerXml(equityXml("A", { instrument: { desc } }));
    await append(answerRecord(at(10), named("NEW NAME")), answerRecord(at(20), named("")));
    await load();
    await append(answerRecord(at(-3_600), named("OLD NAME")));
    await load();

    expect(
      await rowsOfQuery(pool, "select description, first_seen_at, last_seen_at from instruments"),
    ).toEqual([
      {
        description: "NEW NAME",
        first_seen_at: "2026-11-20 21:50:00+00",
        last_seen_at: "2026-11-20 22:50:20+00",
      },
    ]);
  });

  test("of another type than assumed take the quotes that come with their options, in one batch too", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(
      answerRecord(at(0), answerXml(optionXml({}))),
      answerRecord(at(1), answerXml(equityXml("MRDN", { instrument: { sectyp: "ETF" } }))),
    );
    await load();

    expect(await rowsOfQuery(pool, "select security_type, symbol from instruments order by 1")).toEqual([
      { security_type: "ETF", symbol: "MRDN" },
      { security_type: "OPT", symbol: "MRDN" },
    ]);
  });

  test("that are options are tied to their underlying as soon as it is known", async () => {
    const { pool, append, load } = await loadingWorld();
    const bare = optionXml({}).replace(/<underlying>.*<\/undlyquote>/s, "");
    await append(answerRecord(at(0), answerXml(bare)));
    await load();
    await append(answerRecord(at(60), answerXml(equityXml("MRDN"))));
    await append(answerRecord(at(120), answerXml(bare)));
    await load();

    expect((await rowsOfQuery(pool, INSTRUMENTS)).map(({ underlying }) => underlying)).toEqual([
      null,
      "MRDN",
    ]);
  });

  test("may be called NaN, true, 1E5, 007 and null", async () => {
    const { pool, append, load } = await loadingWorld();
    const symbols = ["007", "1E5", "NaN", "null", "true"];
    const record = answerRecord(at(0), answerXml(...symbols.map((symbol) => equityXml(symbol))), {
      request: symbolsCall(...symbols),
    });
    await append(record);
    await load();

    const rows = await rowsOfQuery(pool, 'select symbol from instruments order by symbol collate "C"');
    expect(rows.map(({ symbol }) => symbol)).toEqual(symbols);
  });
});

describe("an underlying", () => {
  test("asked for in the same answer has one row, of the quote asked for", async () => {
    const { pool, append, load } = await loadingWorld();
    const items = [
      optionXml({}, { underlyingQuote: { lastprice: "1" } }),
      equityXml("MRDN", { quote: { lastprice: "2" } }),
    ];
    await append(answerRecord(at(0), answerXml(...items)));

    expect(await load()).toMatchObject({ quotes: 2, repeated: 0 });
    expect(
      await rowsOfQuery(
        pool,
        "select last from quotes join instruments on id = instrument_id where option_type is null",
      ),
    ).toEqual([{ last: "2" }]);
  });
});

describe("sources", () => {
  test("simulated and real quotes of one instrument at one instant are two rows that are never mistaken", async () => {
    const { pool, append, load } = await loadingWorld();
    const body = (lastprice: string) => answerXml(equityXml("A", { quote: { lastprice } }));
    await append(
      answerRecord(at(0), body("1")),
      answerRecord(at(0), body("2"), { source: { kind: "simulated", name: "simulated" } }),
      answerRecord(at(0), body("3"), { source: { kind: "import", name: "old files" } }),
    );
    await load();

    const joined = "select kind, last from quotes join sources on sources.id = source_id order by last";
    expect(await rowsOfQuery(pool, joined)).toEqual([
      { kind: "account", last: "1" },
      { kind: "simulated", last: "2" },
      { kind: "import", last: "3" },
    ]);
    expect(await countsOf(pool)).toMatchObject({ sources: 3, instruments: 1 });
  });

  test("dividends of the simulated market are no change of the real ones", async () => {
    const { pool, append, load } = await loadingWorld();
    const body = (amt: string) => answerXml(equityXml("A", { dividend: { amt } }));
    const source = { kind: "simulated", name: "simulated" } as const;
    await append(
      answerRecord(at(0), body("1")),
      answerRecord(at(1), body("2"), { source }),
      answerRecord(at(2), body("1")),
    );
    await load();

    expect(await countsOf(pool)).toMatchObject({ dividends: 2 });
  });
});

describe("what is kept of an answer besides its quotes", () => {
  handOnDatabases();

  test("request, times, headers, size and where it lies in the journal", async () => {
    const { pool, append, load } = await loadingWorld();
    const body = answerXml(equityXml("A"));
    const record = answerRecord(at(1.5), body, {
      requestedAt: at(1),
      jobs: ["us-equities", "etfs"],
      request: { ...symbolsCall("A"), delayed: true },
      headers: {
        date: "Fri, 20 Nov 2026 22:50:01 GMT",
        "x-ratelimit-used": "8",
        "x-ratelimit-remaining": "52",
        "x-ratelimit-limit": "60",
        "x-ratelimit-expire": "1795215060.5",
      },
    });
    await append(record);
    await load();

    const [row] = await rowsOfQuery(
      pool,
      "select r.*, p.loaded_to from responses r join journal_positions p on segment = journal_segment",
    );
    expect(row).toMatchObject({
      observed_at: "2026-11-20 22:50:01.5+00",
      requested_at: "2026-11-20 22:50:01+00",
      request_id: record.requestId,
      source_id: 1,
      job: "us-equities,etfs",
      request: { form: "symbols", symbols: ["A"], delayed: true },
      http_status: 200,
      outcome: "quotes",
      response_id: "r-1",
      server_date: "2026-11-20 22:50:01+00",
      rate_limit_used: 8,
      rate_limit_remaining: 52,
      rate_limit_limit: 60,
      rate_limit_expire: "1795215060.5",
      body_bytes: Buffer.byteLength(body),
    });
    expect(await rowsOfQuery(pool, "select delayed from quotes")).toEqual([{ delayed: true }]);
  });

  test.each([
    [401, "unauthorized"],
    [429, "quota_fault"],
    [414, "too_long"],
    [503, "server_error"],
  ])("an answer with status %d is one row of responses and no quote", async (status, outcome) => {
    const { pool, append, load } = await loadingWorld();
    await append(answerRecord(at(0), "no", { status, request: WATCHLIST_CALL }));
    await load();

    expect(await rowsOfQuery(pool, "select outcome, http_status from responses")).toEqual([
      { outcome, http_status: status },
    ]);
    expect(await countsOf(pool)).toMatchObject({ quotes: 0, instruments: 0, dead_letters: 0 });
  });
});

/** Two loads may number instruments differently; everything that holds no such number is the same. */
function withoutIds(content: Awaited<ReturnType<typeof contentOf>>): object {
  const counts = Object.fromEntries(Object.entries(content).map(([table, { rows }]) => [table, { rows }]));
  return { ...counts, sources: content["sources"] };
}

/** Too long for an index, and too varied to be compressed into it. */
function longSymbol(): string {
  let state = 1;
  return Array.from({ length: 9_000 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(65 + (state % 58)).replace(/[^A-Za-z]/, "-");
  }).join("");
}
