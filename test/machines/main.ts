/**
 * npm run test:machines [-- NAME... [--server URL]... [--quotes N] [--checkouts DIR]]: tries the program as on somebody else's machine,
 * each trial in a directory of its own. What a machine with nothing installed cannot try is here and not in `npm test`; docs/makers/machines.md has the results.
 * Prints a line for each trial, and exits 1 when anything was not as promised.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LeftOut, type Trial } from "./trial.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { values: options, positionals: wanted } = parseArgs({
  options: {
    server: { type: "string", multiple: true, default: [] },
    quotes: { type: "string", default: "200000" },
    checkouts: { type: "string" },
  },
  allowPositionals: true,
});
const wishes = { servers: options.server, quotes: Number(options.quotes), checkouts: options.checkouts };
const trials: Trial[] = [];
for (const file of readdirSync(new URL("./", import.meta.url)).sort()) {
  if (!file.endsWith(".trial.ts")) continue;
  const { trial } = (await import(new URL(file, import.meta.url).href)) as { trial: Trial };
  if (wanted.length === 0 || wanted.includes(trial.name)) trials.push(trial);
}

let failed = 0;
for (const { name, title, run } of trials) {
  const dir = mkdtempSync(join(tmpdir(), `quotekeeper-${name}-`));
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(dir, 0o755);
  say(`     ${name}: ${title}`);
  try {
    say(`ok   ${name}: ${await run({ dir, say: (line) => say(`       ${line}`), ...wishes })}`);
  } catch (error) {
    if (error instanceof LeftOut) say(`LEFT OUT ${name}: ${error.message}`);
    else {
      failed += 1;
      say(`FAIL ${name}: ${(error as Error).stack}`);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
say(
  failed === 0
    ? `${trials.length} trials, all as promised or left out.`
    : `${failed} of ${trials.length} trials failed.`,
);
process.exitCode = failed === 0 && trials.length > 0 ? 0 : 1;
