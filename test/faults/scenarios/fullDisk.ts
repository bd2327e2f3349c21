/** The journal's disk is full for a while: a small file system in memory, which only root may mount. */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";
import { catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

const DISK = "48m";
const exec = promisify(execFile);

/** What `quotekeeper status` says of the journal, from a process of its own. */
async function journalLine({ bin, env }: World): Promise<{ exitCode: number; line: string }> {
  const run = await exec(process.execPath, [bin, "status"], {
    env: { PATH: process.env["PATH"] ?? "", ...env() },
  }).then(
    ({ stdout }) => ({ exitCode: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ exitCode: code, stdout }),
  );
  return { exitCode: run.exitCode, line: /^journal .*$/m.exec(run.stdout)?.[0] ?? run.stdout };
}

/** @returns null where no file system may be mounted */
export async function fillDisk(world: World, { fullMs }: { fullMs: number }): Promise<Verdict | null> {
  const { feed, dataDir, pool } = world;
  mkdirSync(dataDir, { recursive: true });
  const mounted = await exec("mount", ["-t", "tmpfs", "-o", `size=${DISK}`, "none", dataDir]).catch(
    () => null,
  );
  if (mounted === null) return null;
  const ballast = join(dataDir, "ballast");
  const violations: string[] = [];
  const collector = world.collect();
  const memory = watchMemory(() => collector);
  const expect = (holds: boolean, what: string): void => void (holds || violations.push(what));
  try {
    await until(() => feed.answered() > 20, "the first answers");
    fill(ballast);
    const before = feed.answered();
    await delay(fullMs);
    await until(() => feed.answered() > before, "a call while the disk was full");
    const full = await journalLine(world);
    expect(full.exitCode === 1, `status ended with ${full.exitCode} while the disk was full`);
    expect(/ATTENTION.*JOURNAL_WRITE_FAILED.*ENOSPC/.test(full.line), `status said: ${full.line}`);
    expect(
      /JOURNAL_WRITE_FAILED: .*ENOSPC.*Free space/.test(collector.output()),
      `the collector said: ${collector.output().slice(-500)}`,
    );
    const { loaded } = await world.auditor.check();
    rmSync(ballast);
    await until(async () => (await world.auditor.check()).loaded > loaded, "work going on");
    await catchUp(world);
    const after = await journalLine(world);
    expect(/^journal +ok/.test(after.line), `with space again status said: ${after.line}`);
    const { rows } = await pool.query<{ count: number }>(
      "select count(*)::int as count from misses where reason = 'down'",
    );
    expect((rows[0]?.count ?? 0) > 0, "nothing is in the ledger as missed");
    const verdict = await conclude(world, {
      scenario: "the journal's disk full",
      did: `no byte left for ${fullMs} ms`,
      ...{ collector, figures: { missedForIt: rows[0]?.count ?? 0 }, peakMb: memory.peakMb() },
    });
    return { ...verdict, violations: [...violations, ...verdict.violations] };
  } finally {
    memory.stop();
    await collector.kill();
    await exec("umount", [dataDir]);
  }
}

/** Writes until there is nothing left, by ever smaller pieces. */
function fill(path: string): void {
  const { bavail, bsize } = statfsSync(join(path, ".."));
  for (let bytes = bavail * bsize; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // No space: what fitted is there.
    }
  }
}
