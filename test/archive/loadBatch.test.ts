import { describe, expect, test } from "@jest/globals";
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

handOnDatabases();

describe("loading a journal", () => {
  test("a load makes a journal's answers rows, and a second one adds nothing", async () => {
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

  test("a journal loaded again from its beginning adds nothing: every table stays as it is, to the byte", async () => {
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

  test("two programs that load a journal at the same time store each row once", async () => {
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
});

describe("a quote that the database refuses", () => {
  const POISON = { quote: { lastprice: "666" } };

  test("refused quotes leave the others stored, and the same journal adds nothing again however it is cut", async () => {
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

  test("a symbol that is too long for its index is found in reading, before the database refuses it", async () => {
    const { pool, append, load } = await loadingWorld();
    await append(
      answerRecord(at(0), answerXml(equityXml("A"), equityXml("S".repeat(9_000)), equityXml("B"))),
    );
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
});

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

describe("what is kept of an answer besides its quotes", () => {
  test("an answer's row holds request, times, headers, size and its place in the journal", async () => {
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
