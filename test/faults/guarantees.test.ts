/** The promises and the specification, sentence by sentence: each has proofs, and each proof is there. */
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { problemsOf, promisesOf, readProofs, type Tree } from "../../scripts/docs/proofs.ts";

const tree = readProofs(fileURLToPath(new URL("../../", import.meta.url)));

test("every promise has a proof, and every test and command that test/proofs.json names is there", () => {
  expect(tree.sentences.length).toBeGreaterThan(200);
  expect(problemsOf(tree)).toEqual([]);
});

const one: Tree = {
  sentences: promisesOf("- **A1** An answer\n  is kept.\n- It is no promise.\n"),
  proofs: { A1: { "test/a.test.ts": ["an answer is kept"], "npm run soak": ["an hour"] } },
  textOf: (path) =>
    path === "test/a.test.ts" ? 'test("an answer is kept", () => {});\n["askprice", "decimal"],\n' : null,
  scripts: ["soak"],
};

test("a promise is an item of a list with a number, on however many lines", () => {
  expect(one.sentences).toEqual([{ number: "A1", text: "An answer is kept." }]);
  expect(problemsOf(one)).toEqual([]);
});

test.each<[Partial<Tree>, string]>([
  [{ proofs: {} }, "A1 has no proof in test/proofs.json"],
  [{ proofs: { A1: { "test/a.test.ts": [] } } }, "A1 has no proof in test/proofs.json"],
  [{ proofs: { A1: { "test/a.test.ts": ["an answer"] } } }, 'A1: test/a.test.ts has no test "an answer"'],
  [
    { proofs: { A1: { "test/b.test.ts": ["an answer is kept"] } } },
    'A1: test/b.test.ts has no test "an answer is kept"',
  ],
  [
    { proofs: { A1: { "test/a.test.ts": ["quote/bidprice: decimal"] } } },
    'A1: test/a.test.ts has no test "quote/bidprice: decimal"',
  ],
  [{ scripts: [] }, "A1: package.json has no script soak"],
  [
    { proofs: { ...one.proofs, A2: { "test/a.test.ts": ["an answer is kept"] } } },
    "A2 of test/proofs.json numbers no sentence",
  ],
  [{ sentences: [...one.sentences, ...one.sentences] }, "A1 numbers two sentences"],
])("a proof that is missing or of nothing is named: case %#", (changed, problem) => {
  expect(problemsOf({ ...one, ...changed })).toEqual([problem]);
});

test("a row of a table of elements is a test of its own", () => {
  const proofs = { A1: { "test/a.test.ts": ["quote/askprice: decimal"] } };

  expect(problemsOf({ ...one, proofs })).toEqual([]);
});
