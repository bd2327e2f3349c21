/** What odd fields become in the archive: NULL in their columns and dead letters that name them, live and by a replay. */
import { expect, test } from "@jest/globals";
import { DIVIDEND_COLUMNS, EXTENDED_COLUMNS, QUOTE_COLUMNS } from "../support/columns.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { contentOf, rowsOfQuery } from "../support/archive.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";
import { run } from "../cli/edges.ts";
import { loadAll } from "../../src/archive/load/loader.ts";

const { delta: _, ...EXTENDED } = EXTENDED_COLUMNS;
const COLUMNS: Record<string, string> = { ...QUOTE_COLUMNS, ...EXTENDED, ...DIVIDEND_COLUMNS };

const NAMES = Object.keys(COLUMNS);
const PRICES = new Set(Object.keys(QUOTE_COLUMNS));
const DIVIDEND = new Set(Object.keys(DIVIDEND_COLUMNS));
const ODD = ["1.5.", "--", "INF", "undefined", "Jun 24 2011", "9223372036854775808E401"];

/** A stock, and an option, for each field, with every field in it and that one odd. The root `U1` would be of U. */
function items(odd: (name: string, place: number) => string) {
  return NAMES.flatMap((bad, place) => {
    const texts = (wanted: (name: string) => boolean) =>
      Object.fromEntries(
        NAMES.filter(wanted).map((name) => {
          const good = name === "exdate" ? "2026-08-12T00:00:00-04:00" : String(10 + NAMES.indexOf(name));
          return [name, name === bad ? odd(name, place) : good];
        }),
      );
    const quote = texts((name) => PRICES.has(name));
    const extended = texts((name) => !PRICES.has(name) && !DIVIDEND.has(name));
    const stock = equityXml(`S${place}`, { quote, extended, dividend: texts((name) => DIVIDEND.has(name)) });
    return DIVIDEND.has(bad)
      ? [stock]
      : [stock, optionXml({ underlying: `U${place}Q` }, { quote, extended })];
  });
}

/** Each field that an answer may have of each quote, by the letter before its symbol's number: who has NULL in its column. */
const NULLS = `
  select left(i.symbol, 1) as kind, rtrim(substr(i.symbol, 2), 'Q')::int as place, f.key as field
  from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)
  join instruments i on i.id = q.instrument_id
  left join dividends d using (instrument_id, observed_at, source_id)
  cross join lateral jsonb_each_text(to_jsonb(q) || to_jsonb(e) || case i.option_type is null when true then
    jsonb_build_object('ex_date', d.ex_date, 'amount', d.amount, 'yield', d.yield) else '{}' end) f
  where (left(i.symbol, 1) = 'S' or i.option_type is not null) and f.value is null
    and f.key in (${Object.values(COLUMNS)
      .map((column) => `'${column}'`)
      .join(", ")})
  order by 1, 2`;

test("each odd field is NULL in its own column and one dead letter; a replay gives the same rows and letters", async () => {
  const { url, pool, journalDir, append, load } = await loadingWorld();
  const xml = answerXml(...items((_name, place) => ODD[place % ODD.length] ?? ""));
  const names = NAMES.flatMap((name, place) => [
    `S${place}`,
    ...(DIVIDEND.has(name) ? [] : [`U${place}Q270115C00120000`]),
  ]);
  await append(answerRecord(at(0), xml, { request: symbolsCall(...names) }));

  const report = await load();

  const odd = NAMES.flatMap((name, place) =>
    (DIVIDEND.has(name) ? ["S"] : ["S", "U"]).map((kind) => ({ kind, place, field: COLUMNS[name] })),
  ).sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.place - b.place));
  expect(report).toMatchObject({ quotes: names.length + NAMES.length - 3, deadLetters: odd.length });
  expect(await rowsOfQuery(pool, NULLS)).toEqual(odd);
  const letters = await rowsOfQuery(pool, "select instrument, reason, detail, fragment from dead_letters");
  expect(letters.map(({ instrument }) => instrument).sort()).toEqual(
    odd.map(({ kind, place }) => (kind === "S" ? `S${place}` : `U${place}Q:2027-01-15:CALL:120`)).sort(),
  );
  for (const { instrument, reason, detail, fragment } of letters) {
    const place = Number(/\d+/.exec(String(instrument))?.[0]);
    expect([reason, fragment]).toEqual(["odd_field", ODD[place % ODD.length]]);
    expect(detail).toContain(`/${NAMES[place]}: "`);
  }

  const replayed = await freshDatabase();
  await loadAll({ pool: replayed.pool, journalDir, clock: createTestClock() });
  expect(await contentOf(replayed.pool)).toEqual(await contentOf(pool));
  expect(url).not.toBe(replayed.url);
});

test("what the release before set aside is restored by backfill --journal, and its dead letter goes", async () => {
  const { url, pool, journalDir, append, load } = await loadingWorld();
  const item = equityXml("A", { extended: { bidsize: "1.5" } });
  await append(answerRecord(at(0), answerXml(item, equityXml("B")), { request: symbolsCall("A", "B") }));
  await load();
  const truth = await contentOf(pool);
  // As that release left it.
  await pool.query(
    "delete from quotes where instrument_id = (select id from instruments where symbol = 'A')",
  );
  await pool.query(
    "delete from extended_quotes where instrument_id = (select id from instruments where symbol = 'A')",
  );
  await pool.query(
    `update dead_letters set reason = 'malformed', detail = 'quote/extendedquote/bidsize: "1.5" is not a whole number'`,
  );
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: journalDir };

  const outcome = await run(["backfill", "--journal", journalDir, "--json"], env);

  expect(JSON.parse(outcome.stdout)).toMatchObject({
    report: { read: 2, stored: 1, repeated: 1, deadLettered: 0 },
  });
  const content = await contentOf(pool);
  for (const table of ["quotes", "extended_quotes", "dead_letters", "responses", "instruments"])
    expect([table, content[table]]).toEqual([table, truth[table]]);
});
