import { expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { meterNote } from "../../../src/run/metered.ts";
import type { ClockStep } from "../../../src/journal/ledger.ts";
import { createMeter } from "../../../src/web/monitoring/meter.ts";

test("each step of the clock is counted by what it was, and the newest of the wall clock is told in seconds", async () => {
  const meter = createMeter();
  const registry = new Registry();
  for (const metric of meter.metrics) registry.registerMetric(metric);
  const told = async (): Promise<string[]> =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("quotekeeper_clock"));
  const before = await told();

  const steps: ClockStep[] = [
    { kind: "set_forward", stepMs: 90_000 },
    { kind: "set_back", stepMs: -3_600_000 },
    { kind: "slept", stepMs: 60_000 },
    { kind: "stopped", stepMs: 7_000 },
    { kind: "stopped", stepMs: 3_000 },
  ];
  for (const step of steps) meterNote({ type: "clock", at: "2026-11-20T15:00:00.000000Z", ...step }, meter);

  expect(before.map((line) => line.split(" ")[1])).toEqual(["0", "0", "0", "0"]);
  expect(await told()).toEqual([
    'quotekeeper_clock_steps_total{kind="set_back"} 1',
    'quotekeeper_clock_steps_total{kind="set_forward"} 1',
    'quotekeeper_clock_steps_total{kind="slept"} 1',
    'quotekeeper_clock_steps_total{kind="stopped"} 2',
    "quotekeeper_clock_step_seconds -3600",
  ]);
});
