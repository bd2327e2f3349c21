/**
 * Every error this program raises on purpose: its code, whether trying again can help, the exit code
 * of a command that ends with it, and what the reader can do. `docs/errors.md` is generated from this table.
 */

type ErrorEntry = {
  /** Whether the same attempt may succeed later without anybody changing anything. */
  retryable: boolean;
  /** 1: something needs a person. 2: wrong usage or configuration. */
  exitCode: 1 | 2;
  /** What to do, one sentence. */
  hint: string;
};

const table = {
  CONFIG_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct the variables named above; docs/configuration.md describes each one.",
  },
  JOBS_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct the places named above, then run `quotekeeper jobs check`.",
  },
} as const satisfies Record<string, ErrorEntry>;

/** The code of an error, stable across releases. */
export type ErrorCode = keyof typeof table;

/** The table of all errors. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = table;

/** The one error class of this program. The message names the thing and the value, then says what to do. */
export class QuotekeeperError extends Error {
  readonly code: ErrorCode;

  /** @param detail what went wrong, naming the thing and the value; never a key, token or signature */
  constructor(code: ErrorCode, detail: string, options?: ErrorOptions) {
    super(`${code}: ${detail}${/[.!?]$/.test(detail) ? "" : "."} ${ERRORS[code].hint}`, options);
    this.name = "QuotekeeperError";
    this.code = code;
  }
}
