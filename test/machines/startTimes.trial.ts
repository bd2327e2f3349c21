/** How long a person waits for the first quotes, and for the end; no bound, for machines differ: the figures are reported. */
import { join } from "node:path";
import { compiled, promised, ROOT, until, runs } from "./programs.ts";
import type { Trial } from "./trial.ts";

export const trial: Trial = {
  name: "startTimes",
  title: "A first start with the embedded database and the simulated market, and Ctrl-C.",
  run: async ({ dir }) => {
    const program = compiled(join(dir, "program"), {
      QUOTEKEEPER_HTTP_PORT: "0",
      QUOTEKEEPER_JOBS_DIR: join(ROOT, "jobs"),
    });
    const began = performance.now();
    const start = program.launch("start");
    await until(() => {
      promised(runs(start), "it runs until it is ended", start.text());
      return /[1-9]\d* rows stored/.test(start.text());
    });
    const stored = performance.now();
    start.child.kill("SIGINT");
    promised((await start.closed) === 0, "it ends with exit code 0", start.text());
    const [first, end] = [stored - began, performance.now() - stored].map((ms) => (ms / 1_000).toFixed(1));
    return `the first rows after ${first} s, the end ${end} s after Ctrl-C`;
  },
};
