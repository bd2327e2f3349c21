/** docs/makers/machines.md names what there is: every trial by its title, every test by its file. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";

const ROOT = new URL("../", import.meta.url);
const page = readFileSync(new URL("docs/makers/machines.md", ROOT), "utf8");
const trials = readdirSync(new URL("test/machines/", ROOT))
  .filter((name) => name.endsWith(".trial.ts"))
  .map((name) => readFileSync(new URL(`test/machines/${name}`, ROOT), "utf8"));

test.each(trials.map((text) => ({ name: /name: "(\w+)"/.exec(text)?.[1], text })))(
  "the trial $name is in docs/makers/machines.md, with its title",
  ({ name, text }) => {
    const [, quoted = ""] = /title:\s*("(?:[^"\\]|\\.)*")/.exec(text) ?? [];

    expect(page).toContain(`Trial \`${name}\``);
    expect(page).toContain(`\n- ${JSON.parse(quoted) as string}`);
  },
);

test("every test and every trial that docs/makers/machines.md names is there", () => {
  const tests = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, path = ""]) => path);
  const names = [...page.matchAll(/Trial `(\w+)`/g)].map(([, name]) => name);

  expect(tests.length).toBeGreaterThan(10);
  expect(tests.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
  for (const name of names) expect(trials.some((text) => text.includes(`name: "${name}"`))).toBe(true);
});
