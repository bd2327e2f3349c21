/** What a page is told that asks again: what was loaded since, whenever it was observed; nothing, or everything where that cannot be told. */
import { expect, test } from "@jest/globals";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import type { News } from "../../src/web/api/types.ts";
import { createTestClock } from "../support/clock.ts";
import { poolOn } from "../support/database.ts";
import { answerRecord, at } from "../support/journal.ts";
import { loadingWorld, type LoadingWorld } from "../support/loading.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { openDashboard } from "./dashboard.ts";

const quote = (symbol: string, second: number, last: string) =>
  answerRecord(at(second), answerXml(equityXml(symbol, { quote: { lastprice: last } })));

/** A page over an archive into which the journal is loaded bit by bit. */
async function pageOver(world: LoadingWorld) {
  const clock = createTestClock(new Date(Date.parse(at(0)) + 60_000).toISOString());
  const { get } = await openDashboard({ pool: poolOn(world.url, { readOnly: true, max: 2 }), clock });
  const ask = async <View>(path: string, since?: string): Promise<News<View>> => {
    // What the archive has loaded is asked for once a second.
    clock.advance(1_000);
    const sign = path.includes("?") ? "&" : "?";
    const response = await get(
      since === undefined ? path : `${path}${sign}since=${encodeURIComponent(since)}`,
    );
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as News<View>;
  };
  const quotes = async (since?: string) => {
    const { cursor, whole, view } = await ask<QuoteTable>("/api/quotes?columns=last", since);
    return {
      cursor,
      whole,
      told: view && rowsOf(view).map(({ instrument, last }) => `${instrument} ${last}`),
    };
  };
  const loaded = async (...records: Parameters<LoadingWorld["append"]>): Promise<void> => {
    await world.append(...records);
    await world.load();
  };
  return { ask, quotes, loaded, clock, world };
}

test("a page that asks again is told that nothing is new, and then what was loaded since", async () => {
  const { quotes, loaded } = await pageOver(await loadingWorld());
  await loaded(quote("A", 0, "1.5"), quote("B", 1, "2.5"));

  const first = await quotes();
  const same = await quotes(first.cursor);
  await loaded(quote("A", 30, "1.75"));
  const news = await quotes(first.cursor);
  const after = await quotes(news.cursor);

  expect(first).toMatchObject({ whole: true, told: ["A 1.5", "B 2.5"] });
  expect(same).toEqual({ cursor: first.cursor, whole: false, told: null });
  expect(news).toMatchObject({ whole: false, told: ["A 1.75"] });
  expect(after.told).toBeNull();
});

test("a row that another collector observed before, and that is loaded late, is told when it is loaded", async () => {
  const { quotes, loaded } = await pageOver(await loadingWorld());
  await loaded(quote("A", 30, "1.5"));
  const { cursor } = await quotes();

  await loaded(quote("LATE", 2, "7.25"));

  expect((await quotes(cursor)).told).toContain("LATE 7.25");
});

test("a row that is older than an hour comes with all the rest", async () => {
  const { quotes, loaded } = await pageOver(await loadingWorld());
  await loaded(quote("A", 0, "1.5"));
  const { cursor } = await quotes();

  await loaded(quote("LATE", -3_700, "7.25"));

  expect(await quotes(cursor)).toMatchObject({ whole: true, told: ["A 1.5", "LATE 7.25"] });
});

test("rows of a file may be of any time: all is told", async () => {
  const { quotes, loaded, world } = await pageOver(await loadingWorld());
  await loaded(quote("A", 0, "1.5"));
  const { cursor } = await quotes();

  await loaded(quote("B", 5, "2.5"));
  await world.pool.query(`update responses set request = '{"form": "plain"}' where observed_at = $1`, [
    at(5),
  ]);

  expect(await quotes(cursor)).toMatchObject({ whole: true, told: ["A 1.5", "B 2.5"] });
});

test("all is told after a segment was forgotten, and to a cursor that was never given", async () => {
  const { quotes, loaded, world } = await pageOver(await loadingWorld());
  await loaded(quote("A", 0, "1.5"));
  const { cursor } = await quotes();

  const strange = [await quotes("~000000000000.1"), await quotes("no cursor'; select 1 --")];
  await world.pool.query("delete from journal_positions");
  const forgotten = await quotes(cursor);

  for (const answer of [...strange, forgotten])
    expect(answer).toMatchObject({ whole: true, told: ["A 1.5"] });
});

test("the newest bars alone are told anew, those of the date of what was loaded", async () => {
  const { ask, loaded, world } = await pageOver(await loadingWorld());
  await loaded(quote("A", -86_400, "1.25"), quote("A", 0, "1.5"));
  type Bars = { bars: { date: string; close: string }[] };
  const { rows } = await world.pool.query<{ id: number }>("select id from instruments where symbol = 'A'");
  const path = `/api/bars?instrument=${rows[0]?.id}&source=1&interval=1m&sessions=5`;
  const first = await ask<Bars>(path);

  await loaded(quote("A", 10, "1.75"));
  const news = await ask<Bars>(path, first.cursor);

  const closes = ({ view }: News<Bars>) => view?.bars.map(({ date, close }) => `${date} ${close}`);
  expect(closes(first)).toEqual(["2026-11-19 1.25", "2026-11-20 1.5"]);
  expect([news.whole, closes(news)]).toEqual([false, ["2026-11-20 1.75"]]);
});
