/** Archives and notes that have BRK/B become those that have BRK.B, once. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { archivedNote } from "../../src/archive/ledger/archivedNote.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import type { SlotEntry } from "../../src/journal/ledger.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

/** An archive of release 1.0, before class shares had one name. */
const RECORDED = "test/archive/earlier/version35.sql.gz";
const NOW = "2026-11-28T02:00:00.000000Z";

const onePlain = unlessOnCitus(
  "on which two instruments stay two until a rebuild: class shares of a plain archive.",
);

async function archiveOfBefore(): Promise<pg.Pool> {
  const { pool } = await freshDatabase({ migrated: false });
  const sql = gunzipSync(readFileSync(RECORDED)).toString("utf8");
  await pool.query(`set check_function_bodies = off; ${sql}; reset check_function_bodies`);
  await pool.query(`
    create temp table at as select observed_at as one, observed_at + interval '1 second' as two from quotes order by 1 limit 1;
    insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at, type_assumed)
    select n.*, two, two, n.id = 902 from at, (values (901, 'CS', 'BRK/B'), (902, 'CS', 'BRK.B'), (903, 'CS', 'HEI/A'), (904, 'CS', 'BAC/PRL')) as n (id, kind, symbol);
    update instruments set first_seen_at = one from at where id = 901;
    insert into instruments (id, security_type, symbol, expiration, option_type, strike, underlying_id, first_seen_at, last_seen_at)
    select n.id, 'OPT', n.symbol, '2026-12-18', n.kind, 480, n.on_id, one, two
    from at, (values (911, 'BRK/B', 'CALL', 901), (912, 'BRK.B', 'CALL', 902), (913, 'BRK/B', 'PUT', 901), (914, 'BRKB', 'PUT', null)) as n (id, symbol, kind, on_id);
    insert into quotes (observed_at, instrument_id, source_id, delayed, last)
    select one, id, 1, false, 480 from at, unnest(array[901, 902, 903, 911, 913, 914]) id union all
    select two, id, 1, false, 481 from at, unnest(array[901, 912]) id;
    insert into session_bars (instrument_id, source_id, delayed, date, first_at, last_at, spread_sum, spread_count, quote_count)
    select id, 1, false, (one at time zone 'America/New_York')::date, one, two, 0, 0, 1 from at, unnest(array[901, 902, 903, 911, 912, 913, 914]) id;
    insert into due_sets (id, digest, instruments)
    select id, encode(sha256(convert_to(array_to_string(names, E'\\n'), 'UTF8')), 'hex'), names
    from (values (91, array['BRK.B', 'BRK/B', 'BRK/B:2026-12-18:CALL:480', 'chain BRK/B:2026-12-18']), (92, array['BRK.B', 'GE']), (93, array['BRK/B', 'GE'])) as s (id, names);
    insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
    select 'shares', one + n.s * interval '1 minute', 1, n.due, n.due - n.missed, n.missed, n.of_set
    from at, (values (1, 4, 2, 91), (2, 4, 2, 91), (3, 2, 1, 93)) as n (s, due, missed, of_set);
    insert into misses (job, slot_at, source_id, instrument, reason)
    select 'shares', one + n.s * interval '1 minute', 1, n.name, n.reason
    from at, (values (1, 'BRK.B', 'unknown_symbol'), (1, 'chain BRK/B:2026-12-18', 'transport'),
                     (2, 'BRK.B', 'unknown_symbol'), (2, 'BRK/B', 'transport'), (3, 'BRK/B', 'down')) as n (s, name, reason);
    insert into open_slots (job, slot_at, source_id, due_set_id, run)
    select 'shares', one + interval '4 minutes', 1, 93, gen_random_uuid() from at;
    insert into dead_letters (observed_at, source_id, ordinal, instrument, reason, detail) select one, 1, 77, 'BRK/B', 'malformed', 'x' from at;
  `);
  return pool;
}

onePlain(
  "an archive that has BRK/B has BRK.B after migrate, in one piece with what was BRK.B before, and other slashes stay",
  async () => {
    const pool = await archiveOfBefore();

    await migrate(pool, NOW);

    const shares = await rowsOfQuery(
      pool,
      `select i.symbol, i.option_type as type, i.type_assumed as assumed, u.symbol as underlying, count(q.*)::int as quotes,
            (select quote_count::int from session_bars b where b.instrument_id = i.id) as bar
     from instruments i left join quotes q on q.instrument_id = i.id left join instruments u on u.id = i.underlying_id
     where i.id > 900 group by i.id, u.symbol order by 1, 2 nulls first`,
    );
    expect(shares).toEqual([
      { symbol: "BAC/PRL", type: null, assumed: false, underlying: null, quotes: 0, bar: null },
      { symbol: "BRK.B", type: null, assumed: false, underlying: null, quotes: 2, bar: 2 },
      { symbol: "BRK.B", type: "CALL", assumed: false, underlying: "BRK.B", quotes: 2, bar: 2 },
      { symbol: "BRK.B", type: "PUT", assumed: false, underlying: "BRK.B", quotes: 1, bar: 1 },
      { symbol: "HEI.A", type: null, assumed: false, underlying: null, quotes: 1, bar: 1 },
    ]);
  },
);

onePlain(
  "BRK/B and BRK.B stay two instruments after migrate where the lake alone has quotes of BRK/B, and what to do is said",
  async () => {
    const pool = await archiveOfBefore();
    await pool.query(
      "insert into dropped_days (date, dropped_at) select date, now() from session_bars where instrument_id = 901",
    );

    const { toRebuild } = await migrate(pool, NOW);

    expect(
      await rowsOfQuery(pool, "select symbol from instruments where id between 901 and 904 order by 1"),
    ).toEqual(["BAC/PRL", "BRK.B", "BRK/B", "HEI.A"].map((symbol) => ({ symbol })));
    expect(toRebuild).toMatch(/^The archive has class shares twice, .*`quotekeeper lake restore`/);
  },
);

onePlain(
  "the ledger of an archive that has BRK/B has BRK.B after migrate, and due is stored and missed in each slot",
  async () => {
    const pool = await archiveOfBefore();

    await migrate(pool, NOW);

    const all = ["BRK.B", "BRK.B:2026-12-18:CALL:480", "chain BRK.B:2026-12-18"];
    expect(
      await rowsOfQuery(
        pool,
        `select due, stored, missed, d.instruments,
              (select array_agg(m.instrument || ' ' || m.reason order by 1) from misses m where m.job = s.job and m.slot_at = s.slot_at) as misses
       from slots s join due_sets d on d.id = s.due_set_id where job = 'shares' order by slot_at`,
      ),
    ).toEqual([
      { due: 3, stored: 2, missed: 1, instruments: all, misses: ["chain BRK.B:2026-12-18 transport"] },
      { due: 3, stored: 2, missed: 1, instruments: all, misses: ["BRK.B transport"] },
      { due: 2, stored: 1, missed: 1, instruments: ["BRK.B", "GE"], misses: ["BRK.B down"] },
    ]);
    expect(await rowsOfQuery(pool, "select due_set_id from open_slots where job = 'shares'")).toEqual([
      { due_set_id: 92 },
    ]);
    expect(await rowsOfQuery(pool, "select instrument from dead_letters where ordinal = 77")).toEqual([
      { instrument: "BRK.B" },
    ]);
    expect(
      await rowsOfQuery(pool, "select from due_sets where array_to_string(instruments, ' ') ~ '/B'"),
    ).toEqual([]);
  },
);

onePlain(
  "an archive that polled Tradier before is to be rebuilt, until it was, and another is not",
  async () => {
    const pool = await archiveOfBefore();
    const [{ pool: other }] = [await freshDatabase()];
    await pool.query(`
    insert into sources (id, kind, name) overriding system value values (177, 'account', 'tradier');
    create temp table answers as select * from responses limit 1;
    update answers set source_id = 177;
    insert into responses select * from answers`);

    const told = (await migrate(pool, NOW)).toRebuild;
    const again = (await migrate(pool, NOW)).toRebuild;
    await pool.query(
      `insert into backfills (kind, asked, digest, began_empty, started_at, finished_at, report)
     values ('journal', '{"rebuild": true, "from": null, "to": null}', 'x', false, now(), now(), '{}')`,
    );
    const rebuilt = (await migrate(pool, NOW)).toRebuild;

    expect(told).toMatch(
      /^Rows of Tradier from before this version .*`quotekeeper backfill --journal --rebuild`/,
    );
    expect([again, rebuilt]).toEqual([told, null]);
    expect((await migrate(other, NOW)).toRebuild).toBeNull();
  },
);

const ENTRY: SlotEntry = {
  job: "shares",
  slotAt: NOW,
  due: ["BRK.B", "BRK/B", "BRK/B:2026-12-18:CALL:480", "GE"],
  misses: [
    ["BRK.B", "unknown_symbol"],
    ["BRK/B:2026-12-18:CALL:480", "absent_from_answer"],
  ],
};

test("a note of before is read by the archive's names: an instrument of two names is missed where both are", () => {
  const both: SlotEntry = { ...ENTRY, misses: [...ENTRY.misses, ["BRK/B", "transport"]] };

  const notes = [ENTRY, both].map((entry) => archivedNote({ type: "slots", entries: [entry] }));

  const due = ["BRK.B", "GE", "BRK.B:2026-12-18:CALL:480"];
  expect(notes).toEqual([
    {
      type: "slots",
      entries: [{ ...ENTRY, due, misses: [["BRK.B:2026-12-18:CALL:480", "absent_from_answer"]] }],
    },
    {
      type: "slots",
      entries: [
        {
          ...ENTRY,
          due,
          misses: [
            ["BRK.B", "transport"],
            ["BRK.B:2026-12-18:CALL:480", "absent_from_answer"],
          ],
        },
      ],
    },
  ]);
  const down = {
    type: "down",
    job: "shares",
    slots: [NOW],
    due: ["BRK/B", "BRK.B"],
    others: [{ due: ["HEI/A"] }],
  } as const;
  expect(
    archivedNote({ ...down, due: [...down.due], slots: [...down.slots], others: [{ due: ["HEI/A"] }] }),
  ).toMatchObject({
    due: ["BRK.B"],
    others: [{ due: ["HEI.A"] }],
  });
});
