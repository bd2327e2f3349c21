/**
 * The tests that mutants are tried on: pure, and each over within moments. None needs a database; with MUTANTS_DATABASE=1 the
 * tests of the files that do are run as well (docs/makers/mutants.md).
 */
import { fileURLToPath } from "node:url";
import base from "../../jest.config.js";

const { globalSetup, globalTeardown, ...rest } = base;

const withDatabase = process.env.MUTANTS_DATABASE
  ? {
      setup: { globalSetup, globalTeardown },
      tests: ["ledger/settler", "files/lake/sqlCache", "files/lake/sqlBorder"],
    }
  : { setup: {}, tests: [] };

export default {
  ...rest,
  ...withDatabase.setup,
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
    "<rootDir>/test/quotes/*.test.ts",
    "<rootDir>/test/services/**/*.test.ts",
    "<rootDir>/test/accounts/lease{,View}.test.ts",
    "<rootDir>/test/ground/clock.test.ts",
    "<rootDir>/test/read/*.test.ts",
    "<rootDir>/test/collector/fleet.test.ts",
    "<rootDir>/test/web/{events,rememberAnswers}.test.ts",
    ...withDatabase.tests.map((name) => `<rootDir>/test/${name}.test.ts`),
  ],
  testSequencer: "<rootDir>/test/mutants/sequencer.js",
  runner: "<rootDir>/test/mutants/runner.js",
  // Thousands of random documents or histories, simulated hours, or a database: too long for each mutant.
  testPathIgnorePatterns: [
    "/test/collect/governor/(?:matrix|properties)\\.test\\.ts$",
    "/test/(?:quotes|services/reference)/(?:fuzz|hostile|newField|twoReaders|wholeAnswers)\\.test\\.ts$",
    "/test/services/tradierPath\\.test\\.ts$",
  ],
};
