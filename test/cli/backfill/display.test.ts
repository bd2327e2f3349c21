import { expect, test } from "@jest/globals";
import { barText, createDisplay, paceOf } from "../../../src/cli/backfill/display.ts";
import { loadConfig } from "../../../src/config/loadEnvironment.ts";
import { createTestClock } from "../../support/clock.ts";
import { capturedEdges } from "../edges.ts";

const PROGRESS = { doing: "20261120T14", done: 350, total: 1_000, unit: "bytes", quotes: 12_300 } as const;

test("the rate and the time left are of this run, not of what earlier ones did", () => {
  const pace = paceOf(PROGRESS, { doneBefore: 150, quotesBefore: 8_200, elapsedMs: 2_000 });

  expect(pace).toEqual({ quotesPerSecond: 2_050, leftMs: 6_500 });
});

test("a time left that is known better than by the rate is kept", () => {
  const pace = paceOf({ ...PROGRESS, leftMs: 120_000 }, { doneBefore: 0, quotesBefore: 0, elapsedMs: 1_000 });

  expect(pace.leftMs).toBe(120_000);
});

test("at the beginning nothing is known of the time left", () => {
  const pace = paceOf({ ...PROGRESS, done: 0, quotes: 0 }, { doneBefore: 0, quotesBefore: 0, elapsedMs: 0 });

  expect(pace).toEqual({ quotesPerSecond: 0, leftMs: null });
});

test("the bar shows the share, the rate and the time left; at the end no time", () => {
  const under = barText(PROGRESS, { quotesPerSecond: 4_100, leftMs: 130_000 });
  const atEnd = barText({ ...PROGRESS, done: 1_000 }, { quotesPerSecond: 4_100, leftMs: 0 });

  expect(under).toBe("[#######.............]  35 % | 12,300 quotes | 4,100/s | 2 min left | 20261120T14");
  expect(atEnd).toBe("[####################] 100 % | 12,300 quotes | 4,100/s | 20261120T14");
});

test.each([
  [true, /\r.*\[#{7}\.{13}\] +35 %/],
  [false, /^\{"level":30,.*"done":350,"total":1000,.*"quotesPerSecond":0,"leftMs":null,"msg":"reading"\}$/m],
])("on a terminal (%s) it is a bar, elsewhere JSON lines", (isTTY, expected) => {
  const { edges, stderr } = capturedEdges({ isTTY, clock: createTestClock() });
  const display = createDisplay(loadConfig({}, edges.directory), edges, "reading");

  display.progress(PROGRESS);
  display.end();

  expect(stderr()).toMatch(expected);
});
