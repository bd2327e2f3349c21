/** The size of each room, for `scripts/house.js` and for the test that keeps it at its number in `rooms.json`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { featureOf } from "./features.js";

/** @returns {[path: string, text: string][]} files below a folder, their paths with `/`; none where there is no folder */
function textsIn(dir, endings) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((path) => endings.test(path))
    .map((path) => [path.replaceAll("\\", "/"), readFileSync(join(dir, path), "utf8")]);
}

const linesOf = (text) => text.split("\n").length - 1;

/** @returns {Record<string, number>} sums by name, names sorted */
function sums(pairs) {
  const found = new Map();
  for (const [name, size] of pairs) found.set(name, (found.get(name) ?? 0) + size);
  return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The room of a file: the first folder; of tests beside the rooms `ground`. */
function roomOf(path) {
  const [room, ...rest] = path.split("/");
  return rest.length === 0 ? "ground" : room;
}

const SOURCE = /\.(?:tsx?|css)$/;

/**
 * @param {string} root of a checkout
 * @returns lines of `src/` and of `test/` by room, and the words of `docs/`
 */
export function measureRooms(root) {
  const lines = (folder, endings) =>
    sums(textsIn(join(root, folder), endings).map(([path, text]) => [roomOf(path), linesOf(text)]));
  const words = textsIn(join(root, "docs"), /\.md$/).map(([, text]) => text.split(/\s+/).length);
  return {
    src: lines("src", SOURCE),
    test: lines("test", /\.(?:tsx?|js)$/),
    docs: words.reduce((sum, count) => sum + count, 0),
  };
}

/** @returns {Record<string, number>} lines of `src/` by feature */
export function measureFeatures(root) {
  return sums(textsIn(join(root, "src"), SOURCE).map(([path, text]) => [featureOf(path), linesOf(text)]));
}
