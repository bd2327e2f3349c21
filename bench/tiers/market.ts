/** A journal of the simulated market: whole sessions, each symbol once a minute, its contracts each five minutes, a hundred a call. */
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { instantOf } from "../../src/ground/clock.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { type InstrumentKey, option, security } from "../../src/market/instrument.ts";
import type { InstrumentQuote } from "../../src/quotes/document.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { openSampleJournal, randomBytes } from "../backfill/sample.ts";
import { type Random, seeded } from "../governor/random.ts";

/** Minutes of a regular session. */
const MINUTES = 390;

const PER_CALL = 100;

/** Minutes from one poll of a contract to the next. */
const CHAIN_EVERY = 5;

/** What to write; the sessions are the first ones of a month that is over, so that months and chunks are whole. */
export type Sample = {
  symbols: number;
  sessions: number;
  /** Of each of the first twenty symbols. */
  contracts: number;
};

/** Symbols that have a chain. */
const CHAINS = 20;

/** Strikes of the simulated market are multiples of this, around what these symbols cost; calls and puts of two expirations. */
const STRIKE_STEP = 1;
const EXPIRATIONS = ["2026-10-16", "2026-12-18"];

/** The sessions begin here: the first of September 2026. */
const FROM = "2026-09-01";

/** Writes the journal, compressed as it would be after a day. @returns the exchange dates */
export async function writeMarket(dir: string, { symbols, sessions, contracts }: Sample): Promise<string[]> {
  const days = createCalendar()
    .sessions(FROM, "2026-12-31")
    .filter(({ kind }) => kind === "regular")
    .slice(0, sessions);
  const random = seeded(11);
  const firstMs = days[0]?.open.getTime() ?? 0;
  const { journal, moveTo, end } = await openSampleJournal(dir, { firstMs, random });
  const market = createSimulatedMarket({ seed: 1 });
  const names = Array.from({ length: symbols }, (_, n) => security(`SIM${String(n).padStart(4, "0")}`));
  const chains = names
    .slice(0, CHAINS)
    .flatMap((stock) => chainOf(market.quote(stock, days[0]?.open ?? new Date(0)), contracts));
  for (const { open } of days)
    for (let minute = 0; minute < MINUTES; minute++) {
      const minuteMs = open.getTime() + minute * 60_000;
      moveTo(minuteMs);
      const records: ResponseRecord[] = [];
      const asked = minute % CHAIN_EVERY === 0 ? [...names, ...chains] : names;
      for (let first = 0; first < asked.length; first += PER_CALL) {
        const atMs = minuteMs + (first / PER_CALL) * 1_000;
        const instruments = asked
          .slice(first, first + PER_CALL)
          // Without the underlying's quote, which would come once with each of its contracts.
          .map((key) => ({ ...market.quote(key, new Date(atMs)), underlyingQuote: null }));
        records.push(answer(atMs, Buffer.from(writeDocument({ id: "bench", instruments })), random));
      }
      moveTo(minuteMs + 59_000);
      await Promise.all(records.map((record) => journal.append(record)));
      if (minute % 60 === 0) await journal.compressClosed();
    }
  await end();
  return days.map(({ date }) => date);
}

/** So many contracts around an underlying's price: calls and puts of two expirations, one strike after the other. */
function chainOf({ instrument, quote }: InstrumentQuote, contracts: number): InstrumentKey[] {
  const nearest = Math.round(Number(quote?.last) / STRIKE_STEP);
  const strikes = contracts / 2 / EXPIRATIONS.length;
  const lowest = Math.max(1, nearest - Math.floor(strikes / 2));
  return Array.from({ length: contracts }, (_, n) => {
    const strike = String(STRIKE_STEP * (lowest + Math.floor(n / 2 / EXPIRATIONS.length)));
    const expiration = EXPIRATIONS[Math.floor(n / 2) % EXPIRATIONS.length] ?? "";
    return option({
      underlying: instrument.symbol,
      expiration,
      optionType: n % 2 === 0 ? "CALL" : "PUT",
      strike,
    });
  });
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
