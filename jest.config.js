/** @type {import("jest").Config} */
export default {
  testEnvironment: "node",
  globalSetup: "<rootDir>/test/support/postgres/globalSetup.js",
  globalTeardown: "<rootDir>/test/support/postgres/globalTeardown.js",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      {
        jsc: { target: "es2022", parser: { syntax: "typescript" } },
        module: { type: "es6" },
        sourceMaps: "inline",
      },
    ],
  },
  testTimeout: 30_000,
};
