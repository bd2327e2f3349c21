/** Another user of the machine, who reads what is left open, and files that are no files or are too much. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { openStage } from "../../src/files/export/stage.ts";
import { PROCESSES } from "../../src/ground/processes.ts";
import { answer, open } from "../journal/world.ts";
import { capturedEdges, run } from "../cli/edges.ts";
import { tempDir } from "../support/tempDir.ts";

const JOB = 'name: a\nschedule: "* * * * *"\n';

/** A directory with files. */
function directory(files: Record<string, string>): string {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

/** What `jobs check` says of job files, in one text. */
async function checked(files: Record<string, string>): Promise<string> {
  const { stdout, stderr } = await run(["jobs", "check"], { QUOTEKEEPER_JOBS_DIR: directory(files) });
  return `${stdout}${stderr}`;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

/** A data directory as an older release made it under a umask of 022. */
function olderDataDir(): string {
  const dir = join(tempDir(), "data");
  for (const name of ["", "journal", "journal/damaged", "serve", "once", "postgres"])
    mkdirSync(join(dir, name), { mode: 0o755 });
  for (const name of ["journal/a.journal", "journal/damaged/a.bin", "serve/keys.json", "loader.json"])
    writeFileSync(join(dir, name), "secret");
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" }))
    chmodSync(join(dir, name), statSync(join(dir, name)).isDirectory() ? 0o755 : 0o644);
  chmodSync(dir, 0o755);
  return dir;
}

/** All modes of a data directory, by name; root's own lets the database's user pass. */
function modesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: "utf8" }).sort();
  const { mode, uid } = statSync(dir);
  const pass = uid !== 0 ? 0 : (mode & 0o040) === 0 ? 0o011 : 0o001;
  const top = (mode & 0o777 & ~pass).toString(8);
  return { ".": top, ...Object.fromEntries(names.map((name) => [name, modeOf(join(dir, name))])) };
}

test("files that an older release left open to every user are closed at the start of any command, but not PostgreSQL's", async () => {
  const dir = olderDataDir();

  const { stderr } = await run(["journal", "list"], { QUOTEKEEPER_DATA_DIR: dir });

  expect(stderr).toBe("");
  expect(modesOf(dir)).toEqual({
    ...{ ".": "700", journal: "700", "journal/a.journal": "600" },
    ...{ "journal/damaged": "700", "journal/damaged/a.bin": "600", "loader.json": "600" },
    ...{ postgres: "755", serve: "700", "serve/keys.json": "600", once: "700" },
  });
});

test("the journal is opened to a group for reading where that is asked for, and nothing else is", async () => {
  const dir = olderDataDir();
  const env = { QUOTEKEEPER_DATA_DIR: dir, QUOTEKEEPER_JOURNAL_READERS: "group" };

  await run(["journal", "list"], env);
  const umask = process.umask(0o077);
  const journal = await open(join(dir, "journal"), { readers: "group" });
  await journal.append(answer(1));
  await journal.close();
  process.umask(umask);

  const modes = modesOf(dir);
  const [written] = readdirSync(join(dir, "journal")).filter((name) => name.endsWith(".closed"));
  expect(modes).toMatchObject({ ".": "750", journal: "750", "journal/a.journal": "640", serve: "700" });
  expect(modes).toMatchObject({ "serve/keys.json": "600", "loader.json": "600" });
  expect(modes[`journal/${String(written)}`]).toBe("640");
});

test("an open file that may be somebody else's under another name is named and not touched", async () => {
  const dir = olderDataDir();
  const others = directory({ linked: "", named: "" });
  for (const name of ["linked", "named"]) chmodSync(join(others, name), 0o644);
  symlinkSync(join(others, "linked"), join(dir, "journal/link.journal"));
  linkSync(join(others, "named"), join(dir, "journal/name.journal"));

  const { stderr } = await run(["journal", "list"], { QUOTEKEEPER_DATA_DIR: dir });

  expect(stderr).toMatch(/^DATA_DIR_EXPOSED: .*journal\/link.journal, .*journal\/name.journal/);
  expect([modeOf(join(others, "linked")), modeOf(join(others, "named"))]).toEqual(["644", "644"]);
});

test("an open data directory that holds other things than ours is named, and not closed", async () => {
  const dir = olderDataDir();
  mkdirSync(join(dir, "homepage"));
  chmodSync(dir, 0o777);

  const { stderr } = await run(["journal", "list"], { QUOTEKEEPER_DATA_DIR: dir });

  expect(stderr).toMatch(new RegExp(`^DATA_DIR_EXPOSED: other users may read or write ${dir}\\.`));
  expect([modeOf(dir), modeOf(join(dir, "journal"))]).toEqual(["777", "700"]);
});

test("`.env` and secrets' files that every user can read are named at the start, those behind a closed door are not", async () => {
  const dir = directory({
    ".env": "QUOTEKEEPER_HEARTBEAT_URL=https://127.0.0.1:9/0123456789abcdef",
    token: "0123456789abcdef",
  });
  const closed = directory({ token: "0123456789abcdef" });
  for (const path of [join(dir, ".env"), join(dir, "token"), join(closed, "token")]) chmodSync(path, 0o644);
  chmodSync(dir, 0o755);
  const started = async (env: Record<string, string>): Promise<string> => {
    const { edges, stderr } = capturedEdges({ env, directory: dir });
    await runProgram(["calendar"], edges);
    return stderr();
  };

  const both = await started({ QUOTEKEEPER_WEB_TOKEN_FILE: "token" });
  chmodSync(join(dir, ".env"), 0o640);
  const none = await started({ QUOTEKEEPER_WEB_TOKEN_FILE: join(closed, "token") });

  expect(both).toMatch(new RegExp(`^SECRET_EXPOSED: every user .* ${dir}/.env, ${dir}/token\\. `));
  expect([both, none].join("")).not.toContain("0123456789abcdef");
  expect(none).toBe("");
});

describe("a pipe, a socket and a device are refused wherever a file is read:", () => {
  const dir = tempDir();
  const pipe = join(dir, "pipe");
  const socket = join(dir, "socket");
  const kinds = [
    [pipe, "a pipe, not a file"],
    [socket, "a socket, not a file"],
    ["/dev/zero", "a device, not a file"],
  ] as const;

  beforeAll(async () => {
    execFileSync("mkfifo", [pipe]);
    const server = createServer().listen(socket);
    server.unref();
    await once(server, "listening");
  });

  /** What each command says of a path; a name that stands for one is a link to a device, or the thing itself. */
  const readers: [what: string, read: (path: string) => Promise<string>][] = [
    ["a secret's file", (path) => said(["calendar"], { QUOTEKEEPER_WEB_TOKEN_FILE: path })],
    ["a sweep's list", (path) => said(["backfill", "--symbols-file", path])],
    ["a CSV file", (path) => said(["backfill", "--csv", path])],
    [
      "its map",
      (path) => said(["backfill", "--csv", join(directory({ csv: "a,b\n" }), "csv"), "--map", path]),
    ],
    ["a saved answer", (path) => said(["backfill", "--xml", path])],
    ["watchlists", (path) => said(["serve", "--source", "archive", "--watchlists", path], ARCHIVE)],
    [
      "a certificate",
      (path) => said(["coverage"], { DATABASE_URL: `${ARCHIVE.DATABASE_URL}&sslrootcert=${path}` }),
    ],
  ];
  const ARCHIVE = { DATABASE_URL: "postgresql://a@127.0.0.1:1/a?sslmode=verify-full" };

  async function said(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const { stderr, stdout } = await run(argv, { QUOTEKEEPER_DATA_DIR: tempDir(), ...env });
    return `${stdout}${stderr}`;
  }

  test.each(readers)("%s", async (_what, read) => {
    for (const [path, why] of kinds) expect(await read(path)).toContain(`(${why})`);
  });

  test("a list of symbols", async () => {
    for (const [path, why] of kinds.slice(0, 2)) {
      writeFileSync(join(dir, "a.yaml"), `${JOB}symbolsFile: ${path}\n`);
      expect(await said(["jobs", "check"], { QUOTEKEEPER_JOBS_DIR: dir })).toContain(`(${why})`);
    }
  });

  test("`.env`, job files, keys, segments", async () => {
    const home = tempDir();
    const keys = { QUOTEKEEPER_DATA_DIR: home };
    await run(["serve", "keys", "add"], keys);
    const jobs = directory({});
    mkdirSync(join(home, "journal"));
    const name = "20261120T22-0192f5a0-0000-7000-8000-000000000001";
    for (const path of ["journal/" + `${name}.journal`, ".env"]) execFileSync("mkfifo", [join(home, path)]);
    execFileSync("mkfifo", [join(jobs, "a.yaml")]);

    expect(() => loadConfig({}, home)).toThrow(".env cannot be read (a pipe, not a file)");
    expect(await said(["jobs", "check"], { QUOTEKEEPER_JOBS_DIR: jobs })).toContain("(a pipe, not a file)");
    expect(await said(["journal", "list"], keys)).toMatch(/JOURNAL_UNREADABLE.*a pipe, not a file/);
    rmSync(join(home, "serve", "keys.json"));
    execFileSync("mkfifo", [join(home, "serve", "keys.json")]);
    expect(await said(["serve", "--source", "simulated", "--port", "0"], keys)).toContain(
      "(a pipe, not a file)",
    );
    expect(await said(["serve", "keys", "list"], keys)).toContain("(a pipe, not a file)");
  });
});

test("a pipe that stands where an export's manifest would be is no export, and nobody waits for it", async () => {
  const out = directory({});
  execFileSync("mkfifo", [join(out, "manifest.json")]);

  const opening = openStage(out, { replace: true, processes: PROCESSES });

  await expect(opening).rejects.toMatchObject({ code: "EXPORT_EXISTS" });
});

const symbols = (count: number): string => Array.from({ length: count }, (_, place) => `S${place}`).join(",");

test.each([
  ["10 MB and a byte", { "a.yaml": " ".repeat(10_000_001) }, "(larger than 10 MB)"],
  [
    "a list of that size",
    { "a.yaml": `${JOB}symbolsFile: l`, l: " ".repeat(10_000_001) },
    "(larger than 10 MB)",
  ],
  [
    "a job of 1,500,000 symbols",
    { "a.yaml": `${JOB}symbols: [${symbols(1_500_000).slice(0, 9_900_000)}` },
    "holds more than 110000 values",
  ],
  [
    "a list of 100,001",
    { "a.yaml": `${JOB}symbolsFile: l`, l: symbols(100_001) },
    "l:1: here are more than 100000 symbols",
  ],
  [
    "one of a million lists in each other",
    { "a.yaml": `${JOB}symbols: ${"[".repeat(1_000_000)}` },
    "is nested more than 100 deep",
  ],
  [
    "lists of lists without a bracket",
    { "a.yaml": `${JOB}symbols:\n  ${"- ".repeat(100_000)}` },
    "is nested more than 100 deep",
  ],
])(
  "a file that is too large is refused before it is parsed: %s",
  async (_what, files: Record<string, string>, problem) => {
    expect(await checked(files)).toContain(problem);
  },
);

test("a list of 100,000 symbols is a list of symbols", async () => {
  expect(await checked({ "a.yaml": `${JOB}symbolsFile: l`, l: symbols(100_000) })).toContain(
    "1 job is right",
  );
});

const SHADOW =
  "root:$6$hunter2$Vx:19000:0:99999:7:::\ndaemon:*:hunter2:0:99999:7:::\nhunter2, hunter2 hunter2\n";
const YAML = "password: hunter2 hunter2\nhunter2: [hunter2\n";
const TEXT = "hunter2 is the password\n";

test.each([
  ["a job file", (text: string) => checked({ "a.yaml": text })],
  ["the calendar", (text: string) => checked({ "calendar.yaml": text })],
  ["a list of symbols", (text: string) => checked({ "a.yaml": `${JOB}symbolsFile: l`, l: text })],
  ["a sweep's list", (text: string) => outcome(["backfill", "--symbols-file"], text)],
  ["a table", (text: string) => outcome(["backfill", "--csv"], text)],
  ["a map", (text: string) => outcome(["backfill", "--csv", "/dev/null", "--map"], text)],
  ["watchlists", (text: string) => outcome(["serve", "--source", "archive", "--watchlists"], text)],
])("an error quotes nothing of a file that is another's: %s", async (_what, read) => {
  for (const text of [SHADOW, YAML, TEXT, `a: "${TEXT}`]) {
    const told = await read(text);
    expect(told).not.toBe("");
    expect(told).not.toContain("hunter2");
  }
});

async function outcome(argv: readonly string[], text: string): Promise<string> {
  const path = join(directory({ file: text }), "file");
  const env = { QUOTEKEEPER_DATA_DIR: tempDir(), DATABASE_URL: "postgresql://a@127.0.0.1:1/a" };
  const { stdout, stderr } = await run([...argv, path], env);
  return `${stdout}${stderr}`;
}

test("a symbol holds no control character and no mark that turns text around", async () => {
  for (const strange of ["\u001b]0;x\u0007", "A\u0000B", "A\u007f", "A\u009bB", "A\u202eB", "A\u200bB"]) {
    const listed = await checked({ "a.yaml": `${JOB}symbolsFile: l`, l: strange });
    const escaped = [...strange]
      .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
    const polled = await run(["poll", "--symbols", strange]);

    expect(listed).toContain("l:1: this is no symbol");
    expect(await checked({ "a.yaml": `${JOB}symbols: ["${escaped}"]\n` })).toContain("expected a symbol");
    expect([polled.exitCode, polled.stderr]).toEqual([2, expect.stringContaining("is not a symbol")]);
  }
});

test.each(["0x10", "1e3", "0b1", "1_000"])(
  "%s is no whole number: in settings, options and job files",
  async (text) => {
    const options = [
      ["serve", "--source", "simulated", "--port", text],
      ["status", "--watch", text],
      ["backfill", "--chain", `AAPL:next=${text}`],
    ];

    expect(() => loadConfig({ QUOTES_LIMIT: text }, tempDir())).toThrow(
      `QUOTES_LIMIT is "${text}": expected a whole`,
    );
    for (const argv of options) {
      const { exitCode, stderr } = await run(argv, { QUOTEKEEPER_DATA_DIR: tempDir() });
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/expected a whole number/i)]);
    }
    expect(await checked({ "a.yaml": `${JOB}symbols: [A]\npriority: ${text}\n` })).toMatch(
      /a\.yaml:4: priority is .*: expected a whole number/,
    );
  },
);
