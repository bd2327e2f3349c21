/** Journals of three services in one archive: as they were loaded live, in any order, and each fills the others' slots. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { readStoredWithin } from "../../../src/archive/ledger/storedWithin.ts";
import type { QuoteCall } from "../../../src/quotes/call.ts";
import { ALPACA } from "../../../src/services/alpaca/alpaca.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";
import { TRADIER } from "../../../src/services/tradier/tradier.ts";
import { KEYS } from "../../fakes/alpaca/fake.ts";
import { TOKENS } from "../../fakes/tradier/fake.ts";
import { rowsSaidBy } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { type Collecting, collectPages, openCollecting } from "../../support/collecting.ts";
import { appendAll } from "../../support/journal.ts";
import { settled } from "../../support/ledger.ts";
import { openFakeAlpaca, openFakeTradier } from "../../support/livingFakes.ts";
import { startSimulatedService } from "../../support/simulatedService.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld } from "../world.ts";

const START = "2026-11-20T15:00:05.000Z";
const EXPIRATION = "2026-12-18";

const symbols = (...names: string[]): QuoteCall => ({ form: "symbols", symbols: names, delayed: false });
const LIST: QuoteCall = { form: "expirations", underlying: "AAPL", delayed: false };
const CHAIN: QuoteCall = { form: "chain", underlying: "AAPL", expiration: EXPIRATION, delayed: false };

/** Settings of Alpaca's feeds: those of the first turn, then those of the others, and yet others when the journals are loaded. */
const FEEDS = [
  { stockFeed: "delayed_sip", optionFeed: "indicative" },
  { stockFeed: "sip", optionFeed: "opra" },
] as const;
const FEEDS_LATER = { QUOTES_ALPACA_STOCK_FEED: "iex", QUOTES_ALPACA_OPTION_FEED: "indicative" };

const TURNS = 3;

/** Three machines, each with a service, a journal and an archive of its own, polled within the same minute. */
async function threeMachines() {
  const clock = createTestClock(START);
  const service = await startSimulatedService(clock);
  const reference = await openCollecting(clock, {
    ...{ service: REFERENCE, baseUrl: service.baseUrl, credentials: { ...service.credentials } },
    source: { kind: "account", name: "account" },
  });
  const { fake: fakeTradier } = await openFakeTradier({ clock, mostStrikes: 20 });
  const tradier = await openCollecting(clock, {
    ...{ service: TRADIER, baseUrl: fakeTradier.baseUrl, credentials: { accessToken: TOKENS.token } },
    source: "own",
  });
  const pages = { mostStrikes: 20, mostOfAPage: 20, mostOfAList: 250 };
  const { fake } = await openFakeAlpaca({ clock, plan: "plus", ...pages });
  const tradingUrl = { tradingUrl: fake.tradingUrl };
  const alpaca = await openCollecting(clock, {
    ...{ service: ALPACA, baseUrl: fake.dataUrl, credentials: { ...KEYS }, source: "own" },
    options: { ...tradingUrl, ...FEEDS[0] },
  });
  const contract = { underlying: "AAPL", expiration: EXPIRATION, optionType: "CALL", strike: "250" } as const;
  for (let turn = 0; turn < TURNS; turn++) {
    await reference.collect(symbols("AAPL"));
    await reference.collect({ form: "option", contract, delayed: false });
    clock.advance(1_000);
    await tradier.collect(symbols("AAPL", "MSFT"));
    await tradier.collect(LIST);
    await tradier.collect(CHAIN);
    clock.advance(1_000);
    if (turn === 1) await alpaca.choose({ ...tradingUrl, ...FEEDS[1] });
    await alpaca.collect(symbols("AAPL", "IBM"));
    await alpaca.collect(symbols("AAPL261218C00250000", "AAPL261218P00250000"));
    await collectPages(alpaca, LIST);
    // The last turn is cut off between two pages.
    await collectPages(alpaca, CHAIN, turn === TURNS - 1 ? 1 : 2);
    clock.advance(59_000);
  }
  return { reference, tradier, alpaca };
}

/** What an archive says, without the numbers that hang on the order of loading. */
async function saidBy(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select concat_ws(' ', s.name, to_jsonb(r) - 'source_id' - 'account_id' - 'loaded_at') as line
     from responses r join sources s on s.id = r.source_id`,
  );
  return [...(await rowsSaidBy(pool)), ...rows.map(({ line }) => line)].sort();
}

test("journals of three services loaded into one archive, in either order and under other settings, have the rows that each had where it was collected", async () => {
  const { reference, tradier, alpaca } = await threeMachines();
  const each = await Promise.all([reference, tradier, alpaca].map(({ pool }) => saidBy(pool)));
  const live = [...new Set(each.flat())].sort();
  const dirs = [reference, tradier, alpaca].map(({ journalDir }) => journalDir);
  const [one, other] = [await backfillWorld(), await backfillWorld()];

  for (const [{ env }, order] of [
    [one, dirs],
    [other, dirs.toReversed()],
  ] as const)
    for (const dir of order)
      expect(await run(["backfill", "--journal", dir], { ...env, ...FEEDS_LATER })).toMatchObject({
        exitCode: 0,
      });

  expect(await saidBy(one.pool)).toEqual(live);
  expect(await saidBy(other.pool)).toEqual(live);
  const counted = await one.pool.query(
    `select s.name || coalesce(' of ' || s.spot, '') || coalesce(' and ' || s.interest, '') as source,
            count(q.observed_at)::int as quotes, count(*) filter (where q.observed_at is null)::int as alone
     from quotes q full join extended_quotes e using (instrument_id, observed_at, source_id) join sources s on s.id = source_id
     where s.name like 'alpaca%' group by 1 order by 1`,
  );
  expect(counted.rows).toEqual(await countedIn(alpaca));
});

type Body = {
  option_contracts?: { open_interest: string | null }[];
  snapshots?: Record<string, unknown>;
};

/** Rows by their source, counted in the bodies of Alpaca's journal. */
async function countedIn({ kept }: Collecting) {
  const counts = new Map<string, { quotes: number; alone: number }>();
  for (const [place, { body }] of (await kept()).entries()) {
    const {
      option_contracts: contracts,
      snapshots,
      ...stocks
    } = JSON.parse(Buffer.from(body).toString()) as Body;
    const { stockFeed, optionFeed } = FEEDS[place < (await kept()).length / TURNS ? 0 : 1];
    const source = contracts
      ? "alpaca"
      : snapshots
        ? `alpaca ${optionFeed} beside ${stockFeed} of alpaca ${stockFeed} and alpaca`
        : `alpaca ${stockFeed}`;
    const count = counts.get(source) ?? { quotes: 0, alone: 0 };
    counts.set(source, count);
    count.quotes += contracts ? 0 : Object.keys(snapshots ?? stocks).length;
    count.alone += (contracts ?? []).filter((one) => one.open_interest !== null).length;
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([source, count]) => ({ source, ...count }));
}

test("a slot that was missed at one service is filled by what the others' journals have of its time in real time, and by no delayed quote", async () => {
  const { reference, tradier, alpaca } = await threeMachines();
  const minutes = ["15:00", "15:01"].map((time) => `2026-11-20T${time}:00.000000Z`);
  await appendAll(
    reference.journalDir,
    minutes.map((minute) => {
      const at = minute.replace(":00.000000Z", ":59.000000Z");
      return settled(at, minute, ["AAPL", "MSFT", "IBM"], ["MSFT transport", "IBM transport"]);
    }),
  );
  const world = await backfillWorld();

  for (const { journalDir } of [reference, tradier, alpaca])
    expect(await run(["backfill", "--journal", journalDir], world.env)).toMatchObject({ exitCode: 0 });

  const { rows } = await world.pool.query(
    `select to_char(s.slot_at at time zone 'UTC', 'HH24:MI') as slot, s.stored, s.missed, f.instrument, o.name
     from slots s join fills f using (job, slot_at, source_id) join sources o on o.id = f.fill_source_id order by 1, 4`,
  );
  expect(rows).toEqual([
    { slot: "15:00", stored: 2, missed: 1, instrument: "MSFT", name: "tradier" },
    { slot: "15:01", stored: 3, missed: 0, instrument: "IBM", name: "alpaca sip" },
    { slot: "15:01", stored: 3, missed: 0, instrument: "MSFT", name: "tradier" },
  ]);
});

test("a chain in pages is stored within the minutes in which its last page came, and not where it was cut off before", async () => {
  const { alpaca } = await threeMachines();
  const chain = `chain AAPL:${EXPIRATION}`;
  const windows = ["15:00", "15:01", "15:02"].map((time) => {
    const from = new Date(`2026-11-20T${time}:00Z`);
    return { from, to: new Date(from.getTime() + 60_000) };
  });

  const stored = await readStoredWithin(alpaca.pool, windows, {
    ...{ source: "account", instruments: [chain], delayed: false },
  });

  expect(stored).toEqual(
    new Map([
      [0, new Set([chain])],
      [1, new Set([chain])],
    ]),
  );
});
