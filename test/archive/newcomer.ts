/**
 * A newcomer's archive: the example jobs and the simulated market, some minutes after the first start. The collector and the market
 * are the program's own, in virtual time; the journal, the load and the database are real.
 */
import type pg from "pg";
import { type Instant, instantFromDate } from "../../src/ground/clock.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { askedInstruments } from "../../src/quotes/call.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { readJobs } from "../../src/schedule/readJobs.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { startWorld } from "../collect/world.ts";
import { answerRecord } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";

const MINUTE_MS = 60_000;

const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);

/** The service's own count, of the calls of a minute. */
const limitHeaders = (used: number): Record<string, string> => ({
  "x-ratelimit-used": String(used),
  "x-ratelimit-remaining": String(60 - used),
  "x-ratelimit-limit": "60",
});

/** One, and what time it is there. */
export type NewcomersArchive = { pool: pg.Pool; now: Instant };

/** The market of `quotekeeper start`, and its source in the archive. */
const SEED = 1;
const SOURCE = { kind: "simulated", name: "simulated" } as const;

/**
 * Collects, ends the collector, and loads what it has kept. Waits for no real time.
 *
 * @param start when the first start is, ISO 8601
 */
export async function newcomersArchive(start: string, minutes: number): Promise<NewcomersArchive> {
  const { jobs } = await readJobs("jobs");
  const market = createSimulatedMarket({ seed: SEED });
  const answers: JournalRecord[] = [];
  const bodies = new Map<object, Buffer>();
  const world = startWorld({
    start,
    jobs,
    respond: (call) => {
      const { planned, sentAt } = call;
      const keys = askedInstruments(planned.call) ?? [];
      const instruments = keys.map((key) => market.quote(key, new Date(sentAt)));
      const body = Buffer.from(writeDocument({ id: String(world.calls.length), instruments }));
      bodies.set(call, body);
      return classifyAnswer({ status: 200, headers: {}, body });
    },
    kept: async (call) => {
      const { call: request, jobs: names, slotAt } = call.planned;
      answers.push({
        ...answerRecord(call.observedAt as Instant, "", { source: SOURCE, request, jobs: names, slotAt }),
        ...{ requestedAt: instantFromDate(new Date(call.sentAt)), body: bodies.get(call) as Buffer },
        headers: limitHeaders(
          world.calls.filter(({ sentAt }) => minuteOf(sentAt) === minuteOf(call.sentAt)).length,
        ),
      });
      await Promise.resolve();
    },
  });
  await world.pass(minutes * MINUTE_MS);
  const now = instantFromDate(world.clock.now());
  await world.end(0);
  const notes = world.notes.map((note): JournalRecord => ({
    ...{ kind: "note", at: now, note: { ...note, source: SOURCE.kind } },
  }));
  const { pool, append, load } = await loadingWorld();
  await append(...answers, ...notes);
  await load();
  return { pool, now };
}
