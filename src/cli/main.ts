/** The entry point of the program. */
import { processEdges } from "../run/edges.ts";
import { runProgram } from "./program.ts";

const exitCode = await runProgram(process.argv.slice(2), processEdges());
// Results that could not be written have set one already.
process.exitCode = exitCode || process.exitCode || 0;

/** Says to bin/quotekeeper.js that this file is whole: it stands at the end. */
export const ended = true;
