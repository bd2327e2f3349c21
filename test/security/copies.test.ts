/** Copies of PostgreSQL's programs, which run with rights that whoever plants one would like to have. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { PostgresBinaries } from "../../src/archive/embedded/binaries.ts";
import { cachesOf, reachableBinaries } from "../../src/archive/embedded/reachable.ts";
import { socketDir } from "../../src/archive/embedded/socketDir.ts";
import { tempDir } from "../support/tempDir.ts";

const onPosix = process.platform === "win32" ? describe.skip : describe;
const uid = process.geteuid?.();

/** Programs below a name that makes a copy necessary. */
function programs(): PostgresBinaries {
  const bin = join(tempDir(), 'a "name"', "native", "bin");
  mkdirSync(bin, { recursive: true });
  const at = (name: string): string => join(bin, name);
  for (const name of ["postgres", "initdb", "pg_ctl"]) writeFileSync(at(name), `our ${name}`);
  return { postgres: at("postgres"), initdb: at("initdb"), pg_ctl: at("pg_ctl") };
}

/** What somebody else has put where our copy would be. */
function plant(place: string): void {
  mkdirSync(join(place, "bin"), { recursive: true });
  for (const name of ["postgres", "initdb", "pg_ctl"]) writeFileSync(join(place, "bin", name), "planted");
}

/** A directory below one that anybody passes, as root's copies must be. */
function openDir(mode = 0o755): string {
  const dir = join(tempDir(), "cache");
  chmodSync(dirname(dir), 0o755);
  mkdirSync(dir);
  chmodSync(dir, mode);
  return dir;
}

const copyIn = (...caches: string[]): Promise<PostgresBinaries> =>
  reachableBinaries(programs(), { version: "18", uid, caches });

onPosix("a copy of the programs", () => {
  test.each([0, 1000])("for the user %d is never put into the temporary directory", (user) => {
    const lasting = user === 0 ? "/var/cache/quotekeeper" : join(homedir(), ".cache", "quotekeeper");

    expect(cachesOf(user, "/srv/quotes")).toEqual([lasting, "/srv/quotes/postgres-copies"]);
  });

  test.each([
    ["anybody may write", 0o777],
    ["anybody may write, with the sticky bit", 0o1777],
    ["a group may write", 0o775],
  ])("planted in a directory that %s is not run, and the next place is taken", async (_what, mode) => {
    const [open, own] = [openDir(mode), openDir()];
    plant(join(open, "postgres-18"));

    const { postgres } = await copyIn(open, own);

    expect(postgres).toBe(join(own, "postgres-18", "bin", "postgres"));
    expect(readFileSync(postgres, "utf8")).toBe("our postgres");
    await expect(copyIn(open)).rejects.toMatchObject({ detail: expect.stringContaining(open) });
  });

  test("is not made below a directory in which others may put another one in its place", async () => {
    const open = openDir(0o777);
    mkdirSync(join(open, "cache"), { mode: 0o755 });

    await expect(copyIn(join(open, "cache"))).rejects.toMatchObject({
      code: expect.stringMatching(/^EMBEDDED_/),
    });
    expect(existsSync(join(open, "cache", "postgres-18"))).toBe(false);
  });

  test("is not made through a link that stands where the cache would be", async () => {
    const [theirs, own] = [openDir(), openDir()];
    plant(join(theirs, "postgres-18"));
    symlinkSync(theirs, join(own, "cache"));

    await expect(copyIn(join(own, "cache"))).rejects.toMatchObject({
      code: expect.stringMatching(/^EMBEDDED_/),
    });
  });

  test.each([["postgres-18"], ["postgres-18/bin"]])(
    "that is a link at %s is made anew, and what it led to stays",
    async (at) => {
      const [theirs, own] = [openDir(), openDir()];
      plant(join(theirs, "postgres-18"));
      if (at !== "postgres-18") mkdirSync(join(own, "postgres-18"));
      symlinkSync(join(theirs, at), join(own, at));

      const { postgres } = await copyIn(own);

      expect(lstatSync(join(own, at)).isDirectory()).toBe(true);
      expect(readFileSync(postgres, "utf8")).toBe("our postgres");
      expect(readFileSync(join(theirs, "postgres-18", "bin", "postgres"), "utf8")).toBe("planted");
    },
  );
});

onPosix("a data directory whose name is too long for a socket", () => {
  test("is reached by a short link, in a directory that nobody else may write", async () => {
    const cluster = join(openDir(), "x".repeat(100));
    mkdirSync(cluster);
    const [open, own] = [openDir(0o1777), openDir()];

    const [first, again] = [await socketDir(cluster, [open, own]), await socketDir(cluster, [open, own])];

    expect(dirname(first)).toBe(own);
    expect(again).toBe(first);
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(join(first, ".s.PGSQL.65535"), resolve));
    await new Promise<void>((resolve) => connect(join(first, ".s.PGSQL.65535"), resolve));
    expect(existsSync(join(cluster, ".s.PGSQL.65535"))).toBe(true);
    server.close();
    await expect(socketDir(cluster, [open])).rejects.toMatchObject({ code: "EMBEDDED_FAILED" });
  });

  test("is reached by the same link by all who ask at the same time", async () => {
    const cluster = join(openDir(), "x".repeat(100));
    const own = openDir();

    const reached = await Promise.all(Array.from({ length: 50 }, () => socketDir(cluster, [own])));

    expect(new Set(reached).size).toBe(1);
    expect(readlinkSync(reached[0] ?? "")).toBe(cluster);
  });

  test("is its own way to the socket where its name is short, and on Windows there is none", async () => {
    expect(await socketDir("/srv/quotes/postgres", [])).toBe("/srv/quotes/postgres");
    expect(await socketDir("C:\\quotes\\postgres", [], { platform: "win32" })).toBe("127.0.0.1");
  });
});
