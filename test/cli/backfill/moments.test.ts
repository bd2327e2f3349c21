import { expect, test } from "@jest/globals";
import { run } from "../edges.ts";

/** What backfill reads the two options as: an order that is wrong is told with both times. */
async function readAs(from: string, to: string): Promise<string[]> {
  const { stderr } = await run(["backfill", "--gaps", "--from", from, "--to", to]);
  return /^error: --from (\S+) is not before --to (\S+)$/m.exec(stderr)?.slice(1) ?? [stderr];
}

test.each([
  ["2026-11-17", "2026-11-17T05:00:00.000000Z", "2026-11-18T05:00:00.000000Z"],
  // The clocks go back on 1 November 2026: that date has 25 hours.
  ["2026-11-01", "2026-11-01T04:00:00.000000Z", "2026-11-02T05:00:00.000000Z"],
  ["2026-11-17T10:00:00-05:00", "2026-11-17T15:00:00.000000Z", "2026-11-17T15:00:00.000000Z"],
  ["2026-11-17T15:00:00.123456Z", "2026-11-17T15:00:00.123456Z", "2026-11-17T15:00:00.123456Z"],
])("backfill takes --from %s for %s, and --to for %s", async (text, from, to) => {
  expect(await readAs(text, "1990-01-01T00:00:00Z")).toEqual([from, "1990-01-01T00:00:00.000000Z"]);
  expect(await readAs("2099-01-01T00:00:00Z", text)).toEqual(["2099-01-01T00:00:00.000000Z", to]);
});

test.each(["2026-02-30", "yesterday", "2026-11-17T10:00:00", "", "17.11.2026"])(
  "%p is neither a date nor a time with its offset",
  async (text) => {
    for (const option of ["--from", "--to"]) {
      const { exitCode, stderr } = await run(["backfill", "--gaps", option, text]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("Expected an exchange date")]);
    }
  },
);
