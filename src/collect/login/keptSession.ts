/**
 * What is kept of the session of an account: its tokens in a file of the data directory, sealed with the secrets of the account alone.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type Account, accountKey } from "../../accounts/account.ts";
import type { Clock } from "../../ground/clock.ts";
import { openToOthers, readTextFileSync } from "../../ground/plainFiles.ts";
import { replaceFile } from "../../ground/ownerFile.ts";
import type { Credentials } from "../../services/service.ts";
import type { Login } from "../../services/serviceLogin.ts";
import { IV_LENGTH, SALT_LENGTH, seal, sealingKey } from "./sealing.ts";

export type SessionAccount = { account: Account; baseUrl: string; credentials: Credentials };
export type LoginAccount = SessionAccount & { login: Login };

/** The account with what its session takes, of a login or of a token; null: its credentials are all. */
export function sessionOf(account: Account): SessionAccount | null {
  const { service, feed } = account;
  if (!(service.login || service.token) || feed.kind !== "account") return null;
  return { account, baseUrl: feed.baseUrl, credentials: feed.credentials };
}

/** The account with what its login takes; null: it wants none. */
export function loginOf(account: Account): LoginAccount | null {
  const { login } = account.service;
  const of = sessionOf(account);
  return of && login ? { ...of, login } : null;
}

const sessionFile = z.strictObject({
  version: z.literal(1),
  /** Whose it is: see `accountKey`. */
  key: z.string(),
  startedAt: z.iso.datetime(),
  /** Null: nothing but the service ends it. */
  endsAt: z.iso.datetime().nullable(),
  /** When its token is renewed; absent: it has none, or calls have not yet brought all. */
  renewAt: z.iso.datetime().optional(),
  /** When the service has said that it is over; null: it has not. */
  refusedAt: z.iso.datetime().nullable(),
  /** Of the sealing key, base64url. */
  salt: z.string(),
  /** The tokens, sealed: they open with the secrets of the account alone. */
  tokens: z.string(),
});

export type SessionFile = z.infer<typeof sessionFile>;

export function sessionPath(dataDir: string, { name }: Account): string {
  return join(dataDir, "logins", `${name}.json`);
}

/** @returns null: there is none, or none that can be read */
export function readSession(path: string): SessionFile | null {
  try {
    const { text, mode } = readTextFileSync(path, { links: false });
    if (openToOthers(mode, 0o077) !== 0) return null;
    return sessionFile.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export function writeSession(path: string, file: SessionFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, `${JSON.stringify(file)}\n`);
}

export function sessionKey({ account, credentials }: SessionAccount, salt: string): Buffer {
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
  const times = { startedAt: startedAt.toISOString(), endsAt: endsAt.toISOString() };
  writeSession(sessionPath(dataDir, of.account), sealedSession(of, { tokens, times, clock }));
  return endsAt;
}

export function sealedSession(
  of: SessionAccount,
  {
    tokens,
    times,
    clock,
  }: { tokens: Credentials; times: Pick<SessionFile, "startedAt" | "endsAt" | "renewAt">; clock: Clock },
): SessionFile {
  const salt = Buffer.from(clock.random(SALT_LENGTH)).toString("base64url");
  const key = accountKey(of.account);
  const sealed = seal(JSON.stringify(tokens), sessionKey(of, salt), {
    boundTo: key,
    iv: clock.random(IV_LENGTH),
  });
  return { version: 1, key, ...times, refusedAt: null, salt, tokens: sealed };
}

/** Until when the session of an account holds; null: there is none. Its tokens are not opened. */
export function sessionEnd(
  { account }: Pick<LoginAccount, "account">,
  dataDir: string,
  now: Date,
): Date | null {
  const file = readSession(sessionPath(dataDir, account));
  if (!file?.endsAt || file.key !== accountKey(account) || file.refusedAt !== null) return null;
  const endsAt = new Date(file.endsAt);
  return now < endsAt && now >= new Date(file.startedAt) ? endsAt : null;
}
