/** `status --watch`. No test waits: the clock's sleeps are over at once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "@jest/globals";
import { status } from "../../src/cli/status.ts";
import { widthOf } from "../../src/cli/terminal/width.ts";
import { runProgram } from "../../src/cli/program.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, type Outcome } from "./edges.ts";

const { url } = await freshDatabase();

/** Where it is watched; `narrowTo`: the width it gets after the first look. */
type Terminal = { isTTY?: boolean; env?: Record<string, string>; rows?: number; narrowTo?: number };

/** Watches, and presses Ctrl-C in the third wait. */
async function watch(
  argv: string[],
  { isTTY = false, env = {}, rows, narrowTo }: Terminal = {},
): Promise<Outcome & { slept: number[] }> {
  const jobs = tempDir();
  writeFileSync(join(jobs, "job.yaml"), 'name: job\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  let interrupt = (): void => undefined;
  let resized = (): void => undefined;
  // The end of connections has shorter waits.
  const waits = (): number[] => clock.slept.filter((ms) => ms >= 1_000);
  const looks = (): number => waits().length;
  const clock = createTestClock("2026-11-20T15:00:00Z", {
    onSleep: () => {
      if (looks() === 1 && narrowTo !== undefined) {
        captured.edges.stdout.columns = narrowTo;
        resized();
      }
      if (looks() === 3) interrupt();
    },
  });
  const settings = { DATABASE_URL: url, QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: tempDir(), ...env };
  const captured = capturedEdges({ env: settings, clock, isTTY });
  Object.assign(captured.edges.stdout, {
    columns: 80,
    rows,
    onResize: (callback: () => void) => {
      resized = callback;
      return () => (resized = () => undefined);
    },
  });
  interrupt = captured.interrupt;

  const exitCode = await runProgram(["status", "--watch", ...argv], captured.edges);

  return { exitCode, stdout: captured.stdout(), stderr: captured.stderr(), slept: waits() };
}

test("status --watch elsewhere than on a terminal prints a block at each look, every five seconds, until Ctrl-C", async () => {
  const { exitCode, stdout, stderr, slept } = await watch([]);

  const blocks = stdout.split("\n\n");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(slept).toEqual([5_000, 5_000, 5_000]);
  expect(blocks.map((block) => block.split("\n")[0])).toEqual([
    "2026-11-20 10:00:00 New York, every 5 s",
    "2026-11-20 10:00:05 New York, every 5 s",
    "2026-11-20 10:00:10 New York, every 5 s",
  ]);
  for (const block of blocks) expect(block).toMatch(/^database {2}ok /m);
  expect(stdout).not.toContain("\u001b");
});

test("each look of status --watch --json is one line", async () => {
  const { stdout } = await watch(["--json"]);

  const looks = stdout.trimEnd().split("\n");
  expect(looks).toHaveLength(3);
  for (const look of looks) status.json.parse(JSON.parse(look));
});

/** What takes a terminal to another screen and back, and to that screen's top. */
const [ENTER, LEAVE, TOP] = [
  "\u001b[?1049h\u001b[?25l\u001b[?7l",
  "\u001b[?7h\u001b[?25h\u001b[?1049l",
  "\u001b[H",
];

test("status --watch on a terminal draws each look over the one before in one piece, on a screen of its own", async () => {
  const { stdout } = await watch(["2"], { isTTY: true });

  const [before, first = "", second = "", third = ""] = stdout.split(TOP);
  expect(before).toBe(ENTER);
  expect(first).toMatch(/^2026-11-20 10:00:00 New York, every 2 s; Ctrl-C ends it/);
  expect(second).toMatch(/^2026-11-20 10:00:02 New York/);
  expect(second.split("\n")).toHaveLength(first.split("\n").length);
  // The last look stays where the terminal was before, with its cursor.
  expect(third.split(LEAVE)[1]).toMatch(/^2026-11-20 10:00:04 New York[\s\S]*\njournal .*\n$/);
  // The screen is never cleared as a whole: that flickers.
  expect(stdout).not.toContain("\u001b[2J");
});

test("status --watch draws again at once when the terminal becomes narrow, and no line is wider than the terminal", async () => {
  const { stdout, slept } = await watch([], { isTTY: true, narrowTo: 50 });

  const blocks = stdout.split(TOP).slice(1);
  const widths = blocks.map((block) =>
    Math.max(
      ...(block.split(LEAVE)[0] ?? "").split("\n").map((line) => widthOf(stripVTControlCharacters(line))),
    ),
  );
  expect(slept).toHaveLength(3);
  expect(blocks).toHaveLength(4);
  expect(blocks[1]).toMatch(/^2026-11-20 10:00:00 New York/);
  expect(widths[0]).toBeGreaterThan(50);
  for (const width of widths.slice(1)) expect(width).toBeLessThan(50);
});

test("status --watch on a terminal of few lines keeps the top of the block in sight", async () => {
  const { stdout } = await watch([], { isTTY: true, rows: 4 });

  const [, first = ""] = stdout.split(TOP);
  expect(first.split("\n")).toHaveLength(4);
  expect(first).toMatch(/^2026-11-20 10:00:00 New York/);
});

test("status --watch looks for a database that is away at each look; the exit code is that of the last look", async () => {
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
