/** What `npm pack` takes, and so what is there where the program is installed and not checked out. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

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
      "bin/whole.js",
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

type Locked = {
  packages: Record<string, { dev?: boolean; hasInstallScript?: boolean; engines?: { node?: string } }>;
};

describe("`npm install --global` of it", () => {
  const { scripts, overrides } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
    overrides: Record<string, string>;
  };
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Locked;
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);

  test("runs no script, its own or a library's: npm runs none unasked, and warns of each", () => {
    const wouldRun = ["preinstall", "install", "postinstall", "prepare"].filter((event) => event in scripts);
    const theirs = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path);

    expect({ wouldRun, theirs }).toEqual({ wouldRun: [], theirs: [] });
  });

  test("needs no newer Node than it says itself, by versions that hold there: overrides and lock do not", () => {
    expect(installed.filter(([path]) => path.replace(/^.*node_modules\//, "") in overrides)).toEqual([]);
    const newer = installed.filter(([, { engines }]) => !takesNode20(engines?.node ?? "*"));

    expect(newer.map(([path, { engines }]) => ({ path, engines }))).toEqual([]);
  });
});

/** Of the ranges that packages give: `>=18`, `^20.9.0 || >=22`, `18 || 20`, `*`, `>= 4.0 <23`. */
function takesNode20(range: string): boolean {
  return range.split("||").some((part) => {
    const major = Number(/\d+/.exec(part)?.[0] ?? 0);
    return />/.test(part) || part.trim() === "*" ? major <= 20 : major === 20;
  });
}
