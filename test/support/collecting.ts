/** The whole data path with real parts: a socket, OAuth, a journal on disk, a loader, PostgreSQL. */
import { afterAll } from "@jest/globals";
import type pg from "pg";
import { startLoader, type Loader } from "../../src/archive/load/loader.ts";
import { NO_CALL_LOG } from "../../src/collect/callLog.ts";
import { openFetchQuotes } from "../../src/collect/fetchQuotes.ts";
import { createObserver, instantFromDate } from "../../src/ground/clock.ts";
import { DEFAULT_ACCOUNT, type RecordSource, type ResponseRecord } from "../../src/journal/record.ts";
import { readSegment } from "../../src/journal/reader.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { collectCall, type CollectedAnswer } from "../../src/collector/pipeline.ts";
import { openFeed } from "../../src/collector/feed.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import type { TestClock } from "./clock.ts";
import { freshDatabase } from "./database.ts";
import { tempDir } from "./tempDir.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import type { Credentials, OptionValues, Service } from "../../src/services/service.ts";

/** A data path under way. */
export type Collecting = {
  url: string;
  pool: pg.Pool;
  journalDir: string;
  loader: Loader;
  /** Takes one call from the socket to the tables. */
  collect: (call: QuoteCall) => Promise<CollectedAnswer>;
  /** From now on calls are made with these settings of the account. */
  choose: (options: OptionValues) => Promise<void>;
  /** What is in the journal, in order. */
  kept: () => Promise<ResponseRecord[]>;
};

const closers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Opens the stations towards a service; they are closed when the test file ends. */
export async function openCollecting(
  clock: TestClock,
  feed: {
    service?: Service;
    baseUrl: string;
    credentials: Credentials;
    /** `own`: what the program takes it for. Default: simulated. */
    source?: RecordSource | "own";
    options?: OptionValues;
  },
): Promise<Collecting> {
  const {
    service = REFERENCE,
    baseUrl,
    credentials,
    source = { kind: "simulated", name: "simulated" },
  } = feed;
  const { url, pool } = await freshDatabase();
  const journalDir = tempDir();
  const onProblem = (problem: Error) => {
    throw problem;
  };
  const journal = await openJournal({ dir: journalDir, clock, onProblem, upkeep: false });
  const loader = startLoader({ pool, journalDir, clock });
  const observe = createObserver(clock);
  const open = async (options: OptionValues) => {
    const opened =
      source === "own"
        ? await openFeed(
            {
              ...{ name: DEFAULT_ACCOUNT, service, feed: { kind: "account", baseUrl, credentials, options } },
              ...{ limit: service.limit.calls, limitGiven: false, limitWindowMs: service.limit.windowMs },
            },
            { dataDir: journalDir, clock, observe },
          )
        : {
            ...openFetchQuotes({
              ...{ service, baseUrl, options, clock, observe, userAgent: "test" },
              credentials: () => credentials,
            }),
            sourceOf: () => source,
          };
    closers.push(opened.close);
    return opened;
  };
  let opened = await open(feed.options ?? {});
  closers.push(
    () => loader.close(1_000),
    () => journal.close(),
  );
  const stations = {
    account: { name: DEFAULT_ACCOUNT, service },
    journal,
    loader,
    calls: NO_CALL_LOG,
    requestId: () => uuidv7(clock.now().getTime(), clock.random(16)),
  };
  return {
    url,
    pool,
    journalDir,
    loader,
    collect: async (call) => {
      const slotAt = instantFromDate(clock.now());
      const collected = await collectCall({ call, jobs: ["test-job"], slotAt }, { ...stations, ...opened });
      await loader.drain();
      return collected;
    },
    choose: async (options) => void (opened = await open(options)),
    kept: () => answersIn(journalDir),
  };
}

/** Collects the pages of a call, so many at most. @returns the last answer */
export async function collectPages(
  { collect }: Pick<Collecting, "collect">,
  call: QuoteCall,
  most = Infinity,
): Promise<CollectedAnswer> {
  let collected = await collect(call);
  for (let page = 1; page < most; page++) {
    const { answer } = collected;
    const next = answer.outcome === "quotes" ? answer.document.nextPage : undefined;
    if (next === undefined) break;
    collected = await collect({ ...call, page: next } as QuoteCall);
  }
  return collected;
}

async function answersIn(dir: string): Promise<ResponseRecord[]> {
  const answers: ResponseRecord[] = [];
  for (const { name } of await listSegments(dir))
    for await (const item of readSegment(dir, name))
      if (item.kind === "record" && item.record.kind === "response") answers.push(item.record);
  return answers;
}
