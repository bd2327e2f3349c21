/**
 * `node scripts/words.js`: sentences that readers stumbled over, and ways of speaking that made them. Exit code 1, with each place,
 * when one of them is there again. `npm run lint` runs it.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** What people read: code with its comments, and pages. */
const READ = ["src", "docs", "jobs", "deploy", "README.md", "CONTRIBUTING.md", "SECURITY.md"];

/** Each with what is said in its place. */
const FORBIDDEN = [
  [/\bwhose (?:each|everything|of the)\b/i, "name the owner: the account that owns each instrument"],
  [/Whose (?:share|job) it is/, "name the owner: the account that the share belongs to"],
  [/\bof what it never had\b/, "say the default"],
  [/\bthe operator's word\b/, "what the operator wants"],
  [/\bSo it is since\b/, "Failing since"],
  [/\bin (?:its|the) midst\b/, "within; interrupted"],
  [/\bnobody's (?:any more|market)\b/, "say who, or simulated"],
  [/\bwith the ears\b/, "users of a screen reader"],
  [/\bmore and more seldom\b/, "less and less often"],
  [/\bhas not four parts\b/, "needs four parts"],
  [/\bfor it is no setting\b/, "is not a setting"],
  [/\bset to nothing counts as\b/, "an empty variable counts as unset"],
  [/\bneeds nothing of this page\b/, "you can skip this page"],
  [/\bThe likeliest\b/, "best"],
  [/\bSomebody is needed\b/, "needs attention"],
  [/\bWhat of (?:an?|the) /, "the part of"],
  [/\bDoes it, or tries it\b/, "runs, or a dry run"],
  [/\bis of a collector on another machine\b/, "belongs to a collector on another machine"],
  [/\bcan pass for the server\b/, "can run a fake server"],
  [/\bNo account was at hand\b/, "was never tried with a real account"],
  [/\bWho draws conclusions\b/, "code that compares"],
  [/\bwhoever writes much\b/, "await between large writes"],
];

/** @returns {string[]} */
function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .map((name) => join(path, name))
    .filter((name) => /\.(?:tsx?|md|ya?ml|sh)$/.test(name) && statSync(name).isFile());
}

/** @returns {string[]} `line: sentence; say ...` for each place in a text */
export function placesIn(text) {
  return text.split("\n").flatMap((line, place) =>
    FORBIDDEN.flatMap(([pattern, better]) => {
      const found = pattern.exec(line);
      return found ? [`${place + 1}: "${found[0].trim()}"; better: ${better}`] : [];
    }),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = READ.flatMap((path) => filesBelow(join(ROOT, path))).flatMap((file) =>
    placesIn(readFileSync(file, "utf8")).map((place) => `${file.slice(ROOT.length)}:${place}`),
  );
  for (const place of found) process.stderr.write(`${place}\n`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
