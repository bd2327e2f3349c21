/** Two sources have answers of one time. A question about one source gets no value of the other. */
import { beforeAll, expect, test } from "@jest/globals";
import { countUnchanged, readNewestQuotes } from "../../src/archive/ask/newestQuotes.ts";
import { readPointInTime } from "../../src/archive/ask/pointInTime.ts";
import { readQuotesOf } from "../../src/archive/ask/quotes.ts";
import { security } from "../../src/market/instrument.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { instantOn20th } from "../support/ledger.ts";

const { pool } = await freshDatabase();

/** Numbers of the specification's service, and of the other one. */
const [OWN, OTHER] = [1, 3];
const [FIRST, SECOND] = [instantOn20th("15:00"), instantOn20th("15:01")];

beforeAll(async () => {
  await pool.query(`
    insert into sources (id, kind, name) values (${OTHER}, 'account', 'other');
    insert into accounts (id, name) values (2, 'second');
    insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())`);
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
     select at, 1, source, false, 100 * source from unnest($1::timestamptz[]) as at, unnest($2::int[]) as source`,
    [
      [FIRST, SECOND],
      [OWN, OTHER],
    ],
  );
  // The other source alone says a size, and another one each time.
  await pool.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size)
     select at, 1, ${OTHER}, place from unnest($1::timestamptz[]) with ordinality as t (at, place)`,
    [[FIRST, SECOND]],
  );
  await pool.query(
    `insert into responses (observed_at, source_id, account_id, request_id, requested_at, request, http_status, outcome, body_bytes, journal_segment, journal_offset)
     select $1, source, account, gen_random_uuid(), $1, '{}', 200, 'quotes', 1, 'a', 0
     from (values (${OWN}, 1), (${OTHER}, 2)) as a (source, account)`,
    [SECOND],
  );
  await followOwnRows(pool);
});

test("of two sources with a quote of one instrument and time each is listed once, with its own size", async () => {
  const quotes = await readQuotesOf(pool, [SECOND]);

  expect(quotes.map(({ last, bidSize }) => [Number(last), bidSize]).sort()).toEqual([
    [100, null],
    [300, "2"],
  ]);
});

test("the quote at an instant has no size that another source said at the same time", async () => {
  const question = { key: security("AAPL"), realTimeAt: SECOND, delayedAt: null };

  const [row] = await readPointInTime(pool, [question], ["account"]);

  expect({ last: Number(row?.q_last), size: row?.q_bid_size }).toEqual({ last: 100, size: null });
});

test("the newest quotes of a source are those of the account that was answered by it, though another one was answered at the same time", async () => {
  const newest = await readNewestQuotes(pool, "2026-11-20");

  expect(newest.map(({ account, sourceId }) => [account, sourceId]).sort()).toEqual([
    ["default", OWN],
    ["second", OTHER],
  ]);
});

test("a source whose values stand still does so beside another one whose values change", async () => {
  const window = { delayed: false, instruments: [1], from: new Date("2026-11-20"), to: new Date(SECOND) };
  const since = { by: new Date(SECOND), since: "2026-11-20" };

  const unchanged = [OWN, OTHER].map((sourceId) => countUnchanged(pool, { ...window, sourceId }, since));

  expect(await Promise.all(unchanged)).toEqual([1, null]);
});
