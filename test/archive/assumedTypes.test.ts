/** What is assumed of an instrument, and what a later answer says of it. */
import type pg from "pg";
import { describe, expect, test } from "@jest/globals";
import { readHistory } from "../../src/archive/schema/history.ts";
import { readTier } from "../../src/archive/tiers/tier.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { contentOf, rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

handOnDatabases();

const CALL = {
  form: "option",
  contract: { underlying: "MRDN", expiration: "2027-01-15", optionType: "CALL", strike: "120" },
  delayed: false,
} as const;

/** Answers about one symbol, of which the kinds say its type, or do not. */
const KINDS = {
  said: equityXml("MRDN", { instrument: { sectyp: "ETF", exch: "PSE" }, quote: { lastprice: "21" } }),
  "without a type": equityXml("MRDN", { instrument: { sectyp: "" }, quote: { lastprice: "22" } }),
  "as an underlying": optionXml({}, { underlyingQuote: { lastprice: "23" } }),
};
type Kind = keyof typeof KINDS;

const answers = (kinds: readonly Kind[]): JournalRecord[] =>
  kinds.map((kind, place) => answerRecord(at(place), answerXml(KINDS[kind])));

const SECURITIES = `select i.security_type, i.symbol, i.type_assumed,
    (select count(*)::int from quotes q where q.instrument_id = i.id) as quotes,
    (select count(*)::int from instruments o where o.underlying_id = i.id) as options
  from instruments i where i.option_type is null order by 1`;

const orders: [string, Kind[]][] = [
  ["as an underlying", "without a type", "said"],
  ["as an underlying", "said", "without a type"],
  ["without a type", "as an underlying", "said"],
  ["without a type", "said", "as an underlying"],
  ["said", "as an underlying", "without a type"],
  ["said", "without a type", "as an underlying"],
].map((kinds) => [kinds.join(", "), kinds as Kind[]]);

test.each(orders)(
  "a security is one instrument of the type that answers say: %s, in a load each and in one",
  async (_order, kinds) => {
    const records = answers(kinds);
    for (const loads of [records.map((record) => [record]), [records]]) {
      const { pool, append, load } = await loadingWorld();
      for (const some of loads) {
        await append(...some);
        await load();
      }

      expect(await rowsOfQuery(pool, SECURITIES)).toEqual([
        { security_type: "ETF", symbol: "MRDN", type_assumed: false, quotes: 3, options: 1 },
      ]);
      for (const shown of [
        "latest_quotes where option_type is null",
        "asof(now(), '{MRDN}')",
        "bars_1d where symbol = 'MRDN' and option_type is null",
      ])
        expect(await rowsOfQuery(pool, `select count(*)::int from ${shown}`)).toEqual([{ count: 1 }]);
    }
  },
);

test("the type stays assumed until an answer says it, also where that is the assumed one", async () => {
  const { pool, append, load } = await loadingWorld();
  const seen: unknown[] = [];
  for (const item of [KINDS["as an underlying"], KINDS["as an underlying"], equityXml("MRDN")]) {
    await append(answerRecord(at(seen.length), answerXml(item)));
    await load();
    seen.push(
      ...(await rowsOfQuery(
        pool,
        "select security_type, type_assumed from instruments where option_type is null",
      )),
    );
  }

  expect(seen).toEqual([
    { security_type: "CS", type_assumed: true },
    { security_type: "CS", type_assumed: true },
    { security_type: "CS", type_assumed: false },
  ]);
});

test("two types that answers say of one symbol are two instruments: neither is an assumption", async () => {
  const { pool, append, load } = await loadingWorld();
  const said = ["ETF", "MF"].map((sectyp) => equityXml("MRDN", { instrument: { sectyp } }));
  await append(...[...said, ...said].map((item, place) => answerRecord(at(place), answerXml(item))));
  await load();

  expect(await rowsOfQuery(pool, SECURITIES)).toMatchObject([
    { security_type: "ETF", quotes: 2 },
    { security_type: "MF", quotes: 2 },
  ]);
});

describe("the underlying of a contract is the one that an answer names", () => {
  const named = optionXml({ underlying: "MRDNW" }).replace(
    /<underlying>.*?<\/underlying>/s,
    "<underlying><desc>MRDN</desc><exch>NSD</exch><sym>MRDN</sym></underlying>",
  );
  const bare = optionXml({ underlying: "MRDNW" }).replace(/<underlying>.*<\/undlyquote>/s, "");
  const before = [equityXml("MRDN"), equityXml("MRDNW")].map((item) => answerXml(item));

  test.each([
    ["after an answer that names none", [bare, named]],
    ["before an answer that names none", [named, bare]],
  ])(
    "the underlying of a contract is the one that an answer names: %s, in two loads or in one",
    async (_when, items) => {
      const underlyings: unknown[] = [];
      for (const together of [false, true]) {
        const { pool, append, load } = await loadingWorld();
        const records = [...before, ...items.map((item) => answerXml(item))].map((xml, place) =>
          answerRecord(at(place), xml),
        );
        for (const some of together ? [records] : records.map((record) => [record])) {
          await append(...some);
          await load();
        }
        underlyings.push(
          ...(await rowsOfQuery(
            pool,
            "select u.symbol from instruments o join instruments u on u.id = o.underlying_id",
          )),
        );
      }

      expect(underlyings).toEqual([{ symbol: "MRDN" }, { symbol: "MRDN" }]);
    },
  );
});

unlessOnCitus("whose rows stay on their worker")(
  "a migration makes one instrument of two that an assumption has made: rows, bars and dividends are those of one",
  async () => {
    const { pool, append, load } = await loadingWorld();
    const dividend = { amt: "0.5", exdate: "2026-11-13T00:00:00-05:00", yield: "1.5" };
    const option = optionXml({}, { underlyingQuote: { lastprice: "23" }, underlyingDividend: dividend });
    const stock = equityXml("MRDN", {
      instrument: { sectyp: "ETF", desc: "MRDN INC", exch: "NSD" },
      dividend,
    });
    await append(
      ...[stock, option, stock, option, option, stock].map((item, place) =>
        answerRecord(at(100 * place), answerXml(item), {
          // Delayed and real-time quotes are two series, of one date.
          request: item === stock ? symbolsCall("MRDN") : { ...CALL, delayed: place === 4 },
        }),
      ),
    );
    await load();
    const right = await contentOf(pool);
    await splitAsBefore(pool);
    expect(
      await rowsOfQuery(pool, "select distinct instrument_id from latest_quotes where option_type is null"),
    ).toHaveLength(2);

    if ((await readTier(pool)).name === "community")
      for (const table of ["quotes", "extended_quotes"])
        await pool.query("select compress_chunk(c, true) from show_chunks($1::regclass) c", [table]);

    await migrateTo25(pool);
    await pool.query("select recompute_session_bars('2026-11-01', '2026-12-01')");

    expect(await contentOf(pool)).toEqual(right);
  },
);

/** Version 24 has the function that the migration calls: the bars of its program were made by it. */
async function migrateTo25(pool: pg.Pool): Promise<void> {
  await pool.query(
    `create function refresh_session_bars(integer[], smallint[], boolean[], date[]) returns void
     language sql as 'select make_bars($1, $2, $3, $4)'`,
  );
  const { earlier } = await readHistory();
  const { sql = "" } = earlier.find(({ version }) => version === 25) ?? {};
  await pool.query(sql);
}

/** What an archive of version 24 holds: the option's answers made an instrument of their own of its underlying. */
async function splitAsBefore(pool: pg.Pool): Promise<void> {
  await pool.query(`
    drop index instruments_securities;
    alter table instruments drop column type_assumed;
    insert into instruments (security_type, symbol, exchange, description, first_seen_at, last_seen_at)
    select 'CS', symbol, exchange, description, '${at(100)}', '${at(400)}' from instruments where option_type is null;
    create temp table moved as select o.observed_at, c.id
      from quotes o join instruments i on i.id = o.instrument_id and i.option_type is not null,
        instruments c where c.security_type = 'CS';
    update extended_quotes q set instrument_id = m.id from moved m, instruments i
      where q.observed_at = m.observed_at and i.id = q.instrument_id and i.option_type is null;
    update quotes q set instrument_id = m.id from moved m, instruments i
      where q.observed_at = m.observed_at and i.id = q.instrument_id and i.option_type is null;
    insert into dividends select '${at(100)}', (select id from moved limit 1), source_id, ex_date, amount, yield from dividends;
    update instruments set underlying_id = (select id from moved limit 1) where option_type is not null;
    drop table moved;
    select recompute_session_bars('2026-11-01', '2026-12-01');
  `);
}
