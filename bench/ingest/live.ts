/** Live loading: one answer of 325 quotes, the most a call brings, into tables that hold something already. */
import { join } from "node:path";
import { StretchLoader } from "../../src/archive/stretchLoader.ts";
import { stretchOf } from "../../src/archive/stretch.ts";
import { JOURNAL_POSITION } from "../../src/archive/loadPosition.ts";
import { startLoader } from "../../src/archive/loader.ts";
import { rowsOf } from "../../src/read/answerToRows.ts";
import { systemClock } from "../../src/clock.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { records } from "./sample.ts";
import type { BenchServer } from "./server.ts";

/** Milliseconds of each answer. */
export type LiveFigures = {
  quoteCount: number;
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

/** Loads `count` answers one by one, then as many more through a journal. */
export async function benchLive(
  server: BenchServer,
  fromMinute: number,
  count: number,
): Promise<LiveFigures> {
  const polls = { symbolCount: QUOTES_PER_CALL, perCall: QUOTES_PER_CALL, minutes: count + WARM_UP };
  const { parse, commit } = await fromMemory(server, { ...polls, fromMinute });
  const fromJournal = await throughJournal(server, { ...polls, fromMinute: fromMinute + polls.minutes });
  return {
    quoteCount: QUOTES_PER_CALL,
    parse: parse.slice(WARM_UP),
    commit: commit.slice(WARM_UP),
    fromJournal: fromJournal.slice(WARM_UP),
  };
}

type Polls = Parameters<typeof records>[0];

async function fromMemory(
  { pool }: BenchServer,
  polls: Polls,
): Promise<{ parse: number[]; commit: number[] }> {
  const parse: number[] = [];
  const commit: number[] = [];
  const loader = new StretchLoader({
    ...{ pool, position: JOURNAL_POSITION, onLoaded: () => undefined },
    reread: () => rethrow(new Error("an answer was not taken in as it came")),
  });
  let place = 0;
  for (const record of records(polls, 2)) {
    const receivedMs = performance.now();
    const answer = rowsOf(record, { segment: "live", offset: place });
    const parsedMs = performance.now();
    await loader.add(
      stretchOf({ segment: "live", from: place, to: (place += 1), answers: [answer], notes: [] }),
    );
    await loader.finish();
    parse.push(parsedMs - receivedMs);
    commit.push(performance.now() - parsedMs);
  }
  return { parse, commit };
}

async function throughJournal({ pool, dir }: BenchServer, polls: Polls): Promise<number[]> {
  const journalDir = join(dir, "journal");
  const journal = await openJournal({ dir: journalDir, clock: systemClock, onProblem: rethrow });
  let loaded: () => void = () => undefined;
  const loader = startLoader({
    pool,
    journalDir,
    clock: systemClock,
    onLoaded: () => loaded(),
    onFailure: rethrow,
  });
  const times: number[] = [];
  try {
    await loader.drain();
    for (const record of records(polls, 3)) {
      const startMs = performance.now();
      const committed = new Promise<void>((resolve) => (loaded = resolve));
      loader.notify((await journal.append(record)).segment);
      await committed;
      times.push(performance.now() - startMs);
    }
  } finally {
    await loader.close(5_000);
    await journal.close();
  }
  return times;
}

function rethrow(error: unknown): never {
  throw error;
}
