/**
 * Live loading: one answer of 325 quotes, or of a whole chain, into tables that hold something already; in turn with a
 * transaction written by hand that copies as many rows and nothing else.
 */
import { join } from "node:path";
import { from } from "pg-copy-streams";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { createMemory, loadBatch } from "../../src/archive/load/loadBatch.ts";
import { startLoader } from "../../src/archive/load/loader.ts";
import { EXTENDED_QUOTES, QUOTES } from "../../src/archive/schema/quoteColumns.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { QuoteUnit } from "../../src/read/rowTypes.ts";
import { systemClock } from "../../src/ground/clock.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { chainAnswer, CONTRACTS, EXPIRATION_COUNT } from "../backfill/chainSample.ts";
import { seeded } from "../governor/random.ts";
import { records } from "./sample.ts";
import type { BenchServer } from "./server.ts";

/** Milliseconds of each answer, each way, in turn. */
export type LiveFigures = {
  quoteCount: number;
  /** Two COPYs and a commit by hand, from rows in memory. */
  byHand: number[];
  /** The bytes of a whole chain by JSON.parse alone; none of other answers. */
  json: number[];
  /** From the body's bytes to rows in memory. */
  parse: number[];
  /** From rows in memory through commit. */
  commit: number[];
  /** From the append to the journal, fsync included, through commit; reading back and parsing included. */
  fromJournal: number[];
};

const QUOTES_PER_CALL = 325;
/** Answers before the ones that count: connections, prepared statements and compiled code are there by then. */
const WARM_UP = 12;

/** Loads `count` answers of `perCall` quotes each way, in turn. @param options.chains whole chains in their place */
export async function benchLive(
  server: Pick<BenchServer, "pool" | "dir">,
  fromMinute: number,
  { count, chains = false, ...given }: { count: number; chains?: boolean; perCall?: number },
): Promise<LiveFigures> {
  const rounds = count + WARM_UP;
  const { perCall = chains ? CONTRACTS : QUOTES_PER_CALL } = given;
  // Each way has every third answer: none comes behind a later one of its instruments.
  const polls = { symbolCount: perCall, perCall, minutes: 3 * rounds, fromMinute };
  const answers = chains ? chainsOfOneDate(3 * rounds) : records(polls, 2);
  const figures: LiveFigures = {
    ...{ quoteCount: perCall, byHand: [], json: [], parse: [], commit: [], fromJournal: [] },
  };
  const hand = handWriter(server);
  const load = memoryLoader(server);
  const journal = await journalLoader(server);
  try {
    for (let place = 0; place < rounds; place++) {
      const [byHand, fromMemory, journaled] = [1, 2, 3].map(() => answers.next().value);
      if (!byHand || !fromMemory || !journaled)
        throw new Error("there are fewer answers than were asked for");
      const handRows = rowsOf(byHand, { segment: "", offset: 0 }).units;
      const times = [await timed(() => hand(handRows))];
      const text = Buffer.from(fromMemory.body);
      const jsonMs = performance.now();
      if (chains) JSON.parse(text.toString("utf8"));
      const receivedMs = performance.now();
      const answer = rowsOf(fromMemory, { segment: "live", offset: place });
      times.push(performance.now() - receivedMs);
      times.push(await timed(() => load(answer, place)));
      times.push(await timed(() => journal.load(journaled)));
      if (place < WARM_UP) continue;
      const [handMs = NaN, parse = NaN, commit = NaN, fromJournal = NaN] = times;
      figures.byHand.push(handMs);
      if (chains) figures.json.push(receivedMs - jsonMs);
      figures.parse.push(parse);
      figures.commit.push(commit);
      figures.fromJournal.push(fromJournal);
      await journal.settle();
    }
  } finally {
    await journal.close();
  }
  return figures;
}

/** Whole chains of one expiration. */
function* chainsOfOneDate(count: number): Generator<ResponseRecord> {
  const random = seeded(3);
  for (let round = 0; round < count; round++)
    yield chainAnswer(round * EXPIRATION_COUNT, random, Date.UTC(2026, 10, 18, 14, 30));
}

/** What somebody would write who has nothing to look up, to check or to move. */
function handWriter({ pool }: Pick<BenchServer, "pool">): (units: readonly QuoteUnit[]) => Promise<void> {
  return async (units) => {
    const client = await pool.connect();
    let committed = false;
    try {
      await client.query("begin");
      for (const { name, columns } of [QUOTES, EXTENDED_QUOTES]) {
        const lines = units.map((unit, place) => {
          const placed = { unit, instrumentId: place + 1, sourceId: 2 };
          return `${columns.map(({ text }) => text(placed) ?? "\\N").join("\t")}\n`;
        });
        const copy = client.query(
          from(`copy ${name} (${columns.map((one) => one.name).join(", ")}) from stdin`),
        );
        await pipeline(Readable.from([lines.join("")]), copy);
      }
      await client.query("commit");
      committed = true;
    } finally {
      // A connection that stays open would keep the program from ending.
      client.release(!committed);
    }
  };
}

function memoryLoader({ pool }: Pick<BenchServer, "pool">) {
  const memory = createMemory();
  return async (answer: ReturnType<typeof rowsOf>, place: number): Promise<void> => {
    const batch = { segment: "live", from: place, to: place + 1, answers: [answer], notes: [] };
    await loadBatch(pool, batch, { memory });
  };
}

async function journalLoader({ pool, dir }: Pick<BenchServer, "pool" | "dir">) {
  const journalDir = join(dir, "journal");
  const journal = await openJournal({ dir: journalDir, clock: systemClock, onProblem: rethrow });
  let loaded: () => void = () => undefined;
  const loader = startLoader({
    ...{ pool, journalDir, clock: systemClock, onFailure: rethrow },
    onLoaded: () => loaded(),
  });
  await loader.drain();
  return {
    load: async (record: Parameters<typeof journal.append>[0]): Promise<void> => {
      const committed = new Promise<void>((resolve) => (loaded = resolve));
      loader.notify((await journal.append(record)).segment);
      await committed;
    },
    settle: () => loader.drain(),
    close: async (): Promise<void> => {
      await loader.close(5_000);
      await journal.close();
    },
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function rethrow(error: unknown): never {
  throw error;
}
