import { expect, test } from "@jest/globals";
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NonceMemory } from "../../src/services/oauth/nonces.ts";
import { NonceLog } from "../../src/serve/nonceLog.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { tempDir } from "../support/tempDir.ts";

const DAYS = 86_400;

type Run = {
  log: NonceLog;
  use: (nonce: string, options?: { token?: string; ageSeconds?: number }) => string;
  size: () => number;
};

/** One run of a service on a directory. */
function runOn(
  dir: string,
  clock: TestClock,
  { windowSeconds = 10, uptimeSeconds = DAYS }: { windowSeconds?: number; uptimeSeconds?: number } = {},
): Run {
  const log = new NonceLog({ dir, clock, windowSeconds, uptimeSeconds, limitWindowMs: 60_000 });
  const { remembered, horizon } = log;
  const memory = new NonceMemory({
    windowSeconds,
    maxNonces: 100_000,
    remembered,
    horizon,
    onFresh: (used, of) => log.append(used, of),
  });
  const now = () => Math.floor(clock.now().getTime() / 1000);
  return {
    log,
    use: (nonce, { token = "token", ageSeconds = 0 } = {}) => {
      const verdict = memory.use(token, now() - ageSeconds, nonce, now());
      log.write();
      return verdict;
    },
    size: () => memory.size,
  };
}

const filesIn = (dir: string) => readdirSync(dir).sort();

test("a used nonce is refused after a restart, also when the earlier run was killed", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const first = runOn(dir, clock);
  first.use("once");
  clock.advance(3_000);

  const second = runOn(dir, clock);

  expect(second.use("once", { ageSeconds: 3 })).toBe("repeated");
  expect(second.use("once", { token: "other", ageSeconds: 3 })).toBe("fresh");
  expect(second.use("twice")).toBe("fresh");
});

test("a nonce is refused after a restart with the timestamp it was used with, however old that was", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const first = runOn(dir, clock);
  first.use("late", { ageSeconds: 5 });
  first.use("early", { ageSeconds: -5 });
  clock.advance(3_000);

  const second = runOn(dir, clock);

  expect(second.use("late", { ageSeconds: 8 })).toBe("repeated");
  expect(second.use("early", { ageSeconds: -2 })).toBe("repeated");
});

test("a used nonce is refused after any number of restarts", () => {
  const dir = tempDir();
  const clock = createTestClock();
  for (const nonce of ["a", "b", "c"]) expect(runOn(dir, clock).use(nonce)).toBe("fresh");

  const last = runOn(dir, clock);

  expect(["a", "b", "c", "d"].map((nonce) => last.use(nonce))).toEqual([
    ...["repeated", "repeated", "repeated", "fresh"],
  ]);
});

test("after a restart a larger window accepts nothing that the smaller one had forgotten", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const first = runOn(dir, clock, { windowSeconds: 10 });
  first.use("old");
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    first.use("old");
  }
  first.log.close();

  const second = runOn(dir, clock, { windowSeconds: 3_600 });

  expect(second.use("old", { ageSeconds: 300 })).toBe("stale");
  expect(second.use("old")).toBe("repeated");
});

test("after a restart a clock that was set back accepts nothing that was forgotten", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const first = runOn(dir, clock);
  first.use("old");
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    first.use("new");
  }
  clock.advance(-300_000);

  const second = runOn(dir, clock);

  expect(second.use("old")).toBe("stale");
});

test("a clock that was hours ahead does not lock everybody out when it is right again", () => {
  const dir = tempDir();
  const wrong = createTestClock("2026-11-21T04:00:00Z");
  const first = runOn(dir, wrong);
  for (let minute = 0; minute < 5; minute++) {
    wrong.advance(60_000);
    first.use("ahead");
  }

  const second = runOn(dir, createTestClock("2026-11-20T22:50:00Z"));

  expect(second.use("now")).toBe("fresh");
  expect(second.use("now")).toBe("repeated");
});

test("after a restart of the machine no earlier timestamp is accepted, because its disk may have lost nonces", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const restarted = runOn(dir, clock, { uptimeSeconds: 2 });

  expect(restarted.use("from before", { ageSeconds: 2 })).toBe("stale");
  expect(restarted.use("perhaps from a clock ahead")).toBe("stale");
  clock.advance(9_000);
  expect(restarted.use("from now")).toBe("fresh");
});

test("nonces that are noted together are persisted by one write, and none before it", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const first = runOn(dir, clock);
  const of = { nowSeconds: Math.floor(clock.now().getTime() / 1000), horizon: 0 };
  const marks = ["a", "b"].map((letter) => letter.repeat(22));
  const remembered = () => runOn(dir, clock).log.remembered.map(({ mark }) => mark);

  for (const mark of marks) first.log.append({ timestamp: of.nowSeconds, mark }, of);
  const before = remembered();
  first.log.write();

  expect(before).toEqual([]);
  expect(remembered()).toEqual(marks);
});

test("truncated lines, truncated headers and empty files of nonces cost nothing else", () => {
  const dir = tempDir();
  const clock = createTestClock();
  runOn(dir, clock).use("whole");
  const [file = ""] = filesIn(dir);
  appendFileSync(join(dir, file), "17953");
  writeFileSync(join(dir, "1-empty.nonces"), "");
  writeFileSync(join(dir, "2-header.nonces"), "quotekeeper-non");

  const second = runOn(dir, clock);
  const verdicts = ["whole", "next"].map((nonce) => second.use(nonce));
  const third = runOn(dir, clock);

  expect(verdicts).toEqual(["repeated", "fresh"]);
  expect(third.use("next")).toBe("repeated");
});

test("a directory of nonces that cannot be written is named, and the call is not accepted", () => {
  const clock = createTestClock();
  const dir = join(tempDir(), "gone");

  expect(
    () => new NonceLog({ dir, clock, windowSeconds: 10, uptimeSeconds: DAYS, limitWindowMs: 60_000 }),
  ).toThrow(expect.objectContaining({ code: "NONCES_UNWRITABLE" }));
  const there = tempDir();
  const run = runOn(there, clock);
  clock.advance(61_000);
  rmSync(there, { recursive: true });
  expect(() => run.use("lost")).toThrow(expect.objectContaining({ code: "NONCES_UNWRITABLE" }));
});

test("files of nonces that matter no more are removed while calls keep coming", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const run = runOn(dir, clock);
  for (let second = 0; second < 1_800; second++) {
    clock.advance(1_000);
    run.use(`n${second}`);
  }

  expect(filesIn(dir).length).toBeLessThanOrEqual(5);
  expect(run.size()).toBeLessThanOrEqual(12);
});

test("files of nonces of ended runs are removed as well", () => {
  const dir = tempDir();
  const clock = createTestClock();
  for (let run = 0; run < 20; run++) {
    runOn(dir, clock).use(`n${run}`);
    clock.advance(60_000);
  }

  expect(filesIn(dir).length).toBeLessThanOrEqual(5);
});

test("a file of nonces that another run may still write stays", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const neighbour = runOn(dir, clock);
  clock.advance(59_000);
  runOn(dir, clock).use("mine");
  neighbour.use("theirs");

  expect(runOn(dir, clock).use("theirs")).toBe("repeated");
});

test("files of nonces show neither token nor nonce, and only their owner may read them", () => {
  const dir = tempDir();
  runOn(dir, createTestClock()).use("n0nce", { token: "t0ken" });
  const [file = ""] = filesIn(dir);
  const text = readFileSync(join(dir, file), "utf8");

  expect(text).not.toMatch(/n0nce|t0ken/);
  expect(text.split("\n")).toHaveLength(3);
  chmodSync(join(dir, file), 0o600);
});

const window = (used: number, startMs: number) =>
  ({ callClass: "quotes", tokenMark: "m".repeat(22), startMs, used }) as const;

test("the windows of budgets are known after a kill with every answered call, however many files were begun since", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const open = () =>
    new NonceLog({ dir, clock, windowSeconds: 10, uptimeSeconds: DAYS, limitWindowMs: 3_600_000 });
  const log = open();
  const startMs = clock.now().getTime();
  const mark = (used: number) => String(used).padStart(22, "n");
  for (let used = 1; used <= 20; used += 1) {
    const nowSeconds = Math.floor(clock.now().getTime() / 1_000);
    log.note(window(used, startMs));
    log.append({ timestamp: nowSeconds, mark: mark(used) }, { nowSeconds, horizon: nowSeconds - 10 });
    log.write();
    clock.advance(61_000);
  }

  const { windows } = open();

  expect(filesIn(dir).length).toBeLessThan(8);
  expect(windows).toEqual([window(20, startMs)]);
});

test("ended windows of budgets are not written any more, and a truncated line costs itself alone", () => {
  const dir = tempDir();
  const clock = createTestClock();
  const startMs = clock.now().getTime();
  const first = runOn(dir, clock);
  first.log.note(window(7, startMs));
  first.use("once");
  const [file = ""] = filesIn(dir);
  appendFileSync(join(dir, file), `budget quotes ${"m".repeat(22)} 17`);

  const soon = runOn(dir, clock).log.windows;
  clock.advance(60_000);
  runOn(dir, clock);
  const last = filesIn(dir).at(-1) ?? "";

  expect(soon).toEqual([window(7, startMs)]);
  expect(readFileSync(join(dir, last), "utf8")).not.toContain("budget");
});
