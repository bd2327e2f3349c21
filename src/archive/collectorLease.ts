/**
 * One collector to an account in a database. Whoever collects an account holds its row in `collectors` and renews it; whoever
 * wants it watches whether it is renewed, on a clock of its own that is never set back. No other clock is trusted, and no lock
 * of a session: a peer that vanished would hold one for minutes, and a pooler in transaction mode breaks it.
 *
 * States and moves:
 * - wanted -> held: the row is free, or was not renewed for `DEAD_LOOKS` looks, or its holder is known to be dead;
 * - wanted -> lost: another holder renews it; it is this run's refusal;
 * - wanted -> wanted: the database is away. Answers go to the journal meanwhile, as always;
 * - held -> held: renewed, or the database is away;
 * - held -> lost: another holder has the row: this process was paused or cut off for so long that it was taken for dead;
 * - held -> released.
 */
import type pg from "pg";
import { atMost, type Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { type CollectorProcess, processInWords } from "./collectorProcess.ts";
import { accountHolders } from "./schema.ts";
import { columnList } from "./tableRows.ts";

/** What a lease is asked for with. */
export type LeaseOptions = {
  /** Which account; the same for every collector of it, and no secret. */
  account: string;
  /** The account and the database in words, for messages. */
  thing: string;
  /** The run's name among collectors. */
  id: string;
  self: Omit<CollectorProcess, "since">;
  /** Names of runs that are surely dead. */
  dead: readonly string[];
  clock: Clock;
  /** Called when another collector's row is watched, which takes seconds. */
  onWatch: (other: CollectorProcess) => void;
  /** Ends the wait for it. */
  signal: AbortSignal;
};

/** A lease that is held, or is taken as soon as the database is back. */
export type CollectorLease = {
  /** Resolves with the error to end with when another collector has the account: COLLECTOR_RUNNING or COLLECTOR_REPLACED. */
  lost: Promise<QuotekeeperError>;
  /** Waits, before a call, until a process that was paused knows whether it was replaced. @throws the error of `lost` */
  sure: () => Promise<void>;
  /** Gives it up. @returns whether the database knows; never throws */
  release: () => Promise<boolean>;
};

/** How often it is renewed, in ms. */
export const RENEW_EVERY_MS = 2_000;

/** How often somebody else's is looked at, in ms. */
export const LOOK_EVERY_MS = 500;

/** How many looks in a row find a dead one as it was: 7 s. */
export const DEAD_LOOKS = 14;

/** A holder that has not asked the database for so long, in ms, may have been replaced: it asks first, for so long at most. */
const UNSURE_AFTER_MS = 5_000;
const ASK_FIRST_MS = 2_000;

/** How long the database may take to learn of the end, in ms: somebody waits for it. */
const RELEASE_MS = 1_000;

/** The refusal of a second collector. @param thing what is collected, in words */
function collectorRunning(thing: string, holder: CollectorProcess): QuotekeeperError {
  return new QuotekeeperError("COLLECTOR_RUNNING", `${thing} is collected by ${processInWords(holder)}`);
}

/**
 * Takes the lease, or refuses. Where the database does not answer, it is taken later.
 *
 * @throws QuotekeeperError COLLECTOR_RUNNING; the signal's reason
 */
export async function takeLease(
  pool: Pick<pg.Pool, "query">,
  options: LeaseOptions,
): Promise<CollectorLease> {
  const lease = new Lease(pool, options);
  await lease.take();
  lease.keep();
  return lease;
}

type Seen = Pick<typeof accountHolders.$inferSelect, "holder" | "beat" | "released"> & CollectorProcess;

/** Takes the row where it is free: nobody's, released, of a run that is dead, or as it was when it was last seen. */
const CLAIM = `
  insert into account_holders as c (${columnList(accountHolders, "account", "holder", "fence", "beat", "pid", "host", "grantedAt", "renewedAt", "released")})
  values ($1, $2, 1, 0, $3, $4, $5, clock_timestamp(), false)
  on conflict (account) do update set
    holder = excluded.holder, fence = c.fence + 1, beat = c.beat + 1, pid = excluded.pid, host = excluded.host,
    granted_at = excluded.granted_at, renewed_at = excluded.renewed_at, released = false
  where c.released or c.holder = any ($6) or (c.holder = $7 and c.beat = $8)`;

const RENEW = `
  update account_holders set beat = beat + 1, renewed_at = clock_timestamp()
  where account = $1 and holder = $2 and not released`;

const LOOK = `
  select holder, beat::text as beat, released, pid, host,
    to_char(granted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
  from account_holders where account = $1`;

const RELEASE = "update account_holders set released = true where account = $1 and holder = $2";

class Lease implements CollectorLease {
  readonly lost: Promise<QuotekeeperError>;
  readonly #pool: Pick<pg.Pool, "query">;
  readonly #options: LeaseOptions;
  readonly #since: Date;
  readonly #ended = new AbortController();
  #keeping: Promise<void> = Promise.resolve();
  #lose: (error: QuotekeeperError) => void = () => undefined;
  #lostTo: QuotekeeperError | null = null;
  #held = false;
  #askedAtMs = -Infinity;
  #askingFirst: Promise<void> | null = null;

  constructor(pool: Pick<pg.Pool, "query">, options: LeaseOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#since = options.clock.now();
    this.lost = new Promise((resolve) => (this.#lose = resolve));
  }

  /** The first attempt. */
  async take(): Promise<void> {
    const { signal } = this.#options;
    await this.#contend(signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (isRefusal(error)) throw error;
    });
  }

  /** Renews it, or goes on wanting it, until it is lost or released. */
  keep(): void {
    this.#keeping = this.#keepOn();
  }

  async #keepOn(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted && this.#lostTo === null) {
      await clock.sleep(RENEW_EVERY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      // A database that is away is the loader's to complain of.
      if (this.#held) await this.#renew().catch(() => undefined);
      else
        await this.#contend(signal).catch((error: unknown) => {
          if (isRefusal(error)) this.#loseTo(error);
        });
    }
  }

  readonly sure = async (): Promise<void> => {
    const { clock } = this.#options;
    if (this.#held && clock.monotonicMs() - this.#askedAtMs > UNSURE_AFTER_MS)
      this.#askingFirst ??= atMost(
        ASK_FIRST_MS,
        this.#renew().catch(() => undefined),
        clock,
      ).finally(() => {
        this.#askedAtMs = clock.monotonicMs();
        this.#askingFirst = null;
      });
    await this.#askingFirst;
    if (this.#lostTo) throw this.#lostTo;
  };

  readonly release = async (): Promise<boolean> => {
    const { clock } = this.#options;
    this.#ended.abort();
    await atMost(RELEASE_MS, this.#keeping, clock);
    if (!this.#held) return true;
    let known = false;
    const releasing = this.#ask(RELEASE).then(
      () => (known = true),
      () => undefined,
    );
    await atMost(RELEASE_MS, releasing, clock);
    return known;
  };

  /** Waits until it is held. @throws COLLECTOR_RUNNING; the signal's reason; errors of the database */
  async #contend(signal: AbortSignal): Promise<void> {
    const { clock, thing, onWatch } = this.#options;
    let seen: Seen | null = null;
    for (let same = 0; !(await this.#claim(null));) {
      const found = await this.#look();
      const again = found !== null && found.holder === seen?.holder;
      if (again && found.beat !== seen?.beat) throw collectorRunning(thing, found);
      if (found && !again) onWatch(found);
      same = again ? same + 1 : 0;
      seen = found;
      // Somebody else may have been faster, and is watched in turn.
      if (same >= DEAD_LOOKS && (await this.#claim(seen))) return;
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  async #claim(unchanged: Seen | null): Promise<boolean> {
    const { self, dead } = this.#options;
    const rest = [
      self.pid,
      self.host,
      this.#since.toISOString(),
      dead,
      unchanged?.holder ?? null,
      unchanged?.beat ?? null,
    ];
    this.#held = (await this.#ask(CLAIM, ...rest)).rowCount === 1;
    return this.#held;
  }

  async #look(): Promise<Seen | null> {
    const { rows } = await this.#pool.query<Seen>(LOOK, [this.#options.account]);
    return rows[0] ?? null;
  }

  async #renew(): Promise<void> {
    if ((await this.#ask(RENEW)).rowCount === 1) return;
    // The row may be gone with a database that was restored, or free again.
    if (await this.#claim(null)) return;
    const other = await this.#look();
    if (other === null) return;
    this.#loseTo(
      new QuotekeeperError(
        "COLLECTOR_REPLACED",
        `${this.#options.thing} is collected by ${processInWords(other)}: this process was paused, or cut off from the database, and taken for dead`,
      ),
    );
  }

  async #ask(statement: string, ...rest: unknown[]): Promise<pg.QueryResult> {
    const { account, id, clock } = this.#options;
    const result = await this.#pool.query(statement, [account, id, ...rest]);
    // An answer that the row is another's leaves it unsure: a call between that and the look at whose it is must wait too.
    if (result.rowCount === 1) this.#askedAtMs = clock.monotonicMs();
    return result;
  }

  #loseTo(error: QuotekeeperError): void {
    this.#held = false;
    this.#lostTo = error;
    this.#lose(error);
  }
}

function isRefusal(error: unknown): error is QuotekeeperError {
  return error instanceof QuotekeeperError && error.code === "COLLECTOR_RUNNING";
}
