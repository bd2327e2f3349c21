/** How a sweep judges the service by what came of its calls. */
import { expect, test } from "@jest/globals";
import { freshPiece, type Piece, type Setback } from "../../../src/backfill/sweep/queue.ts";
import { DOUBT_AFTER, OUTAGE_MS, ServiceHealth } from "../../../src/backfill/sweep/serviceHealth.ts";
import { symbolsCall } from "../../support/journal.ts";

/** A service that has failed so often in a row, after an answer at 0 ms or none at all. */
function failed(times: number, { answered }: { answered: boolean }): ServiceHealth {
  const standing = new ServiceHealth(0);
  if (answered) standing.succeeded(0);
  for (let time = 0; time < times; time++) standing.failed();
  return standing;
}

function piece(symbols: string[], setback: Setback, failures: number): Piece {
  return { ...freshPiece(symbolsCall(...symbols)), setback, failures, answeredBefore: 0 };
}

test("a service that never answered is out of order after six failures, another one after a quarter of an hour of them", () => {
  const never = failed(DOUBT_AFTER, { answered: false });
  const once = failed(DOUBT_AFTER, { answered: true });

  expect(never.isOutOfOrder(1)).toBe(true);
  expect(once.isOutOfOrder(OUTAGE_MS)).toBe(false);
  expect(once.isOutOfOrder(OUTAGE_MS + 1)).toBe(true);
});

test("waits double from one second to half a minute, and chance doubles them at most", () => {
  const waits = [1, 2, 3, 6, 20].map((times) => failed(times, { answered: true }).waitMs(0));

  expect(waits).toEqual([1_000, 2_000, 4_000, 30_000, 30_000]);
  expect(failed(20, { answered: true }).waitMs(1)).toBe(60_000);
});

test("a list is tried in halves at once when it is refused, and after three faults of the service", () => {
  const standing = failed(1, { answered: false });

  expect(standing.isToBeParted(piece(["A", "B"], "refused", 1))).toBe(true);
  expect(standing.isToBeParted(piece(["A", "B"], "server_error", 2))).toBe(false);
  expect(standing.isToBeParted(piece(["A", "B"], "server_error", 3))).toBe(true);
});

test("while the service is in doubt nothing is tried in halves, and nothing is given up", () => {
  const standing = failed(DOUBT_AFTER, { answered: false });

  for (const setback of ["refused", "malformed", "server_error", "transport"] as const) {
    expect(standing.isToBeParted(piece(["A", "B"], setback, 5))).toBe(false);
    expect(standing.isToBeParted(piece(["A"], setback, 5))).toBe(false);
  }
});

test("what fails alone while others are answered has failed", () => {
  const standing = failed(DOUBT_AFTER, { answered: true });

  expect(standing.isToBeParted(piece(["A"], "refused", 1))).toBe(true);
  expect(standing.isToBeParted(piece(["A"], "transport", 2))).toBe(false);
  expect(standing.isToBeParted(piece(["A"], "transport", 3))).toBe(true);
});
