import { expect, test } from "@jest/globals";
import { calmLog } from "../../src/ground/calmLog.ts";
import type { Log } from "../../src/ground/log.ts";
import { createTestClock } from "../support/clock.ts";

function calm() {
  const lines: [string, object, string][] = [];
  const say = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log: Log = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
  const clock = createTestClock();
  const calm = calmLog(log, clock);
  return { lines, clock, log: calm, flush: calm.flush };
}

test("an outage of an hour is a line a minute, each with how often it was so meanwhile", () => {
  const { lines, clock, log, flush } = calm();

  for (let call = 0; call < 3_600; call++) {
    log.error({ call }, `SERVICE_UNREACHABLE: the service: ECONNREFUSED at ${call}`);
    clock.advance(1_000);
  }
  flush();

  const said = lines.length;
  const repeated = lines.reduce(
    (sum, [, fields]) => sum + ((fields as { repeated?: number }).repeated ?? 0),
    0,
  );
  const first = lines.filter(([, fields]) => "call" in fields).length;
  expect(said).toBeLessThanOrEqual(61);
  expect(first + repeated).toBe(3_600);
});

test("what happens once is said once, at once, and nothing follows", () => {
  const { lines, clock, log, flush } = calm();

  log.warn({ job: "a" }, "missed: its slot is over");
  clock.advance(120_000);
  log.info({}, "the service answers again");
  flush();

  expect(lines).toEqual([
    ["warn", { job: "a" }, "missed: its slot is over"],
    ["info", {}, "the service answers again"],
  ]);
});

test("another complaint is not held back, nor is the same one after a quiet minute", () => {
  const { lines, clock, log } = calm();

  log.error({}, "SERVICE_QUOTA: refused");
  log.error({}, "SERVICE_TIMEOUT: late");
  clock.advance(60_000);
  log.error({}, "SERVICE_QUOTA: refused");

  expect(lines.map(([, , message]) => message.split(":")[0])).toEqual([
    "SERVICE_QUOTA",
    "SERVICE_TIMEOUT",
    "SERVICE_QUOTA",
  ]);
});

test("the remedy of an outage is said once a minute, whatever else is said meanwhile", () => {
  const { lines, clock, log, flush } = calm();
  const remedy = "DATABASE_UNREACHABLE: db: connect ECONNREFUSED. Start the server.";

  for (let second = 0; second < 300; second += 5) {
    log.warn({ waitMs: 5_000 }, remedy);
    log.warn({ reason: "ECONNREFUSED" }, "the dashboard could not read the archive");
    if (second % 50 === 0) log.info({}, "something else");
    clock.advance(5_000);
  }
  flush();

  const full = lines.filter(([, , message]) => message === remedy);
  const again = lines.filter(([, , message]) => message === "again: DATABASE_UNREACHABLE");
  expect(full.length + again.length).toBeLessThanOrEqual(6);
  const counted = [...full, ...again].map(([, fields]) => (fields as { repeated?: number }).repeated ?? 0);
  expect(full.length + counted.reduce((sum, each) => sum + each, 0)).toBe(60);
});

test("a complaint that was counted within another one's minute is held back for a minute from then on", () => {
  const { lines, clock, log } = calm();

  log.error({}, "SERVICE_QUOTA: refused");
  clock.advance(10_000);
  log.error({}, "SERVICE_QUOTA: refused");
  clock.advance(55_000);
  log.warn({}, "the dashboard could not read the archive");
  clock.advance(5_000);
  log.error({}, "SERVICE_QUOTA: refused");

  expect(lines.map(([, , message]) => message)).toEqual([
    "SERVICE_QUOTA: refused",
    "again: SERVICE_QUOTA",
    "the dashboard could not read the archive",
  ]);
});
