/** The entry point of the program. */
import { keepHeapSmall } from "../run/smallHeap.ts";

/** Commands that run for months. */
const LASTING = ["start", "collect", "web"];

// Before the others are loaded: the space for new objects never gets smaller by itself where it has grown for them.
if (LASTING.includes(process.argv[2] ?? "")) keepHeapSmall();
const { processEdges } = await import("../run/edges.ts");
const { runProgram } = await import("./program.ts");

const exitCode = await runProgram(process.argv.slice(2), processEdges());
// Results that could not be written have set one already.
process.exitCode = exitCode || process.exitCode || 0;

/** Says to bin/quotekeeper.js that this file is whole: it stands at the end. */
export const ended = true;
