/** The tests that mutants are tried on: pure, and each over within moments. None needs a database. */
import { fileURLToPath } from "node:url";
import base from "../../jest.config.js";

const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = base;

export default {
  ...rest,
  rootDir: "../..",
  // StrykerJS resolves it itself, and knows no <rootDir>.
  testEnvironment: fileURLToPath(new URL("../support/jest-circus/environment.js", import.meta.url)),
  // A mutant of a constant is seen only where the program is loaded anew for each file.
  testEnvironmentOptions: { anew: "program" },
  // Each worker of Stryker is a process of its own.
  maxWorkers: 1,
  testMatch: [
    "<rootDir>/test/collect/governor/*.test.ts",
    "<rootDir>/test/collect/{budgetPlan,callPlan,quickPlan}.test.ts",
    "<rootDir>/test/schedule/{slots,cron}.test.ts",
    "<rootDir>/test/market/**/*.test.ts",
    "<rootDir>/test/quotes-api/*.test.ts",
    "<rootDir>/test/quotes-api/oauth/*.test.ts",
    "<rootDir>/test/accounts/lease{,View}.test.ts",
    "<rootDir>/test/clock.test.ts",
    "<rootDir>/test/read/*.test.ts",
    "<rootDir>/test/archive/dividendChanges.test.ts",
  ],
  testSequencer: "<rootDir>/test/mutants/sequencer.js",
  runner: "<rootDir>/test/mutants/runner.js",
  // Thousands of random documents or histories, simulated hours, or a database: too long for each mutant.
  testPathIgnorePatterns: [
    "/test/collect/governor/(?:matrix|properties)\\.test\\.ts$",
    "/test/quotes-api/(?:fuzz|hostile|newField|twoReaders|wholeAnswers)\\.test\\.ts$",
  ],
};
