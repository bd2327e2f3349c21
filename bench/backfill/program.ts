/** Runs the program itself, as a process, and watches its memory and its processor time. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/quotekeeper.js", import.meta.url));

/** How often the memory and the processor time are looked at, in ms. */
const LOOK_EVERY_MS = 100;

/** A command that has ended well; what the system does not say is null. */
export type Ran = { ms: number; cpuMs: number | null; peakBytes: number | null; stdout: string };

/** @throws Error with what it wrote when it failed */
export async function runProgram(argv: readonly string[], env: Record<string, string>): Promise<Ran> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [BIN, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  let peakBytes: number | null = null;
  let cpuMs: number | null = null;
  child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
  child.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
  const looking = setInterval(() => {
    void peakOf(child.pid).then((bytes) => (peakBytes = bytes ?? peakBytes));
    void cpuOf(child.pid).then((ms) => (cpuMs = ms ?? cpuMs));
  }, LOOK_EVERY_MS);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearInterval(looking);
  if (code !== 0) throw new Error(`quotekeeper ${argv.join(" ")} ended with ${code}: ${stderr}`);
  return { ms: performance.now() - startMs, cpuMs, peakBytes, stdout };
}

/** The most memory a process ever had, in bytes; null where the system does not say (only Linux does). */
async function peakOf(pid: number | undefined): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** The processor time that a process has taken so far; null where the system does not say. */
export async function cpuOf(pid: number | undefined): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Fields after the name in parentheses: utime and stime are the 12th and 13th, in ticks of 10 ms.
  const [user, system] = stat
    .replace(/^.*\) /s, "")
    .split(" ")
    .slice(11, 13);
  return system === undefined ? null : (Number(user) + Number(system)) * 10;
}
