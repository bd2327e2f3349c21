/** How a sweep judges the service by what came of its calls. */
import { expect, test } from "@jest/globals";
import { ServiceHealth } from "../../../src/backfill/sweep/serviceHealth.ts";

const DOUBT_AFTER = 6;
const OUTAGE_MS = 15 * 60_000;

/** A service that has failed so often in a row at 0 ms, after an answer or none at all. */
function failed(
  times: number,
  { answered, chance = 0 }: { answered: boolean; chance?: number },
): ServiceHealth {
  const health = new ServiceHealth(0);
  if (answered) health.succeeded(0);
  for (let time = 0; time < times; time++) health.failed(0, chance);
  return health;
}

/** How long nothing is asked, ms. */
function pauseMs(health: ServiceHealth): number {
  let ms = 0;
  while (health.atOnce(ms, 6) === 0) ms += 1_000;
  return ms;
}

test("a service that never answered is out of order after six failures, another one after a quarter of an hour of them", () => {
  const never = failed(DOUBT_AFTER, { answered: false });
  const once = failed(DOUBT_AFTER, { answered: true });

  expect(never.isOutOfOrder(1)).toBe(true);
  expect(once.isOutOfOrder(OUTAGE_MS)).toBe(false);
  expect(once.isOutOfOrder(OUTAGE_MS + 1)).toBe(true);
});

test("after three failures in a row nothing is asked for 4 s, which double up to half a minute; chance doubles them at most", () => {
  const pauses = [1, 2, 3, 4, 6, 20].map((times) => pauseMs(failed(times, { answered: true })));

  expect(pauses).toEqual([0, 0, 4_000, 8_000, 30_000, 30_000]);
  expect(pauseMs(failed(20, { answered: true, chance: 1 }))).toBe(60_000);
  // An answer that was under way ends the pause.
  const again = failed(20, { answered: true });
  again.succeeded(1_000);
  expect(again.atOnce(1_000, 6)).toBe(6);
});

test("calls go one by one until one was answered, and again while they fail in a row", () => {
  const health = failed(0, { answered: false });
  const first = health.atOnce(0, 6);
  health.succeeded(0);
  const inOrder = health.atOnce(0, 6);

  expect([first, inOrder]).toEqual([1, 6]);
  expect(failed(DOUBT_AFTER, { answered: true }).atOnce(60_000, 6)).toBe(1);
});
