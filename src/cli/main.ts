/** The entry point of the program. */
import { processEdges } from "./edges.ts";
import { runProgram } from "./program.ts";

process.exitCode = await runProgram(process.argv.slice(2), processEdges());
