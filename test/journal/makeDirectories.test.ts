import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { makeDirectories } from "../../src/journal/makeDirectories.ts";
import { tempDir } from "../support/tempDir.ts";

describe("a directory", () => {
  test("is made with those above it, also by many at once, and again without harm", async () => {
    const above = tempDir();
    // Many rounds: whether one program comes between two steps of another is chance.
    for (let round = 0; round < 200; round++) {
      const dir = join(above, String(round), "b", "c");

      await Promise.all(Array.from({ length: 10 }, () => makeDirectories(dir, 0o700)));
      await makeDirectories(dir);

      expect(statSync(dir).isDirectory()).toBe(true);
      expect(statSync(dir).mode & 0o777).toBe(0o700);
    }
  });

  test("below a file, or in place of one, is refused with the system's reason", async () => {
    const file = join(tempDir(), "file");
    writeFileSync(file, "");

    await expect(makeDirectories(join(file, "a"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(makeDirectories(file)).rejects.toMatchObject({ code: "EEXIST" });
  });

  const onLinux = existsSync("/proc/self") ? test : test.skip;
  onLinux("where the system has no place for it is refused, not tried for ever", async () => {
    await expect(makeDirectories("/proc/no-such-place/a")).rejects.toMatchObject({ code: "ENOENT" });
  });
});
