import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import {
  type CollectorLease,
  DEAD_LOOKS,
  LOOK_EVERY_MS,
  type LeaseOptions,
  RENEW_EVERY_MS,
  takeLease,
} from "../../src/archive/collectorLease.ts";
import { freshDatabase } from "../support/database.ts";
import { outcome, type Stepped, steppedClock } from "../support/steppedClock.ts";
import { startPooler } from "../support/pooler.ts";

const { pool, url } = await freshDatabase();

const leases: CollectorLease[] = [];
const poolers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.release();
  await pool.query("truncate account_holders");
});
afterAll(async () => {
  for (const close of poolers) await close();
});

type Given = Partial<LeaseOptions> & { time?: Stepped; db?: Pick<pg.Pool, "query"> };

async function take(
  id: string,
  { time = steppedClock(), db = pool, ...given }: Given = {},
): Promise<CollectorLease> {
  const lease = await takeLease(db, {
    account: "account-a",
    thing: "this account in 127.0.0.1/quotes",
    id,
    self: { pid: 4711, host: "quotes-1" },
    dead: [],
    clock: time.clock,
    onWatch: () => undefined,
    signal: new AbortController().signal,
    ...given,
  });
  leases.push(lease);
  return lease;
}

async function asleep(time: Stepped): Promise<void> {
  while (time.asleep() === 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets a holder renew once, or find that it cannot. */
async function renewal(time: Stepped, whole: () => Promise<boolean>): Promise<void> {
  // Others see a renewal before the holder itself knows of it and rests again.
  await asleep(time);
  time.step();
  while (!(await whole())) await new Promise((resolve) => setImmediate(resolve));
}

async function row() {
  const { rows } = await pool.query<{ holder: string; beat: string; fence: string; released: boolean }>(
    "select holder, beat::text, fence::text, released from account_holders",
  );
  return rows[0];
}

const beat = (): Promise<unknown> => pool.query("update account_holders set beat = beat + 1");

describe("an account that another collector holds", () => {
  test("is refused as soon as that one renews, naming its process, machine and since when", async () => {
    await take("first");
    const time = steppedClock();
    let looks = 0;

    const { done } = await outcome(take("second", { time }), time, async () => (looks += 1) === 3 && beat());

    expect(done).toMatchObject({ code: "COLLECTOR_RUNNING", exitCode: 2 });
    expect(String(done)).toContain(
      "this account in 127.0.0.1/quotes is collected by process 4711 on quotes-1 since 2026-11-22 00:49 New York. End that collector first",
    );
    expect(time.clock.monotonicMs()).toBe(3 * LOOK_EVERY_MS);
    expect(await row()).toMatchObject({ holder: "first" });
  });

  test("is taken over when that one has not renewed for seven seconds, whatever the database's clock says", async () => {
    await take("first");
    await pool.query("update account_holders set renewed_at = now() + interval '1 year'");
    const time = steppedClock();

    const { done } = await outcome(take("second", { time }), time);

    expect(done).toBe("taken");
    expect(time.clock.monotonicMs()).toBe(DEAD_LOOKS * LOOK_EVERY_MS);
    expect(await row()).toMatchObject({ holder: "second", fence: "2" });
  });

  test("is not taken over after a pause of the one that waits: only its looks count", async () => {
    await take("first");
    const time = steppedClock();
    let looks = 0;

    const { done } = await outcome(take("second", { time }), time, async () => {
      looks += 1;
      if (looks === 2) time.stop(3_600_000);
      if (looks === 4) await beat();
    });

    expect(done).toMatchObject({ code: "COLLECTOR_RUNNING" });
  });

  test("is taken at once when that one is known to be dead, or has released it", async () => {
    await take("first");
    await take("second", { dead: ["long-gone", "first"] });
    expect(await row()).toMatchObject({ holder: "second" });

    expect(await leases.pop()?.release()).toBe(true);
    await take("third");

    expect(await row()).toMatchObject({ holder: "third", fence: "3", released: false });
  });

  test("is one of several: another account is nobody's business", async () => {
    await take("first");

    await take("second", { account: "account-b" });

    expect((await pool.query("select from account_holders")).rowCount).toBe(2);
  });

  test("of twelve that find a dead one, one takes it and the others are refused", async () => {
    await take("first");
    const times = Array.from({ length: 12 }, steppedClock);

    const outcomes = await Promise.all(
      times.map((time, index) =>
        outcome(take(`waiting-${index}`, { time }), time, async () => {
          // The winner renews, as it would by itself.
          await pool.query("update account_holders set beat = beat + 1 where holder <> 'first'");
        }),
      ),
    );

    const taken = outcomes.filter(({ done }) => done === "taken");
    expect(taken).toHaveLength(1);
    for (const { done } of outcomes)
      if (done !== "taken") expect(done).toMatchObject({ code: "COLLECTOR_RUNNING" });
  });
});

describe("a holder", () => {
  test("renews every two seconds", async () => {
    const time = steppedClock();
    await take("first", { time });

    for (let renewals = 1; renewals <= 3; renewals += 1) {
      await renewal(time, async () => (await row())?.beat === String(renewals));
      expect(time.clock.monotonicMs()).toBe(renewals * RENEW_EVERY_MS);
    }
  });

  test("that was replaced while it was stopped ends at its next renewal, and says so", async () => {
    const time = steppedClock();
    const first = await take("first", { time });
    time.stop(60_000);
    await take("second", { dead: ["first"], self: { pid: 4712, host: "quotes-2" } });
    await asleep(time);
    time.step();

    const lost = await first.lost;

    expect(lost).toMatchObject({ code: "COLLECTOR_REPLACED", exitCode: 1 });
    expect(lost.message).toContain(
      "is collected by process 4712 on quotes-2 since 2026-11-22 00:49 New York",
    );
    expect(await row()).toMatchObject({ holder: "second", released: false });
  });

  test("that was stopped lets no call leave before it knows whether it was replaced", async () => {
    const time = steppedClock();
    const first = await take("first", { time });
    await first.sure();
    time.stop(60_000);
    await take("second", { dead: ["first"] });

    const calls = await Promise.allSettled([first.sure(), first.sure()]);

    expect(calls).toMatchObject(
      Array(2).fill({ status: "rejected", reason: { code: "COLLECTOR_REPLACED" } }),
    );
    expect(await first.release()).toBe(true);
    expect(await row()).toMatchObject({ holder: "second", released: false });
  });

  test("nor while its renewal has been refused, and it is not known yet who holds the row", async () => {
    const time = steppedClock();
    let onClaim: () => void = () => undefined;
    const query = (...given: [string, unknown[]]): unknown => {
      if (given[0].includes("insert into account_holders")) onClaim();
      return pool.query(...given);
    };
    const first = await take("first", { time, db: { query } as Pick<pg.Pool, "query"> });
    const refused = new Promise<void>((resolve) => (onClaim = resolve));
    await asleep(time);
    time.stop(60_000);
    await take("second", { dead: ["first"] });
    time.step();

    await refused;

    await expect(first.sure()).rejects.toMatchObject({ code: "COLLECTOR_REPLACED" });
  });

  test("that was stopped and not replaced goes on", async () => {
    const time = steppedClock();
    const first = await take("first", { time });
    time.stop(60_000);

    await first.sure();

    expect(await row()).toMatchObject({ holder: "first", beat: "1" });
  });

  test("takes its row again where it is gone, with a database that was restored", async () => {
    const time = steppedClock();
    await take("first", { time });
    await pool.query("truncate account_holders");

    await renewal(time, async () => (await row())?.holder === "first");
  });
});

/** A pool whose database is away until the test says otherwise. */
function awayAtFirst() {
  let away = true;
  const query = (...given: [string, unknown[]]): unknown =>
    away ? Promise.reject(Object.assign(new Error("away"), { code: "ECONNREFUSED" })) : pool.query(...given);
  return {
    db: { query } as Pick<pg.Pool, "query">,
    back: () => void (away = false),
    gone: () => void (away = true),
  };
}

describe("while the database is away", () => {
  test("nothing is held up, and the row is taken when it is back", async () => {
    const time = steppedClock();
    const { db, back } = awayAtFirst();

    const lease = await take("first", { time, db });
    await lease.sure();
    expect(await row()).toBeUndefined();
    back();

    await renewal(time, async () => (await row())?.holder === "first");
  });

  test("somebody else may have taken it by then: this one ends with the refusal", async () => {
    const time = steppedClock();
    const { db, back } = awayAtFirst();
    const lease = await take("first", { time, db });
    await take("second", { self: { pid: 4712, host: "quotes-2" } });
    back();

    const { done } = await outcome(
      lease.lost.then((error) => Promise.reject(error)),
      time,
      beat,
    );

    expect(done).toMatchObject({ code: "COLLECTOR_RUNNING" });
    expect(String(done)).toContain("process 4712 on quotes-2");
  });

  test("a holder goes on, and tells at its end that its row could not be released", async () => {
    const time = steppedClock();
    const { db, back, gone } = awayAtFirst();
    back();
    const lease = await take("first", { time, db });
    gone();
    await asleep(time);
    time.step();
    await lease.sure();

    expect(await lease.release()).toBe(false);
    expect(await row()).toMatchObject({ holder: "first", released: false });
  });
});

test("behind a pooler in transaction mode it is taken, renewed, refused and released as without", async () => {
  const pooler = await startPooler(url, "transaction");
  const db = new pg.Pool({ connectionString: pooler.url, max: 2 });
  poolers.push(async () => {
    await db.end();
    await pooler.close();
  });
  const time = steppedClock();
  const first = await take("first", { time, db });
  await renewal(time, async () => (await row())?.beat === "1");

  const waiting = steppedClock();
  const { done } = await outcome(take("second", { time: waiting, db }), waiting, beat);

  expect(done).toMatchObject({ code: "COLLECTOR_RUNNING" });
  expect(await first.release()).toBe(true);
  expect(await row()).toMatchObject({ holder: "first", released: true });
});
