/** Answers of a made-up market, as the journal holds them: the same ones from the same seed. */
import type { Batch } from "../../src/archive/load/batch.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import { instantOf, type Instant } from "../../src/ground/clock.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { type InstrumentQuote, type Quote, NO_QUOTE } from "../../src/quotes/document.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { type Random, seeded } from "../governor/random.ts";

/** Where the sample's first answer arrived: Monday 16 November 2026, 14:30 UTC, the exchange opens. */
const FIRST_MICROS = BigInt(Date.UTC(2026, 10, 16, 14, 30)) * 1_000n;

const MINUTE_MICROS = 60_000_000n;

/** As large as the batches of a replay (src/archive/load/readBatches.ts). */
const BATCH_RECORDS = 5_000;
const BATCH_BYTES = 4 * 1024 * 1024;

/** Answers to polls of `symbolCount` equities each minute, in calls of at most `perCall`. */
export type Polls = { symbolCount: number; perCall: number; minutes: number; fromMinute: number };

/** The records of polls, in the order in which they arrived. */
export function* records(
  { symbolCount, perCall, minutes, fromMinute }: Polls,
  seed = 1,
): Generator<ResponseRecord> {
  const random = seeded(seed);
  for (let minute = fromMinute; minute < fromMinute + minutes; minute++) {
    for (let first = 0; first < symbolCount; first += perCall) {
      const symbols = Array.from({ length: Math.min(perCall, symbolCount - first) }, (_, n) =>
        symbolOf(first + n),
      );
      const observedAt = instantOf(FIRST_MICROS + BigInt(minute) * MINUTE_MICROS + BigInt(first) * 10_007n);
      yield recordOf(observedAt, symbols, random);
    }
  }
}

function recordOf(observedAt: Instant, symbols: string[], random: Random): ResponseRecord {
  const instruments = symbols.map((symbol, n) => equity(symbol, n, random));
  return {
    kind: "response",
    requestId: uuidv7(Date.parse(observedAt), Buffer.from(Array.from({ length: 10 }, () => random() * 256))),
    observedAt,
    requestedAt: observedAt,
    source: { kind: "simulated", name: "simulated" },
    jobs: ["bench"],
    slotAt: null,
    request: { form: "symbols", symbols, delayed: false },
    status: 200,
    headers: {
      date: new Date(observedAt).toUTCString(),
      "x-ratelimit-used": "8",
      "x-ratelimit-remaining": "52",
    },
    body: Buffer.from(writeDocument({ id: "bench", instruments })),
  };
}

/** Three letters and up, the commonest length of a symbol: SAAA, SAAB ... */
function symbolOf(n: number): string {
  const letter = (place: number) => String.fromCharCode(65 + (Math.floor(n / 26 ** place) % 26));
  return `S${letter(2)}${letter(1)}${letter(0)}`;
}

function equity(symbol: string, n: number, random: Random): InstrumentQuote {
  return {
    instrument: {
      description: `${symbol} HOLDINGS INC COM`,
      exchange: "NSD",
      securityType: "CS",
      symbol,
      ...{ expiration: null, optionType: null, strike: null },
    },
    quote: quote(n, random),
    greeksDelta: null,
    underlying: null,
    underlyingQuote: null,
    unknownSymbol: false,
  };
}

function quote(n: number, random: Random): Quote {
  const cents = 500 + ((n * 7_919) % 40_000) + Math.floor(random() * 200);
  const price = (off: number) => ((cents + off) / 100).toFixed(2);
  const count = (most: number) => String(Math.floor(random() * most));
  return {
    bid: price(-1),
    ask: price(1),
    last: price(0),
    change: (random() * 4 - 2).toFixed(2),
    pctChange: (random() * 4 - 2).toFixed(4),
    quotedAt: null,
    tradedAt: null,
    extended: {
      ...NO_QUOTE.extended,
      ...{
        bidSize: count(100),
        askSize: count(100),
        volume: count(80_000_000),
        sessionVolume: count(1_000_000),
      },
      ...{ open: price(-40), high: price(90), low: price(-120), previousClose: price(-33) },
      ...{ earningsPerShare: (random() * 9).toFixed(4), peRatio: (random() * 60).toFixed(4) },
      ...{ high52Week: price(2_000), low52Week: price(-400) },
      dividend: n % 3 === 0 ? null : { amount: "0.2400", exDate: "2026-11-06", yield: "1.8300" },
    },
  };
}

/** Records as the loader would cut them into batches of one segment, read into rows. */
export function batchesOf(all: readonly ResponseRecord[], segment: string): Batch[] {
  const batches: Batch[] = [];
  let bytes = 0;
  all.forEach((record, place) => {
    const open = batches.at(-1);
    const isFull = !open || open.answers.length >= BATCH_RECORDS || bytes >= BATCH_BYTES;
    const batch = isFull ? { segment, from: place, to: place, answers: [], notes: [] } : open;
    if (isFull) {
      batches.push(batch);
      bytes = 0;
    }
    batch.answers.push(rowsOf(record, { segment, offset: place }));
    batch.to = place + 1;
    bytes += record.body.byteLength;
  });
  return batches;
}
