import { availableParallelism } from "node:os";

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
  // It ends a test that hangs, and is no bound on anything: a machine may be slow, and busy with other things.
  testTimeout: 600_000,
};
