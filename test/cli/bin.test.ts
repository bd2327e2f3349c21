/** bin/quotekeeper.js, which finds the program, builds it where that was left out, or says what to do. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, jest, test } from "@jest/globals";
import { tempDir } from "../support/tempDir.ts";

// The program is built, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CHECKOUT = [
  ...["bin", "scripts", "src", "docs", "README.md", "CHANGELOG.md"],
  ...["package.json", "tsconfig.json"],
];

function placeOf(names: readonly string[], main: string | null = null): string {
  const root = tempDir();
  for (const name of names) cpSync(join(ROOT, name), join(root, name), { recursive: true });
  if (main === null) return root;
  mkdirSync(join(root, "dist", "cli"), { recursive: true });
  writeFileSync(join(root, "dist", "cli", "main.js"), main);
  return root;
}

function run(root: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, "bin", "quotekeeper.js"), ...args],
    {
      encoding: "utf8",
    },
  );
  return { status, stdout, stderr };
}

const installed = ["bin", "package.json"];

test.each([
  ["no program", null],
  ["an empty one, as a full disk leaves it", ""],
  ["one that was cut off and does nothing", "// The entry point of the program.\n"],
  ["one that was cut off in a statement", "const exitCode = await runProgram(process.ar"],
  ["one that lacks a file", 'import "./program.js";\nexport const ended = true;\n'],
])("a package that was installed with %s says so and ends with 1", (_case, main) => {
  const root = placeOf(installed, main);

  const { status, stdout, stderr } = run(root, "--version");

  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain(root);
  expect(stderr).toMatch(/install/i);
  expect(stderr).not.toMatch(/\n {4}at /);
});

test("an installed package without its libraries names the first missing one", () => {
  const { status, stderr } = run(
    placeOf(installed, 'import "no-such-library";\nexport const ended = true;\n'),
  );

  expect(status).toBe(1);
  expect(stderr).toMatch(/^A library that quotekeeper needs is not installed .*no-such-library.*\n$/);
});

test("a checkout whose `npm ci` ran no scripts is built at the first start, which then continues", () => {
  const root = placeOf(CHECKOUT);
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));

  const first = run(root, "--version");
  const second = run(root, "--version");

  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  expect(first).toEqual({
    status: 0,
    stdout: `${version}\n`,
    stderr: "quotekeeper is not built yet: building it, once.\n",
  });
  expect(second).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  expect(readdirSync(join(root, "dist", "dashboard")).sort()).toEqual([
    "assets",
    "docs",
    "icon.svg",
    "index.html",
    "index.html.gz",
  ]);
  expect(readdirSync(root).filter((name) => name.startsWith("dist."))).toEqual([]);
});

test("a checkout with neither libraries nor compilers names the one command to run", () => {
  const root = placeOf(CHECKOUT);

  const { status, stdout, stderr } = run(root, "start");

  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain(`run \`npm ci --include=dev --include=optional\` in ${root}.`);
});

test("a checkout that cannot be built keeps the earlier build, and leaves no draft", () => {
  const root = placeOf(CHECKOUT, "export const ended = true;\n");
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, "src", "ground", "clock.ts"), "export const = ;\n");

  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts", "build.js")], {
    encoding: "utf8",
  });

  expect(status).toBe(1);
  expect(stderr).toContain("quotekeeper could not be built");
  expect(readFileSync(join(root, "dist", "cli", "main.js"), "utf8")).toBe("export const ended = true;\n");
  expect(readdirSync(root).filter((name) => name.startsWith("dist."))).toEqual([]);
});
