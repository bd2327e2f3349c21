import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { compiled, promised, until } from "./programs.ts";
import { LeftOut, type Trial } from "./trial.ts";

export const trial: Trial = {
  name: "killedInitdb",
  title: "A kill -9 during the first initdb, then an ordinary start.",
  run: async ({ dir, say }) => {
    if (!existsSync("/proc/self/task")) throw new LeftOut("only Linux tells whose child a process is");
    const dataDir = join(dir, "data");
    const program = compiled(join(dir, "program"), { QUOTEKEEPER_DATA_DIR: dataDir });
    const first = program.launch("migrate");
    const draft = `postgres.new-${first.child.pid}`;
    await until(() => existsSync(join(dataDir, draft, "base", "1")));
    // Parents first, so that none of them can clean up after its children.
    for (const pid of family(first.child.pid ?? 0)) kill(pid);
    await first.closed;
    const left = readdirSync(dataDir).sort();
    say(`left behind: ${left.join(", ")}`);

    const second = await program.run("migrate");

    promised(left.join() === draft, "the kill left a draft, and no password beside it", left);
    promised(second.code === 0, "the next start works", second);
    const now = readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).isDirectory());
    promised(
      readdirSync(dataDir).every((name) => !name.includes(".new-")),
      "nothing is left of it",
      readdirSync(dataDir),
    );
    return `${left.length} leftovers before the next start, none after it, which had exit code 0; there is ${now.join(", ")}.`;
  },
};

/** A process and all its descendants. */
function family(pid: number): number[] {
  let children: number[] = [];
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .split(" ")
      .filter(Boolean)
      .map(Number);
  } catch {
    // It has ended.
  }
  return [pid, ...children.flatMap(family)];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
