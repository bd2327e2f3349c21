/** Commands that work for months, and whose output nobody reads, or which a full disk does not take. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import { journalBytes } from "../../src/journal/segments.ts";
import { nodeFs } from "../../src/journal/fs.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// Programs are started, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const bin = compileProgram(tempDir());
const running = new Set<ChildProcess>();
afterAll(() => running.forEach((child) => child.kill("SIGKILL")));

const COMMANDS = {
  start: ["start"],
  collect: ["collect"],
  web: ["web"],
  serve: ["serve", "--source", "simulated"],
};

/** `full`: a disk that takes nothing; `gone`: a pipe that is closed at once; `kept`: a pipe that is read. */
type Output = "full" | "gone" | "kept";

async function begin(command: keyof typeof COMMANDS, outputs: { stdout: Output; stderr: Output }) {
  const cwd = tempDir();
  const port = await closedPort();
  mkdirSync(join(cwd, "jobs"));
  const job = 'name: each-second\nschedule: "* * * * * *"\nsession: always\nsymbols: [AAPL, IBM]\n';
  writeFileSync(join(cwd, "jobs", "job.yaml"), job);
  const { url } = await freshDatabase();
  const env = { PATH: process.env["PATH"], DATABASE_URL: url, QUOTEKEEPER_HTTP_PORT: `${port}` };
  const stdio = (output: Output) => (output === "full" ? openSync("/dev/full", "w") : "pipe");
  const flags = command === "serve" ? ["--port", `${port}`] : [];
  const child = spawn(process.execPath, [bin, ...COMMANDS[command], ...flags], {
    ...{ cwd, env },
    stdio: ["ignore", stdio(outputs.stdout), stdio(outputs.stderr)],
  });
  running.add(child);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let log = "";
  if (outputs.stdout === "gone") child.stdout?.destroy();
  else child.stdout?.resume();
  if (outputs.stderr === "gone") child.stderr?.destroy();
  else child.stderr?.on("data", (text: Buffer) => (log += text.toString()));
  const alive = async <T>(look: () => T, what: string) =>
    until(() => {
      if (child.exitCode === null) return look();
      throw new Error(`it has ended with ${child.exitCode} before ${what}: ${log}`);
    }, what);
  const kept = (): Promise<number> => journalBytes(join(cwd, "data", "journal"), nodeFs).catch(() => 0);
  return {
    /** Something more of its work. */
    goesOn: async () => {
      if (command === "start" || command === "collect") {
        const before = await kept();
        await alive(async () => (await kept()) > before, "more of the journal");
      }
      if (command === "collect") return;
      const address = `http://127.0.0.1:${port}/`;
      await alive(async () => fetch(address).then(Boolean, () => false), "an answer of its server");
    },
    said: (words: RegExp) => alive(() => words.exec(log), String(words)),
    end: () => (child.kill("SIGTERM"), ended),
    log: () => log,
  };
}

const onLinux = existsSync("/dev/full") ? test : test.skip;

onLinux.each([
  ["start", "full", "ENOSPC"],
  ["start", "gone", "EPIPE"],
  ["collect", "gone", "EPIPE"],
  ["web", "gone", "EPIPE"],
  ["serve", "full", "ENOSPC"],
] as const)(
  "%s whose standard output is %s goes on, says so once, and ends in order with SIGTERM",
  async (command, stdout, errno) => {
    const program = await begin(command, { stdout, stderr: "kept" });
    await program.said(new RegExp(`standard output cannot be written \\(${errno}\\)`));
    for (let times = 0; times < 3; times += 1) await program.goesOn();
    const exitCode = await program.end();

    expect(exitCode).toBe(0);
    expect(program.log().match(/standard output cannot be written/g)).toHaveLength(1);
  },
);

onLinux.each([
  { stdout: "full", stderr: "full" },
  { stdout: "gone", stderr: "gone" },
] as const)("a collector goes on with its output %j", async (outputs) => {
  const program = await begin("start", outputs);
  for (let times = 0; times < 3; times += 1) await program.goesOn();

  expect(await program.end()).toBe(0);
});
