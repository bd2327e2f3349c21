/**
 * Days of a collector in virtual time whose service wants a person's login each day, with the sessions of the fake of E*TRADE: what
 * was due and what came of it, recounted from the fake's own word on each call and from the instants of the logins.
 */
import { afterAll, expect, jest, test } from "@jest/globals";
import type { Account } from "../../src/accounts/account.ts";
import { Shares } from "../../src/accounts/shares.ts";
import type { Clock } from "../../src/ground/clock.ts";
import { exchangeInstant } from "../../src/market/calendar/dates.ts";
import { Session } from "../../src/collect/login/accountSession.ts";
import { keepSession, loginOf } from "../../src/collect/login/keptSession.ts";
import { ETRADE } from "../../src/services/etrade/etrade.ts";
import { CONSUMER } from "../fakes/etrade/fake.ts";
import { createSessions, type Sessions } from "../fakes/etrade/sessions.ts";
import { tempDir } from "../support/tempDir.ts";
import type { LedgerNote, SlotEntry } from "../../src/journal/ledger.ts";
import { addsUp, entriesOf, jobOf, merged, quotesFor, startWorld, type World } from "./world.ts";

// Two days of slots in virtual time.
jest.setTimeout(120_000);

afterAll(() => void jest.useRealTimers());

const ACCOUNT: Account = {
  ...{ name: "default", service: ETRADE, limit: 4, limitGiven: false, limitWindowMs: 1_000 },
  feed: {
    ...{ kind: "account", baseUrl: "https://api.etrade.com" },
    credentials: { consumerKey: CONSUMER.key, consumerSecret: CONSUMER.secret },
  },
};

const login = loginOf(ACCOUNT);
if (!login) throw new Error("it wants no login");

/** Every five minutes, but for two hours and more before one o'clock: a session sleeps meanwhile. */
const JOB = jobOf({
  ...{ name: "all-day", schedule: "*/5 0-10,13-23 * * *", timezone: "America/New_York", session: "always" },
  symbols: ["AAPL", "IBM"],
});

type Answered = { atMs: number; refused: boolean };

/** A person logs in: the three legs without their wire. */
function logIn(sessions: Sessions, { dataDir, clock }: { dataDir: string; clock: Clock }): void {
  const asked = sessions.requestToken(CONSUMER);
  const verifier = sessions.accept(CONSUMER.key, asked.accessToken) ?? "";
  const given = sessions.exchange(asked.accessToken, verifier);
  if (typeof given === "string" || !login) throw new Error(String(given));
  const { accessToken, accessTokenSecret } = given;
  keepSession(login, { accessToken, accessTokenSecret }, { dataDir, clock });
}

/** The service, the person and the data directory: they outlive each run of the collector. */
function openDay() {
  const dataDir = tempDir();
  const answered: Answered[] = [];
  const renewals: number[] = [];
  let world: World | null = null;
  const now = (): World => {
    if (!world) throw new Error("no collector has begun");
    return world;
  };
  const clock: Clock = {
    ...{ now: () => now().clock.now(), random: (length) => now().clock.random(length) },
    ...{ monotonicMs: () => now().clock.monotonicMs(), uptimeMs: () => now().clock.uptimeMs() },
    sleep: (ms, signal) => now().clock.sleep(ms, signal),
  };
  const sessions = createSessions([CONSUMER], clock);
  const call = async ({ url, headers }: { url: string; headers: Readonly<Record<string, string>> }) => {
    if (!url.endsWith("/oauth/renew_access_token")) throw new Error(url);
    const token = /oauth_token="([^"]+)"/.exec(headers["authorization"] ?? "")?.[1] ?? "";
    const problem = sessions.renew(decodeURIComponent(token));
    renewals.push(Date.now());
    return Promise.resolve({
      status: problem ? 401 : 200,
      body: Buffer.from(problem ? `oauth_problem=${problem}` : ""),
    });
  };
  /** Starts a collector, which has nothing of the one before it but the data directory. */
  const begin = (start: Date): World => {
    if (!login) throw new Error("it wants no login");
    const session = new Session(login, { dataDir, clock, call });
    let hasBegun = false;
    world = startWorld({
      ...{ start: start.toISOString(), jobs: [JOB] },
      hasSession: () => hasBegun && session.isOpen(),
      respond: async ({ planned }) => {
        await session.awake();
        const problem = sessions.use(session.credentials()["accessToken"] ?? "");
        session.answered(problem !== null);
        answered.push({ atMs: Date.now(), refused: problem !== null });
        if (problem === null) return quotesFor(planned);
        return { outcome: "unauthorized", responseId: null, detail: problem, needsLogin: true };
      },
    });
    hasBegun = true;
    return world;
  };
  return { begin, answered, renewals, sessions, logIn: () => logIn(sessions, { dataDir, clock }) };
}

const SLOT_MS = 5 * 60_000;

const DAYS = [
  ["2026-11-20", "2026-11-21"],
  ["2026-03-07", "2026-03-08"],
  ["2026-10-31", "2026-11-01"],
] as const;

const at = (day: string, time: string): Date => exchangeInstant(day, time);

/** How many of the two instruments no answer brought within a slot, by the fake's own word on each call. */
function recounted(answered: readonly Answered[], slotAt: string): number {
  const fromMs = Date.parse(slotAt);
  const isIn = ({ atMs }: Answered): boolean => atMs >= fromMs && atMs < fromMs + SLOT_MS;
  return answered.some((one) => !one.refused && isIn(one)) ? 0 : 2;
}

test.each(DAYS)(
  "from the morning of %s to the next noon every slot is stored within a login and missed for want of one outside, by the recount",
  async (date, next) => {
    const { begin, answered, renewals, logIn: person, sessions } = openDay();
    const world = begin(at(date, "08:00"));
    const logins = [at(date, "08:50"), at(next, "09:47")];
    const midnight = at(next, "00:00").getTime();

    for (const login of logins) {
      await world.until(login.toISOString());
      person();
    }
    await world.until(at(next, "12:00").toISOString());
    await world.end(0);

    const entries = merged(entriesOf(world.notes));
    const [first = 0, second = 0] = logins.map((login) => login.getTime());
    const isLoggedIn = (ms: number): boolean => (ms >= first && ms < midnight) || ms >= second;
    const byTheClock = entries.map(({ slotAt }) => {
      const fromMs = Date.parse(slotAt);
      return isLoggedIn(fromMs) || isLoggedIn(fromMs + SLOT_MS - 1) ? 0 : 2;
    });
    expect(entries.map(({ slotAt }) => Date.parse(slotAt)).sort((a, b) => a - b)).toEqual(
      slotsBetween(at(date, "08:00"), at(next, "12:00")),
    );
    expect(addsUp(entries)).toBe(true);
    expect(entries.map(({ misses }) => misses.length)).toEqual(byTheClock);
    expect(entries.map(({ slotAt }) => recounted(answered, slotAt))).toEqual(byTheClock);
    expect(reasonsIn(entries)).toEqual(["login"]);
    expect(answered.filter(({ refused }) => refused)).toEqual([]);
    // Woken once, for the first call after the pause.
    expect(renewals.map((ms) => Math.floor((ms - +at(date, "13:00")) / 1_000))).toEqual([0]);
    expect(sessions.logins.map(({ at: made }) => made)).toEqual(logins);
    // Said once, and not at each of a hundred slots.
    expect(world.logged.filter(({ message }) => message.startsWith("nobody has logged in"))).toHaveLength(2);
  },
);

function reasonsIn(entries: readonly SlotEntry[]): string[] {
  return [...new Set(entries.flatMap(({ misses }) => misses.map(([, reason]) => reason)))];
}

test.each(DAYS)(
  "on %s and the next day a collector that is killed goes on with the session, and only slots in which it did not run lack their entry",
  async (date, next) => {
    const { begin, answered, renewals, logIn: person, sessions } = openDay();
    const logins = [at(date, "08:50"), at(next, "09:47")];
    // Within a login, in the pause, after midnight without a login, and after the second login.
    const gaps = [
      [at(date, "09:32"), at(date, "09:43")],
      [at(date, "12:10"), at(date, "12:50")],
      [at(next, "08:03"), at(next, "08:11")],
      [at(next, "10:21"), at(next, "10:22")],
    ] as const;
    const notes: LedgerNote[] = [];
    let world = begin(at(date, "08:00"));
    const goOn = async (to: Date): Promise<void> => {
      for (const login of logins.filter((one) => one > world.clock.now() && one <= to)) {
        await world.until(login.toISOString());
        person();
      }
      await world.until(to.toISOString());
    };

    for (const [killed, begun] of gaps) {
      await goOn(killed);
      // What it would have said at its end, it could not.
      notes.push(...world.notes);
      await world.end(0);
      world = begin(begun);
    }
    await goOn(at(next, "12:00"));
    await world.end(0);
    notes.push(...world.notes);

    const entries = merged(entriesOf(notes));
    const told = new Set(entries.map(({ slotAt }) => Date.parse(slotAt)));
    const untold = slotsBetween(at(date, "08:00"), at(next, "12:00")).filter((ms) => !told.has(ms));
    const isOfGap = (ms: number): boolean =>
      gaps.some(([killed, begun]) => ms + SLOT_MS > killed.getTime() && ms < begun.getTime());
    expect(untold.filter((ms) => !isOfGap(ms))).toEqual([]);
    expect(untold.length).toBeLessThan(6);
    expect(addsUp(entries)).toBe(true);
    expect(entries.map(({ misses }) => misses.length)).toEqual(
      entries.map(({ slotAt }) => recounted(answered, slotAt)),
    );
    expect(reasonsIn(entries)).toEqual(["login"]);
    expect(answered.filter(({ refused }) => refused)).toEqual([]);
    expect(sessions.logins.map(({ at: made }) => made)).toEqual(logins);
    // The run that begins in the pause does not know of the calls before, and wakes the session at its first one.
    expect(renewals.map((ms) => Math.floor((ms - +at(date, "12:50")) / 1_000))).toEqual([0]);
  },
);

/** The slots of the job, by a clock of New York's that this counts itself. An hour that comes twice is polled once, as cron has it. */
function slotsBetween(from: Date, end: Date): number[] {
  const shown = new Intl.DateTimeFormat("en-CA", {
    ...{ timeZone: "America/New_York", hour12: false, dateStyle: "short", timeStyle: "short" },
  });
  const slots = new Map<string, number>();
  for (let ms = from.getTime(); ms < end.getTime(); ms += SLOT_MS) {
    const time = shown.format(new Date(ms));
    const hour = Number(/(\d\d):\d\d$/.exec(time)?.[1]) % 24;
    if ((hour <= 10 || hour >= 13) && !slots.has(time)) slots.set(time, ms);
  }
  return [...slots.values()];
}

test("of two accounts the one that is logged in has the other's share until somebody logs in to that too", async () => {
  const loggedIn = new Set(["first"]);
  const names = ["first", "second"];
  const sharers = names.map((name) => ({ name, limit: 60, windowMs: 60_000 }));
  const world = startWorld({
    ...{ start: "2026-11-20T15:00:30Z", accounts: names, shares: new Shares(sharers, undefined, 1) },
    hasSession: (account) => loggedIn.has(account),
    jobs: [
      jobOf({
        name: "each-minute",
        schedule: "* * * * *",
        session: "always",
        symbols: ["AAPL", "IBM", "GE", "F"],
      }),
    ],
  });
  const askedFrom = (time: string): string[] => [
    ...new Set(world.calls.filter(({ sentAt }) => sentAt >= Date.parse(time)).map(({ account }) => account)),
  ];

  await world.until("2026-11-20T15:03:30Z");
  const before = [askedFrom("2026-11-20T15:00:00Z"), entriesOf(world.notes).flatMap(({ misses }) => misses)];
  loggedIn.add("second");
  await world.until("2026-11-20T15:05:30Z");
  const both = askedFrom("2026-11-20T15:04:00Z");
  loggedIn.clear();
  await world.until("2026-11-20T15:07:30Z");
  await world.end(0);

  expect(before).toEqual([["first"], []]);
  expect(both.toSorted()).toEqual(names);
  const last = entriesOf(world.notes).filter(({ slotAt }) => slotAt.startsWith("2026-11-20T15:06"));
  expect(last.flatMap(({ misses }) => misses).map(([, reason]) => reason)).toEqual(Array(4).fill("login"));
});
