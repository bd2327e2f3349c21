/** The entry point of the program. */
import { keepHeapSmall } from "../ground/smallHeap.ts";

/** Commands that run for months. */
const LASTING = ["start", "collect", "web"];

/** How long the end of a lasting command waits for a reader of its output that stands still, in ms. */
const LAST_TEXT_MS = 1_000;

// Before the others are loaded: the space for new objects never gets smaller by itself where it has grown for them.
if (LASTING.includes(process.argv[2] ?? "")) keepHeapSmall();
const { processEdges } = await import("../ground/edges.ts");
const { runProgram } = await import("./program.ts");

const edges = processEdges();
const exitCode = await runProgram(process.argv.slice(2), edges);
// Results that could not be written have set one already.
process.exitCode = exitCode || process.exitCode || 0;
if (edges.stdout.isSpare) setTimeout(() => process.exit(), LAST_TEXT_MS).unref();

/** Says to bin/quotekeeper.js that this file is whole: it stands at the end. */
export const ended = true;
