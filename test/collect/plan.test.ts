/** From jobs that are due to calls: what is asked once, for whom, and how urgently. */
import { describe, expect, test } from "@jest/globals";
import { dueNames, halved, planCalls, split, withSymbols } from "../../src/collect/plan.ts";
import { contractsOf, dueJob, SLOT_MS } from "./due.ts";

const OPTIONS = { batchSize: 100 };

describe("a call that several jobs share", () => {
  const calm = dueJob({ name: "calm", symbols: ["A", "B"], priority: 1, deadlineMs: SLOT_MS + 300_000 });
  const urgent = dueJob({ name: "urgent", symbols: ["A"], priority: 9, deadlineMs: SLOT_MS + 60_000 });
  const lastSeenMs = (name: string): number => (name === "A" ? SLOT_MS : SLOT_MS - 5_000);

  test.each([
    ["whichever comes first", [calm, urgent]],
    ["also when the calm one comes last", [urgent, calm]],
  ])("is as urgent as the most urgent of what it asks for, %s", (_order, due) => {
    const [call] = planCalls(due, { ...OPTIONS, lastSeenMs });

    expect(call).toMatchObject({
      ...{ priority: 9, deadlineMs: SLOT_MS + 60_000, unseenSinceMs: SLOT_MS - 5_000 },
      call: { form: "symbols", symbols: ["A", "B"] },
    });
  });

  test("is in each of its parts as urgent as what is left there", () => {
    const [call] = planCalls([calm, urgent], OPTIONS);
    if (call === undefined) throw new Error("nothing was planned");
    const [first, second] = halved(call) ?? [];
    const [, forCalm] = split(call, ({ job }) => job === "urgent");

    expect(withSymbols(call, ["A", "B"])).toMatchObject({ priority: 9, deadlineMs: SLOT_MS + 60_000 });
    expect(first).toMatchObject({ priority: 9, deadlineMs: SLOT_MS + 60_000, jobs: ["calm", "urgent"] });
    expect(second).toMatchObject({ priority: 1, deadlineMs: SLOT_MS + 300_000, jobs: ["calm"] });
    expect(forCalm).toMatchObject({ priority: 1, deadlineMs: SLOT_MS + 300_000, jobs: ["calm"] });
  });
});

test("a contract that a job names, and one of its chains as well, is due once and wanted once", () => {
  const due = dueJob({ name: "twice", contracts: [...contractsOf(1), ...contractsOf(2)] });
  const calls = planCalls([due], OPTIONS);

  expect(dueNames(due)).toEqual(["AAPL:2026-12-18:CALL:1", "AAPL:2026-12-18:CALL:2"]);
  expect(calls.map(({ wants }) => [...wants.values()].map((each) => each.length))).toEqual([[1], [1]]);
});
