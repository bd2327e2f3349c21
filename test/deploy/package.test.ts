/** What `npm pack` takes, and so what is there where the program is installed and not checked out. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

type Packed = { files: { path: string }[] };

test("a package holds what the program reads while it runs, its pages, and nothing else", () => {
  const printed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

  // A list of packages, or packages by name: npm's releases differ.
  const [packed] = Object.values(JSON.parse(printed) as Record<string, Packed>);
  const paths = packed?.files.map(({ path }) => path) ?? [];
  expect(paths).toEqual(
    expect.arrayContaining([
      "bin/quotekeeper.js",
      "dist/cli/main.js",
      "dist/dashboard/index.html",
      "migrations/0001_archive.sql",
      "jobs/us-equities.yaml",
      ".env.example",
      "docs/README.md",
    ]),
  );
  expect(paths.filter((path) => /^(src|test|bench|data|secrets|node_modules)\/|^\.env$/.test(path))).toEqual(
    [],
  );
});
