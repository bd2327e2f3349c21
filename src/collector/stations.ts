/** What every command that calls the service opens first: the journal, the feed, and the log of calls. */
import { resolve } from "node:path";
import type { Account } from "../accounts/account.ts";
import { type Clock, createObserver, instantFromDate } from "../ground/clock.ts";
import type { CallLog } from "../collect/callLog.ts";
import type { CalledAccount } from "../collect/accountDispatchers.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { journalDir } from "../journal/dataDir.ts";
import type { JournalFs } from "../journal/fs.ts";
import { uuidv7 } from "../journal/uuid.ts";
import { type Journal, openJournal } from "../journal/writer.ts";
import { governorOf, openCalls } from "../collect/callHistory.ts";
import type { Loader } from "../archive/load/loader.ts";
import { openFeed, type OpenFeed } from "./feed.ts";
import { journalGone, keepGone } from "../status/goneJournal.ts";

export type AccountStations = Pick<OpenFeed, "fetchQuotes" | "sourceOf"> & {
  account: Account;
  feed: OpenFeed;
  /** Where calls are noted, so that a run after this one knows of them. */
  calls: CallLog;
  /** What a governor must know: the limit, the calls before that count, and whom to tell when it closes. */
  budget: Pick<CalledAccount, "name" | "service" | "governor" | "history" | "onClosed" | "hasSession">;
};

export type Stations = {
  dir: string;
  journal: Journal;
  /** Opens an account's stations; close them before these. */
  open: (account: Account) => Promise<AccountStations>;
  /** Says which number no other collector of the database has: receive times bear it from then on. */
  useNumber: (number: number) => void;
  requestId: () => string;
  close: () => Promise<void>;
};

/** The stations of a call that may leave: see `pipeline.ts`. */
export type CallPath = Pick<AccountStations, "fetchQuotes" | "sourceOf"> & {
  account: Pick<Account, "name" | "service">;
  requestId: Stations["requestId"];
  journal: Pick<Journal, "append">;
  calls: Pick<CallLog, "leaves">;
  loader: Pick<Loader, "notify">;
};

type StationsOptions = {
  clock: Clock;
  bootId: string | null;
  /** Whether old segments of the journal are looked after in the background. Default true. */
  upkeep?: boolean;
  /** The file system that the journal is written to. Default: the machine's own. */
  journalFs?: JournalFs | undefined;
  /** Gets the journal's troubles (`error`), and one message when calls cannot be noted (`warn`). */
  tell: (level: "error" | "warn", message: string) => void;
};

/** @throws QuotekeeperError JOURNAL_UNREADABLE and what else keeps the journal from being opened */
export async function openStations(
  config: Config,
  { clock, bootId, upkeep = true, journalFs, tell }: StationsOptions,
): Promise<Stations> {
  const dir = journalDir(config);
  const journal = await openJournal({
    dir,
    clock,
    upkeep,
    readers: config.journalReaders,
    maxTotalBytes: config.journalMaxBytes,
    ...(journalFs && { fs: journalFs }),
    onProblem: ({ message }) => tell("error", message),
    onGone: (since) => {
      tell("error", journalGone(dir, since).message);
      void keepGone(resolve(config.dataDir), since);
    },
  });
  // Answers to all accounts are named by one clock.
  let number: number | null = null;
  const observe = createObserver(clock, () => number);
  return {
    dir,
    journal,
    close: journal.close,
    useNumber: (own) => (number = own),
    requestId: () => uuidv7(clock.now().getTime(), clock.random(16)),
    open: async (account) => {
      const dataDir = resolve(config.dataDir);
      const feed = await openFeed(account, {
        dataDir,
        clock,
        observe,
        onRenewed: () => void noteRenewal(journal, account.name, clock),
      });
      try {
        const { log: calls, history } = await openCalls(account, {
          dataDir,
          journalDir: dir,
          clock,
          bootId,
          onProblem: (message) => tell("warn", message),
        });
        const { fetchQuotes, sourceOf } = feed;
        const budget = {
          name: account.name,
          service: account.service,
          governor: governorOf(account),
          history,
          onClosed: calls.closed,
          ...(feed.session && { hasSession: feed.session.isOpen }),
        };
        return { account, feed, fetchQuotes, sourceOf, calls, budget };
      } catch (error) {
        await feed.close();
        throw error;
      }
    },
  };
}

/** For people: nothing hangs on it, and a journal that cannot be written says so itself. */
async function noteRenewal(journal: Journal, account: string, clock: Clock): Promise<void> {
  const note = { type: "login_renewed", account };
  await journal.append({ kind: "note", at: instantFromDate(clock.now()), note }).catch(() => undefined);
}
