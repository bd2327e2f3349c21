/**
 * The session of an account whose service wants a person's login: its tokens in a sealed file of the data directory, from login to
 * login.
 *
 * A session is open -> asleep, when the service says so or after long idleness -> open, when it is woken; or over, when its time is
 * up, or when it cannot be woken. The file of a later login begins another one.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type Account, accountKey } from "../../accounts/account.ts";
import type { Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { openToOthers, readTextFileSync } from "../../ground/plainFiles.ts";
import type { Credentials } from "../../services/service.ts";
import type { Login, LoginCall, NotLoggedIn } from "../../services/serviceLogin.ts";
import type { Stamp } from "../../services/stamp.ts";
import { replaceFile } from "../../ground/ownerFile.ts";
import { IV_LENGTH, SALT_LENGTH, seal, sealingKey, unseal } from "./sealing.ts";
import { callInTime, type callLogin, isRefused } from "./loginCalls.ts";

export type LoginAccount = { account: Account; login: Login; baseUrl: string; credentials: Credentials };

/** The account with what its login takes; null: it wants none. */
export function loginOf(account: Account): LoginAccount | null {
  const { service, feed } = account;
  if (!service.login || feed.kind !== "account") return null;
  return { account, login: service.login, baseUrl: feed.baseUrl, credentials: feed.credentials };
}

const sessionFile = z.strictObject({
  version: z.literal(1),
  /** Whose it is: see `accountKey`. */
  key: z.string(),
  startedAt: z.iso.datetime(),
  endsAt: z.iso.datetime(),
  /** When the service has said that it is over; null: it has not. */
  refusedAt: z.iso.datetime().nullable(),
  /** Of the sealing key, base64url. */
  salt: z.string(),
  /** The tokens, sealed: they open with the secrets of the account alone. */
  tokens: z.string(),
});

type SessionFile = z.infer<typeof sessionFile>;

function pathOf(dataDir: string, { name }: Account): string {
  return join(dataDir, "logins", `${name}.json`);
}

/** @returns null: there is none, or none that can be read */
function readFile(path: string): SessionFile | null {
  try {
    const { text, mode } = readTextFileSync(path, { links: false });
    if (openToOthers(mode, 0o077) !== 0) return null;
    return sessionFile.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function writeFile(path: string, file: SessionFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, `${JSON.stringify(file)}\n`);
}

function keyOf({ account, credentials }: LoginAccount, salt: string): Buffer {
  const secrets = account.service.credentials.secrets.map((name) => credentials[name] ?? "");
  return sealingKey(JSON.stringify(secrets), Buffer.from(salt, "base64url"));
}

/** Keeps the tokens of a login that was just made. @returns when it ends @throws the error of the file system */
export function keepSession(
  of: LoginAccount,
  tokens: Credentials,
  { dataDir, clock }: { dataDir: string; clock: Clock },
): Date {
  const startedAt = clock.now();
  const endsAt = of.login.endsAt(startedAt);
  const salt = Buffer.from(clock.random(SALT_LENGTH)).toString("base64url");
  const key = accountKey(of.account);
  const sealed = seal(JSON.stringify(tokens), keyOf(of, salt), { boundTo: key, iv: clock.random(IV_LENGTH) });
  writeFile(pathOf(dataDir, of.account), {
    version: 1,
    key,
    startedAt: startedAt.toISOString(),
    endsAt: endsAt.toISOString(),
    refusedAt: null,
    salt,
    tokens: sealed,
  });
  return endsAt;
}

/** Until when the session of an account holds; null: there is none. Its tokens are not opened. */
export function sessionEnd(
  { account }: Pick<LoginAccount, "account">,
  dataDir: string,
  now: Date,
): Date | null {
  const file = readFile(pathOf(dataDir, account));
  if (file === null || file.key !== accountKey(account) || file.refusedAt !== null) return null;
  const endsAt = new Date(file.endsAt);
  return now < endsAt && now >= new Date(file.startedAt) ? endsAt : null;
}

/** A session is woken before it would sleep: so long without a call, in parts of the time after which it does. */
const WOKEN_AFTER = 5 / 6;

type SessionOptions = {
  dataDir: string;
  clock: Clock;
  onRenewed?: (() => void) | undefined;
  call?: typeof callLogin;
};

export class Session {
  readonly #of: LoginAccount;
  readonly #options: SessionOptions;
  readonly #path: string;
  /** What tells one file from the next, of the file that was read last. */
  #seen = "";
  #open: {
    file: SessionFile;
    credentials: Credentials;
    usedMs: number;
    asleep: boolean;
    woken: boolean;
  } | null = null;
  #waking: Promise<void> | null = null;

  constructor(of: LoginAccount, options: SessionOptions) {
    this.#of = of;
    this.#options = options;
    this.#path = pathOf(options.dataDir, of.account);
  }

  /** Whether calls may be made. Looks at the file: a login counts at once. */
  readonly isOpen = (): boolean => {
    this.#look();
    return this.#open !== null && this.#options.clock.now() < new Date(this.#open.file.endsAt);
  };

  /** With the tokens of the session. @throws QuotekeeperError LOGIN_NEEDED */
  readonly credentials = (): Credentials => {
    if (this.isOpen() && this.#open) return this.#open.credentials;
    const { account } = this.#of;
    throw new QuotekeeperError(
      "LOGIN_NEEDED",
      `nobody has logged in to the account ${account.name} of ${account.service.title}`,
    );
  };

  /**
   * Awaited before a call: wakes the session after long idleness, and when the service has said that it sleeps.
   *
   * @throws QuotekeeperError LOGIN_NEEDED, and the errors of a call
   */
  async awake(signal?: AbortSignal): Promise<void> {
    this.credentials();
    const idleMs = this.#options.clock.now().getTime() - (this.#open?.usedMs ?? 0);
    if (this.#open && (this.#open.asleep || idleMs >= WOKEN_AFTER * this.#of.login.idleMs))
      await (this.#waking ??= this.#wake(signal).finally(() => (this.#waking = null)));
  }

  /** The service has answered a call. @param wantsLogin whether it has said that the session is over */
  answered(wantsLogin: boolean): void {
    if (!this.#open) return;
    if (!wantsLogin) Object.assign(this.#open, { usedMs: this.#options.clock.now().getTime(), woken: false });
    else if (this.#open.woken) this.#end();
    else this.#open.asleep = true;
  }

  async #wake(signal: AbortSignal | undefined): Promise<void> {
    const open = this.#open;
    if (!open) return;
    const { clock, onRenewed } = this.#options;
    const refused = await this.#renew(open.credentials, signal);
    // Another login may have come meanwhile.
    if (this.#open !== open) return;
    if (refused?.fault === "service" || refused?.fault === "clock")
      throw new QuotekeeperError("SERVICE_ERROR", `the session was not renewed: ${refused.refused}`);
    if (refused !== null) {
      this.#end();
      this.credentials();
    }
    Object.assign(open, { asleep: false, woken: true, usedMs: clock.now().getTime() });
    onRenewed?.();
  }

  /** Renews the session where it can be; the place of its login is not kept. @returns why it cannot; null: it goes on */
  async #renew(credentials: Credentials, signal: AbortSignal | undefined): Promise<NotLoggedIn | null> {
    const { login, baseUrl, account } = this.#of;
    const { clock, call } = this.#options;
    let said: NotLoggedIn | null = null;
    for (const place of login.places(baseUrl, account.loginUrl)) {
      const written = (stamp: Stamp): LoginCall => login.renew(place, credentials, stamp);
      said = await callInTime(written, login.renewed, { clock, signal, call });
      if (!isRefused(said)) return null;
    }
    return said;
  }

  /** The session is over, also for whoever reads the file. */
  #end(): void {
    if (!this.#open) return;
    const { file } = this.#open;
    this.#open = null;
    const refusedAt = this.#options.clock.now().toISOString();
    if (readFile(this.#path)?.startedAt !== file.startedAt) return;
    try {
      writeFile(this.#path, { ...file, refusedAt });
      this.#seen = this.#mark();
    } catch {
      // A later start asks the service once more.
    }
  }

  #look(): void {
    const mark = this.#mark();
    if (mark === this.#seen) return;
    this.#seen = mark;
    const file = readFile(this.#path);
    const key = accountKey(this.#of.account);
    if (file === null || file.key !== key || file.refusedAt !== null) return void (this.#open = null);
    const tokens = unseal(file.tokens, keyOf(this.#of, file.salt), key);
    const credentials =
      tokens === null ? null : { ...this.#of.credentials, ...(JSON.parse(tokens) as Credentials) };
    const usedMs = Date.parse(file.startedAt);
    this.#open = credentials && {
      file,
      credentials: Object.freeze(credentials),
      usedMs,
      asleep: false,
      woken: false,
    };
  }

  #mark(): string {
    const stats = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    return stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : "none";
  }
}
