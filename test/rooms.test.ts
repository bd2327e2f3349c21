/** The house as `src/` draws it: who imports whom, types included. What stands below what is lint's (eslint.config.js). */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { emptyFeatures } from "../scripts/features.js";
import { placesIn } from "../scripts/words.js";
import { measureFeatures, measureRooms, type Rooms } from "../scripts/rooms.js";
import { tempDir } from "./support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join("src", name));

/** They, and what else may use them. */
const sources = ["test", "bench", "scripts"].reduce(
  (all, dir) => [
    ...all,
    ...readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(dir, name)),
  ],
  files,
);

/** What is written in JavaScript: it needs no compiler, or starts one. */
const SCRIPTS = readdirSync(join(ROOT, "scripts")).flatMap((name) =>
  name.endsWith(".js") ? [join("scripts", name)] : [],
);

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** The texts of comments; one behind code counts too, an address in a string does not. */
function commentsOf(text: string): string[] {
  return [...text.matchAll(/(?<=^|\s)(?:\/\*[^]*?\*\/|\/\/ .*)/gm)].map(([comment]) => comment);
}

/** The files that a file imports, at its start or when it runs. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import|import\()\s*"(\.[^"]+)"/g)]
    .map(([, path = ""]) => join(dirname(file), path))
    .filter((path) => files.includes(path));
}

/** What is left when files that import no other, or none but such, are taken away again and again: the circles. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(imports);
  let before: number;
  do {
    before = left.size;
    for (const [file, others] of left) if (!others.some((other) => left.has(other))) left.delete(file);
  } while (left.size < before);
  return [...left.keys()];
}

test("no file imports itself by way of others, not even for a type", () => {
  const imports = new Map(files.map((file) => [file, importsOf(file)]));

  expect([...imports.values()].flat().length).toBeGreaterThan(files.length);
  expect(circles(imports)).toEqual([]);
});

/** What `src/` imports of a library at run time: `name` of a named import, `default` of the others. */
function importedOf(library: string): Set<string> {
  const from = new RegExp(`^import (?!type\\b)(\\w+|\\{[^}]*\\}) from "${library}"`, "gm");
  const clauses = files.flatMap((file) => [...read(file).matchAll(from)].map(([, clause = ""]) => clause));
  const names = clauses.flatMap((clause) =>
    clause.startsWith("{") ? clause.slice(1, -1).split(",") : ["default"],
  );
  return new Set(names.map((name) => name.trim()).filter((name) => name !== "" && !name.startsWith("type ")));
}

test.each([
  ["node-cron", "schedule", "ticks at the times of jobs"],
  ["p-queue", "default", "holds the calls that wait"],
  ["oauth-1.0a", "default", "signs the calls"],
  ["fast-xml-parser", "XMLBuilder", "writes the service's XML"],
  ["fast-xml-parser", "XMLParser", "reads what the pattern does not"],
  ["lossless-json", "parse", "reads the other services' JSON"],
  ["drizzle-orm/pg-core", "pgTable", "has the tables of the schema"],
  ["drizzle-orm", "sql", "makes statements"],
  ["pg", "default", "connects to the database"],
])("%s is a part of the program: its `%s` %s", (library, name) => {
  expect([...importedOf(library)]).toContain(name);
});

test("no room of `rooms.json` is over its number: whoever lets one grow raises the number in the same commit, and says why", () => {
  const numbers = JSON.parse(read("rooms.json")) as Rooms;
  const now = measureRooms(ROOT);
  const over = (side: "src" | "test"): string[] =>
    Object.entries(now[side]).flatMap(([room, lines]) =>
      lines > (numbers[side][room] ?? 0)
        ? [`${side}/${room} has ${lines} lines, ${numbers[side][room] ?? 0} are its number`]
        : [],
    );

  expect([...over("src"), ...over("test")]).toEqual([]);
  expect(now.docs).toBeLessThanOrEqual(numbers.docs);
  for (const side of ["src", "test"] as const)
    expect(Object.keys(numbers[side])).toEqual(Object.keys(now[side]));
});

test("each feature that the house counts has files, and the counts add up to the rooms", () => {
  const lines = (counts: Record<string, number>): number =>
    Object.values(counts).reduce((sum, one) => sum + one, 0);

  expect(emptyFeatures(files.map((file) => file.slice("src/".length)))).toEqual([]);
  expect(lines(measureFeatures(ROOT))).toBe(lines(measureRooms(ROOT).src));
});

test("a name of a file is used once in the house", () => {
  const names = files.map((file) => basename(file));

  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
});

test("what one file uses is not exported, but for assumptions, which docs/makers/assumptions.md lists", () => {
  const elsewhere = new Set<string>();
  for (const file of sources)
    for (const [, names = "", path = ""] of read(file).matchAll(/\{([^{}]*)\}\s*from\s*"(\.[^"]+)"/g))
      for (const name of names.split(","))
        elsewhere.add(
          `${join(dirname(file), path)} ${
            name
              .trim()
              .replace(/^type /, "")
              .split(" as ")[0] ?? ""
          }`,
        );
  // Loaded whole: by a test of all tables, by the program's own start, or when a command is given.
  const whole = sources.flatMap((file) =>
    [...read(file).matchAll(/(?:import\(|\* as \w+ from)\s*"(\.[^"]+)"/g)].map(([, path = ""]) =>
      join(dirname(file), path),
    ),
  );
  const loaded = new Set([...whole, join("src", "cli", "main.ts")]);
  const exported = files
    .filter((file) => !loaded.has(file))
    .flatMap((file) =>
      [
        ...read(file).matchAll(
          /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?(?:abstract )?(?:const|let|function\*?|class|type) (\w+)/gm,
        ),
      ]
        .filter(([, docstring = ""]) => !docstring.includes("Assumed:"))
        .map(([, , name = ""]) => `${file} ${name}`),
    );

  expect(exported.length).toBeGreaterThan(1_000);
  expect(exported.filter((one) => !elsewhere.has(one))).toEqual([]);
});

test.each(["CONTRIBUTING.md", "docs/glossary.md"])("every file that %s names is there", (page) => {
  const words = [...read(page).matchAll(/`([^`]*)`/g)].flatMap(([, code = ""]) => code.split(/\s+/));
  const named = words.filter((word) =>
    /^(?:\.ci|bench|docs|migrations|scripts|src|test)\/[^<*]*$/.test(word),
  );

  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("every file that a comment of src/, test/, bench/ or scripts/ names is there", () => {
  const there = ["src", "test", "bench", "scripts", "docs", "migrations"].flatMap((dir) =>
    readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" }).map((name) => `/${dir}/${name}`),
  );
  const named = [...sources, ...SCRIPTS].flatMap((file) =>
    commentsOf(read(file))
      .flatMap((comment) => comment.match(/(?<![\w./*-])[a-z0-9][\w/-]*\.(?:tsx?|css|sql|md)\b/g) ?? [])
      .map((path) => ({ file, path })),
  );

  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ path }) => !there.some((one) => one.endsWith(`/${path}`)))).toEqual([]);
});

test("scripts/words.js finds a sentence that readers stumbled over, with its line", () => {
  expect(placesIn("/** The account that owns each instrument. */")).toEqual([]);
  expect(placesIn("\n/** Whose each instrument is. */")).toEqual([
    '2: "Whose each"; better: name the owner: the account that owns each instrument',
  ]);
});

test("scripts/house.js measures a tree: its lines, long files, titles, exports, spreads, floors, circles, rooms and features", () => {
  const tree = tempDir();
  const lines = (number: number): string => "// one of many\n".repeat(number);
  const made: Record<string, string> = {
    "src/long.ts": `${lines(299)}/** Told. */\nexport const long = 1;\n`,
    "src/used.ts":
      'import { long } from "./long.ts";\n\n// A second idea.\n\nexport const used = { ...{ long } };\n',
    "src/archive/top/high.ts":
      'import { low } from "../low/low.ts";\n/** Asks. */\nexport const high = low;\n',
    "src/archive/low/low.ts":
      '/** @see import("../../used.ts") */\nexport const low = [...(["a"] as const)];\n',
    "src/round.ts": 'import type { Back } from "./back.ts";\n/** R. */\nexport type Round = Back | null;\n',
    "src/back.ts": 'import type { Round } from "./round.ts";\n/** B. */\nexport type Back = Round[];\n',
    "src/page.css": lines(7),
    "migrations/0001_first.sql": lines(5),
    "test/used.test.ts":
      'import { used } from "../src/used.ts";\nimport { long } from "../src/long.ts";\n' +
      'describe("a sum", () => {\n  test("is told", () => {});\n  test.each([1])("its %s is kept", () => {});\n' +
      "  test(`keeps ${used}`, () => {});\n" +
      '});\ntest("is no part of another", () => long);\n',
  };
  for (const [file, text] of Object.entries(made)) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    writeFileSync(join(tree, file), text);
  }

  const table = execFileSync(process.execPath, [join(ROOT, "scripts", "house.js"), tree], {
    encoding: "utf8",
  });

  const [measures = "", rooms = "", features = ""] = table.split("\n\n");
  const now = measures
    .trimEnd()
    .split("\n")
    .map((row) => row.split(/ {2,}/).slice(0, 2));
  expect(now).toEqual([
    ["measure", "now"],
    ["lines of src/ (ts, tsx, css)", "324"],
    ["lines of migrations and SQL in force", "5"],
    ["lines of test/ (all files)", "8"],
    ["files of src/ over 300 lines", "1"],
    ["exports with tests alone as users", "1"],
    ["titles that need their describe", "50 %"],
    ["floors of src/archive/", "2"],
    ["spreads of literals inside literals", "2"],
    ["files with a second idea behind a // paragraph", "1"],
    ["exports without a docstring", "1"],
    ["files in a circle of imports", "2"],
  ]);
  expect(rooms).toMatch(/^src\/archive +5 +0$/m);
  expect(features).toMatch(/^schema, connection, tiers +5$/m);
});
