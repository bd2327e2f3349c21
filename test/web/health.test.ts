/** Health over weeks: every figure is counted again from the rows themselves, one by one. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import type { Instant } from "../../src/clock.ts";
import type { HealthView, HolesView, SlotView } from "../../src/archive/ask/healthTypes.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { openDashboard, SOURCES } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
// No statement is ended for being slow: a busy machine takes longer than the dashboard allows.
const reader = poolOn(url, { readOnly: true, readMs: 0, max: 2 });

const ACCOUNT = 1;
const SIMULATED = 2;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Clocks are set back within it: 1 November has 25 hours in New York. */
const FROM_MS = Date.parse("2026-10-20T04:00:00Z");
const DAYS = 35;

type Answer = { observedMs: number; requestedMs: number; outcome: string; source: number; job: string };
type Slot = {
  job: string;
  atMs: number;
  source: number;
  account: number;
  due: number;
  missed: [string, string][];
};

const DUE = ["AAPL", "GE", "IBM", "MSFT"];
const REASONS = ["budget", "transport", "absent_from_answer"];

/** The same numbers each time, from 0 up to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

const slots: Slot[] = [];
const answers: Answer[] = [];
/** When answers with quotes arrived, by the job and the slot that asked. */
const answered = new Map<string, number[]>();

/** Every 20 minutes a slot of each of two jobs, and answers behind it; at some, instruments or all of them are missed. */
function makeRows(): void {
  const random = numbers(7);
  for (let atMs = FROM_MS; atMs < FROM_MS + DAYS * DAY_MS; atMs += 20 * MINUTE_MS)
    for (const job of ["us", "options"]) {
      const lost = random() < 0.3 ? DUE.filter(() => random() < 0.4) : [];
      const missed = lost.map((name): [string, string] => [name, REASONS[Math.floor(random() * 3)] ?? ""]);
      slots.push({
        job,
        atMs,
        source: ACCOUNT,
        account: 1,
        due: DUE.length,
        missed: random() < 0.02 ? [["*", "down"]] : missed,
      });
      for (let call = 0; call < 2; call++) {
        const requestedMs = atMs + Math.floor(random() * 90_000);
        const outcome = random() < 0.05 ? "quota_fault" : "quotes";
        const observedMs = requestedMs + 20 + Math.floor(random() * 400);
        answers.push({ observedMs, requestedMs, outcome, job, source: ACCOUNT });
        const key = `${job} ${atMs}`;
        if (outcome === "quotes") answered.set(key, [...(answered.get(key) ?? []), observedMs]);
      }
    }
  answers.push({
    observedMs: FROM_MS + 5_000,
    requestedMs: FROM_MS + 4_000,
    outcome: "quotes",
    job: "us",
    source: SIMULATED,
  });
}

const iso = (ms: number): string => new Date(ms).toISOString();

beforeAll(async () => {
  makeRows();
  const client = await pool.connect();
  await client.query("begin");
  await ensurePartitions(client, iso(FROM_MS) as Instant, iso(FROM_MS + DAYS * DAY_MS) as Instant);
  await client.query("commit");
  client.release();
  await pool.query("insert into due_sets (id, digest, instruments) values (1, 'a', $1)", [DUE]);
  await pool.query("insert into accounts (id, name, call_limit, window_ms) values (2, 'second', 60, 60000)");
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome,
       rate_limit_used, rate_limit_limit, rate_limit_remaining, body_bytes, journal_segment, journal_offset)
     select r.observed + row_number() over () * interval '1 us', r.source, gen_random_uuid(), r.requested, r.job,
       '{"form":"symbols","symbols":["AAPL","MSFT"],"delayed":false}', 200, r.outcome, 7, 60, 53, 900, 'segment-1', row_number() over ()
     from json_to_recordset($1) as r (observed timestamptz, requested timestamptz, outcome text, job text, source int)`,
    [
      JSON.stringify(
        answers.map((one) => ({ ...one, observed: iso(one.observedMs), requested: iso(one.requestedMs) })),
      ),
    ],
  );
  const lostOf = ({ missed, due }: Slot): number => (missed[0]?.[0] === "*" ? due : missed.length);
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select s.job, s.at, s.source, s.due, s.due - s.lost, s.lost, 1
     from json_to_recordset($1) as s (job text, at timestamptz, source int, due int, lost int)`,
    [JSON.stringify(slots.map((slot) => ({ ...slot, at: iso(slot.atMs), lost: lostOf(slot) })))],
  );
  await pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select m.job, m.at, 1, m.instrument, m.reason from json_to_recordset($1) as m (job text, at timestamptz, instrument text, reason text)`,
    [
      JSON.stringify(
        slots.flatMap(({ job, atMs, missed }) =>
          missed.map(([instrument, reason]) => ({ job, at: iso(atMs), instrument, reason })),
        ),
      ),
    ],
  );
  const holder = await joinFleet(pool, { number: 1 });
  await pool.query(
    `insert into lease_history values (2, 1, '2026-11-01 10:00Z', $1, 'quotes-2', 'new', null),
       (2, 2, '2026-11-20 15:00Z', $1, 'quotes-1', 'expired', 'quotes-2')`,
    [holder],
  );
});

async function ask<T>(path: string, status = 200): Promise<T> {
  const sources = { ...SOURCES, feed: { simulated: false, address: "https://broker.example" } };
  const { get } = await openDashboard({ pool: reader, sources });
  const response = await get(path);
  const text = await response.text();
  expect({ path, status: response.status, refused: response.status === status ? null : text }).toEqual({
    path,
    status,
    refused: null,
  });
  return JSON.parse(text) as T;
}

const health = (fromMs: number, toMs: number, more = ""): Promise<HealthView> =>
  ask(`/api/health?from=${iso(fromMs)}&to=${iso(toMs)}${more}`);

const NEW_YORK_DAY = new Intl.DateTimeFormat("en-CA", { timeZone: "America/New_York" });

/** What a column is called: the minute or the hour in UTC, or the day in New York. */
function columnOf(ms: number, step: HealthView["step"]): string {
  if (step === "day") return NEW_YORK_DAY.format(ms);
  return iso(ms).slice(0, step === "hour" ? 13 : 16);
}

function counted(rows: readonly (readonly [column: string, count: number])[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [column, count] of rows) sums[column] = (sums[column] ?? 0) + count;
  return sums;
}

describe.each([
  { step: "minute" as const, fromMs: FROM_MS + 3 * DAY_MS + 90_500, spanMs: 12 * 60 * MINUTE_MS },
  { step: "hour" as const, fromMs: FROM_MS + 2 * DAY_MS + 1_234_567, spanMs: 28 * DAY_MS },
  { step: "day" as const, fromMs: FROM_MS, spanMs: DAYS * DAY_MS },
])("by the $step", ({ step, fromMs, spanMs }) => {
  const toMs = fromMs + spanMs;
  const within = (ms: number): boolean => ms >= fromMs && ms < toMs;
  let view: HealthView;
  beforeAll(async () => {
    view = await health(fromMs, toMs);
  });

  test("calls are the answers themselves, counted one by one", () => {
    const own = answers.filter(({ source, observedMs }) => source === ACCOUNT && within(observedMs));

    expect(view.step).toBe(step);
    expect(
      counted(
        view.calls.map(({ at, outcome, calls }) => [`${columnOf(Date.parse(at), step)} ${outcome}`, calls]),
      ),
    ).toEqual(counted(own.map(({ observedMs, outcome }) => [`${columnOf(observedMs, step)} ${outcome}`, 1])));
    expect(view.calls.length).toBeLessThan(1_500);
  });

  test("the misses by reason are those of the ledger, and one of all that was due counts as much as was due", () => {
    const lost = slots
      .filter(({ atMs }) => within(atMs))
      .flatMap(({ atMs, due, missed }) =>
        missed.map(
          ([name, reason]) => [`${columnOf(atMs, step)} ${reason}`, name === "*" ? due : 1] as const,
        ),
      );

    expect(lost.length).toBeGreaterThan(10);
    expect(
      counted(
        view.misses.map(({ at, reason, missed }) => [`${columnOf(Date.parse(at), step)} ${reason}`, missed]),
      ),
    ).toEqual(counted(lost));
  });

  test("what was due is what was stored and what was missed", () => {
    const due = counted(view.due.map(({ at, due: all }) => [columnOf(Date.parse(at), step), all]));
    const lost = view.due.reduce((sum, one) => sum + one.due - one.stored, 0);

    expect(due).toEqual(
      counted(
        slots.filter(({ atMs }) => within(atMs)).map(({ atMs, due: all }) => [columnOf(atMs, step), all]),
      ),
    );
    expect(lost).toBe(view.misses.reduce((sum, { missed }) => sum + missed, 0));
  });

  test("the lateness is that of answers with quotes to slots of theirs, and says how many were looked at", () => {
    const own = slots.filter(({ atMs }) => within(atMs));
    const late = new Map<string, number[]>();
    for (const { atMs, job } of own)
      late.set(columnOf(atMs, step), [
        ...(late.get(columnOf(atMs, step)) ?? []),
        ...(answered.get(`${job} ${atMs}`) ?? []).map((observedMs) => observedMs - atMs),
      ]);
    const ofColumn = counted(own.map(({ atMs }) => [columnOf(atMs, step), 1]));

    expect(view.lateness.length).toBeGreaterThan(10);
    for (const { at, slots: looked, of, medianMs, p95Ms, mostMs } of view.lateness) {
      const column = columnOf(Date.parse(at), step);
      const all = (late.get(column) ?? []).sort((a, b) => a - b);
      expect([of, looked <= of, medianMs <= p95Ms, p95Ms <= mostMs]).toEqual([
        ofColumn[column],
        true,
        true,
        true,
      ]);
      expect(medianMs).toBeGreaterThanOrEqual(all[0] ?? Infinity);
      expect(mostMs).toBeLessThanOrEqual((all.at(-1) ?? 0) + APART_MS);
      if (looked < of || step !== "minute") continue;
      expect(Math.abs(mostMs - (all.at(-1) ?? 0))).toBeLessThan(APART_MS);
      expect(Math.abs(medianMs - middle(all))).toBeLessThan(APART_MS);
    }
    // Each slot of a minute is looked at; of days some are.
    const measured = counted(
      own
        .filter(({ atMs, job }) => answered.has(`${job} ${atMs}`))
        .map(({ atMs }) => [columnOf(atMs, step), 1]),
    );
    const whole = view.lateness.every((one) => one.slots === measured[columnOf(Date.parse(one.at), step)]);
    expect(whole).toBe(step === "minute");
  });
});

/** Rows have microseconds of their own, which keep them apart. */
const APART_MS = 15;

function middle(sorted: readonly number[]): number {
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half)] ?? 0)) / 2;
}

test("take-overs tell which collector took which account, newest first", async () => {
  const { takeOvers } = await health(FROM_MS, FROM_MS + DAYS * DAY_MS);

  expect(takeOvers).toEqual([
    {
      at: "2026-11-20T15:00:00Z",
      account: "second",
      how: "expired",
      previous: "quotes-2",
      collector: "quotes-1",
      fence: 2,
    },
    {
      at: "2026-11-01T10:00:00Z",
      account: "second",
      how: "new",
      previous: null,
      collector: "quotes-2",
      fence: 1,
    },
  ]);
});

test("each market's Health is kept for a minute for itself, and one that could not be read is not kept", async () => {
  const sources = { ...SOURCES, feed: { simulated: false, address: "https://broker.example" } };
  const { get } = await openDashboard({ pool: reader, sources });
  const ofDay = `/api/health?from=${iso(FROM_MS)}&to=${iso(FROM_MS + DAY_MS)}`;
  await pool.query("alter table responses rename to elsewhere");
  const failed = await get(ofDay);
  await pool.query("alter table elsewhere rename to responses");

  const answers = [await get(ofDay), await get(`${ofDay}&source=simulated`)];

  expect([failed, ...answers].map(({ status }) => status)).toEqual([503, 200, 200]);
  const views = (await Promise.all(answers.map((answer) => answer.json()))) as HealthView[];
  expect(views.map(({ misses }) => misses.length > 0)).toEqual([true, false]);
});

test("another market of the same time is named, and shown when it is asked for", async () => {
  const account = await health(FROM_MS, FROM_MS + DAY_MS);
  const simulated = await health(FROM_MS, FROM_MS + DAY_MS, "&source=simulated");

  expect(account.sources).toEqual(["account", "simulated"]);
  expect(simulated.calls).toEqual([{ at: iso(FROM_MS).replace(".000", ""), outcome: "quotes", calls: 1 }]);
  expect(simulated.misses).toEqual([]);
});

test("a time is listed as the slots that missed in it, newest first, for one reason or for any", async () => {
  const [fromMs, toMs] = [FROM_MS + 5 * DAY_MS, FROM_MS + 6 * DAY_MS];
  const range = `from=${iso(fromMs)}&to=${iso(toMs)}&source=account`;
  const own = slots
    .filter(({ atMs, missed }) => atMs >= fromMs && atMs < toMs && missed.length > 0)
    .sort((a, b) => b.atMs - a.atMs || (a.job < b.job ? -1 : 1));

  const all = await ask<HolesView>(`/api/holes?${range}`);
  const some = await ask<HolesView>(`/api/holes?${range}&reason=transport`);

  const told = ({ holes }: HolesView): string[] => holes.map(({ at, job }) => `${Date.parse(at)} ${job}`);
  expect(told(all)).toEqual(own.map(({ atMs, job }) => `${atMs} ${job}`));
  expect(all.total).toBe(own.length);
  expect(told(some)).toEqual(
    own
      .filter(({ missed }) => missed.some(([, reason]) => reason === "transport"))
      .map(({ atMs, job }) => `${atMs} ${job}`),
  );
  for (const [place, { reasons, missed }] of all.holes.entries()) {
    const lost = own[place]?.missed ?? [];
    expect(missed).toBe(Object.values(reasons).reduce((sum, n) => sum + n, 0));
    expect(reasons).toEqual(counted(lost.map(([name, reason]) => [reason, name === "*" ? DUE.length : 1])));
  }
});

test("a slot leads to its calls, with what the service said and where the whole answer stands in the journal", async () => {
  const slot = slots.find(({ job, missed }) => job === "us" && missed.length === 2);
  const at = iso(slot?.atMs ?? 0);
  const own = answers.filter(
    ({ job, requestedMs, source }) =>
      job === "us" &&
      source === ACCOUNT &&
      requestedMs >= Date.parse(at) &&
      requestedMs < Date.parse(at) + 20 * MINUTE_MS,
  );

  // A slot of another market begins meanwhile, and ends none.
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     values ('us', $1::timestamptz + interval '1 min', 2, 4, 4, 0, 1)`,
    [at],
  );

  const view = await ask<SlotView>(`/api/slot?job=us&at=${at}&source=account`);

  expect(view).toMatchObject({ job: "us", until: iso(Date.parse(at) + 20 * MINUTE_MS).replace(".000", "") });
  expect(view.shares).toEqual([{ account: "default", due: 4, stored: 2, missed: 2 }]);
  expect(
    view.reasons.flatMap(({ instruments, reason }) => instruments.map((name) => [name, reason])).sort(),
  ).toEqual(slot?.missed.toSorted());
  expect(view.calls).toHaveLength(2);
  expect(view.calls.map(({ outcome, requestedAt }) => [Date.parse(requestedAt), outcome]).sort()).toEqual(
    own.map(({ requestedMs, outcome }) => [requestedMs, outcome]).sort(),
  );
  const { rows } = await pool.query<{ observed: string }>(
    "select to_char(observed_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as observed from responses where journal_offset = $1",
    [view.calls[0]?.offset],
  );
  expect(Date.parse(`${rows[0]?.observed}Z`)).toBe(Date.parse(view.calls[0]?.observedAt ?? ""));
  expect(view.calls[0]).toMatchObject({
    asked: "AAPL, MSFT",
    httpStatus: 200,
    used: 7,
    limit: 60,
    remaining: 53,
    segment: "segment-1",
  });
});

test("a slot that the ledger does not have, and times that make no sense, are refused with a word on why", async () => {
  const wrong = [
    [`/api/slot?job=us&at=2026-11-01T00:01:00Z&source=account`, 404, /no settled slot/],
    [`/api/health?from=${iso(FROM_MS)}&to=${iso(FROM_MS)}`, 400, /from is not before to/],
    [`/api/health?from=${iso(FROM_MS)}&to=${iso(FROM_MS + 101 * DAY_MS)}`, 400, /at most 100 days/],
    [`/api/health?from=yesterday&to=today`, 400, /from: /],
    [`/api/holes?from=${iso(FROM_MS)}&to=${iso(FROM_MS + 1)}&reason=%00`, 400, /control characters/],
  ] as const;

  for (const [path, status, words] of wrong) {
    const { error } = await ask<{ error: { code: string; detail: string } }>(path, status);
    expect(error).toMatchObject({ code: "QUERY_INVALID", detail: expect.stringMatching(words) });
  }
});
