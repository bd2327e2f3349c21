/** What survives the end of the program: the count of the calls, and the notes of the ledger. */
import { describe, expect, jest, test } from "@jest/globals";
import { createNoteWriter } from "../../src/ledger/ledgerNotes.ts";
import { openCalls, readEarlierRuns } from "../../src/collect/callHistory.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { openCallLog, readCalls, recentCalls } from "../../src/collect/callLog.ts";
import { EarlierRuns } from "../../src/collect/earlierRuns.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import type { LedgerNote } from "../../src/journal/ledger.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { instrumentName } from "../../src/market/instrument.ts";
import { createTestClock } from "../support/clock.ts";
import { answerRecord, appendAll, at, symbolsCall } from "../support/journal.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";
import { contractsOf } from "./due.ts";
import { entriesOf, entryAt, jobOf, mostInWindow, startWorld, type SeenCall, type World } from "./world.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import type { Job } from "../../src/schedule/readJobs.ts";

test("a run that begins 10 s after another one ended keeps both together within 60 calls a minute", async () => {
  const dir = tempDir();
  const answeredAtSeconds = Array.from({ length: 55 }, (_, call) => call);
  const records = [-30, -5, ...answeredAtSeconds].map((second) => answerRecord(at(second), ""));
  // Another account's answers are none of its own.
  const others = [20, 30].map((second) => answerRecord(at(second + 0.5), "", { account: "second" }));
  await appendAll(dir, [...records, ...others], { clock: createTestClock() });
  const now = new Date("2026-11-20T22:51:05Z");
  const account = {
    name: "default",
    feed: { kind: "account" as const, baseUrl: "https://api.broker.example", credentials: TEST_CREDENTIALS },
    limit: 60,
    limitGiven: true,
    limitWindowMs: 60_000,
    service: REFERENCE,
  };
  const open = (dataDir: string) =>
    openCalls(account, {
      dataDir,
      journalDir: dir,
      clock: createTestClock(now.toISOString()),
      bootId: "boot",
      onProblem: () => undefined,
    });
  const { history } = await open(tempDir());
  const dataDir = tempDir();
  const { log } = await open(dataDir);
  for (const { requestId } of records.slice(-9)) log.leaves(requestId)();
  const { history: withNoted } = await open(dataDir);

  const world = startWorld({
    start: now.toISOString(),
    jobs: [jobOf({ name: "options", options: contractsOf(100) })],
    history,
  });
  await world.until("2026-11-20T22:54:00Z");

  const before = answeredAtSeconds.map((second): SeenCall => {
    const ms = Date.parse("2026-11-20T22:50:00Z") + second * 1_000;
    return { ...(world.calls[0] as SeenCall), sentAt: ms, answeredAt: ms };
  });
  const answered = (its: typeof history) => its?.calls.filter(({ answeredAgoMs }) => answeredAgoMs !== null);
  expect(answered(history)).toHaveLength(49);
  // Answers whose calls are noted count once.
  expect(answered(withNoted)).toHaveLength(49);
  expect(mostInWindow([...before, ...world.calls], 60_000)).toBeLessThanOrEqual(60);
  expect(world.calls.length).toBeGreaterThan(120);
});

test("of the calls of 15 minutes with three kills 98 % are used, and no minute holds more than 60", async () => {
  const startMs = Date.parse("2026-11-20T14:30:00Z");
  const seen: SeenCall[] = [];
  const options = {
    ...{ dataDir: tempDir(), governor: { limit: 60, windowMs: 60_000 }, bootId: "boot" },
    account: "a",
    clock: { ...systemClock, uptimeMs: () => Date.now() },
    onProblem: (error: Error) => {
      throw error;
    },
  };
  const seconds = [0, 247.3, 513.9, 771.2, 900];
  for (const [run, from] of seconds.slice(0, -1).entries()) {
    // Each is away for 0.7 s.
    const fromMs = startMs + (run === 0 ? 0 : from * 1_000 + 700);
    jest.useFakeTimers({ now: fromMs });
    const history = recentCalls(readCalls(options), []);
    const log = openCallLog(options);
    jest.useRealTimers();
    const jobs = [jobOf({ name: "options", options: contractsOf(100) })];
    const world = startWorld({ start: new Date(fromMs).toISOString(), jobs, log, history });
    await world.until(startMs + (seconds[run + 1] ?? 0) * 1_000);
    // What was under way at the kill arrives all the same.
    seen.push(...world.calls.map((call) => ({ ...call, answeredAt: call.answeredAt ?? call.sentAt + 200 })));
    await world.end(0);
  }

  expect(mostInWindow(seen, 60_000)).toBeLessThanOrEqual(60);
  const settled = seen.filter(({ sentAt }) => sentAt >= startMs + 60_000);
  expect(settled.length).toBeGreaterThanOrEqual(0.98 * 14 * 60);
});

test("a run that begins when nothing was asked for a minute counts from nothing", () => {
  const thenNow = new Date("2026-11-20T22:51:05Z");

  expect(recentCalls({ calls: [], certain: true, closedForMs: 0, thenNow }, [])).toBeNull();
});

test("of the answers of earlier runs those of the markets that are polled tell what was asked", async () => {
  const dir = tempDir();
  const simulated = { kind: "simulated" as const, name: "simulated" };
  await appendAll(dir, [
    answerRecord(at(1), answerXml(equityXml("GE")), { request: symbolsCall("GE") }),
    answerRecord(at(2), answerXml(equityXml("KO")), { request: symbolsCall("KO"), source: simulated }),
  ]);
  const job = jobOf({ name: "us", symbols: ["GE"] });
  const jobs = [{ job, schedule: { current: () => new Date(at(0)) } as never }];

  const asked = { jobs, sources: new Set(["account" as const]), exchange: createCalendar() };
  const earlier = await readEarlierRuns(dir, { ...asked, now: new Date(at(30)) });

  expect([...earlier.lastSeenMs.keys()]).toEqual(["GE"]);
});

test("today's list of expirations is found however much the journal holds since it was asked for, where a job wants it", async () => {
  const dir = tempDir();
  const list = (underlying: string): QuoteCall => ({ form: "expirations", underlying, delayed: false });
  const listed = (second: number, underlying: string) => ({
    ...answerRecord(at(second), '{"expirations":{"date":["2026-12-18"]}}', { request: list(underlying) }),
    service: "tradier",
  });
  const appendLater = (hour: number | string, ...records: ResponseRecord[]): Promise<unknown> =>
    appendAll(dir, records, { clock: createTestClock(`2026-11-20T${hour}:00:00Z`) });
  // Asked for in the session before: the contracts' day has ended since.
  const old = answerRecord("2026-11-20T16:00:00.000000Z", '{"expirations":{"date":["2026-11-20"]}}', {
    request: list("SPX"),
  });
  await appendLater("09", { ...old, service: "tradier" });
  await appendLater(10, listed(1, "SPX"), listed(2, "QQQ"));
  for (const hour of [11, 12, 13, 14, 15])
    await appendLater(hour, answerRecord(at(hour), "x".repeat(8_000_000), { request: symbolsCall("GE") }));
  const chain = { expirations: "listed" as const, strikes: "all" as const, types: [] };
  const job = jobOf({ name: "chain", chains: [{ underlying: "SPX", ...chain }] });
  const plain = jobOf({ name: "us", symbols: ["GE"] });
  const listsFor = async (one: Job): Promise<[string, readonly string[]][]> => {
    const jobs = [{ job: one, schedule: { current: () => new Date(at(0)) } as never }];
    const asked = { jobs, sources: new Set(["account" as const]), exchange: createCalendar() };
    const { listed: found } = await readEarlierRuns(dir, { ...asked, now: new Date(at(30)) });
    return [...found].map(([underlying, { expirations }]) => [underlying, expirations]);
  };

  expect([await listsFor(job), await listsFor(plain)]).toEqual([[["SPX", ["2026-12-18"]]], []]);
});

test("today's list in pages is known with all of them, wherever in the journal they lie, and not with the last ones alone", async () => {
  const page = (second: number, date: string, asked: string | undefined, next: string | null) => {
    const request: QuoteCall = { form: "expirations", underlying: "SPY", delayed: false };
    const contracts = [{ expiration_date: date }];
    return {
      ...answerRecord(at(second), JSON.stringify({ option_contracts: contracts, next_page_token: next }), {
        request: { ...request, ...(asked !== undefined && { page: asked }) },
      }),
      service: "alpaca",
    };
  };
  const first = page(1, "2026-12-18", undefined, "a");
  const others = [page(2, "2027-01-15", "a", "b"), page(3, "2027-02-19", "b", null)] as const;
  const listed = async (...parts: ResponseRecord[][]): Promise<unknown> => {
    const dir = tempDir();
    for (const [place, records] of parts.entries())
      await appendAll(dir, records, { clock: createTestClock(`2026-11-20T1${place}:00:00Z`) });
    const chains = [
      { underlying: "SPY", expirations: "listed" as const, strikes: "all" as const, types: [] },
    ];
    const jobs = [
      { job: jobOf({ name: "chain", chains }), schedule: { current: () => new Date(at(0)) } as never },
    ];
    const asked = { jobs, sources: new Set(["account" as const]), exchange: createCalendar() };
    const earlier = await readEarlierRuns(dir, { ...asked, now: new Date(at(30)) });
    return earlier.listed.get("SPY")?.expirations ?? null;
  };
  const other = answerRecord(at(9), "x".repeat(8_000_000), { request: symbolsCall("GE") });
  const much = [other, other, other, other, other];

  const whole = ["2026-12-18", "2027-01-15", "2027-02-19"];
  expect(await listed([first, ...others])).toEqual(whole);
  expect(await listed([first, others[0]], much, [others[1]])).toEqual(whole);
  expect(await listed([first, others[0]], [others[1], other], much)).toEqual(whole);
  expect(await listed([...others])).toBeNull();
});

describe("a restart", () => {
  const NAMES = contractsOf(20).map((contract) => instrumentName({ kind: "option", ...contract }));

  /** What the journal tells of the calls of worlds that have ended. */
  function earlierOf(worlds: readonly World[], now: string): EarlierRuns {
    const earlier = new EarlierRuns(Math.floor(Date.parse(now) / 60_000) * 60_000);
    for (const { sentAt, answeredAt, planned, names } of worlds.flatMap(({ calls }) => calls)) {
      if (answeredAt === null) continue;
      const { call } = planned;
      const body =
        call.form === "option"
          ? optionXml({ ...call.contract, putcall: "1" })
          : (call.form === "watchlist" ? ["IBM"] : names).map((name) => equityXml(name)).join("");
      earlier.add({
        ...{ request: call, requestedAt: new Date(sentAt).toISOString() },
        ...{ status: 200, headers: {}, body: Buffer.from(answerXml(body)) },
      });
    }
    return earlier;
  }

  test("a restart within a slot asks what is missing, and nothing twice", async () => {
    const jobs = [jobOf({ name: "options", options: contractsOf(20) })];
    const killed = startWorld({ start: "2026-11-20T14:30:00Z", jobs });
    await killed.until("2026-11-20T14:30:00.300Z");
    const asked = killed.calls.filter(({ answeredAt }) => answeredAt !== null).flatMap(({ names }) => names);
    await killed.end(0);

    const start = "2026-11-20T14:30:20Z";
    const world = startWorld({ start, jobs, earlier: earlierOf([killed], start) });
    await world.until("2026-11-20T14:30:59Z");

    expect(asked.length).toBeGreaterThan(0);
    expect(world.calls.flatMap(({ names }) => names).sort()).toEqual(
      NAMES.filter((name) => !asked.includes(name)).sort(),
    );
    expect(entryAt(world.notes, "14:30")).toMatchObject({ misses: [] });
    expect(new Set(entryAt(world.notes, "14:30")?.due)).toEqual(new Set(NAMES));
  });

  test("an answer of real time is none for a job that asks for delayed quotes", () => {
    const earlier = new EarlierRuns(Date.parse(at(0)));
    const body = Buffer.from(answerXml(equityXml("GE")));
    const answer = { requestedAt: at(1), status: 200, headers: {}, body };
    earlier.add({ ...answer, request: { form: "symbols", symbols: ["GE"], delayed: false } });

    const stored = [false, true].map((delayed) =>
      earlier.storedWithin({ delayed }, Date.parse(at(0)), Date.parse(at(60))),
    );

    expect(stored).toEqual([new Set(["GE"]), new Set()]);
  });

  test("a restart asks nothing of a slot that has all, and writes so once more", async () => {
    const jobs = [
      jobOf({ name: "list", symbols: ["GE", "KO"] }),
      jobOf({ name: "mixed", watchlist: "DEFAULT", options: contractsOf(1) }),
    ];
    const killed = startWorld({ start: "2026-11-20T14:30:00Z", jobs });
    await killed.until("2026-11-20T14:30:05Z");
    await killed.end(0);

    const start = "2026-11-20T14:30:20Z";
    const world = startWorld({ start, jobs, earlier: earlierOf([killed], start) });
    await world.until("2026-11-20T14:31:05Z");

    expect(world.calls.map(({ planned }) => planned.slotAt?.slice(11, 16))).toEqual(Array(3).fill("14:31"));
    expect(entriesOf(world.notes)).toMatchObject(Array(4).fill({ misses: [] }));
  });

  test("a restart begins with the longest unseen, so that none starves however often it comes", async () => {
    const jobs = [jobOf({ name: "options", options: contractsOf(20) })];
    const ended: World[] = [];
    // Ten calls a minute, and a restart in each minute.
    for (let minute = 30; minute < 36; minute++) {
      const start = `2026-11-20T14:${minute}:05Z`;
      const world = startWorld({
        ...{ start, jobs, earlier: earlierOf(ended, start) },
        governor: { limit: 5, windowMs: 30_000 },
      });
      await world.until(`2026-11-20T14:${minute}:55Z`);
      await world.end(0);
      ended.push(world);
    }
    const times = (name: string): number =>
      ended.flatMap(({ calls }) => calls).filter(({ names }) => names.includes(name)).length;

    const counts = NAMES.map(times);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(2);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });
});

describe("notes of the ledger", () => {
  const note = (job: string): LedgerNote => ({ type: "down", job, slots: [at(0)], due: ["GE"] });

  /** A journal that fails as it is told, and what it took. */
  function journalThat(fails: (note: LedgerNote) => Error | null) {
    const taken: string[] = [];
    const lost: number[] = [];
    const append = async (record: { note?: unknown }) => {
      const error = fails(record.note as LedgerNote);
      if (error) throw error;
      taken.push((record.note as { job: string }).job);
      return { segment: "segment", offset: 0, end: 1 };
    };
    const writer = createNoteWriter({ append } as Parameters<typeof createNoteWriter>[0], {
      ...{ clock: createTestClock(), source: () => "account", onKept: () => undefined },
      onLost: (count) => void lost.push(count),
    });
    return { writer, taken, lost };
  }

  test("notes of the ledger wait while the journal cannot be written, and follow in their order when it can", async () => {
    let full = true;
    const { writer, taken, lost } = journalThat(() =>
      full ? new QuotekeeperError("JOURNAL_FULL", "full") : null,
    );
    writer.write(note("one"));
    writer.write(note("two"));
    await writer.flush();

    full = false;
    writer.write(note("three"));
    await writer.flush();

    expect(taken).toEqual(["one", "two", "three"]);
    expect(lost).toEqual([]);
  });

  test("of more than ten thousand notes that wait for a journal, the oldest are counted as lost", async () => {
    let full = true;
    const { writer, taken, lost } = journalThat(() =>
      full ? new QuotekeeperError("JOURNAL_FULL", "full") : null,
    );
    for (let place = 0; place <= 10_001; place += 1) writer.write(note(String(place)));
    await writer.flush();

    full = false;
    await writer.flush();

    expect([taken.length, taken[0], taken.at(-1)]).toEqual([10_000, "2", "10001"]);
    expect(lost.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  test("notes of the ledger that no journal can hold are counted as lost, and hold up no other", async () => {
    const { writer, taken, lost } = journalThat((given) =>
      given.type === "down" && given.job === "huge"
        ? new QuotekeeperError("JOURNAL_RECORD_TOO_LARGE", "5 MB")
        : null,
    );

    for (const job of ["one", "huge", "two"]) writer.write(note(job));
    await writer.flush();

    expect(taken).toEqual(["one", "two"]);
    expect(lost).toEqual([1]);
  });
});
