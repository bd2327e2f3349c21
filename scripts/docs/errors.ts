/** `docs/errors.md`, from the table of errors. */
import { type ErrorCode, ERRORS } from "../../src/errors.ts";
import { code, GENERATED, markdownTable, paragraphs } from "./markdown.ts";

/** The page. */
export function errorsPage(): string {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).sort();
  const rows = codes.map((name) => {
    const { retryable, mended, exitCode, hint } = ERRORS[name];
    const again = retryable ? (mended ? "once mended" : "yes") : "no";
    return [code(name), again, String(exitCode), hint];
  });
  return paragraphs(
    GENERATED,
    "# Errors",
    "Source: `src/errors.ts`.",
    "A message begins with its code, then names the thing and the value, then says what to do. The codes stay the same from release to release.",
    "_Again_ says whether the same attempt may succeed later without anybody changing anything; the program then tries again by itself. _Once mended_: it tries again by itself as well, in vain until a person has seen to the cause. _Exit_ is the exit code of a command that ends with the error: 1 when something needs a person, 2 for wrong usage or configuration. Some codes are answered by the dashboard alone, and end no command.",
    markdownTable(["Code", "Again", "Exit", "What to do"], rows),
  );
}
