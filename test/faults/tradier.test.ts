/** Real collectors of Tradier's whole chains, killed at random instants: against the journal, and against the fake's own log. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { seeded } from "../../bench/governor/random.ts";
import { systemClock } from "../../src/clock.ts";
import { readSegment } from "../../src/journal/reader.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { type FakeTradier, startFakeTradier, TOKENS } from "../fakes/tradier/fake.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { openWorldOn, type World } from "./kit/world.ts";
import { killCollectors } from "./scenarios/collectorKills.ts";

// Collectors are killed and recounted for many slots.
jest.setTimeout(300_000);

const STEP_MS = 2_000;

const JOB = `name: whole
schedule: "*/${STEP_MS / 1_000} * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: listed, strikes: all }
`;

let bin = "";
beforeAll(() => {
  bin = compileProgram(tempDir());
});

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

async function open(fake: FakeTradier): Promise<World> {
  const { url } = await freshDatabase();
  const opened = await openWorldOn(url, {
    ...{ bin, migrated: false, load: { symbols: 0, options: 0, slowSymbols: 0 } },
    settings: { QUOTES_SERVICE: "tradier", QUOTES_ACCESS_TOKEN: TOKENS.token },
    openFeed: () =>
      Promise.resolve({
        baseUrl: fake.baseUrl,
        answered: () => fake.calls.filter(({ status }) => status === 200).length,
        close: fake.close,
      }),
  });
  writeFileSync(join(opened.env()["QUOTEKEEPER_JOBS_DIR"] ?? "", "whole.yaml"), JOB);
  return (world = { ...opened, jobs: [{ name: "whole", stepMs: STEP_MS, names: [] }] });
}

/** What each whole answer of the journal holds, as the ledger names it, and when it was asked for; read with JSON.parse alone. */
async function answersIn(journalDir: string): Promise<{ name: string; askedMs: number }[]> {
  const answers: { name: string; askedMs: number }[] = [];
  for (const { name: segment } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, segment)) {
      if (item.kind !== "record" || item.record.kind !== "response" || item.record.status !== 200) continue;
      const { body, requestedAt } = item.record;
      const { quotes, options } = JSON.parse(Buffer.from(body).toString()) as {
        quotes?: { quote: { symbol: string } };
        options?: { option: { underlying: string; expiration_date: string }[] };
      };
      const dates = new Set(options?.option.map((one) => `chain ${one.underlying}:${one.expiration_date}`));
      const names = [...(quotes ? [quotes.quote.symbol] : []), ...dates];
      answers.push(...names.map((name) => ({ name, askedMs: Date.parse(requestedAt) })));
    }
  return answers;
}

type Slot = { at: string; due: string[]; missed: string[] };

/** Each slot whose word is not that of the recount, in words. */
async function recounted(pool: pg.Pool, journalDir: string): Promise<{ slots: number; wrong: string[] }> {
  const answers = await answersIn(journalDir);
  const { rows } = await pool.query<Slot>(
    `select to_json(slot_at)#>>'{}' as at, d.instruments as due,
            array(select instrument from misses m where m.job = s.job and m.slot_at = s.slot_at) as missed
     from slots s join due_sets d on d.id = s.due_set_id order by slot_at`,
  );
  const wrong = rows.flatMap(({ at, due, missed }) => {
    const from = Date.parse(at);
    const brought = new Set(
      answers.filter(({ askedMs }) => askedMs >= from && askedMs < from + STEP_MS).map(({ name }) => name),
    );
    const lost = missed.includes("*") ? due : missed;
    const expected = due.filter((name) => !brought.has(name));
    return lost.toSorted().join() === expected.toSorted().join()
      ? []
      : [`${at} missed ${lost.join()}, and nothing came of ${expected.join()}`];
  });
  return { slots: rows.length, wrong };
}

test("rows and ledger of whole chains are right when the collector is killed at random instants, and the list is not asked for again", async () => {
  const fake = await startFakeTradier({
    clock: systemClock,
    market: createSimulatedMarket({ seed: 1 }),
    ...{ calendar: alwaysOpen, mostStrikes: 4, trading: () => "usual" },
    limit: { says: 1_000_000, holds: 1_000_000 },
  });
  const opened = await open(fake);

  const verdict = await killCollectors(opened, { kills: 4, random: seeded(7), demand: "whole chains'" });

  const { slots, wrong } = await recounted(opened.pool, opened.journalDir);
  const lists = fake.calls.filter(({ path, status }) => path.endsWith("/expirations") && status === 200);
  expect([verdict.violations, wrong]).toEqual([[], []]);
  expect(slots).toBeGreaterThan(3);
  expect(verdict.figures["quotes"]).toBeGreaterThan(100);
  // A kill may come between an answer and the disk, and another day of New York may begin meanwhile.
  expect(lists.length).toBeLessThanOrEqual(3);
});
