/** Journals of two services in one archive: as they were loaded live, in either order, and each fills the other's slots. */
import { afterAll, expect, test } from "@jest/globals";
import type pg from "pg";
import type { QuoteCall } from "../../../src/quotes/call.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";
import { TRADIER } from "../../../src/services/tradier/tradier.ts";
import { type FakeTradier, startFakeTradier, TOKENS } from "../../fakes/tradier/fake.ts";
import { createTestClock } from "../../support/clock.ts";
import { openCollecting } from "../../support/collecting.ts";
import { appendAll } from "../../support/journal.ts";
import { settled } from "../../support/ledger.ts";
import { startSimulatedService } from "../../support/simulatedService.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld } from "../world.ts";

const START = "2026-11-20T15:00:05.000Z";

let fake: FakeTradier | null = null;
afterAll(() => fake?.close());

/** Two machines, each with a service, a journal and an archive of its own, polled within the same minute. */
async function twoMachines() {
  const clock = createTestClock(START);
  const service = await startSimulatedService(clock);
  const reference = await openCollecting(clock, {
    ...{ service: REFERENCE, baseUrl: service.baseUrl, credentials: { ...service.credentials } },
    source: { kind: "account", name: "account" },
  });
  fake = await startFakeTradier({ clock, market: createSimulatedMarket({ seed: 2 }), mostStrikes: 6 });
  const tradier = await openCollecting(clock, {
    ...{ service: TRADIER, baseUrl: fake.baseUrl, credentials: { accessToken: TOKENS.token } },
    source: { kind: "account", name: "tradier" },
  });
  const symbols: QuoteCall = { form: "symbols", symbols: ["AAPL", "MSFT"], delayed: false };
  const contract = {
    underlying: "AAPL",
    expiration: "2026-12-18",
    optionType: "CALL",
    strike: "250",
  } as const;
  for (let turn = 0; turn < 3; turn++) {
    await reference.collect({ ...symbols, symbols: ["AAPL"] });
    await reference.collect({ form: "option", contract, delayed: false });
    clock.advance(1_000);
    await tradier.collect(symbols);
    await tradier.collect({ form: "expirations", underlying: "AAPL", delayed: false });
    await tradier.collect({ form: "chain", underlying: "AAPL", expiration: "2026-12-18", delayed: false });
    clock.advance(60_000);
  }
  return { reference, tradier };
}

/** What an archive says, without the numbers that hang on the order of loading. */
async function saidBy(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select s.name || ' ' || i.symbol || ' ' || coalesce(i.root, '') || ' ' || coalesce(i.expiration || ' ' || i.option_type || ' ' || i.strike, '')
       || ' ' || (to_jsonb(q) - 'instrument_id' - 'source_id')::text || (to_jsonb(e) - 'instrument_id' - 'source_id')::text as line
     from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)
     join instruments i on i.id = q.instrument_id join sources s on s.id = q.source_id
     union all
     select s.name || ' ' || (to_jsonb(r) - 'source_id' - 'account_id' - 'loaded_at')::text
     from responses r join sources s on s.id = r.source_id
     order by 1`,
  );
  return rows.map(({ line }) => line);
}

test("journals of two services loaded into one archive, in either order, have the rows that each had where it was collected", async () => {
  const { reference, tradier } = await twoMachines();
  const live = [...(await saidBy(reference.pool)), ...(await saidBy(tradier.pool))].sort();
  const [one, other] = [await backfillWorld(), await backfillWorld()];

  for (const [world, dirs] of [
    [one, [reference.journalDir, tradier.journalDir]],
    [other, [tradier.journalDir, reference.journalDir]],
  ] as const)
    for (const dir of dirs)
      expect(await run(["backfill", "--journal", dir], world.env)).toMatchObject({ exitCode: 0 });

  expect(live.length).toBeGreaterThan(40);
  expect((await saidBy(one.pool)).sort()).toEqual(live);
  expect((await saidBy(other.pool)).sort()).toEqual(live);
});

test("a slot that was missed at one service is filled by what the other's journal has of its time", async () => {
  const { reference, tradier } = await twoMachines();
  const minute = "2026-11-20T15:00:00.000000Z";
  await appendAll(reference.journalDir, [
    settled("2026-11-20T15:00:59.000000Z", minute, ["AAPL", "MSFT"], ["MSFT transport"]),
  ]);
  const world = await backfillWorld();
  await run(["backfill", "--journal", reference.journalDir], world.env);

  const filled = await run(["backfill", "--journal", tradier.journalDir], world.env);

  expect(filled).toMatchObject({ exitCode: 0 });
  const { rows } = await world.pool.query(
    `select s.due, s.stored, s.missed, f.instrument, o.name
     from slots s join fills f using (job, slot_at, source_id) join sources o on o.id = f.fill_source_id`,
  );
  expect(rows).toEqual([{ due: 2, stored: 2, missed: 0, instrument: "MSFT", name: "tradier" }]);
});
