import { expect, test } from "@jest/globals";
import { syncDirectory } from "../../src/journal/fs.ts";
import { tempDir } from "../support/tempDir.ts";
import { errno } from "./world.ts";

type OpenDirectory = NonNullable<Parameters<typeof syncDirectory>[1]>;

/** A file system that fails at a step, and which directories of it are open. */
function failingAt(step: "open" | "sync", code: string): { open: OpenDirectory; stillOpen: Set<string> } {
  const stillOpen = new Set<string>();
  const open: OpenDirectory = async (path) => {
    if (step === "open") throw errno(code);
    stillOpen.add(path);
    return {
      sync: () => Promise.reject(errno(code)),
      close: async () => void stillOpen.delete(path),
    };
  };
  return { open, stillOpen };
}

test("the names in a directory are synced on this machine", async () => {
  await expect(syncDirectory(tempDir())).resolves.toBeUndefined();
});

test.each([
  ["sync", "EPERM", "Windows, which opens a directory and does not sync it"],
  ["open", "EISDIR", "Windows, as it was before"],
  ["sync", "EINVAL", "a network file system"],
] as const)(
  "the names in a directory need no step of their own where %s answers %s: %s",
  async (step, code, _where) => {
    const { open, stillOpen } = failingAt(step, code);

    await expect(syncDirectory("journal", open)).resolves.toBeUndefined();
    expect(stillOpen.size).toBe(0);
  },
);

test.each([
  ["sync", "EIO"],
  ["sync", "ENOSPC"],
  ["open", "ENOENT"],
  ["open", "EACCES"],
] as const)("the names in a directory do not count as safe when %s fails with %s", async (step, code) => {
  const { open, stillOpen } = failingAt(step, code);

  await expect(syncDirectory("journal", open)).rejects.toMatchObject({ code });
  expect(stillOpen.size).toBe(0);
});
