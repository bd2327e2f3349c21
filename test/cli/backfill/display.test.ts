import { expect, test } from "@jest/globals";
import { createDisplay } from "../../../src/cli/backfill/display.ts";
import { harmlessEdges } from "../../../src/cli/terminal/harmless.ts";
import { loadConfig } from "../../../src/config/loadEnvironment.ts";
import { createTestClock } from "../../support/clock.ts";
import { capturedEdges } from "../edges.ts";

const PROGRESS = { doing: "20261120T14", done: 350, total: 1_000, unit: "bytes", quotes: 12_300 } as const;

async function shown(isTTY: boolean) {
  const clock = createTestClock();
  const { edges, stderr } = capturedEdges({ isTTY, clock });
  return {
    display: await createDisplay(loadConfig({}, edges.directory), harmlessEdges(edges), "reading"),
    clock,
    stderr,
  };
}

test("the rate and the time left leave out the work of earlier runs; the last bar shows no time left", async () => {
  const { display, clock, stderr } = await shown(true);

  display.progress({ ...PROGRESS, done: 150, quotes: 8_200 });
  clock.advance(4_000);
  display.progress(PROGRESS);
  display.progress({ ...PROGRESS, done: 1_000 });

  const bars = stderr()
    .split(/\r\u001b\[2K/)
    .slice(1);
  expect(bars).toEqual([
    "[###.................]  15 % | 8,200 quotes | 0/s | 20261120T14",
    "[#######.............]  35 % | 12,300 quotes | 1,025/s | 13 s left | 20261120T14",
    "[####################] 100 % | 12,300 quotes | 1,025/s | 20261120T14",
  ]);
});

test("elsewhere than on a terminal progress is lines of JSON", async () => {
  const { display, stderr } = await shown(false);

  display.progress(PROGRESS);
  display.end();

  expect(stderr()).toMatch(
    /^\{"level":30,.*"done":350,"total":1000,.*"quotesPerSecond":0,"leftMs":null,"msg":"reading"\}$/m,
  );
});
