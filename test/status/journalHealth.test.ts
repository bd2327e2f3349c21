import { mkdir, readdir } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { nodeFs, type JournalFs } from "../../src/journal/fs.ts";
import { journalHealth } from "../../src/status/journalHealth.ts";
import { createTestClock } from "../support/clock.ts";
import { errno, freshDir, fsWith, handClock } from "../journal/world.ts";

async function madeDir(): Promise<string> {
  const dir = freshDir();
  await mkdir(dir, { recursive: true });
  return dir;
}

const enospc = () => Promise.reject(errno("ENOSPC"));

/** A disk that is full for one step. */
const FULL: Record<string, [says: string, fs: JournalFs]> = {
  open: ["a new file cannot be made", fsWith({ open: enospc })],
  write: ["a file cannot be written", filesWith({ write: enospc })],
  fsync: ["a file cannot be synced", filesWith({ datasync: enospc })],
  rename: ["a file cannot be renamed", fsWith({ rename: enospc })],
};

function filesWith(replaced: object): JournalFs {
  return fsWith({
    open: async (path, flags) => {
      const file = await nodeFs.open(path, flags);
      const close = () => file.close();
      return {
        ...file,
        write: file.write.bind(file),
        datasync: () => file.datasync(),
        close,
        ...replaced,
      } as never;
    },
  });
}

test.each(Object.entries(FULL))(
  "a disk that is full at %s is found out, and nothing is left on it",
  async (_step, [says, fs]) => {
    const dir = await madeDir();

    const health = await journalHealth(dir, null, { clock: handClock(), maxBytes: undefined, fs });

    expect(health).toMatchObject({
      state: "attention",
      text: expect.stringContaining(`JOURNAL_WRITE_FAILED: ${dir}: ${says}: ENOSPC`),
    });
    expect(await readdir(dir)).toEqual([]);
  },
);

test.each([
  [3_100, "attention", "took 3.1 s until it was on the disk"],
  [1_900, "idle", "empty"],
])("of a disk that takes %d ms for a sync the journal's line says %s: %s", async (ms, state, text) => {
  const dir = await madeDir();
  const clock = createTestClock();
  const fs = filesWith({ datasync: async () => clock.advance(ms) });

  const health = await journalHealth(dir, null, { clock, maxBytes: undefined, fs });

  expect(health).toMatchObject({ state, text: expect.stringContaining(text) });
});

test("a journal that can be written is left as it is", async () => {
  const dir = await madeDir();

  const { state } = await journalHealth(dir, null, { clock: handClock(), maxBytes: undefined });

  expect(state).toBe("idle");
  expect(await readdir(dir)).toEqual([]);
});
