/**
 * The program as a few JavaScript files with their libraries in them: it starts in half the time of one that is looked
 * together from hundreds of files. Commands load what is theirs alone. Types are taken away and not checked:
 * `npm run typecheck` does that, and nobody who installs the program waits for it.
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** The program, and the threads and the process that it starts. */
const PROGRAM = ["cli/main", "archive/load/readThread", "collector/page/planThread", "files/sql/duckChild"];

/** What libraries load and the program never calls: Node would keep its text, and what it makes when it is loaded. */
const NEVER_CALLED = [
  // No route has a schema (web/server.ts): half a megabyte.
  "@fastify/ajv-compiler",
  "@fastify/fast-json-stringify-compiler",
  // fastify's requests without a network, for tests.
  "light-my-request",
  // The list of files that @fastify/static serves: it serves none by itself (web/assets.ts).
  "glob",
  // Traces in prom-client's metrics of the process, which it asks for where `exemplars` are wanted (web/monitoring/metrics.ts).
  "@opentelemetry/api",
];

const LEFT_OUT = {
  name: "left-out",
  resolveId: (id) => (NEVER_CALLED.includes(id) ? `\0left-out:${id}` : null),
  load: (id) => (id.startsWith("\0left-out:") ? "export {};" : null),
};

/**
 * @param root the checkout
 * @param target gets `cli/main.js` and what belongs to it
 * @param entries what is compiled, as paths below src/ without their ending; tests have some of its modules alone
 * @returns Rolldown's output
 * @throws on a syntax error, and as `node:fs` does
 */
export async function compile(root, target, entries = PROGRAM) {
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(root, "src", `${entry}.ts`)])),
    platform: "node",
    // pg looks for it, and does without. DuckDB is machine code: where it is missing, `quotekeeper sql` says how to get it.
    external: [/^node:/, "pg-native", "@duckdb/node-api"],
    plugins: [LEFT_OUT],
    // pg looks at `navigator` to learn what it runs in. Without one, as in Node 20, it loads all of fetch() to find out: 30 ms.
    transform: { target: "node20", define: { navigator: '{"userAgent":"Node.js"}' } },
    checks: { eval: false, pluginTimings: false },
  });
  const { output } = await bundle.generate({
    ...{ format: "esm", chunkFileNames: "cli/[name]-[hash].js" },
    // An eighth of the program. What licences ask to be passed on stands in third-party.txt.
    comments: false,
  });
  await bundle.close();
  for (const { fileName, code } of output) write(join(target, fileName), inAscii(code));
  return output;
}

/**
 * Node keeps the text of what it has loaded, in two bytes for each character if one of them needs two: a dash in a comment of a library
 * doubled two megabytes. Written as an escape it is the same to JavaScript: a dash stands in texts, patterns and comments.
 *
 * @throws Error where a backslash stands before such a character: the escape would mean something else
 */
function inAscii(code) {
  if (/\\[^\0-\x7f]/.test(code)) throw new Error("a backslash stands before a character that is not ASCII");
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const self = fileURLToPath(import.meta.url);
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === self) {
  const [target, ...entries] = process.argv.slice(2);
  await compile(dirname(dirname(self)), target, entries.length > 0 ? entries : PROGRAM);
}
