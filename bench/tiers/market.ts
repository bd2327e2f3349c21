/** A journal of the simulated market: whole sessions, each symbol once a minute, a hundred symbols a call. */
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { instantOf } from "../../src/clock.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { writeDocumentBytes } from "../../src/services/reference/writeDocument.ts";
import { openSampleJournal, randomBytes } from "../backfill/sample.ts";
import { type Random, seeded } from "../governor/random.ts";

/** Minutes of a regular session. */
const MINUTES = 390;

const PER_CALL = 100;

/** What to write; the sessions are the first ones of a month that is over, so that months and chunks are whole. */
export type Sample = { symbols: number; sessions: number };

/** The sessions begin here: the first of September 2026. */
const FROM = "2026-09-01";

/** Writes the journal, compressed as it would be after a day. @returns the exchange dates */
export async function writeMarket(dir: string, { symbols, sessions }: Sample): Promise<string[]> {
  const days = createCalendar()
    .sessions(FROM, "2026-12-31")
    .filter(({ kind }) => kind === "regular")
    .slice(0, sessions);
  const random = seeded(11);
  const firstMs = days[0]?.open.getTime() ?? 0;
  const { journal, moveTo, end } = await openSampleJournal(dir, { firstMs, random });
  const market = createSimulatedMarket({ seed: 1 });
  const names = Array.from({ length: symbols }, (_, n) => `SIM${String(n).padStart(4, "0")}`);
  for (const { open } of days)
    for (let minute = 0; minute < MINUTES; minute++) {
      const minuteMs = open.getTime() + minute * 60_000;
      moveTo(minuteMs);
      const records: ResponseRecord[] = [];
      for (let first = 0; first < symbols; first += PER_CALL) {
        const atMs = minuteMs + (first / PER_CALL) * 1_000;
        const instruments = names
          .slice(first, first + PER_CALL)
          .map((symbol) => market.quote({ kind: "security", symbol }, new Date(atMs)));
        records.push(answer(atMs, writeDocumentBytes({ id: "bench", instruments }), random));
      }
      moveTo(minuteMs + 59_000);
      await Promise.all(records.map((record) => journal.append(record)));
      if (minute % 60 === 0) await journal.compressClosed();
    }
  await end();
  return days.map(({ date }) => date);
}

function answer(atMs: number, body: Uint8Array, random: Random): ResponseRecord {
  const observedAt = instantOf(BigInt(atMs) * 1_000n + 123n);
  return {
    kind: "response",
    requestId: uuidv7(atMs, randomBytes(random, 10)),
    ...{ observedAt, requestedAt: observedAt, slotAt: null, status: 200, jobs: ["bench"] },
    source: { kind: "simulated", name: "simulated" },
    request: { form: "watchlist", watchlist: "bench", delayed: false },
    headers: {
      date: new Date(atMs).toUTCString(),
      "x-ratelimit-used": "8",
      "x-ratelimit-remaining": "52",
    },
    body,
  };
}
