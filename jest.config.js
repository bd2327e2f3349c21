import { availableParallelism } from "node:os";

/** Libraries of ES modules in which the tests spend much of their time: see transform.js. */
const COMPUTING = "fast-check|pure-rand|drizzle-orm|temporal-polyfill";

/** @type {import("jest").Config} */
export default {
  testEnvironment: "<rootDir>/test/support/environment.js",
  globalSetup: "<rootDir>/test/support/postgres/globalSetup.js",
  globalTeardown: "<rootDir>/test/support/postgres/globalTeardown.js",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": "<rootDir>/test/support/transform.js",
    [`/node_modules/(?:${COMPUTING})/.+\\.js$`]: "<rootDir>/test/support/transform.js",
  },
  transformIgnorePatterns: [`/node_modules/(?!(?:${COMPUTING})/)`],
  // More than there are processors: tests wait for the database, and for programs they have started.
  maxWorkers: availableParallelism() + 2,
  // Modules of a test file are never let go of: a worker that has run many is slowed down by its own memory.
  workerIdleMemoryLimit: "700MB",
  // It ends a test that hangs, and is no bound on anything: a machine may be slow, and busy with other things.
  testTimeout: 600_000,
};
