import { existsSync, statSync, writeFileSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { makeDirectories } from "../../src/journal/makeDirectories.ts";
import { tempDir } from "../support/tempDir.ts";

test("a directory is made with those above it, also by many callers at once, and again without harm", async () => {
  const dir = join(tempDir(), "a", "b", "c");

  await Promise.all(Array.from({ length: 10 }, () => makeDirectories(dir, 0o700)));
  await makeDirectories(dir);

  expect(statSync(dir).isDirectory()).toBe(true);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
});

test("a directory is made when another program makes the one above it at the same time", async () => {
  const above = join(tempDir(), "above");
  let tries = 0;
  const fs: Parameters<typeof makeDirectories>[2] = {
    stat,
    mkdir: (async (path: string, options: { mode: number }) => {
      tries += 1;
      if (tries > 1) return mkdir(path, options);
      // The other one is there just after the system has said that it is not.
      const refused = mkdir(path, options);
      await refused.catch(() => mkdir(above));
      return refused;
    }) as typeof mkdir,
  };

  await makeDirectories(join(above, "below"), 0o700, fs);

  expect(statSync(join(above, "below")).isDirectory()).toBe(true);
});

test("a directory below a file, or in place of one, is refused with the system's reason", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");

  await expect(makeDirectories(join(file, "a"))).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(makeDirectories(file)).rejects.toMatchObject({ code: "EEXIST" });
});

const onLinux = existsSync("/proc/self") ? test : test.skip;
onLinux("where the system has no place for it is refused, not tried for ever", async () => {
  await expect(makeDirectories("/proc/no-such-place/a")).rejects.toMatchObject({ code: "ENOENT" });
});
