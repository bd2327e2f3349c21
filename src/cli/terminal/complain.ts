/** Prints the error of a failed command line, and returns the exit code. */
import { CommanderError, InvalidArgumentError } from "commander";
import { z } from "zod";
import { ERRORS, QuotekeeperError } from "../../ground/errors.ts";
import { type Edges, Interrupted } from "../../ground/edges.ts";
import { EXIT_INTERRUPTED } from "../../ground/interruptions.ts";
import { linesOfStack, say } from "./harmless.ts";

/** The last line of stderr when a command with `--json` fails. */
export const errorJson = z.strictObject({
  error: z.strictObject({
    code: z.enum(Object.keys(ERRORS) as [string, ...string[]]),
    detail: z.string(),
    hint: z.string(),
    retryable: z.boolean(),
    exitCode: z.int(),
  }),
});

/**
 * Writes one message to stderr, with `--json` also the error as a line of JSON. Only errors that are not ours have a
 * stack.
 */
export function complain(error: unknown, argv: readonly string[], { stderr }: Edges): number {
  if (error instanceof Interrupted) return EXIT_INTERRUPTED;
  // Commander ends help and version with an error.
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const { code, detail, hint, retryable, exitCode } = nameOf(error);
  if (code === "UNEXPECTED") {
    const text = (error as Error | null)?.stack ?? String(error);
    say(stderr, ...linesOfStack(`An unexpected error, which is a defect of quotekeeper: ${text}`));
  } else if (error instanceof QuotekeeperError && !argv.includes("--json")) say(stderr, ...error.lines);
  if (argv.includes("--json"))
    stderr.write(`${JSON.stringify({ error: { code, detail, hint, retryable, exitCode } })}\n`);
  return exitCode;
}

type NamedError = z.infer<typeof errorJson>["error"];

function nameOf(error: unknown): NamedError {
  if (error instanceof QuotekeeperError) {
    const { code, detail } = error;
    return { code, detail, ...ERRORS[code] };
  }
  if (error instanceof CommanderError || error instanceof InvalidArgumentError) {
    const detail = error.message.replace(/^error: /, ""); // commander has printed it
    return { code: "USAGE", detail, ...ERRORS.USAGE };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { code: "UNEXPECTED", detail, ...ERRORS.UNEXPECTED };
}
