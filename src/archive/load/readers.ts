/** Reads answers into rows on threads of their own, so that this one is free for the database. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { ResponseRecord } from "../../journal/record.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import type { AnswerRows } from "../../read/rowTypes.ts";

/** As `rowsOf`, at once or later. */
export type ReadAnswer = (
  record: ResponseRecord,
  position: AnswerRows["position"],
) => AnswerRows | Promise<AnswerRows>;

type Readers = { read: ReadAnswer; close: () => Promise<unknown> };

/** Bytes of bodies that go to a thread together: a message costs as much as reading a quote. */
const SENT_BYTES = 256 * 1024;

/** How many threads read: one processor is for this one, and for the database. */
const MOST_THREADS = Math.max(1, availableParallelism() - 1);

/** Where the program runs from its sources there is no file for a thread, and this one reads. */
export function openReaders(): Readers {
  if (import.meta.url.endsWith(".ts")) return { read: rowsOf, close: () => Promise.resolve() };
  const threads: Worker[] = [];
  const reader = new ThreadsReader(() => {
    // The programs are built into one folder, and threads beside it (scripts/compile.js).
    const file = new URL("../archive/load/readThread.js", import.meta.url);
    const thread = new Worker(file, { resourceLimits: { maxYoungGenerationSizeMb: 32 } });
    threads.push(thread);
    return thread;
  });
  return { read: reader.read, close: () => Promise.all(threads.map((thread) => thread.terminate())) };
}

/** The part of a thread, or of a port to one, that is used. */
type Port = {
  postMessage: (message: unknown, transfer: ArrayBuffer[]) => void;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Node declares it of all that emit events
  on: (event: any, heard: (said: any) => void) => unknown;
};

/** What is stored of an answer, and counted. */
type SentRows = Omit<AnswerRows, "record" | "position">;

type WaitingAnswer = {
  record: ResponseRecord;
  position: AnswerRows["position"];
  resolve: (rows: AnswerRows) => void;
  reject: (error: unknown) => void;
};

/** Whose answers come in the order of what was sent to it. */
type Thread = { port: Port; sent: WaitingAnswer[][] };

/** Threads are opened when all that are open have something to read. */
export class ThreadsReader {
  readonly #open: () => Port;
  readonly #most: number;
  readonly #threads: Thread[] = [];
  #gathered: WaitingAnswer[] = [];
  #bytes = 0;

  constructor(open: () => Port, most = MOST_THREADS) {
    this.#open = open;
    this.#most = most;
  }

  readonly read = (record: ResponseRecord, position: AnswerRows["position"]): Promise<AnswerRows> => {
    const rows = new Promise<AnswerRows>((resolve, reject) => {
      if (this.#gathered.length === 0) setImmediate(() => this.#send());
      this.#gathered.push({ record, position, resolve, reject });
    });
    // Its failure is met when the rows are asked for.
    rows.catch(() => undefined);
    this.#bytes += record.body.byteLength;
    if (this.#bytes >= SENT_BYTES) this.#send();
    return rows;
  };

  #send(): void {
    const sent = this.#gathered;
    if (sent.length === 0) return;
    [this.#gathered, this.#bytes] = [[], 0];
    // A body is a part of what was read of the file at once.
    const bodies = sent.map(({ record }) => new Uint8Array(record.body));
    const records = sent.map(({ record }, place) => ({ ...record, body: bodies[place] }));
    const thread = this.#freest();
    thread.sent.push(sent);
    thread.port.postMessage(
      records,
      bodies.map(({ buffer }) => buffer),
    );
  }

  #freest(): Thread {
    const freest = this.#threads.toSorted((a, b) => a.sent.length - b.sent.length)[0];
    if (freest !== undefined && (freest.sent.length === 0 || this.#threads.length >= this.#most))
      return freest;
    const thread: Thread = { port: this.#open(), sent: [] };
    this.#threads.push(thread);
    thread.port.on("message", (answers: SentRows[]) =>
      thread.sent
        .shift()
        ?.forEach(({ record, position, resolve }, place) =>
          resolve({ ...(answers[place] as SentRows), record, position }),
        ),
    );
    thread.port.on("error", (error: Error) => {
      for (const { reject } of thread.sent.splice(0).flat()) reject(error);
    });
    return thread;
  }
}

const NOWHERE = { segment: "", offset: 0 };

export function serveReading(port: Port): void {
  port.on("message", (records: ResponseRecord[]) =>
    port.postMessage(
      records.map((record) => sentOf(rowsOf(record, NOWHERE))),
      [],
    ),
  );
}

/** Without the items, which are units by now. */
function sentOf({ answer, matched, units, deadLetters, cut, restored }: AnswerRows): SentRows {
  return {
    answer: answer.outcome === "quotes" ? { ...answer, document: { ...answer.document, items: [] } } : answer,
    matched: matched.filter(({ fate }) => fate === "unknown" || fate === "absent"),
    units,
    deadLetters,
    ...(cut && { cut }),
    ...(restored && { restored }),
  };
}
