import { expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { meterNote } from "../../../src/collector/metered.ts";
import type { ClockStep } from "../../../src/journal/ledger.ts";
import { createMeter, type Meter } from "../../../src/web/monitoring/meter.ts";

test("each step of the clock is counted by what it was, and the newest of the wall clock is told in seconds", async () => {
  const meter = createMeter();
  const registry = new Registry();
  for (const metric of meter.metrics([])) registry.registerMetric(metric);
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

/** Values by account, and what else a series says. */
async function valuesOf(meter: Meter, accounts: readonly string[]): Promise<Record<string, number>> {
  const found = await Promise.all(meter.metrics(accounts).map((metric) => metric.get()));
  return Object.fromEntries(
    found.flatMap(({ name, values }) =>
      values.map(({ labels: { account, ...others }, value }): [string, number] => [
        [account, name, ...Object.values(others)].join(" "),
        value,
      ]),
    ),
  );
}

test("an account's series are there at nought as soon as it is, and those of one that is gone are not", async () => {
  const meter = createMeter();
  const at = new Date("2026-11-20T15:00:02Z");

  const before = await valuesOf(meter, ["main"]);
  meter.called("quotes", { latenessMs: 2_000, at, account: "main" });
  meter.called("unauthorized", { latenessMs: 1_000, at, account: "second" });
  meterNote(
    {
      type: "slots",
      entries: [
        { job: "a", slotAt: "", due: ["A"], misses: [["A", "budget"]] },
        {
          job: "a",
          slotAt: "",
          account: "second",
          due: ["B", "C"],
          misses: ["B", "C"].map((name) => [name, "unauthorized"]),
        },
      ],
    },
    meter,
  );
  meterNote({ type: "down", account: "second", job: "a", slots: ["", ""], due: ["B", "C"] }, meter);
  const both = await valuesOf(meter, ["default", "main", "second"]);
  const one = await valuesOf(meter, ["main"]);
  meter.called("quotes", { latenessMs: 0, at, account: "second" });
  const back = await valuesOf(meter, ["main", "second"]);

  expect(before).toMatchObject({
    "main quotekeeper_calls_total quotes": 0,
    "main quotekeeper_misses_total down": 0,
    "main quotekeeper_slot_lateness_seconds +Inf": 0,
  });
  expect(before).not.toHaveProperty("main quotekeeper_last_quotes_timestamp_seconds");
  expect(both).toMatchObject({
    "main quotekeeper_calls_total quotes": 1,
    "main quotekeeper_last_quotes_timestamp_seconds": at.getTime() / 1_000,
    "main quotekeeper_slot_lateness_seconds 1": 0,
    "main quotekeeper_slot_lateness_seconds 2": 1,
    "main quotekeeper_misses_total budget": 0,
    "default quotekeeper_misses_total budget": 1,
    "second quotekeeper_calls_total quotes": 0,
    "second quotekeeper_calls_total unauthorized": 1,
    "second quotekeeper_misses_total unauthorized": 2,
    "second quotekeeper_misses_total down": 4,
  });
  expect(Object.keys(one).filter((series) => /^(default|second) /.test(series))).toEqual([]);
  expect(one["main quotekeeper_calls_total quotes"]).toBe(1);
  expect(back).toMatchObject({
    "second quotekeeper_calls_total quotes": 1,
    "second quotekeeper_calls_total unauthorized": 0,
    "second quotekeeper_misses_total down": 0,
  });
});
