/**
 * `node scripts/house.js [--list] [ROOT]` prints how large and how plain the tree at ROOT is (default: this one), each measure
 * beside its goal; with `--list` also the places that a measure counts. Then the rooms beside their numbers in `rooms.json`, and the
 * features. It is a report: it ends with 0 whatever it counts. A test refuses a room that is over its number; `--rooms` writes the
 * numbers as they are now.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { measureFeatures, measureRooms } from "./rooms.js";

/** A file is long beyond this many lines. */
const LONG = 300;

/** First words of a title that continues its `describe` instead of saying what it is about; verbs in the third person do so too. */
const CONTINUES = new Set(
  (
    "is are was were has have had does do did may can cannot must of by for with without in into on at to as from and but or " +
    "that which whose who whom where while until after behind below within over again also never come keep bring go need"
  ).split(" "),
);

/** Words with an s at their end that are no verbs: titles may begin with them. */
const NO_VERBS = new Set(
  (
    "across always besides its less minus others plus this unless us whereas yes " +
    "accounts answers attributes bars blanks bytes calls cents collectors columns contracts copies credentials days dividends " +
    "elements errors expirations files filters flags frames headers instruments jobs journals keys lines links loaders " +
    "migrations misses months notes numbers ones options pages parameters phases pieces prices quotes reasons refusals rows secrets " +
    "segments shares slots strikes symbols tables texts times views watchlists weekdays words zeros"
  ).split(" "),
);

/** @returns the files below a folder, as paths from `root`; none if the folder is missing */
function filesIn(root, folder, endings = /./) {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes("node_modules"))
    .sort();
}

function linesOf(root, files) {
  return files.reduce((sum, file) => sum + countLines(readFileSync(join(root, file), "utf8")), 0);
}

const countLines = (text) => text.split("\n").length - 1;

/** What the measures need of one file of TypeScript. */
function readSource(root, file) {
  const text = readFileSync(join(root, file), "utf8");
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found = { file, lines: countLines(text), uses: [], titles: [], spreads: [] };
  const resolve = (path) => join(dirname(file), path);

  const visit = (node, inDescribe) => {
    let inside = inDescribe;
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined)
      found.uses.push({ path: resolve(node.moduleSpecifier.text), names: namesTaken(node) });
    else if (ts.isImportTypeNode(node))
      found.uses.push({ path: resolve(node.argument.literal.text), names: null });
    else if (ts.isCallExpression(node)) {
      const [first] = node.arguments;
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword && ts.isStringLiteralLike(first))
        found.uses.push({ path: resolve(first.text), names: null });
      const called = calledName(node);
      if (called === "test" && first !== undefined)
        found.titles.push({ file, inDescribe, text: titleOf(first) });
      if (called === "describe") inside = true;
    } else if (isSpreadLiteral(node))
      found.spreads.push(tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1);
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(tree, false);
  return { ...found, exports: exportsOf(tree, text), secondIdeas: paragraphsBetween(tree, text) };
}

/** @returns the names that an import or a re-export names; null for all of them */
function namesTaken(node) {
  if (ts.isImportDeclaration(node) && node.importClause === undefined) return [];
  const bindings = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
  return bindings?.elements?.map((element) => (element.propertyName ?? element.name).text) ?? null;
}

/** @returns `test` for `test(...)`, `test.each(...)(...)` and test.each`...`(...); null for `test.each(...)`, which has no title */
function calledName({ expression }) {
  if (ts.isPropertyAccessExpression(expression) && expression.name.text === "each") return null;
  let callee = expression;
  while (callee !== undefined && !ts.isIdentifier(callee)) callee = callee.expression ?? callee.tag;
  return callee?.text ?? null;
}

function titleOf(node) {
  return ts.isTemplateExpression(node) ? node.head.text : ts.isStringLiteralLike(node) ? node.text : "";
}

/** `...{ a, b }` in an object, or `...(["x"] as const)` in a list. */
function isSpreadLiteral(node) {
  if (!ts.isSpreadAssignment(node) && !ts.isSpreadElement(node)) return false;
  let { expression } = node;
  while (
    ts.isParenthesizedExpression(expression) ||
    ts.isAsExpression(expression) ||
    ts.isSatisfiesExpression(expression)
  )
    expression = expression.expression;
  return ts.isObjectLiteralExpression(expression) || ts.isArrayLiteralExpression(expression);
}

function exportsOf(tree, text) {
  return tree.statements
    .filter((statement) => statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
    .flatMap((statement) => {
      const documented = text.slice(statement.pos, statement.getStart(tree)).includes("/**");
      const declared = statement.declarationList?.declarations ?? [statement];
      return declared.map(({ name }) => ({ name: name?.text ?? "", documented }));
    });
}

/** Comments of `//` between two statements of a file that belong to neither: an empty line before and after. */
function paragraphsBetween(tree, text) {
  return tree.statements
    .slice(1)
    .filter((statement) =>
      /\n\s*\n(?:[ \t]*\/\/.*\n)+[ \t]*\n/.test(text.slice(statement.pos, statement.getStart(tree))),
    ).length;
}

function needsDescribe({ inDescribe, text }) {
  const [word] = text.split(/[^A-Za-z]/);
  return inDescribe && (CONTINUES.has(word) || (/^[a-z]+s$/.test(word) && !NO_VERBS.has(word)));
}

/** @returns the exports of `sources` that tests import, or benches, and nothing of the program or of its scripts */
function usedByTestsAlone({ sources, scripts, tests, benches }) {
  const usedBy = (users) =>
    new Set(
      users.flatMap(({ uses }) =>
        uses.flatMap(({ path, names }) => (names ?? ["*"]).map((name) => `${path} ${name}`)),
      ),
    );
  const inProgram = usedBy([...sources, ...scripts]);
  const inTests = usedBy([...tests, ...benches]);
  const isIn = (users, file, name) => users.has(`${file} ${name}`) || users.has(`${file} *`);
  return sources
    .flatMap(({ file, exports }) => exports.map(({ name }) => ({ file, name })))
    .filter(({ file, name }) => !isIn(inProgram, file, name) && isIn(inTests, file, name));
}

/** @returns what imports what, by the name that `nameOf` gives a file; files without one are left out */
function graphOf(sources, nameOf) {
  const graph = new Map();
  for (const { file, uses } of sources) {
    const from = nameOf(file);
    if (from === null) continue;
    if (!graph.has(from)) graph.set(from, new Set());
    for (const { path } of uses) {
      const to = nameOf(path);
      if (to !== null && to !== from) graph.get(from).add(to);
    }
  }
  return graph;
}

/** @returns for each name of a graph the names of its circle, itself among them (Tarjan) */
function circlesOf(graph) {
  const order = new Map();
  const low = new Map();
  const stack = [];
  const circle = new Map();
  const visit = (name) => {
    order.set(name, order.size);
    low.set(name, order.get(name));
    stack.push(name);
    for (const other of graph.get(name) ?? []) {
      if (!order.has(other)) visit(other);
      if (!circle.has(other)) low.set(name, Math.min(low.get(name), low.get(other)));
    }
    if (low.get(name) !== order.get(name)) return;
    const members = stack.splice(stack.indexOf(name));
    for (const member of members) circle.set(member, members);
  };
  for (const name of graph.keys()) if (!order.has(name)) visit(name);
  return circle;
}

/** @returns how many stand on one another in the longest chain of imports; a circle is one */
function floorsOf(graph) {
  const circle = circlesOf(graph);
  const height = new Map();
  const heightOf = (members) => {
    if (height.has(members)) return height.get(members);
    const below = members
      .flatMap((name) => [...(graph.get(name) ?? [])].map((other) => circle.get(other)))
      .filter((others) => others !== undefined && others !== members);
    const result = 1 + Math.max(0, ...below.map(heightOf));
    height.set(members, result);
    return result;
  };
  return Math.max(0, ...[...circle.values()].map(heightOf));
}

/** What stands directly in `src/archive/`: a folder, or a file beside the folders. */
const roomOfArchive = (file) => /^src\/archive\/([^/]+)/.exec(file)?.[1] ?? null;

const count = (number) => number.toLocaleString("en-US");

/** @returns the rows of the table, each with its places if they can be named */
function measure(root) {
  const typescript = /\.tsx?$/;
  const read = (folder) => filesIn(root, folder, typescript).map((file) => readSource(root, file));
  const sources = read("src");
  const tests = read("test");
  const outside = { scripts: read("scripts"), benches: read("bench") };
  const titles = tests.flatMap(({ titles }) => titles);
  const leaning = titles.filter(needsDescribe);
  const exported = sources.flatMap(({ exports }) => exports);
  const files = graphOf(sources, (file) => file);
  const long = sources.filter(({ lines }) => lines > LONG);
  const sqlFiles = filesIn(root, "migrations", /\.sql$/);
  const testsAlone = usedByTestsAlone({ sources, tests, ...outside });
  const spreads = sources.flatMap(({ file, spreads }) => spreads.map((line) => `${file}:${line}`));
  const secondIdeas = sources.filter(({ secondIdeas }) => secondIdeas > 0);
  return [
    ["lines of src/ (ts, tsx, css)", count(linesOf(root, filesIn(root, "src", /\.(?:tsx?|css)$/))), "64,000"],
    ["lines of migrations and SQL in force", count(linesOf(root, sqlFiles)), "1,500"],
    ["lines of test/ (all files)", count(linesOf(root, filesIn(root, "test"))), "66,000"],
    [
      `files of src/ over ${LONG} lines`,
      count(long.length),
      "10",
      long.map(({ file, lines }) => `${file} ${lines}`),
    ],
    [
      "exports with tests alone as users",
      count(testsAlone.length),
      "10",
      testsAlone.map(({ file, name }) => `${file} ${name}`),
    ],
    [
      "titles that need their describe",
      `${Math.round((100 * leaning.length) / Math.max(1, titles.length))} %`,
      "10 %",
      leaning.map(({ file, text }) => `${file}: ${text}`),
    ],
    ["floors of src/archive/", count(floorsOf(graphOf(sources, roomOfArchive))), "6"],
    ["spreads of literals inside literals", count(spreads.length), "0", spreads],
    [
      "files with a second idea behind a // paragraph",
      count(secondIdeas.length),
      "0",
      secondIdeas.map(({ file }) => file),
    ],
    ["exports without a docstring", count(exported.filter(({ documented }) => !documented).length), "-"],
    [
      "files in a circle of imports",
      count([...circlesOf(files).values()].filter((circle) => circle.length > 1).length),
      "0",
    ],
  ];
}

const [given] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const listing = process.argv.includes("--list");
const root = given ?? fileURLToPath(new URL("../", import.meta.url));
const NUMBERS = join(root, "rooms.json");
const rooms = measureRooms(root);
if (process.argv.includes("--rooms")) writeFileSync(NUMBERS, `${JSON.stringify(rooms, null, 2)}\n`);
print([["measure", "now", "goal"], ...measure(root)]);
const numbers = existsSync(NUMBERS) ? JSON.parse(readFileSync(NUMBERS, "utf8")) : { src: {}, test: {} };
print([
  ["room", "now", "number"],
  ...["src", "test"].flatMap((side) =>
    Object.entries(rooms[side]).map(([room, lines]) => [
      `${side}/${room}`,
      count(lines),
      count(numbers[side][room] ?? 0),
    ]),
  ),
  ["words of docs/", count(rooms.docs), count(numbers.docs ?? 0)],
]);
print([
  ["feature", "lines of src/", ""],
  ...Object.entries(measureFeatures(root)).map(([name, lines]) => [name, count(lines), ""]),
]);

/** Rows of a name and two figures, each perhaps with its places. */
function print(rows) {
  const width = (column) => Math.max(...rows.map((row) => row[column].length));
  for (const [name, now, goal, places = []] of rows) {
    console.log(`${name.padEnd(width(0))}  ${now.padStart(width(1))}  ${goal.padStart(width(2))}`.trimEnd());
    if (listing) for (const place of places) console.log(`  ${place}`);
  }
  console.log();
}
