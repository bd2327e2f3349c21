/** That the audit finds what it is there to find: an audit that is blind proves nothing. */
import { expect, test } from "@jest/globals";
import { keepAccounts } from "../../src/archive/ledger/accountRows.ts";
import { freshDatabase, handOnDatabases } from "../support/database.ts";
import { answerRecord, at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { Auditor } from "./kit/audit.ts";
import { auditFleet } from "./kit/fleetAudit.ts";
import { auditLedger } from "./kit/ledgerAudit.ts";
import { lostWithoutLeaving, staleCalls } from "./scenarios/concludeFleet.ts";

handOnDatabases();

const DIVIDEND = { dividend: { amt: "0.31", exdate: "2026-08-12T00:00:00-04:00", yield: "2.02" } };

/** Three answers with two quotes each, loaded. */
async function loaded() {
  const world = await loadingWorld();
  const answers = [0, 1, 2].map((n) =>
    answerRecord(at(n), answerXml(equityXml("A", DIVIDEND), equityXml("B"))),
  );
  await world.append(...answers);
  await world.load();
  return { ...world, check: () => new Auditor(world.pool, world.journalDir).check({ complete: true }) };
}

test("the audit finds an archive right that has what the journal has", async () => {
  const { check } = await loaded();

  expect(await check()).toEqual({ journaled: 3, loaded: 3, quotes: 6, dividends: 1, violations: [] });
});

test.each([
  [
    "a quote is missing",
    "delete from quotes where observed_at = (select max(observed_at) from quotes) and instrument_id = 1",
  ],
  ["a price is another", "update quotes set last = last + 0.01 where instrument_id = 1"],
  [
    "a quote is another instrument's",
    // In two: Citus changes no row's place.
    `insert into quotes select (jsonb_populate_record(q, '{"instrument_id": 102}')).* from quotes q where instrument_id = 1;
     delete from quotes where instrument_id = 1`,
  ],
  ["an extended quote is missing", "delete from extended_quotes where instrument_id = 1"],
  [
    "an answer is missing",
    "delete from responses where observed_at = (select min(observed_at) from responses)",
  ],
  [
    "an answer is there twice",
    "insert into responses select (jsonb_populate_record(r, jsonb_build_object('request_id', gen_random_uuid()))).* from responses r limit 1",
  ],
  [
    "a quote belongs to no answer",
    "insert into quotes select (jsonb_populate_record(q, jsonb_build_object('observed_at', q.observed_at + interval '1 minute'))).* from quotes q limit 1",
  ],
  [
    "a dividend was stored though nothing had changed",
    "insert into dividends select (jsonb_populate_record(d, jsonb_build_object('observed_at', (select max(observed_at) from quotes)))).* from dividends d",
  ],
  [
    "the position lies before rows that are there",
    "update journal_positions set loaded_to = (select min(journal_offset) from responses where journal_offset > 0)",
  ],
  ["the position lies in the midst of a record", "update journal_positions set loaded_to = loaded_to - 1"],
  ["the position is not there", "delete from journal_positions"],
])("found: %s", async (_what, sql) => {
  const { pool, check } = await loaded();
  await pool.query(sql);

  expect((await check()).violations).not.toEqual([]);
});

test.each([
  ["a price is another", "update quotes set last = last + 0.01 where instrument_id = 1"],
  ["a dividend is missing", "delete from dividends"],
])("found by the audit of several journals: %s", async (_what, sql) => {
  const { pool, journalDir } = await loaded();
  const before = await auditFleet(pool, [journalDir]);
  await pool.query(sql);

  expect(before).toEqual({ answers: 3, quotes: 6, dividends: 1, violations: [] });
  expect((await auditFleet(pool, [journalDir])).violations).not.toEqual([]);
});

test("the audit finds an answer that stands in two journals", async () => {
  const { pool, journalDir } = await loaded();

  expect((await auditFleet(pool, [journalDir, journalDir])).violations).not.toEqual([]);
});

test.each([
  ["found: a call of one whose successor has called", [110, 120, 130], false, 1],
  ["right: a call before the successor's first", [110, 140, 130], false, 0],
  ["right: a call of one that was cut off, and cannot know", [110, 120, 130], true, 0],
])("%s", async (_what, [first, successors, last], isCutOff, found) => {
  const { pool } = await freshDatabase();
  await keepAccounts(pool, [{ name: "main", callLimit: 60, windowMs: 6_000, state: "active" }]);
  const member = (name: string, id: string) => ({ name, id, wasCutOff: () => isCutOff });
  const one = member("one", "00000000-0000-4000-8000-000000000001");
  const two = member("two", "00000000-0000-4000-8000-000000000002");
  const taken =
    "insert into lease_history select id, $1, to_timestamp($2), $3, $4, 'new', null from accounts";
  await pool.query(taken, [1, 0.1, one.id, one.name]);
  await pool.query(taken, [2, 0.115, two.id, two.name]);
  const call = (atMs = 0, collector = "one") => ({ atMs, collector, account: "main", status: 200, id: "" });

  const calls = [call(first), call(successors, "two"), call(last)];

  expect(await staleCalls({ pool }, [one, two], calls)).toHaveLength(found);
});

test.each([
  [
    "found: one of a collector that had not been asked to end",
    1_000,
    { fromMs: 2_000_000, toMs: 2_009_000 },
    1,
  ],
  ["found: one of a collector that ended before calls are cut off", 2_000, { fromMs: 2_100, toMs: 3_599 }, 1],
  [
    "right: one under way in an end that outlasts what calls are waited for",
    2_000,
    { fromMs: 2_100, toMs: 3_600 },
    0,
  ],
])("an answer in no journal is %s", (_what, atMs, end, found) => {
  const call = { atMs, collector: "one", account: "main", status: 200, id: "a" };

  expect(
    lostWithoutLeaving([{ name: "one", leavings: [end] }], [call, { ...call, id: "b" }], [call]),
  ).toHaveLength(found);
});

test("the audit finds answers that are not loaded yet only when all should be", async () => {
  const { pool, journalDir, append, check } = await loaded();
  await append(answerRecord(at(3), answerXml()));

  expect((await new Auditor(pool, journalDir).check()).violations).toEqual([]);
  expect((await check()).violations).toEqual(["1 answers of the journal are not loaded"]);
});

const SLOT = `
  with due as (insert into due_sets (digest, instruments) values ('d', '{A,B}') returning id)
  insert into slots (job, source_id, slot_at, due, stored, missed, due_set_id)
  select 'job', (select min(source_id) from responses), slot_at, 2, 2 - missed, missed, id from due, (values `;

test.each([
  ["a sum is wrong", "('2026-11-20 22:50:00Z'::timestamptz, 1)"],
  ["a slot calls stored what is not there", "('2026-11-20 22:40:00Z'::timestamptz, 0)"],
  ["a slot is missing", "('2026-11-20 22:49:58Z'::timestamptz, 0), ('2026-11-20 22:50:00Z'::timestamptz, 0)"],
])("found in the ledger: %s", async (_what, values) => {
  const { pool } = await loaded();
  await pool.query(`${SLOT} ${values}) as s (slot_at, missed)`);

  expect((await auditLedger(pool, [{ name: "job", stepMs: 1_000 }])).violations).not.toEqual([]);
});

test("the audit finds a ledger right that adds up", async () => {
  const { pool } = await loaded();
  await pool.query(`${SLOT} ('2026-11-20 22:50:00Z'::timestamptz, 0)) as s (slot_at, missed)`);

  expect((await auditLedger(pool, [{ name: "job", stepMs: 1_000 }])).violations).toEqual([]);
});
