/** A journal of a made-up market: answers of 325 quotes, equities and options in turn, the same from the same seed. */
import { type Clock, instantOf } from "../../src/ground/clock.ts";
import { type Journal, openJournal } from "../../src/journal/writer.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { type Random, seeded } from "../governor/random.ts";

/** Quotes of an answer: the largest list reported of the live service (field notes, "Requests"). */
export const PER_ANSWER = 325;

/** Contracts of each underlying among an answer's options. */
const PER_UNDERLYING = 25;

/** Answers of a minute: the budget. */
const PER_MINUTE = 60;

/** Where the journal begins: Monday 16 November 2026, 14:30 UTC, the exchange opens. */
const FIRST_MS = Date.UTC(2026, 10, 16, 14, 30);

/** How many answers are appended together: one group commit. */
const TOGETHER = 16;

/** What a journal is made of: the answer at each place, and its quotes. */
export type Sampled = {
  answerAt: (place: number, random: Random, firstMs: number) => ResponseRecord;
  perAnswer: number;
};

/**
 * Writes the journal, compressed as it would be after a day.
 *
 * @param firstMs where it begins
 * @returns how many answers, and the bytes of their bodies
 */
export async function writeSample(
  dir: string,
  quoteCount: number,
  { answerAt, perAnswer }: Sampled = { answerAt: sampleAnswer, perAnswer: PER_ANSWER },
  firstMs = FIRST_MS,
): Promise<{ answers: number; bodyBytes: number }> {
  const random = seeded(7);
  const { journal, moveTo, end } = await openSampleJournal(dir, { firstMs, random });
  const answers = Math.ceil(quoteCount / perAnswer);
  let bodyBytes = 0;
  for (let first = 0; first < answers; first += TOGETHER) {
    const records = Array.from({ length: Math.min(TOGETHER, answers - first) }, (_, n) =>
      answerAt(first + n, random, firstMs),
    );
    moveTo(Date.parse(records.at(-1)?.observedAt ?? ""));
    bodyBytes += records.reduce((sum, { body }) => sum + body.byteLength, 0);
    await Promise.all(records.map((record) => journal.append(record)));
    if (first % (TOGETHER * 64) === 0) await journal.compressClosed();
  }
  await end();
  return { answers, bodyBytes };
}

/**
 * A journal whose clock is moved by whoever writes it.
 *
 * @returns `end` closes it, compressed as it would be after a day
 */
export async function openSampleJournal(
  dir: string,
  { firstMs, random }: { firstMs: number; random: Random },
): Promise<{ journal: Journal; moveTo: (ms: number) => void; end: () => Promise<void> }> {
  let nowMs = firstMs;
  const clock: Clock = {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs - firstMs,
    uptimeMs: () => nowMs - firstMs,
    sleep: () => Promise.resolve(),
    random: (length) => randomBytes(random, length),
  };
  const onProblem = (problem: Error): void => {
    throw problem;
  };
  const journal = await openJournal({ dir, clock, onProblem, upkeep: false });
  return {
    journal,
    moveTo: (ms) => (nowMs = ms),
    end: async () => {
      // All hours are over.
      nowMs += 7_200_000;
      await journal.compressClosed();
      await journal.close();
    },
  };
}

/** As many bytes of chance. */
export function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random() * 256));
}

/** The answer at a place of the journal: equities at the even ones, options at the odd ones. */
export function sampleAnswer(place: number, random: Random, firstMs = FIRST_MS): ResponseRecord {
  const observedAt = instantOf(
    BigInt(firstMs) * 1_000n + (BigInt(place) * 60_000_000n) / BigInt(PER_MINUTE) + BigInt(place % 997),
  );
  const round = Math.floor(place / 2);
  const isOptions = place % 2 === 1;
  const items = Array.from({ length: PER_ANSWER }, (_, n) =>
    isOptions ? optionItem(n, round, random) : equityItem(n, random),
  );
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<response id="${place}"><quotes>${items.join("")}</quotes></response>`;
  return {
    kind: "response",
    requestId: uuidv7(Date.parse(observedAt), randomBytes(random, 10)),
    ...{ observedAt, requestedAt: observedAt, slotAt: null, status: 200, jobs: ["bench"] },
    source: { kind: "simulated", name: "simulated" },
    request: { form: "watchlist", watchlist: isOptions ? "options" : "equities", delayed: false },
    headers: {
      date: new Date(observedAt).toUTCString(),
      "x-ratelimit-used": "8",
      "x-ratelimit-remaining": "52",
    },
    body: Buffer.from(body),
  };
}

function equityItem(n: number, random: Random): string {
  const symbol = symbolOf(n);
  return (
    `<instrumentquote><greeks/><instrument><desc>${symbol} HOLDINGS INC COM</desc><exch>NSD</exch><sectyp>CS</sectyp><sym>${symbol}</sym></instrument>` +
    `<quote>${equityQuote(n, random)}</quote><unknownsymbol>false</unknownsymbol></instrumentquote>`
  );
}

function optionItem(n: number, round: number, random: Random): string {
  const of = Math.floor(n / PER_UNDERLYING);
  const symbol = symbolOf(of);
  const strike = 100 + 5 * (n % PER_UNDERLYING);
  const isCall = round % 2 === 0;
  const price = (off: number): string => ((400 + n + off + Math.floor(random() * 50)) / 100).toFixed(2);
  return (
    `<instrumentquote><greeks><delta>0.${String(1_000 + n * 7)}</delta></greeks>` +
    `<instrument><desc>${symbol} DEC 18 2026 ${strike} ${isCall ? "CALL" : "PUT"}</desc><exch>CMP</exch><matdt>2026-12-18T00:00:00-05:00</matdt>` +
    `<putcall>${isCall ? 1 : 0}</putcall><sectyp>OPT</sectyp><strkpx>${strike}.0</strkpx><sym>${symbol}</sym></instrument>` +
    `<quote><askprice>${price(2)}</askprice><bidprice>${price(0)}</bidprice><change>0.12</change><extendedquote><asksize>${n}</asksize><bidsize>12</bidsize>` +
    `<contracthigh>9.90</contracthigh><contractlow>0.35</contractlow><contractsize>100</contractsize><delta>0.${String(1_000 + n * 7)}</delta><highprice>${price(9)}</highprice>` +
    `<lowprice>${price(-9)}</lowprice><openprice>${price(-3)}</openprice><prevclose>${price(-4)}</prevclose><sessionvolume>${n}</sessionvolume><volume>${n * 3}</volume></extendedquote>` +
    `<lastprice>${price(1)}</lastprice><pctchange>1.2500</pctchange></quote>` +
    `<underlying><desc>${symbol} HOLDINGS INC COM</desc><exch>NSD</exch><sym>${symbol}</sym></underlying>` +
    `<undlyquote>${equityQuote(of, random)}</undlyquote><unknownsymbol>false</unknownsymbol></instrumentquote>`
  );
}

function equityQuote(n: number, random: Random): string {
  const cents = 500 + ((n * 7_919) % 40_000) + Math.floor(random() * 200);
  const price = (off: number): string => ((cents + off) / 100).toFixed(2);
  const count = (most: number): number => Math.floor(random() * most);
  const dividend =
    n % 3 === 0
      ? ""
      : "<dividenddata><amt>0.2400</amt><exdate>2026-11-06T00:00:00-05:00</exdate><yield>1.8300</yield></dividenddata>";
  return (
    `<askprice>${price(1)}</askprice><bidprice>${price(-1)}</bidprice><change>${(random() * 4 - 2).toFixed(2)}</change>` +
    `<extendedquote><asksize>${count(100)}</asksize><bidsize>${count(100)}</bidsize>${dividend}<earningspershare>${(random() * 9).toFixed(4)}</earningspershare>` +
    `<high52price>${price(2_000)}</high52price><highprice>${price(90)}</highprice><low52price>${price(-400)}</low52price><lowprice>${price(-120)}</lowprice>` +
    `<openprice>${price(-40)}</openprice><prevclose>${price(-33)}</prevclose><priceearningsratio>${(random() * 60).toFixed(4)}</priceearningsratio>` +
    `<sessionvolume>${count(1_000_000)}</sessionvolume><volume>${count(80_000_000)}</volume></extendedquote>` +
    `<lastprice>${price(0)}</lastprice><pctchange>${(random() * 4 - 2).toFixed(4)}</pctchange>`
  );
}

/** Three letters and up, the commonest length of a symbol: SAAA, SAAB ... */
function symbolOf(n: number): string {
  const letter = (place: number): string => String.fromCharCode(65 + (Math.floor(n / 26 ** place) % 26));
  return `S${letter(2)}${letter(1)}${letter(0)}`;
}
