/** The file of the sweep that is under way. */
import { expect, test } from "@jest/globals";
import { closeRun, findRun, openRun } from "../../../src/backfill/sweep/runFile.ts";
import type { Processes } from "../../../src/processes.ts";
import { at } from "../../support/journal.ts";
import { tempDir } from "../../support/tempDir.ts";

const NAME = "sweep-0123456789ab";

/** Processes of which those named run. */
function processes(pid: number, ...running: number[]): Processes {
  return { pid, isRunning: (other) => running.includes(other) };
}

test("a sweep whose process is gone is gone on with, from when it began; a finished one begins anew", async () => {
  const dir = tempDir();

  const begun = await openRun(dir, NAME, { now: at(0), restart: false, processes: processes(7) });
  const again = await openRun(dir, NAME, { now: at(60), restart: false, processes: processes(8) });
  await closeRun(again);
  const anew = await openRun(dir, NAME, { now: at(120), restart: false, processes: processes(9) });

  expect(begun).toMatchObject({ name: NAME, begunAt: at(0), resumed: false });
  expect(again).toMatchObject({ name: NAME, begunAt: at(0), resumed: true });
  expect(anew).toMatchObject({ name: NAME, begunAt: at(120), resumed: false });
});

test("--restart begins anew what was not finished", async () => {
  const dir = tempDir();
  await openRun(dir, NAME, { now: at(0), restart: false, processes: processes(7) });

  const anew = await openRun(dir, NAME, { now: at(60), restart: true, processes: processes(8) });

  expect(anew).toMatchObject({ name: NAME, begunAt: at(60), resumed: false });
  expect(await findRun(dir, NAME)).toMatchObject({ name: NAME, begunAt: at(60), resumed: true });
});

test.each([false, true])(
  "what another process is at is left to it, also with --restart: %s",
  async (restart) => {
    const dir = tempDir();
    await openRun(dir, NAME, { now: at(0), restart: false, processes: processes(7) });

    const second = openRun(dir, NAME, { now: at(60), restart, processes: processes(8, 7, 8) });

    await expect(second).rejects.toMatchObject({ code: "BACKFILL_OVERTAKEN" });
    expect(await findRun(dir, NAME)).toMatchObject({ begunAt: at(0) });
  },
);
