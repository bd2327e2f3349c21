/** Lint lets no file of a service make a float of a number that a column holds. */
import { spawnSync } from "node:child_process";
import { expect, jest, test } from "@jest/globals";

// ESLint is a program of its own, and loads its plugins first.
jest.setTimeout(120_000);

/** The lines that lint finds fault with because of floats, from 1 on. */
function faulty(file: string, lines: readonly string[]): number[] {
  const { stdout } = spawnSync(
    process.execPath,
    ["node_modules/eslint/bin/eslint.js", "--stdin", "--stdin-filename", file, "--format", "json"],
    { input: `${lines.join("\n")}\n`, encoding: "utf8" },
  );
  const [{ messages = [] } = {}] = JSON.parse(stdout) as { messages?: { line: number; message: string }[] }[];
  return messages.flatMap(({ line, message }) => (message.includes("stays text") ? [line] : []));
}

const LINES = [
  "export const a = (text: string) => Number(text);",
  "export const b = (text: string) => parseFloat(text);",
  "export const c = (text: string) => Number.parseFloat(text);",
  "export const d = (text: string) => +text;",
  "export const e = (text: string): unknown => JSON.parse(text);",
  "export const f = (texts: string[]) => texts.map(Number);",
  "export const g = (text: string) => parseInt(text, 10);",
  "export const h = (place: number) => place + 1;",
  "export const i = (place: number) => String(-place);",
];

test("in a reader of a service lint refuses what makes a float of a text, and nothing else", () => {
  expect(faulty("src/services/tradier/readTradier.ts", LINES)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});
