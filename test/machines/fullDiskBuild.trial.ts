import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { finish, must, ROOT } from "./programs.ts";
import { LeftOut, type Trial } from "./trial.ts";

/** The sources take 2 MB and the program 3 MB: on a disk of four there is room for half of it. */
const TIGHT = "4m";
const WIDE = "64m";

const PARTS = [
  "bin",
  "jobs",
  "migrations",
  "package.json",
  "scripts",
  "src",
  "tsconfig.json",
  "vite.config.js",
];

export const trial: Trial = {
  name: "fullDiskBuild",
  title:
    "A disk that fills while the program is built, by `npm run build` and by the first start, and then has room.",
  run: async ({ dir, say }) => {
    const disk = join(dir, "disk");
    mkdirSync(disk);
    mount(["-t", "tmpfs", "-o", `size=${TIGHT}`, "quotekeeper", disk]);
    try {
      for (const part of PARTS) cpSync(join(ROOT, part), join(disk, part), { recursive: true });
      symlinkSync(join(ROOT, "node_modules"), join(disk, "node_modules"));
      for (const [command, args] of [
        ["npm", ["run", "build"]],
        [process.execPath, ["bin/quotekeeper.js", "calendar"]],
      ] as const) {
        const { code, text } = await finish(command, args, { cwd: disk });
        if (
          code !== 1 ||
          !/the disk of .* is full \(ENOSPC\)\. Free 10 MB and run `npm run build`/.test(text)
        )
          throw new Error(`${command} ended with ${code} and wrote:\n${text}`);
        const left = readdirSync(disk).filter((name) => name.startsWith("dist"));
        if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
        say(text.trim().split("\n").at(-1) ?? "");
      }
      mount(["-o", `remount,size=${WIDE}`, disk]);
      const text = await must(process.execPath, ["bin/quotekeeper.js", "calendar"], { cwd: disk });
      if (!text.includes("regular") || !existsSync(join(disk, "dist", "dashboard", "index.html")))
        throw new Error(`not whole with room on the disk:\n${text}`);
      return "each says that the disk is full and ends with 1, nothing is left of the half; with room the next start builds and runs";
    } finally {
      execFileSync("umount", [disk]);
    }
  },
};

function mount(args: string[]): void {
  try {
    execFileSync("mount", args, { stdio: "ignore" });
  } catch (cause) {
    throw new LeftOut("only root may mount a disk of 4 MB", { cause });
  }
}
