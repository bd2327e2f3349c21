import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROCESSES } from "../../src/ground/processes.ts";
import { clone, launch, must } from "./programs.ts";
import type { Trial } from "./trial.ts";

export const trial: Trial = {
  name: "ignoredScripts",
  title:
    "A clone below a directory with a space, an umlaut, `\"`, `'` and `$` in its name, `npm ci --ignore-scripts`, `npm start`, and `kill` of npm's process.",
  run: async ({ dir, say }) => {
    const checkout = join(dir, `Märkte "1" it's $HOME`);
    await clone(checkout);
    await must("npm", ["ci", "--ignore-scripts"], { cwd: checkout });
    if (existsSync(join(checkout, "dist"))) throw new Error("npm ci has built although no script may run");
    say("installed, nothing built");

    const npm = launch("npm", ["start"], { cwd: checkout, env: { QUOTEKEEPER_HTTP_PORT: "0" } });
    await npm.said(/[1-9]\d* rows stored/);
    const postgres = Number(
      readFileSync(join(checkout, "data", "postgres", "postmaster.pid"), "utf8").split("\n")[0],
    );
    say("quotes are stored; npm is told to end");
    npm.child.kill("SIGTERM");
    await npm.closed;

    const text = npm.text();
    if (!/Stored [1-9]\d* quotes of/.test(text)) throw new Error(`no orderly end:\n${text}`);
    if (PROCESSES.isRunning(postgres)) throw new Error(`PostgreSQL, process ${postgres}, is left behind`);
    if (!text.includes("quotekeeper is not built yet: building it, once."))
      throw new Error(`not built by the start:\n${text}`);
    return "the first start built the program and linked PostgreSQL's libraries, stored quotes, and ended in order with npm; no process was left";
  },
};
