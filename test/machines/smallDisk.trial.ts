import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compiled, type Compiled, promised, ROOT, type Running, until } from "./programs.ts";
import { onDisk } from "./onDisk.ts";
import type { Trial } from "./trial.ts";

export const trial: Trial = {
  name: "smallDisk",
  title:
    "A data disk of 30 MB, and one of 110 MB that becomes full while the program runs, loses its server, and has room again.",
  run: async ({ dir, say }) => {
    const disk = join(dir, "disk");
    mkdirSync(disk);
    const program = compiled(join(dir, "program"), {
      QUOTEKEEPER_DATA_DIR: join(disk, "data"),
      QUOTEKEEPER_HTTP_PORT: "0",
      QUOTEKEEPER_JOBS_DIR: join(ROOT, "jobs"),
    });
    const tooSmall = await onDisk(disk, "30m", () => tooSmallFor(program, join(disk, "data")));
    say(tooSmall);
    await onDisk(disk, "110m", () => becomesFull(program, disk));
    return `${tooSmall} The full disk is said by the log and by \`status\`, of journal and server each; work went on by itself with room.`;
  },
};

/** @returns what `start` said */
async function tooSmallFor(program: Compiled, dataDir: string): Promise<string> {
  const { code, text } = await program.run("start");
  promised(code === 1, "exit code 1", code);
  promised(
    /^DISK_FULL: the disk of .* has \d\d MB left, .*takes 64 MB/.test(text),
    "it says DISK_FULL",
    text,
  );
  promised(readdirSync(dataDir).length === 0, "nothing is left", readdirSync(dataDir));
  return text.trim();
}

async function becomesFull(program: Compiled, disk: string): Promise<void> {
  const collector = program.launch("collect");
  const server = join(disk, "data", "postgres", "postmaster.pid");
  const ballast = join(disk, "ballast");
  try {
    await until(async () => / \d+ quotes/.test(await line(program, "answers")));
    fill(ballast, disk);
    await until(() => /JOURNAL_WRITE_FAILED: .*ENOSPC, the disk is full.*Free space/.test(collector.text()));
    const full = await line(program, "journal");
    promised(/ATTENTION.*the disk is full/.test(full), "status says it of the journal", full);

    process.kill(Number(readFileSync(server, "utf8").split("\n")[0]), "SIGKILL");
    await until(async () =>
      /ATTENTION DISK_FULL.*does not start: the disk is full/.test(await line(program, "database")),
    );

    rmSync(ballast);
    await until(() => /"answers are kept again"/.test(collector.text()));
    await until(async () => /ok .*all loaded/.test(await line(program, "journal")));
  } finally {
    await end(collector);
  }
}

async function end({ child, closed }: Running): Promise<void> {
  child.kill("SIGTERM");
  await closed;
}

/** A line of `status`; all it said where there is no such line. */
async function line({ run }: Compiled, subject: string): Promise<string> {
  const { text } = await run("status");
  return text.split("\n").find((found) => found.startsWith(`${subject} `)) ?? text;
}

/** Writes until there is nothing left, by ever smaller pieces. */
function fill(path: string, disk: string): void {
  const { bavail, bsize } = statfsSync(disk);
  for (let bytes = bavail * bsize; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // No space: what fitted is there.
    }
  }
}
