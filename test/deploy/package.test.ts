/** What `npm pack` takes, and so what is there where the program is installed and not checked out. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { libraryOf } from "../../scripts/licences.js";
import { tempDir } from "../support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

type Packed = { files: { path: string }[] };

describe("a package", () => {
  const printed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // A list of packages, or packages by name: npm's releases differ.
  const [packed] = Object.values(JSON.parse(printed) as Record<string, Packed>);
  const paths = packed?.files.map(({ path }) => path) ?? [];

  test("holds what the program reads while it runs, its pages, its licences and bill of materials", () => {
    expect(paths).toEqual(
      expect.arrayContaining([
        "bin/quotekeeper.js",
        "bin/whole.js",
        "dist/cli/main.js",
        "dist/dashboard/index.html",
        "dist/third-party.txt",
        "dist/sbom.json",
        "migrations/0029_baseline.sql",
        "migrations/repeat/10_time_and_names.sql",
        "jobs/us-equities.yaml",
        ".env.example",
        "docs/README.md",
        "LICENSE",
      ]),
    );
  });

  test("holds nothing else: no source, no test, no secret, nothing that a run has left", () => {
    const allowed =
      /^(bin|dist|migrations|jobs|docs|deploy)\/|^(LICENSE|package\.json|Dockerfile|\.env\.example|docker-compose[\w.]*\.yml|[A-Z]+\.md)$/;
    const refused =
      /(^|\/)(\.env|secrets|data|node_modules|bench-[^/]*)(\/|$)|\.(test\.\w+|journal|log|pem|key|tgz)$/;

    expect(paths.filter((path) => !allowed.test(path) || refused.test(path))).toEqual([]);
  });

  test("is a program that runs from these files alone", () => {
    const dir = tempDir();
    for (const path of paths.filter((one) => /^(bin|dist|migrations)\/|^package\.json$/.test(one)))
      cpSync(join(ROOT, path), join(dir, path));
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, [join(dir, "bin", "quotekeeper.js"), ...args], {
        ...{ cwd: dir, encoding: "utf8", env: { PATH: process.env["PATH"] } },
      });

    expect(run("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("what is passed on of the libraries inside", () => {
  const texts = readFileSync(join(ROOT, "dist", "third-party.txt"), "utf8")
    .split(`\n${"-".repeat(80)}\n\n`)
    .map((text) => ({ library: text.slice(0, text.indexOf("\n")), text }));
  const names = texts.map(({ library }) => library.replace(/ [^ ]+$/, ""));

  test("is a licence's text of each, of those in the page and of what they hold themselves", () => {
    const page = [
      "preact",
      "@preact/signals",
      "lightweight-charts",
      "fancy-canvas",
      "@fontsource/ibm-plex-sans",
    ];

    expect(names).toEqual(expect.arrayContaining([...page, "fastify", "pg-types", "saxes", "zod"]));
    expect(texts.filter(({ text }) => text.length < 500).map(({ library }) => library)).toEqual([]);
    expect(texts.find(({ library }) => library.startsWith("@hpcc-js/wasm-zstd"))?.text).toContain(
      "For Zstandard software",
    );
  });

  test("has to be there: the build fails at a library without a licence's text, and says where to put one", () => {
    const dir = tempDir();
    writeFileSync(join(dir, "package.json"), '{"name":"bare","version":"1.0.0","license":"MIT"}');
    writeFileSync(join(dir, "README.md"), "# bare\n\n## License\n\nMIT\n");

    expect(() => libraryOf(dir)).toThrow(
      "bare 1.0.0 is bundled and has no licence text: put the one of its repository into scripts/licences/bare.txt",
    );
    writeFileSync(join(dir, "NOTICE"), "Bare, by somebody.");
    writeFileSync(join(dir, "LICENSE"), "Do as you like.");
    expect(libraryOf(dir)).toEqual({
      ...{ name: "bare", version: "1.0.0" },
      text: "Do as you like.\n\nBare, by somebody.",
    });
  });

  test("is listed in the bill of materials, with what an installation fetches, and with no address of a registry", () => {
    const bom = readFileSync(join(ROOT, "dist", "sbom.json"), "utf8");
    const { bomFormat, metadata, components } = JSON.parse(bom) as {
      bomFormat: string;
      metadata: { component: { name: string } };
      components: { "bom-ref": string; name: string; licenses?: unknown; hashes?: unknown }[];
    };

    expect({ bomFormat, of: metadata.component.name }).toEqual({ bomFormat: "CycloneDX", of: "quotekeeper" });
    const listed = components.map((component) => component["bom-ref"]);
    expect(listed).toEqual(
      expect.arrayContaining(texts.map(({ library }) => library.replace(/ (?=[^ ]+$)/, "@"))),
    );
    expect(listed.filter((one) => one.startsWith("@duckdb/node-api@"))).toHaveLength(1);
    expect(components.map(({ name }) => name).filter((name) => ["jest", "eslint"].includes(name))).toEqual(
      [],
    );
    expect(components.filter(({ licenses, hashes }) => !licenses || !hashes)).toEqual([]);
    expect(bom.replace("http://cyclonedx.org/schema/", "")).not.toMatch(/https?:/);
  });
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
