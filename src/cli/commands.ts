/**
 * The commands: what each does in a line, an example, and its file. `--help` shows the lines of all of them and loads the file of
 * none; a command loads its own file alone. Its file has the rest: what it takes, prints and does.
 */
import type { CommandOfAnyType } from "./command.ts";

type KnownCommand = { does: string; example: string; load: () => Promise<CommandOfAnyType> };

/** By the heading in `--help`, in the order in which a user meets them, then by the words behind `quotekeeper`. */
export const COMMANDS: Readonly<Record<string, Readonly<Record<string, KnownCommand>>>> = {
  "First use:": {
    start: {
      does: "everything in one process: migrate, collect, load, dashboard; with nothing configured also an embedded database and a simulated market",
      example: "start",
      load: async () => (await import("./start.ts")).start,
    },
    init: {
      does: "asks five questions (symbols, chains, hours, account, database), and writes job files and .env from the answers; it overwrites nothing",
      example: "init --symbols AAPL,MSFT --hours regular",
      load: async () => (await import("./init/init.ts")).init,
    },
    login: {
      does: "logs in to an account whose service wants a person each day: prints the address to open, and takes the code from there",
      example: "login --account main",
      load: async () => (await import("./login.ts")).login,
    },
    doctor: {
      does: "tries the account with a few calls, and says what holds of each assumption about the service; exit code 1 when something that is needed does not",
      example: "doctor --report report.txt",
      load: async () => (await import("./doctor.ts")).doctor,
    },
  },
  "Collect:": {
    collect: {
      does: "the collector alone, without the dashboard",
      example: "collect",
      load: async () => (await import("./start.ts")).collect,
    },
    poll: {
      does: "makes one poll now, keeps it in journal and archive, and prints it as a table; give one of --symbols, --watchlist, --option",
      example: "poll --symbols AAPL,MSFT",
      load: async () => (await import("./poll.ts")).poll,
    },
    jobs: {
      does: "the job files",
      example: "jobs check",
      load: async () => (await import("./jobs.ts")).jobs,
    },
    plan: {
      does: "the calls and batches that the jobs need at each slot of the session, and what would be missed; exit code 1 when over budget",
      example: "plan --date 2026-12-18",
      load: async () => (await import("./plan.ts")).plan,
    },
    accounts: {
      does: "the accounts that share the jobs: what each does, and who collects it",
      example: "accounts drain main",
      load: async () => (await import("./accounts.ts")).accounts,
    },
    calendar: {
      does: "the exchange's sessions, as the program knows them: date, kind, pre, open, close, post",
      example: "calendar --from 2026-12-01 --to 2026-12-31",
      load: async () => (await import("./calendar.ts")).calendar,
    },
  },
  "Ask:": {
    web: {
      does: "the dashboard alone, over the archive of DATABASE_URL or of the data directory; it only reads",
      example: "web",
      load: async () => (await import("./web.ts")).web,
    },
    serve: {
      does: "a Market Quotes Service of your own, to point programs at",
      example: "serve --source simulated",
      load: async () => (await import("./serve.ts")).serve,
    },
    "serve keys": {
      does: "who may call the service: keys that outlive a run, in a file that only its owner may read",
      example: "serve keys add notebook",
      load: async () => (await import("./serveKeys.ts")).serveKeys,
    },
    coverage: {
      does: "what was due and what is stored, by instrument and session, worst first, and why the rest is missing; exit code 1 when something is missing",
      example: "coverage --from 2026-12-01 --to 2026-12-04",
      load: async () => (await import("./coverage.ts")).coverage,
    },
    export: {
      does: "the archive as files for other engines, a directory for each exchange date",
      example: "export --format csv --out quotes --symbols AAPL",
      load: async () => (await import("./export.ts")).exportArchive,
    },
    sql: {
      does: "asks the archive in SQL, lake and database as one, with DuckDB; it only reads",
      example: "sql 'select * from latest_quotes'",
      load: async () => (await import("./sql.ts")).sql,
    },
  },
  "Archive:": {
    migrate: {
      does: "brings the database's schema up to date; does nothing if it is",
      example: "migrate",
      load: async () => (await import("./migrate.ts")).migrate,
    },
    journal: {
      does: "the journal's health; no command ever changes a record",
      example: "journal verify",
      load: async () => (await import("./journal.ts")).journal,
    },
    backfill: {
      does: "refills the archive from what was once received, because the service itself has no history; give one of --journal, --xml, --csv, --parquet, --symbols-file or --chain, --gaps",
      example: "backfill --gaps --from 2026-12-01 --to 2026-12-04",
      load: async () => (await import("./backfill/backfill.ts")).backfill,
    },
    lake: {
      does: "whole days of the archive as proven Parquet files, those that are not there yet; `lake verify` reads them, `lake restore` brings quotes back",
      example: "lake --out lake --through 2026-11-30",
      load: async () => (await import("./lake.ts")).lake,
    },
  },
  "Operate:": {
    status: {
      does: "what is healthy, late or lost, a line each; exit code 1 when something needs a person",
      example: "status",
      load: async () => (await import("./status.ts")).status,
    },
  },
};
