import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "@jest/globals";

const made: string[] = [];

afterAll(() => {
  // A program that was told to end (a browser, PostgreSQL) may still write there for a moment.
  for (const dir of made) rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
});

/** An empty directory, removed when the test file ends. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "qk-"));
  made.push(dir);
  return dir;
}

/** The same, in which PostgreSQL can run: it does not run as root but as another user, who has to get in. */
export function openDir(): string {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  return dir;
}

/** A directory with these files, by name; removed when the test file ends. */
export function dirWith(files: Readonly<Record<string, string>>): string {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}
