import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { type DataDirLock, lockDataDir } from "../../../src/run/beside/lock.ts";
import { type ThisProcess } from "../../../src/run/beside/lockDoor.ts";
import { askForCall, serveBorrowers } from "../../../src/run/beside/permits.ts";
import { type Clock, systemClock } from "../../../src/clock.ts";
import type { Permit } from "../../../src/collect/dispatch/borrowedCalls.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";

const self: ThisProcess = { pid: 4711, host: "quotes-1", kernel: "0123abcd" };
const clock = systemClock;

const held: DataDirLock[] = [];
afterEach(async () => {
  for (const lock of held.splice(0)) await lock.release();
});

/** A collector that lends a call as soon as the test says so, and hears how it ended. */
async function startLender({ lenderClock = clock }: { lenderClock?: Clock } = {}) {
  const dataDir = tempDir();
  const lock = await lockDataDir(dataDir, { clock, self, warn: () => undefined });
  held.push(lock);
  const asked: { urgent: boolean; withdrawn: () => boolean; go: () => void }[] = [];
  const ends: Parameters<Permit>[0][] = [];
  const borrow = (urgent: boolean, signal: AbortSignal): Promise<Permit> =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("withdrawn")));
      asked.push({
        urgent,
        withdrawn: () => signal.aborted,
        go: () => resolve((end) => void ends.push(end)),
      });
    });
  lock.serve(serveBorrowers((account) => (account === "account-a" ? borrow : null), lenderClock));
  const ask = (by: "poll" | "sweep", account = "account-a", signal?: AbortSignal) =>
    askForCall(dataDir, { by, account, clock, self, ...(signal && { signal }) });
  return { dataDir, lock, asked, ends, ask };
}

test("a call leaves when the collector says so, and it hears how the call ended, of the headers what it counts by", async () => {
  const { asked, ends, ask } = await startLender();
  let made = 0;

  const call = ask("poll").then((leave) => {
    made += 1;
    const headers = {
      "x-ratelimit-used": "12",
      "content-type": "application/xml",
      "retry-after": "9".repeat(200),
    };
    leave?.({ headers, outcome: "quotes" });
  });
  await until(() => asked.length === 1, "the question");
  expect(made).toBe(0);
  asked[0]?.go();
  await call;

  await until(() => ends.length === 1, "the report");
  expect(asked[0]?.urgent).toBe(true);
  expect(ends).toEqual([{ outcome: "quotes", headers: { "x-ratelimit-used": "12" } }]);
});

test("a sweep's call is not urgent; a call without an answer has failed", async () => {
  const { asked, ends, ask } = await startLender();

  const call = ask("sweep").then((leave) => leave?.(null));
  await until(() => asked.length === 1, "the question");
  asked[0]?.go();

  await call;
  await until(() => ends.length === 1, "the report");
  expect(asked[0]?.urgent).toBe(false);
  expect(ends).toEqual([null]);
});

test("without a collector, and beside one of another account, the budget is one's own", async () => {
  const { asked, ask, dataDir, lock } = await startLender();

  expect(await ask("poll", "account-b")).toBeNull();
  await lock.release();
  expect(await ask("poll")).toBeNull();

  expect(asked).toEqual([]);
  expect(readdirSync(join(dataDir, "collector"))).toEqual([]);
});

test("a collector that ends sends whoever waits on to a budget of its own", async () => {
  const { asked, ask, lock } = await startLender();

  const waiting = ask("sweep");
  await until(() => asked.length === 1, "the question");
  await lock.release();

  expect(await waiting).toBeNull();
});

test("who waits long is told why, and who does not is not", async () => {
  const { asked, dataDir } = await startLender();
  const asking = { by: "poll", account: "account-a", self } as const;
  let told = 0;
  const onWait = (): void => void (told += 1);

  const quick = askForCall(dataDir, { ...asking, clock, onWait });
  await until(() => asked.length === 1, "the question");
  asked[0]?.go();
  (await quick)?.(null);
  expect(told).toBe(0);

  // Its sleeps, but for the one at the lock, are over at once.
  let sleeps = 0;
  const hasty: Clock = {
    ...clock,
    sleep: (ms, signal) => ((sleeps += 1) > 1 ? Promise.resolve() : clock.sleep(ms, signal)),
  };
  const slow = askForCall(dataDir, { ...asking, clock: hasty, onWait });
  await until(() => told === 1, "the word");
  await until(() => asked.length === 2, "the question");
  asked[1]?.go();
  expect(await slow).not.toBeNull();
});

test("who gives up waiting withdraws the question", async () => {
  const { asked, ask } = await startLender();
  const ending = new AbortController();

  const waiting = ask("sweep", "account-a", ending.signal);
  await until(() => asked.length === 1, "the question");
  ending.abort();

  expect(await waiting).toBeNull();
  await until(() => asked[0]?.withdrawn() ?? false, "its withdrawal");
});

test("a call of which nobody tells anything for a minute has failed", async () => {
  const waits: number[] = [];
  const impatient: Clock = { ...clock, sleep: async (ms) => void waits.push(ms) };
  const { asked, ends, ask } = await startLender({ lenderClock: impatient });

  const permit = ask("poll");
  await until(() => asked.length === 1, "the question");
  asked[0]?.go();

  expect(await permit).not.toBeNull();
  await until(() => ends.length === 1, "its end");
  expect({ ends, waits }).toEqual({ ends: [null], waits: [60_000] });
});

test.each([
  ["no JSON", "GET / HTTP/1.1\r\n\r\n"],
  ["a line without an end", "x".repeat(1_000_000)],
  ["a question of another shape", '{"ask":"call","by":"root","account":"account-a"}\n'],
  ["an account as long as a book", `{"ask":"call","by":"poll","account":"${"a".repeat(4_000)}"}\n`],
])("%s gets no call, and the collector goes on", async (_what, text) => {
  const { asked, ask, dataDir } = await startLender();
  const [file = ""] = readdirSync(join(dataDir, "collector"));
  const socket = connect(join(dataDir, "collector", file));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => undefined).resume();
  socket.write(text);
  await closed;

  expect(asked).toEqual([]);
  const permit = ask("poll");
  await until(() => asked.length === 1, "the question");
  asked[0]?.go();
  (await permit)?.(null);
});

test.each([
  ["no line of ours", "220 mail.example ESMTP\n"],
  ["an outcome that is none", '{"outcome":"won","headers":{}}\n'],
  ["headers that are none of a service's count", '{"outcome":"quotes","headers":{"authorization":"x"}}\n'],
  [
    "a header as long as a book",
    `{"outcome":"quotes","headers":{"x-ratelimit-used":"${"1".repeat(2_000)}"}}\n`,
  ],
])("a call whose end is told by %s has failed", async (_what, text) => {
  const { asked, ends, dataDir } = await startLender();
  const [file = ""] = readdirSync(join(dataDir, "collector"));
  const socket = connect(join(dataDir, "collector", file));
  socket.on("error", () => undefined);
  socket.write('{"ask":"call","by":"poll","account":"account-a"}\n');
  await until(() => asked.length === 1, "the question");
  asked[0]?.go();
  socket.once("data", () => socket.end(text));

  await until(() => ends.length === 1, "its end");
  expect(ends).toEqual([null]);
});
