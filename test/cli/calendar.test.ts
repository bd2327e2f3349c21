import { expect, test } from "@jest/globals";
import { run } from "./edges.ts";

test("calendar says why a day is closed, and leaves weekends out; --json has sessions alone", async () => {
  const dates = ["--from", "2026-11-25", "--to", "2026-11-30"];
  const listed = await run(["calendar", ...dates]);
  const json = await run(["calendar", ...dates, "--json"]);
  const all = await run(["calendar", ...dates, "--closed"]);

  expect(listed.stdout).toMatch(/^2026-11-26 +closed +Thanksgiving Day$/m);
  const datesOf = (text: string): string[] => text.match(/2026-11-\d\d/g) ?? [];
  expect(datesOf(listed.stdout)).toEqual(["2026-11-25", "2026-11-26", "2026-11-27", "2026-11-30"]);
  expect((JSON.parse(json.stdout) as { date: string }[]).map(({ date }) => date)).toEqual([
    "2026-11-25",
    "2026-11-27",
    "2026-11-30",
  ]);
  expect(datesOf(all.stdout)).toHaveLength(6);
});

test("calendar --closed --json lists every day with its kind and why it is not a usual one", async () => {
  const dates = ["--from", "2025-07-03", "--to", "2025-07-07"];
  const { stdout } = await run(["calendar", ...dates, "--closed", "--json"]);

  const days = JSON.parse(stdout) as { kind: string; reason: string | null }[];
  expect(days[0]).toMatchObject({
    ...{ date: "2025-07-03", pre: "2025-07-03T08:00:00.000Z", open: "2025-07-03T13:30:00.000Z" },
    ...{ close: "2025-07-03T17:00:00.000Z", post: "2025-07-03T21:00:00.000Z" },
  });
  expect(days.map(({ kind, reason }) => [kind, reason])).toEqual([
    ["early", "day before Independence Day"],
    ["closed", "Independence Day"],
    ["closed", "weekend"],
    ["closed", "weekend"],
    ["regular", null],
  ]);
});
