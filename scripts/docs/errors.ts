/** `docs/errors.md`, from the table of errors. */
import { type ErrorCode, ERRORS } from "../../src/ground/errors.ts";
import { code, GENERATED, paragraphs } from "./markdown.ts";

/** The page. */
export function errorsPage(): string {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).sort();
  const lines = codes.map((name) => {
    const { retryable, mended, exitCode, hint } = ERRORS[name];
    const again = retryable ? (mended ? ", once mended" : ", again") : "";
    return `- ${code(name)} (${exitCode}${again}): ${hint}`;
  });
  return paragraphs(
    GENERATED,
    "# Errors",
    "Source: `src/ground/errors.ts`.",
    "A message begins with its code, then names the thing and the value, then says what to do. The codes stay the same from release to release.",
    "In brackets stands the exit code of a command that ends with the error: 1 when something needs a person, 2 for wrong usage or configuration. _Again_: the program tries again by itself. _Once mended_: it does so in vain until a person has seen to the cause. Some codes are the dashboard's alone.",
    lines.join("\n"),
  );
}
