/** One user owns a data directory: what root and other users of the machine may do beside the collector of that user. */
import { spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { everyoneMayEnter } from "../../src/archive/embedded/reachable.ts";
import { nameOf } from "../../src/ground/users.ts";
import { capturedEdges, type Outcome } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { type TestDatabase, freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";

// Programs are started, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Users of the machine without a name: none of them is anybody's. */
const OWNER = 64_321;
const OTHER = 64_322;

// Another user has to be able to run the program where it lies.
const reachable = await everyoneMayEnter(fileURLToPath(import.meta.url));
const asRoot =
  process.platform === "linux" && process.geteuid?.() === 0 && reachable ? describe : describe.skip;

asRoot("beside the service of another user", () => {
  let bin = "";
  let home = "";
  let database: TestDatabase;
  let env: Record<string, string> = {};
  const dataDir = (): string => join(home, "data");
  const owners = (): number[] =>
    readdirSync(dataDir(), { recursive: true, encoding: "utf8" }).map(
      (name) => statSync(join(dataDir(), name)).uid,
    );

  beforeAll(async () => {
    home = tempDir();
    bin = compileProgram(home);
    database = await freshDatabase();
    for (const name of ["data", "jobs"]) mkdirSync(join(home, name));
    writeFileSync(join(home, "jobs", "a.yaml"), 'name: a\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
    chmodSync(home, 0o755);
    chownSync(dataDir(), OWNER, OWNER);
    chmodSync(dataDir(), 0o700);
    env = {
      ...{
        PATH: process.env["PATH"] ?? "",
        HOME: "/",
        QUOTEKEEPER_DATA_DIR: dataDir(),
        QUOTEKEEPER_HTTP_PORT: "0",
      },
      ...{ QUOTEKEEPER_JOBS_DIR: join(home, "jobs"), DATABASE_URL: database.url },
    };
  });

  /** A program under way; `heard` resolves once it has printed something of that kind. */
  function program(argv: readonly string[], uid: number) {
    const child = spawn(process.execPath, [bin, ...argv], { cwd: home, env, uid, gid: uid });
    const said = { stdout: "", stderr: "" };
    let look: () => void = () => undefined;
    for (const name of ["stdout", "stderr"] as const)
      child[name].on("data", (text: Buffer) => {
        said[name] += text.toString();
        look();
      });
    const ended = new Promise<Outcome>((resolve) =>
      child.once("close", (code) => resolve({ exitCode: code ?? -1, ...said })),
    );
    const heard = (pattern: RegExp) =>
      new Promise<void>((resolve) => {
        look = () => (pattern.test(said.stdout + said.stderr) ? resolve() : undefined);
        look();
      });
    return { child, ended, heard };
  }

  test("root is told how to run a command as that user, also in an empty directory, and leaves no file there; what only reads goes on", async () => {
    const [poll, shown] = [
      ["poll", "--symbols", "AAPL"],
      `sudo -u '#${OWNER}' quotekeeper poll --symbols AAPL`,
    ];
    const early = await program(poll, 0).ended;
    const empty = readdirSync(dataDir());
    const polled = await program(poll, OWNER).ended;

    const late = await program(poll, 0).ended;
    const reading = [
      ["status"],
      ["journal", "verify"],
      ["plan"],
      ["serve", "keys", "list"],
      ["sql", "select 1"],
    ];
    const read = await Promise.all(reading.map((argv) => program(argv, 0).ended));
    const page = await program(["web"], 0).ended;

    expect([empty, polled.exitCode, polled.stdout]).toEqual([[], 0, expect.stringContaining("AAPL")]);
    for (const { exitCode, stderr } of [early, late, page])
      expect([exitCode, stderr]).toEqual([
        2,
        expect.stringMatching(/OWNER_DIFFERS: \S+ belongs to #64321, and this command runs as root: /),
      ]);
    expect(late.stderr).toContain(`run \`${shown}\``);
    for (const { exitCode, stderr } of read)
      expect([exitCode === 2, stderr]).toEqual([false, expect.not.stringContaining("OWNER_DIFFERS")]);
    expect(new Set(owners())).toEqual(new Set([OWNER]));
  });

  test("a file of root's in the journal stops neither collecting nor `status`, and is loaded once it is given back", async () => {
    const journal = join(dataDir(), "journal");
    const before = new Set(existsSync(journal) ? readdirSync(journal) : []);
    // What a release before left there when root polled.
    await appendAll(journal, [answerRecord(at(1), answerXml(equityXml("MSFT")))]);
    const foreign = readdirSync(journal).find((name) => !before.has(name) && name !== "segments.jsonl") ?? "";
    const collecting = program(["collect"], OWNER);
    await collecting.heard(/"started"/);
    await collecting.heard(/JOURNAL_UNREADABLE/);

    const [status, other] = await Promise.all([
      program(["status"], OWNER).ended,
      program(["poll", "--symbols", "AAPL"], OTHER).ended,
    ]);
    collecting.child.kill("SIGTERM");
    const collected = await collecting.ended;
    chownSync(join(journal, foreign), OWNER, OWNER);
    const polled = await program(["poll", "--symbols", "AAPL"], OWNER).ended;

    expect([status.exitCode, status.stdout]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^journal +ATTENTION JOURNAL_UNREADABLE: \\S*${foreign} cannot be read: EACCES, it belongs to root: `,
          "m",
        ),
      ),
    ]);
    expect([collected.exitCode, collected.stdout]).toEqual([0, expect.not.stringContaining("not taken all")]);
    expect([other.exitCode, other.stderr]).toEqual([2, expect.stringContaining("OWNER_DIFFERS")]);
    expect([polled.exitCode, new Set(owners())]).toEqual([0, new Set([OWNER])]);
    const rows = await rowsOfQuery(
      database.pool,
      "select count(*)::int as count from quotes join instruments on id = instrument_id where symbol = 'MSFT'",
    );
    expect(rows).toEqual([{ count: 1 }]);
  });
});

const KEY = "CK:hunter2:TK:hunter3";
const own = process.geteuid?.() ?? 0;
const sudo = own === 0 ? "sudo" : `sudo -u ${nameOf(own)}`;

/** A command line as a user who owns nothing here runs it. */
async function ran(argv: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const { edges, stdout, stderr } = capturedEdges({ env, uid: own + 1 });
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

test.each([
  [["start"]],
  [["collect"]],
  [["poll", "--symbols", "AAPL,MSFT"]],
  [["backfill", "--journal"]],
  [["backfill", "--symbols-file", "it's mine"], "backfill --symbols-file 'it'\\''s mine'"],
  [["serve", "--source", "simulated", "--key", KEY], "serve --source simulated --key KEY"],
  [["serve", "keys", "add", `--key=${KEY}`], "serve keys add --key=KEY"],
  [["serve", "keys", "revoke", "TK"]],
  [["migrate"]],
  [["journal", "repair"]],
  [["journal", "accept", "segments.jsonl"]],
  [["accounts", "drain", "default"]],
  [["accounts", "resume", "default"]],
  [["accounts", "forget", "other"]],
  [["lake", "--out", "lake"]],
  [["lake", "restore", "--out", "lake", "--from", "2026-11-20", "--to", "2026-11-20"]],
])(
  "another user reads how to run %j as the owner, before anything is written",
  async (argv: string[], shown = argv.join(" ")) => {
    const dir = tempDir();
    mkdirSync(join(dir, "journal"));

    const { exitCode, stderr } = await ran(argv, { QUOTEKEEPER_DATA_DIR: dir });

    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining(
        `OWNER_DIFFERS: ${dir}/journal belongs to ${nameOf(own)}, and this command runs as `,
      ),
    ]);
    expect(stderr).toContain(`: run \`${sudo} quotekeeper ${shown}\``);
    expect(stderr).not.toContain("hunter");
    expect(readdirSync(dir, { recursive: true })).toEqual(["journal"]);
  },
);

test("another user reads what the modes let be read", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "journal"));

  for (const argv of [
    ["journal", "verify"],
    ["journal", "list"],
    ["serve", "keys", "list"],
    ["jobs", "check"],
  ])
    expect((await ran(argv, { QUOTEKEEPER_DATA_DIR: dir })).stderr).not.toContain("OWNER_DIFFERS");
});

test("another user may begin in an empty directory that was made for everybody, such as a container's volume", async () => {
  const dir = tempDir();

  expect((await ran(["serve", "keys", "add"], { QUOTEKEEPER_DATA_DIR: dir })).exitCode).toBe(0);
});

test("another user does not write to a lake", async () => {
  const lake = tempDir();
  writeFileSync(join(lake, "lake.json"), "{}");
  const env = { QUOTEKEEPER_DATA_DIR: join(tempDir(), "data") };

  const { stderr } = await ran(["lake", "--out", lake], env);

  expect(stderr).toContain(`OWNER_DIFFERS: ${lake}/lake.json belongs to ${nameOf(own)}`);
});
