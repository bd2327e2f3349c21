import { availableParallelism } from "node:os";

/**
 * A test that hangs is red after so long, ms. No test depends on a machine's speed: the few that may take longer on a slow
 * machine set 300 s at the top of their file, with the reason.
 */
const HANGS_AFTER_MS = 60_000;

/** How many times as long the tests may take: properties are tried RUNS times as often, and on Citus each answer is stored by several servers. */
const LONGER = Number(process.env.RUNS || 1) * (process.env.TEST_CITUS_URL ? 5 : 1);

/** @type {import("jest").Config} */
export default {
  // Without contexts: see there. So nothing is for jest to transform.
  testRunner: "<rootDir>/test/support/jest-circus/runner.js",
  testEnvironment: "<rootDir>/test/support/jest-circus/environment.js",
  testSequencer: "<rootDir>/test/support/jest-circus/sequencer.js",
  transform: {},
  injectGlobals: false,
  // One turn more after each test, so that a promise it left to fail is known as its own.
  waitForUnhandledRejections: true,
  globalSetup: "<rootDir>/test/support/postgres/globalSetup.js",
  globalTeardown: "<rootDir>/test/support/postgres/globalTeardown.js",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  // More than there are processors: tests wait for the database, and for programs they have started.
  maxWorkers: availableParallelism() + 2,
  // Modules of a test file are never let go of: a worker that has run many is slowed down by its own memory.
  workerIdleMemoryLimit: "700MB",
  testTimeout: HANGS_AFTER_MS * LONGER,
};
