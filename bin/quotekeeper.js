#!/usr/bin/env node
// The program is compiled into dist/ by `npm ci`. Where a machine lets no package's scripts run, it is done here, once.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isCheckout, programIsThere, whyNotBuilt, whyNotRun } from "./whole.js";

const NODE_AT_LEAST = 20;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}

/** Whether there is a program now. */
async function built() {
  if (programIsThere(root)) return true;
  if (!isCheckout(root)) {
    refuse(`${root} holds no program of quotekeeper: install it again, or clone its repository anew.`);
    return false;
  }
  process.stderr.write("quotekeeper is not built yet: building it, once.\n");
  try {
    const { build } = await import("../scripts/build.js");
    await build(root, { again: false });
    return true;
  } catch (error) {
    refuse(whyNotBuilt(error, root));
    return false;
  }
}

async function run() {
  try {
    const { ended } = await import("../dist/cli/main.js");
    // A file that was cut off can be a shorter program, which does nothing and is content.
    if (ended !== true) throw new SyntaxError("cli/main.js ends too early");
  } catch (error) {
    const why = whyNotRun(error, root);
    if (why === null) throw error;
    refuse(why);
  }
}

if (Number(process.versions.node.split(".")[0]) < NODE_AT_LEAST)
  refuse(
    `quotekeeper needs Node.js ${NODE_AT_LEAST} or later, and this is ${process.version}: install a newer one.`,
  );
else if (await built()) await run();
