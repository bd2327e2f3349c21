/**
 * Mutants of the pure code: each line changed in turn, to see whether a test fails. The score is the share that fails;
 * docs/makers/mutants.md judges what survives.
 *
 * @type {import("@stryker-mutator/api/core").PartialStrykerOptions}
 */
export default {
  mutate: [
    "src/collect/governor/*.ts",
    "src/collect/{asks,callPlan,budgetPlan,budgetWalk}.ts",
    "src/schedule/{cron,jobSchedule,slots}.ts",
    "src/quotes/**/*.ts",
    "src/services/**/*.ts",
    "src/market/**/*.ts",
    "src/read/*.ts",
    "src/accounts/lease/{fleet,filesDigest,leaseFile,leaseRules,leaseView}.ts",
    "src/web/api/{events,rememberAnswers}.ts",
    // Each of their mutants takes as long as a database and its tests.
    ...(process.env.MUTANTS_DATABASE
      ? ["src/ledger/settler.ts", "src/files/sql/{fillTables,hotFiles}.ts"]
      : []),
  ],
  // The wording of messages is held by no test on purpose; what a text decides (a phase, a form) is a type.
  mutator: { excludedMutations: ["StringLiteral"] },

  plugins: ["@stryker-mutator/jest-runner"],
  testRunner: "jest",
  jest: { projectType: "custom", configFile: "test/mutants/jest.config.js", enableFindRelatedTests: true },
  coverageAnalysis: "perTest",

  concurrency: 1,
  // Modules of a run are never let go of: a worker that has tried many mutants becomes slow.
  maxTestRunnerReuse: 30,
  // An endless loop counts as killed; the bound grows with the time that the tests take here.
  timeoutMS: 2_500,
  timeoutFactor: 3,

  reporters: ["clear-text", "progress-append-only", "json"],
  clearTextReporter: { logTests: false },
  jsonReporter: { fileName: "reports/mutants.json" },
  // Without tsconfig.json in the sandbox Stryker needs no TypeScript of its own.
  ignorePatterns: ["data", "dist", "dist.*", "reports", "tsconfig.json"],
};
