/**
 * Runs once before all tests, in jest's own process: finds a place for temporary files and for the compiled program, and
 * offers databases to the test files (see `desk.ts`). A server is started when the first of them asks, so a run of pure
 * tests starts none.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { directoryInMemory } from "../inMemory.js";
import { allowTypescript } from "./typescript.js";

// eslint-disable-next-line import-x/no-default-export -- jest calls the default export
export default async function setup() {
  // Tests talk to this machine alone, and each program that they start would read them, in 40 ms for 144.
  delete process.env.NODE_EXTRA_CA_CERTS;
  const inMemory = process.env.TMPDIR ? null : directoryInMemory();
  if (inMemory !== null) {
    process.env.TMPDIR = inMemory;
    process.once("exit", () => rmSync(inMemory, { recursive: true, force: true, maxRetries: 10 }));
  }
  const programs = mkdtempSync(join(tmpdir(), "qk-program-"));
  process.once("exit", () => rmSync(programs, { recursive: true, force: true, maxRetries: 10 }));
  process.env.TEST_PROGRAM = join(programs, "dist");
  allowTypescript();
  const { openDesk } = await import("./desk.ts");
  const desk = await openDesk(process.env.TEST_DATABASE_URL || null, process.env.TEST_CITUS_URL || null);
  // Workers inherit the environment; the teardown runs in this process.
  process.env.TEST_DATABASE_DESK = desk.url;
  globalThis.testDatabaseDesk = desk;
}
