import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { finish, ROOT } from "./programs.ts";
import { LeftOut, type Trial } from "./trial.ts";

/** Sources and program together take some 9 MB: the disk is made larger until both fit, so that it fills at every part of the work. */
const FIRST_KB = 7_500;
const STEP_KB = 250;
const LAST_KB = 16_000;

const PARTS = [
  "CHANGELOG.md",
  "README.md",
  "bin",
  "docs",
  "jobs",
  "migrations",
  "package.json",
  "scripts",
  "src",
  "tsconfig.json",
];

export const trial: Trial = {
  name: "fullDiskBuild",
  title:
    "A disk that fills while the program is built, by `npm run build` and by the first start, and then has room.",
  run: async ({ dir, say }) => {
    const disk = join(dir, "disk");
    mkdirSync(disk);
    mount(["-t", "tmpfs", "-o", `size=${FIRST_KB}k`, "quotekeeper", disk]);
    try {
      for (const part of PARTS) cpSync(join(ROOT, part), join(disk, part), { recursive: true });
      symlinkSync(join(ROOT, "node_modules"), join(disk, "node_modules"));
      let refused = 0;
      for (let kb = FIRST_KB; kb <= LAST_KB; kb += STEP_KB) {
        mount(["-o", `remount,size=${kb}k`, disk]);
        const { code, text } = await finish(process.execPath, ["bin/quotekeeper.js", "calendar"], {
          cwd: disk,
        });
        if (code === 0) return wholeAt(disk, { kb, refused, text });
        refused += 1;
        const build = await finish("npm", ["run", "build"], { cwd: disk });
        if (code !== 1 || build.code !== 1 || !isFull(text) || !isFull(build.text))
          throw new Error(`of ${kb} KB, it ended with ${code} and wrote:\n${text}\n${build.text}`);
        const left = readdirSync(disk).filter((name) => name.startsWith("dist"));
        if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
        if (refused === 1) say(text.trim().split("\n").at(-1) ?? "");
      }
      throw new Error(`it does not run with ${LAST_KB} KB either`);
    } finally {
      execFileSync("umount", [disk]);
    }
  },
};

/** One sentence, and no stack. */
function isFull(text: string): boolean {
  return (
    /the disk of .* is full \(ENOSPC\)\. Free 10 MB and run `npm run build` in .*\.\n$/.test(text) &&
    !/\n\s+at /.test(text)
  );
}

function wholeAt(disk: string, { kb, refused, text }: { kb: number; refused: number; text: string }): string {
  if (!text.includes("regular") || !existsSync(join(disk, "dist", "dashboard", "index.html")))
    throw new Error(`not whole with room on the disk:\n${text}`);
  if (refused < 3) throw new Error(`only ${refused} disks were too small`);
  return `each of ${refused} disks, of ${FIRST_KB} KB and more, is said to be full, with exit code 1, and nothing is left of the half; with ${kb} KB it builds and runs`;
}

function mount(args: string[]): void {
  try {
    execFileSync("mount", args, { stdio: "ignore" });
  } catch (cause) {
    throw new LeftOut("only root may mount a disk of a few MB", { cause });
  }
}
