/**
 * The session of an account whose service wants a person's login, or a token that calls bring: its tokens in a sealed file of the
 * data directory, from login to login and from run to run.
 *
 * A session is open -> asleep, when the service says so or after long idleness -> open, when it is woken; or over, when its time is
 * up, or when it cannot be woken. The file of a later login begins another one. Where calls bring a token, a session begins asleep,
 * and is woken by them, also before the token ends; without a login it is never over.
 */
import { statSync } from "node:fs";
import { accountKey } from "../../accounts/account.ts";
import type { Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Credentials } from "../../services/service.ts";
import type { LoginCall, NotLoggedIn } from "../../services/serviceLogin.ts";
import type { Token } from "../../services/serviceToken.ts";
import type { Stamp } from "../../services/stamp.ts";
import {
  readSession,
  sealedSession,
  type SessionAccount,
  type SessionFile,
  sessionKey,
  sessionPath,
  writeSession,
} from "./keptSession.ts";
import { unseal } from "./sealing.ts";
import { callInTime, type callLogin, isRefused } from "./loginCalls.ts";

/** A session is woken before it would sleep: so long without a call, in parts of the time after which it does. */
const WOKEN_AFTER = 5 / 6;

/** A token is renewed once a day, however long it is said to last, in ms. */
const LONGEST_MS = 24 * 60 * 60_000;

/** The least time between two renewals while the token may still hold, in ms: after one in vain, and of a token that is said not to last. */
const RENEWED_AGAIN_MS = 30_000;

type SessionOptions = {
  dataDir: string;
  clock: Clock;
  onRenewed?: (() => void) | undefined;
  call?: typeof callLogin;
};

/** `file`: what is on the disk; null: nothing yet. `renewMs`: when its token is renewed, epoch ms. */
type OpenSession = {
  file: SessionFile | null;
  tokens: Credentials;
  usedMs: number;
  renewMs: number;
  asleep: boolean;
  woken: boolean;
};

export class Session {
  readonly #of: SessionAccount;
  readonly #options: SessionOptions;
  readonly #path: string;
  /** What tells one file from the next, of the file that was read last. */
  #seen = "";
  #open: OpenSession | null = null;
  #waking: Promise<void> | null = null;

  constructor(of: SessionAccount, options: SessionOptions) {
    this.#of = of;
    this.#options = options;
    this.#path = sessionPath(options.dataDir, of.account);
  }

  /** Whether calls may be made. Looks at the file: a login counts at once. */
  readonly isOpen = (): boolean => {
    this.#look();
    const endsAt = this.#open?.file?.endsAt;
    return this.#open !== null && (!endsAt || this.#options.clock.now() < new Date(endsAt));
  };

  /** With the tokens of the session. @throws QuotekeeperError LOGIN_NEEDED */
  readonly credentials = (): Credentials => {
    if (this.isOpen() && this.#open) return { ...this.#of.credentials, ...this.#open.tokens };
    const { account } = this.#of;
    throw new QuotekeeperError(
      "LOGIN_NEEDED",
      `nobody has logged in to the account ${account.name} of ${account.service.title}`,
    );
  };

  /**
   * Awaited before a call: wakes the session after long idleness, when the service has said that it sleeps, and before its token ends.
   *
   * @throws QuotekeeperError LOGIN_NEEDED, SERVICE_UNAUTHORIZED, SERVICE_ERROR, and the errors of a call
   */
  async awake(signal?: AbortSignal): Promise<void> {
    this.credentials();
    const open = this.#open;
    const { token, login } = this.#of.account.service;
    const nowMs = this.#options.clock.now().getTime();
    const idleMs = WOKEN_AFTER * (login?.waking?.idleMs ?? Infinity);
    if (!open || !(open.asleep || nowMs - open.usedMs >= idleMs || nowMs >= open.renewMs)) return;
    this.#waking ??= this.#wake(open, signal).finally(() => (this.#waking = null));
    await this.#waking.catch((error: unknown) => {
      if (!token || open.asleep) throw error;
      // A token that is renewed ahead of its end still holds: the service says when it does not.
      open.renewMs = nowMs + RENEWED_AGAIN_MS;
    });
  }

  /** The service has answered a call. @param isRefused whether it has said that the session is over, or does not accept the token */
  answered(isRefused: boolean): void {
    const open = this.#open;
    if (!open) return;
    if (!isRefused) Object.assign(open, { usedMs: this.#options.clock.now().getTime(), woken: false });
    else if (!open.woken) open.asleep = true;
    // A token that is refused although it is new is not to blame: none is asked for again until one was accepted, or this one ends.
    else if (!this.#of.account.service.token) this.#end();
  }

  async #wake(open: OpenSession, signal: AbortSignal | undefined): Promise<void> {
    const { clock, onRenewed } = this.#options;
    const { token } = this.#of.account.service;
    const refused = await (token ? this.#bring(token, open) : this.#renew(signal));
    // Another login may have come meanwhile.
    this.#look();
    if (this.#open !== open) return;
    if (refused) this.#refused(refused);
    Object.assign(open, { asleep: false, woken: true, usedMs: clock.now().getTime() });
    onRenewed?.();
  }

  /** @throws QuotekeeperError SERVICE_ERROR, SERVICE_UNAUTHORIZED, LOGIN_NEEDED */
  #refused({ fault, refused }: NotLoggedIn): void {
    const { token, login, title, credentials } = this.#of.account.service;
    if (token ? fault !== "access" : fault === "service" || fault === "clock")
      throw new QuotekeeperError("SERVICE_ERROR", `the session was not renewed: ${refused}`);
    if (!login) {
      const named = credentials.all.map(({ variable }) => variable).join(", ");
      throw new QuotekeeperError(
        "SERVICE_UNAUTHORIZED",
        `${title} gives no token: ${refused}; it goes by ${named}`,
      );
    }
    this.#end();
    this.credentials();
  }

  /** Renews the session where it can be; the place of its login is not kept. @returns why it cannot; null: it goes on */
  async #renew(signal: AbortSignal | undefined): Promise<NotLoggedIn | null> {
    const { baseUrl, account } = this.#of;
    const { clock, call } = this.#options;
    const { login } = account.service;
    if (!login?.waking) return null;
    const { waking } = login;
    const credentials = this.credentials();
    let said: NotLoggedIn | null = null;
    for (const place of login.places(baseUrl, account.loginUrl)) {
      const written = (stamp: Stamp): LoginCall => waking.renew(place, credentials, stamp);
      said = await callInTime(written, waking.renewed, { clock, signal, call });
      if (!isRefused(said)) return null;
    }
    return said;
  }

  /** Makes the calls that bring a token. What each has brought is on the disk before anything is signed with it. @returns as `#renew` */
  async #bring({ steps, aheadMs }: Token, open: OpenSession): Promise<NotLoggedIn | null> {
    const { baseUrl, credentials } = this.#of;
    const askedMs = this.#options.clock.now().getTime();
    let lastsMs = LONGEST_MS;
    for (const step of steps) {
      const known = { ...credentials, ...open.tokens };
      const written = (stamp: Stamp): LoginCall => step.ask(baseUrl, known, stamp);
      // The call has no signal, so that a caller who leaves does not cut it off: its answer may hold the only refresh token.
      const brought = await callInTime(written, step.read, this.#options);
      if (isRefused(brought)) return brought;
      if (!this.#goesOn(open)) return null;
      open.tokens = { ...open.tokens, ...brought.tokens };
      const saidMs = brought.lastsMs ?? NaN;
      if (saidMs >= 0) lastsMs = Math.min(lastsMs, saidMs);
      const renewedAfterMs = Math.max(RENEWED_AGAIN_MS, lastsMs - Math.min(aheadMs, lastsMs / 2));
      this.#keep(open, step === steps.at(-1) ? new Date(askedMs + renewedAfterMs) : null);
    }
    return null;
  }

  /**
   * Whether the file still holds what a session has asked with. Another session may have been refused with the same tokens meanwhile,
   * because this one's answer was on its way: that refusal says nothing of the tokens of the answer.
   */
  #goesOn(open: OpenSession): boolean {
    this.#look();
    if (this.#open !== open && this.#isOnDisk(open.file)) this.#open = open;
    return this.#open === open;
  }

  /** By its sealed tokens: no two files have the same. */
  #isOnDisk(file: SessionFile | null): boolean {
    return file !== null && readSession(this.#path)?.tokens === file.tokens;
  }

  /** @param renewAt null: more calls are to come. @throws QuotekeeperError DATA_DIR_UNWRITABLE; memory alone has the tokens then */
  #keep(open: OpenSession, renewAt: Date | null): void {
    const { clock } = this.#options;
    const { startedAt = clock.now().toISOString(), endsAt = null } = open.file ?? {};
    const times = { startedAt, endsAt, ...(renewAt && { renewAt: renewAt.toISOString() }) };
    open.file = sealedSession(this.#of, { tokens: open.tokens, times, clock });
    try {
      writeSession(this.#path, open.file);
    } catch (cause) {
      open.asleep = true;
      throw new QuotekeeperError("DATA_DIR_UNWRITABLE", `${this.#path} cannot be written`, { cause });
    }
    this.#seen = this.#mark();
    if (renewAt) open.renewMs = renewAt.getTime();
  }

  /** Ends the session. The file says so too, unless another session has renewed it. */
  #end(): void {
    const file = this.#open?.file;
    this.#open = null;
    const refusedAt = this.#options.clock.now().toISOString();
    if (!file || !this.#isOnDisk(file)) return;
    try {
      writeSession(this.#path, { ...file, refusedAt });
      this.#seen = this.#mark();
    } catch {
      // A later start asks the service once more.
    }
  }

  #look(): void {
    const mark = this.#mark();
    if (mark === this.#seen) return;
    this.#seen = mark;
    const { account } = this.#of;
    const { login, token } = account.service;
    const file = readSession(this.#path);
    const key = accountKey(account);
    const isOwn = file?.key === key && file.refusedAt === null;
    const tokens = isOwn ? unseal(file.tokens, sessionKey(this.#of, file.salt), key) : null;
    // Without a login the credentials of the account bring the first token.
    if (tokens === null && login) return void (this.#open = null);
    const opened = tokens === null ? null : file;
    this.#open = {
      file: opened,
      tokens: JSON.parse(tokens ?? "{}") as Credentials,
      usedMs: Date.parse(opened?.startedAt ?? ""),
      renewMs: Date.parse(opened?.renewAt ?? ""),
      asleep: token !== undefined && opened?.renewAt === undefined,
      woken: false,
    };
  }

  #mark(): string {
    const stats = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    return stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : "none";
  }
}
