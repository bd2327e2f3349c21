import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROCESSES } from "../../src/processes.ts";
import { clone, launch, must } from "./programs.ts";
import type { Trial } from "./trial.ts";

export const trial: Trial = {
  name: "globalInstall",
  title:
    "`npm pack`, `npm install --global` of the tarball into a place of its own, `quotekeeper start` in an empty directory, without a terminal.",
  run: async ({ dir, say }) => {
    const [checkout, prefix, empty] = [join(dir, "checkout"), join(dir, "prefix"), join(dir, "empty")];
    await clone(checkout);
    await must("npm", ["ci", "--ignore-scripts"], { cwd: checkout });
    await must("npm", ["pack", "--pack-destination", dir], { cwd: checkout });
    const tarball = readdirSync(dir).find((name) => name.endsWith(".tgz")) ?? "nothing.tgz";
    mkdirSync(empty);
    const installed = await must("npm", ["install", "--global", "--prefix", prefix, join(dir, tarball)], {
      cwd: empty,
    });
    const warnings = installed
      .split("\n")
      .filter((line) => /EBADENGINE|install-scripts|allowScripts/.test(line));
    if (warnings.length > 0) throw new Error(`npm warns:\n${installed}`);
    say(installed.trim().split("\n").at(-1) ?? "");

    const program = launch(join(prefix, "bin", "quotekeeper"), ["start"], {
      cwd: empty,
      env: { QUOTEKEEPER_HTTP_PORT: "0" },
    });
    await program.said(/[1-9]\d* rows stored/);
    const pidFile = join(empty, "data", "postgres", "postmaster.pid");
    const postgres = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
    program.child.kill("SIGTERM");
    const code = await program.closed;
    const text = program.text();
    if (code !== 0 || PROCESSES.isRunning(postgres)) throw new Error(`it ended with ${code}:\n${text}`);
    if (!text.includes("it now holds the example jobs") || !text.includes("SIMULATED"))
      throw new Error(`nothing is said of the examples:\n${text}`);
    return `npm ${(await must("npm", ["--version"], { cwd: empty })).trim()} on Node ${process.version} warns of nothing; the examples were put into ./jobs, PostgreSQL was fetched, simulated quotes stored`;
  },
};
