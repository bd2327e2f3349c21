/**
 * The data path over the wire: what the service sent is what stands in the tables, element by element. The bytes kept
 * in the journal are read by an independent parser, with the names of the specification's tables.
 */
import { beforeAll, describe, expect, test } from "@jest/globals";
import type { ResponseRecord } from "../../src/journal/record.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { DIVIDEND_COLUMNS, EXTENDED_COLUMNS, QUOTE_COLUMNS } from "../support/columns.ts";
import { countsOf, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { openCollecting, type Collecting } from "../support/collecting.ts";
import { decimal, parsedItems, type Leaves } from "../support/secondOpinion.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { closedPort, startStubService } from "../support/stubService.ts";

const START = "2026-11-20T16:20:30.250Z";
const APPLE = { underlying: "AAPL", expiration: "2026-12-18", strike: "230" };
const CALLS: QuoteCall[] = [
  { form: "symbols", symbols: ["AAPL", "AMZN", "NaN", "true", "1E5", "007"], delayed: false },
  { form: "option", contract: { ...APPLE, optionType: "CALL" }, delayed: false },
  { form: "option", contract: { ...APPLE, optionType: "PUT" }, delayed: true },
];

/** Elements of the specification's tables, and the columns that design section 7 names for them. */
const INSTRUMENT_COLUMNS = {
  desc: "description",
  exch: "exchange",
  sectyp: "security_type",
  sym: "symbol",
  matdt: "expiration",
  putcall: "option_type",
  strkpx: "strike",
};

const EQUITY_EXTENDED = [
  ...["asksize", "bidsize", "highprice", "lowprice", "openprice", "prevclose", "volume", "earningspershare"],
  ...["high52price", "low52price", "priceearningsratio", "sessionvolume"],
  ...["dividenddata/amt", "dividenddata/exdate", "dividenddata/yield"],
];
const OPTION_EXTENDED = [
  ...["asksize", "bidsize", "highprice", "lowprice", "openprice", "prevclose", "volume"],
  ...["contracthigh", "contractlow", "contractsize", "delta"],
];
const quoteElements = (root: string, extended: string[]) => [
  ...Object.keys(QUOTE_COLUMNS).map((name) => `${root}/${name}`),
  ...extended.map((name) => `${root}/extendedquote/${name}`),
];
const EQUITY_ELEMENTS = [
  "greeks",
  ...["desc", "exch", "sectyp", "sym"].map((name) => `instrument/${name}`),
  ...quoteElements("quote", EQUITY_EXTENDED),
  "unknownsymbol",
];
const OPTION_ELEMENTS = [
  "greeks/delta",
  ...Object.keys(INSTRUMENT_COLUMNS).map((name) => `instrument/${name}`),
  ...quoteElements("quote", OPTION_EXTENDED),
  ...["desc", "exch", "sym"].map((name) => `underlying/${name}`),
  ...quoteElements("undlyquote", EQUITY_EXTENDED),
  "unknownsymbol",
];

type Row = Record<string, string | null>;

/** The rows of one quote in the database, each column as text. */
async function storedRow(collecting: Collecting, observedAt: string, key: Row): Promise<Row | undefined> {
  const [row] = await rowsOfQuery(
    collecting.pool,
    // On Citus a look into a table of the coordinator goes by rows that are there already.
    `with f as materialized (
       select i.*, e.*, q.*, i.contract_size as contract_size_of_instrument, s.kind as source, u.symbol as underlying,
         q.instrument_id as of_instrument, q.observed_at as of_time
       from quotes q
       join extended_quotes e using (instrument_id, observed_at, source_id)
       join instruments i on i.id = q.instrument_id
       left join instruments u on u.id = i.underlying_id
       join sources s on s.id = q.source_id
       where q.observed_at = $1 and i.symbol = $2 and i.expiration is not distinct from $3
         and i.option_type is not distinct from $4 and i.strike is not distinct from $5
     )
     select f.*, d.*
     from f
     left join lateral (
       select amount, ex_date, yield from dividends
       where dividends.instrument_id = f.of_instrument and dividends.observed_at <= f.of_time
       order by dividends.observed_at desc limit 1
     ) d on true`,
    [observedAt, key["symbol"], key["expiration"], key["option_type"], key["strike"]],
  );
  return (
    row &&
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
    )
  );
}

/** The columns that an element becomes, by the element's text. */
function columnsOf(leaves: Leaves, root: string, columns: Record<string, string>): Row {
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [column, leaves[`${root}/${name}`] || null]),
  );
}

function sentQuote(leaves: Leaves, root: "quote" | "undlyquote"): Row {
  const dividend = columnsOf(leaves, `${root}/extendedquote/dividenddata`, DIVIDEND_COLUMNS);
  return {
    ...columnsOf(leaves, root, QUOTE_COLUMNS),
    ...columnsOf(leaves, `${root}/extendedquote`, EXTENDED_COLUMNS),
    ...(dividend["ex_date"] && {
      ...dividend,
      ex_date: dividend["ex_date"].slice(0, 10),
      yield: dividend["yield"] === "4.9E-324" ? null : (dividend["yield"] ?? null),
    }),
  };
}

function sentInstrument(leaves: Leaves): Row {
  const sent = columnsOf(leaves, "instrument", INSTRUMENT_COLUMNS);
  const putcall = sent["option_type"];
  return {
    ...sent,
    expiration: sent["expiration"]?.slice(0, 10) ?? null,
    option_type: putcall === "1" ? "CALL" : putcall === "0" ? "PUT" : null,
  };
}

/** Numbers in one form, everything else as it is. */
function comparable(row: Row): Row {
  const texts = new Set([
    "description",
    "exchange",
    "security_type",
    "symbol",
    "expiration",
    "option_type",
    "ex_date",
  ]);
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, texts.has(name) ? value : decimal(value)]),
  );
}

const only = (row: Row | undefined, columns: string[]): Row =>
  Object.fromEntries(columns.map((name) => [name, row?.[name] ?? null]));

describe("what the service sent is what stands in the tables", () => {
  const clock = createTestClock(START);
  let collecting: Collecting;
  let answers: { record: ResponseRecord; items: Leaves[] }[];

  beforeAll(async () => {
    const { baseUrl, credentials } = await startSimulatedService(clock);
    collecting = await openCollecting(clock, { baseUrl, credentials });
    for (const call of CALLS) {
      await collecting.collect(call);
      clock.advance(1_000);
    }
    answers = (await collecting.kept()).map((record) => ({ record, items: parsedItems(record.body) }));
  });

  test("every element of the specification was sent, and none besides, in both forms", () => {
    expect(answers.map(({ items }) => items.length)).toEqual([6, 1, 1]);
    for (const { record, items } of answers) {
      expect(record.headers["content-type"]).toBe("application/xml; charset=UTF-8");
      const elements = (record.request as QuoteCall).form === "option" ? OPTION_ELEMENTS : EQUITY_ELEMENTS;
      for (const leaves of items) expect(Object.keys(leaves).sort()).toEqual([...elements].sort());
    }
  });

  test("the answers hold an equity with a dividend, one with the yield 4.9E-324, a call and a put", () => {
    const all = answers.flatMap(({ items }) => items);

    const yields = all.map((leaves) => leaves["quote/extendedquote/dividenddata/yield"]);
    expect(yields).toContain("4.9E-324");
    expect(yields.some((text) => Number(text) > 0.01)).toBe(true);
    expect(all.flatMap((leaves) => leaves["instrument/putcall"] ?? [])).toEqual(["1", "0"]);
  });

  test("every instrument, quote, extended quote and dividend agrees with what was sent, element by element", async () => {
    for (const { record, items } of answers)
      for (const leaves of items) {
        const sent = { ...sentInstrument(leaves), ...sentQuote(leaves, "quote") };

        const stored = await storedRow(collecting, record.observedAt, sent);

        expect(comparable(only(stored, Object.keys(sent)))).toEqual(comparable(sent));
        expect(stored).toMatchObject({
          source: "simulated",
          delayed: String((record.request as QuoteCall).delayed),
          contract_size_of_instrument: leaves["quote/extendedquote/contractsize"] ?? null,
          underlying: leaves["underlying/sym"] ?? null,
        });
      }
  });

  test("an option's underlying and its undlyquote are rows of the underlying at the same instant", async () => {
    for (const { record, items } of answers.slice(1))
      for (const leaves of items) {
        const { desc, exch, sym, ...none } = INSTRUMENT_COLUMNS;
        const named = columnsOf(leaves, "underlying", { desc, exch, sym });
        const absent = Object.fromEntries(Object.values(none).map((column) => [column, null]));
        const sent = { ...absent, ...named, security_type: "CS", ...sentQuote(leaves, "undlyquote") };

        const stored = await storedRow(collecting, record.observedAt, sent);

        expect(comparable(only(stored, Object.keys(sent)))).toEqual(comparable(sent));
      }
  });

  test("the tables hold nothing that was not sent", async () => {
    const dividends = new Set(
      answers.flatMap(({ items }) => items.map((leaves) => leaves["instrument/sym"])),
    );

    expect(await countsOf(collecting.pool)).toMatchObject({
      responses: 3,
      quotes: 10,
      extended_quotes: 10,
      instruments: 8,
      dividends: dividends.size,
      dead_letters: 0,
    });
  });

  test("the four rate-limit headers, the times and the id of each answer stand in responses", async () => {
    const rows = await rowsOfQuery(collecting.pool, "select * from responses order by observed_at");

    expect(rows).toHaveLength(answers.length);
    rows.forEach((row, index) => {
      const { record } = answers[index] ?? {};
      const id = /<response id="([^"]+)"/.exec(Buffer.from(record?.body ?? []).toString("utf8"))?.[1];
      expect(row).toMatchObject({
        request_id: record?.requestId,
        observed_at: postgresTime(record?.observedAt),
        requested_at: postgresTime(record?.requestedAt),
        job: "test-job",
        request: CALLS[index],
        http_status: 200,
        outcome: "quotes",
        response_id: id,
        rate_limit_used: Number(record?.headers["x-ratelimit-used"]),
        rate_limit_remaining: Number(record?.headers["x-ratelimit-remaining"]),
        rate_limit_limit: Number(record?.headers["x-ratelimit-limit"]),
        rate_limit_expire: record?.headers["x-ratelimit-expire"],
        body_bytes: record?.body.byteLength,
      });
      expect(row["server_date"]).not.toBeNull();
    });
    expect(
      rows.map((row) => [row["rate_limit_used"], row["rate_limit_remaining"], row["rate_limit_limit"]]),
    ).toEqual([
      [1, 59, 60],
      [2, 58, 60],
      [3, 57, 60],
    ]);
    // The window began with the first call, a fraction of a second after a full one.
    expect(rows[0]?.["rate_limit_expire"]).toBe(String(Math.ceil(Date.parse(START) / 1_000 + 60)));
  });
});

test("an unknown symbol costs the known ones no quotes", async () => {
  const clock = createTestClock(START);
  const collecting = await openCollecting(clock, await startSimulatedService(clock));

  await collecting.collect({ form: "symbols", symbols: ["NOSUCH", "AAPL"], delayed: false });
  await collecting.collect({
    form: "option",
    contract: { underlying: "AAPL", expiration: "2010-01-15", optionType: "CALL", strike: "150" },
    delayed: false,
  });

  expect(await rowsOfQuery(collecting.pool, "select outcome from responses")).toEqual([
    { outcome: "quotes" },
    { outcome: "quotes" },
  ]);
  expect(await rowsOfQuery(collecting.pool, "select symbol from instruments")).toEqual([{ symbol: "AAPL" }]);
  expect(await countsOf(collecting.pool)).toMatchObject({ quotes: 1, dead_letters: 0 });
});

test("the answer for too many calls is the fault with its headers, and quotes resume with the next minute", async () => {
  const clock = createTestClock(START);
  const service = await startSimulatedService(clock, {
    limits: { quotes: 2, orders: 1, other: 1, windowMs: 60_000 },
  });
  const collecting = await openCollecting(clock, service);
  const call: QuoteCall = { form: "symbols", symbols: ["AAPL"], delayed: false };

  for (let n = 0; n < 3; n++) await collecting.collect(call);
  clock.advance(60_000);
  await collecting.collect(call);

  const columns = "outcome, http_status, rate_limit_used, rate_limit_remaining";
  expect(await rowsOfQuery(collecting.pool, `select ${columns} from responses order by observed_at`)).toEqual(
    [
      { outcome: "quotes", http_status: 200, rate_limit_used: 1, rate_limit_remaining: 1 },
      { outcome: "quotes", http_status: 200, rate_limit_used: 2, rate_limit_remaining: 0 },
      { outcome: "quota_fault", http_status: 429, rate_limit_used: 2, rate_limit_remaining: 0 },
      { outcome: "quotes", http_status: 200, rate_limit_used: 1, rate_limit_remaining: 1 },
    ],
  );
});

test.each([
  [
    "an HTML page",
    { headers: { "Content-Type": "text/html" }, body: "<html><body>Maintenance</body></html>" },
  ],
  ["a document cut short", { body: '<response id="1"><quotes><instrumentquote>' }],
])("%s is one dead letter with its beginning, and no quote", async (_what, answer) => {
  const clock = createTestClock(START);
  const { baseUrl } = await startStubService(answer);
  const source = { kind: "account", name: "account" } as const;
  const collecting = await openCollecting(clock, { baseUrl, credentials: TEST_CREDENTIALS, source });

  await collecting.collect({ form: "symbols", symbols: ["AAPL"], delayed: false });

  expect((await collecting.kept()).map(({ body }) => Buffer.from(body).toString())).toEqual([answer.body]);
  expect(await rowsOfQuery(collecting.pool, "select reason, fragment from dead_letters")).toEqual([
    { reason: "malformed", fragment: answer.body },
  ]);
  expect(await countsOf(collecting.pool)).toMatchObject({ responses: 1, quotes: 0, instruments: 0 });
});

test("a call without an answer is an error that names the address, with nothing signed in it", async () => {
  const clock = createTestClock(START);
  const baseUrl = `http://127.0.0.1:${await closedPort()}`;
  const collecting = await openCollecting(clock, { baseUrl, credentials: TEST_CREDENTIALS });

  const error = await collecting
    .collect({ form: "symbols", symbols: ["AAPL"], delayed: false })
    .catch((reason: unknown) => reason as Error);

  expect(error).toMatchObject({ code: "SERVICE_UNREACHABLE", message: expect.stringContaining(baseUrl) });
  const { message, stack, cause } = error as Error;
  expect(`${message} ${stack} ${JSON.stringify(cause) ?? ""}`).not.toMatch(
    /oauth|symbols=|test-token|test-consumer/i,
  );
  expect(await collecting.kept()).toEqual([]);
});

/** An instant as PostgreSQL writes it, without trailing zeros. */
function postgresTime(instant = ""): string {
  return `${instant
    .slice(0, -1)
    .replace("T", " ")
    .replace(/\.?0+$/, "")}+00`;
}
