/** `status --watch`. No test waits: the clock's sleeps are over at once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { JSON_SCHEMAS } from "../../src/cli/json/schemas.ts";
import { runProgram } from "../../src/cli/program.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, type Outcome } from "./edges.ts";

const { url } = await freshDatabase();

/** Watches, and presses Ctrl-C in the third wait. */
async function watch(
  argv: string[],
  { isTTY = false, env = {} }: { isTTY?: boolean; env?: Record<string, string> } = {},
): Promise<Outcome & { slept: number[] }> {
  const jobs = tempDir();
  writeFileSync(join(jobs, "job.yaml"), 'name: job\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  let interrupt = (): void => undefined;
  const clock = createTestClock("2026-11-20T15:00:00Z", {
    onSleep: () => {
      if (clock.slept.length === 3) interrupt();
    },
  });
  const settings = { DATABASE_URL: url, QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: tempDir(), ...env };
  const captured = capturedEdges({ env: settings, clock, isTTY });
  captured.edges.stdout.columns = 80;
  interrupt = captured.interrupt;

  const exitCode = await runProgram(["status", "--watch", ...argv], captured.edges);

  return { exitCode, stdout: captured.stdout(), stderr: captured.stderr(), slept: clock.slept };
}

test("elsewhere than on a terminal it prints a block at each look, every five seconds, until Ctrl-C", async () => {
  const { exitCode, stdout, stderr, slept } = await watch([]);

  const blocks = stdout.split("\n\n");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(slept).toEqual([5_000, 5_000, 5_000]);
  expect(blocks.map((block) => block.split("\n")[0])).toEqual([
    "2026-11-20 15:00:00 UTC, every 5 s",
    "2026-11-20 15:00:05 UTC, every 5 s",
    "2026-11-20 15:00:10 UTC, every 5 s",
  ]);
  for (const block of blocks) expect(block).toMatch(/^database {2}ok /m);
  expect(stdout).not.toContain("\u001b");
});

test("with --json each look is one line", async () => {
  const { stdout } = await watch(["--json"]);

  const looks = stdout.trimEnd().split("\n");
  expect(looks).toHaveLength(3);
  for (const look of looks) JSON_SCHEMAS["status"]?.parse(JSON.parse(look));
});

test("on a terminal each look is drawn over the one before in one piece, and the cursor comes back", async () => {
  const { stdout } = await watch(["2"], { isTTY: true });

  const [first = "", second = ""] = stdout.split(/\u001b\[\d+A\r/);
  const height = first.split("\n").length - 1;
  expect(stdout.startsWith("\u001b[?25l2026-11-20 15:00:00 UTC, every 2 s; Ctrl-C ends it")).toBe(true);
  expect(stdout).toContain(`\u001b[${height}A\r2026-11-20 15:00:02 UTC`);
  expect(second.split("\n")).toHaveLength(height + 1);
  expect(stdout.endsWith("\u001b[?25h")).toBe(true);
  // The screen is never cleared as a whole: that flickers.
  expect(stdout).not.toContain("\u001b[2J");
});

test("a database that is away is looked for again at each look; the exit code is that of the last one", async () => {
  const away = `postgresql://me:canary@127.0.0.1:${await closedPort()}/quotes`;

  const { exitCode, stdout } = await watch([], { env: { DATABASE_URL: away } });

  expect(exitCode).toBe(1);
  expect(stdout.match(/DATABASE_UNREACHABLE/g)).toHaveLength(3);
});

test.each(["0", "soon", "1.5"])("an interval of %j is wrong usage", async (interval) => {
  const { exitCode, stdout, stderr } = await watch([interval]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain("Expected a whole number from 1 to 86400");
});
