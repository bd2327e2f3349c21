/** Reads the settings once, at the start: process environment over `.env`, secrets also from files. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse as parseDotenv } from "dotenv";
import type { z } from "zod";
import { QuotekeeperError } from "../errors.ts";
import { openToOthers, readTextFileSync } from "../plainFiles.ts";
import { withSslMode } from "./databaseUrl.ts";
import {
  ACCOUNTS_FILES,
  CREDENTIAL_NAMES,
  DEFAULT_JOBS_DIR,
  type Environment,
  environmentSchema,
  metaOf,
  staysPrivate,
  VARIABLE_NAMES,
  type VariableName,
} from "./environment.ts";
import { type UnknownVariable, unknownVariables } from "./unknownVariables.ts";
import { counted } from "../figures.ts";

/** The four credentials of an account, in OAuth's words. */
type AccountCredentials = {
  consumerKey: string;
  consumerSecret: string;
  accessToken: string;
  accessTokenSecret: string;
};

/** The service that is polled: an account of a real one, or the simulated one. Nothing else, and never by accident. */
type Feed = { kind: "account"; baseUrl: string; credentials: AccountCredentials } | { kind: "simulated" };

/** All settings in the program's own words, frozen. */
export type Config = Readonly<{
  /** Null: the embedded database. */
  databaseUrl: string | null;
  /** How who only reads logs in; undefined: as above. */
  databaseReaderUrl?: string | undefined;
  feed: Feed;
  limit: number;
  /** Whether somebody has set the limit. Where nobody has, it rises to what the service names. */
  limitGiven: boolean;
  limitWindowMs: number;
  /** How many accounts the simulated service has. */
  simulatedAccounts: number;
  /** A variable of the environment or of `.env` by its name, as `accounts.yaml` names secrets; undefined: it is not set. */
  variable: (name: string) => string | undefined;
  dataDir: string;
  jobsDir: string;
  /** A second place for secrets that `accounts.yaml` names, beside the jobs directory; undefined: there is none. */
  secretsDir?: string | undefined;
  /** Files and directories of this program's own, which no file of the jobs directory may name. */
  ownFiles: readonly string[];
  httpHost: string;
  httpPort: number;
  /** What the dashboard asks for; undefined: nothing. */
  webToken?: string | undefined;
  /** Names of the dashboard besides this machine's own, in small letters. */
  webHosts: readonly string[];
  /** Addresses and networks of the proxies before it. */
  webProxies: readonly string[];
  /** The provider's line below every view; undefined: none. */
  attribution?: string | undefined;
  logLevel: Environment["QUOTEKEEPER_LOG_LEVEL"];
  /** What seals the keys of `serve`; undefined: a file of the data directory. */
  serveSealKey?: string | undefined;
  /** Most bytes of the journal on the disk; undefined: no cap. */
  journalMaxBytes?: number | undefined;
  /** Who may read the journal. */
  journalReaders: Environment["QUOTEKEEPER_JOURNAL_READERS"];
  /** Undefined: nothing is ever dropped. */
  retentionDays?: number | undefined;
  /** Where the lake is; see `QUOTEKEEPER_LAKE_DIR`. */
  lakeDir?: string | undefined;
  lakeHotDays?: number | undefined;
}>;

const BYTES_PER_MB = 1_000_000;

/**
 * @param env the process's environment
 * @param directory where `.env` is looked for, and what the paths of `NAME_FILE` are relative to
 * @throws QuotekeeperError CONFIG_INVALID with all problems at once; values of secrets are never in it
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>, directory: string): Config {
  const problems: string[] = [];
  const given = givenSettings(env, directory, problems);
  const settings = collect(given, directory, problems);
  const parsed = environmentSchema.safeParse(settings, { error: plainError });
  if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => describeIssue(issue, settings)));
  problems.push(...plainHttpProblems(settings));
  if (isGiven(given, "DATABASE_READER_URL") && !isGiven(given, "DATABASE_URL"))
    problems.push("DATABASE_READER_URL is set, and DATABASE_URL is not: the embedded database has a reader");
  // A secret whose file cannot be read is wanted all the same: its own problem is in the list already.
  problems.push(...feedProblems((name) => isGiven(given, name), accountsText(given) !== null));
  if (!parsed.success || problems.length > 0) throw configInvalid([...new Set(problems)]);
  return toConfig(parsed.data, {
    sslMode: textOf(given["PGSSLMODE"]),
    limitGiven: isGiven(given, "QUOTES_LIMIT"),
    // What every object has, such as toString, is no variable.
    variable: (name) => (Object.hasOwn(given, name) ? textOf(given[name]) : undefined),
    ownFiles: [
      resolve(directory, ".env"),
      resolve(parsed.data.QUOTEKEEPER_DATA_DIR),
      ...secretFiles(
        given,
        directory,
        VARIABLE_NAMES.filter(isSecret).filter((name) => !isCredential(name)),
      ),
    ],
  });
}

/** The files that the settings name for secrets of these names. */
function secretFiles(
  given: Readonly<Record<string, string | undefined>>,
  directory: string,
  names: readonly VariableName[],
): string[] {
  return names.flatMap((name) => textOf(given[`${name}_FILE`]) ?? []).map((file) => resolve(directory, file));
}

/** Whether a variable is one of an account's credentials, which accounts.yaml may name as well. */
function isCredential(name: VariableName): boolean {
  return (CREDENTIAL_NAMES as readonly VariableName[]).includes(name);
}

/** The variables of the environment and of `.env` that look like misspelt settings. Never throws. */
export function misspeltSettings(
  env: Readonly<Record<string, string | undefined>>,
  directory: string,
): UnknownVariable[] {
  const given = givenSettings(env, directory, []);
  const named = accountVariables(given);
  return unknownVariables(
    Object.keys(given).filter((name) => textOf(given[name]) !== undefined && !named.includes(name)),
  );
}

/**
 * SECRET_EXPOSED for `.env` with a secret in it, and for the files of secrets, that every user of the machine can read;
 * null when there is none. Never throws: what cannot be read is `loadConfig`'s to say.
 */
export function exposedSecrets(
  env: Readonly<Record<string, string | undefined>>,
  directory: string,
): QuotekeeperError | null {
  const inDotenv = dotenv(directory, []);
  const given: typeof env = { ...inDotenv, ...env };
  const secrets = VARIABLE_NAMES.filter(isSecret);
  const files = secretFiles(given, directory, secrets);
  if ([...secrets, ...accountVariables(given)].some((name) => textOf(inDotenv[name]) !== undefined))
    files.unshift(resolve(directory, ".env"));
  const exposed = files.filter(isOpenToAll);
  if (exposed.length === 0) return null;
  return new QuotekeeperError(
    "SECRET_EXPOSED",
    `every user of this machine can read ${[...new Set(exposed)].join(", ")}`,
  );
}

/** Where container platforms put a container's secrets: only the container's own processes see them. */
export const CONTAINER_SECRETS = "/run/secrets/";

function isOpenToAll(file: string): boolean {
  if (file.startsWith(CONTAINER_SECRETS)) return false;
  const mayEnter = (dir: string): boolean =>
    openToOthers(statSync(dir).mode, 0o001) !== 0 && (dirname(dir) === dir || mayEnter(dirname(dir)));
  try {
    return openToOthers(readTextFileSync(file).mode, 0o004) !== 0 && mayEnter(dirname(file));
  } catch {
    return false;
  }
}

function givenSettings(
  env: Readonly<Record<string, string | undefined>>,
  directory: string,
  problems: string[],
): Record<string, string | undefined> {
  return { ...dotenv(directory, problems), ...env };
}

/** CONFIG_INVALID with a line for each problem. */
function configInvalid(problems: readonly string[]): QuotekeeperError {
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("CONFIG_INVALID", `${count} in the settings:`, { problems });
}

/** The text of the jobs directory's file of accounts, empty when it cannot be read; null where there is none. */
function accountsText(given: Readonly<Record<string, string | undefined>>): string | null {
  const dir = resolve(textOf(given["QUOTEKEEPER_JOBS_DIR"]) ?? DEFAULT_JOBS_DIR);
  const name = ACCOUNTS_FILES.find((one) => existsSync(join(dir, one)));
  if (name === undefined) return null;
  try {
    return readTextFileSync(join(dir, name)).text;
  } catch {
    return "";
  }
}

/** The variables that the file of accounts names. Whoever reads it whole says what is wrong with it. */
function accountVariables(given: Readonly<Record<string, string | undefined>>): string[] {
  const found = (accountsText(given) ?? "").matchAll(/Variable["']?\s*:\s*["']?(\w+)/g);
  return [...found].map(([, name = ""]) => name);
}

type Settings = Partial<Record<VariableName, string>>;

/** Every variable that is set to something, from itself or from the file that `NAME_FILE` names. */
function collect(
  env: Readonly<Record<string, string | undefined>>,
  directory: string,
  problems: string[],
): Settings {
  const settings: Settings = {};
  for (const name of VARIABLE_NAMES) {
    const value = textOf(env[name]);
    const file = isSecret(name) ? textOf(env[`${name}_FILE`]) : undefined;
    if (value !== undefined && file !== undefined)
      problems.push(`${name} and ${name}_FILE are both set; keep one`);
    if (value !== undefined) settings[name] = value;
    else if (file !== undefined) {
      const content = secretFromFile(name, { file, directory }, problems);
      if (content !== undefined) settings[name] = content;
    }
  }
  return settings;
}

function isGiven(env: Readonly<Record<string, string | undefined>>, name: VariableName): boolean {
  return textOf(env[name]) !== undefined || (isSecret(name) && textOf(env[`${name}_FILE`]) !== undefined);
}

/** A variable that is set to nothing, or to blanks, is not set. */
function textOf(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

/** A signature does not hide what it signs, and an answer over plain http can be changed by anybody on the way. */
function plainHttpProblems({ QUOTES_BASE_URL: url, QUOTES_ALLOW_HTTP: allowed }: Settings): string[] {
  // What is no address, or has a user name or a query, is refused for that already, and perhaps not to be shown.
  if (url === undefined || !/^http:\/\/[^/@?#][^@?#]*$/.test(url) || !URL.canParse(url)) return [];
  if (allowed === "true" || staysPrivate(url)) return [];
  return [`QUOTES_BASE_URL is "${url}": expected https, or QUOTES_ALLOW_HTTP=true to go without encryption`];
}

/** An address and its four credentials come together or not at all. */
function feedProblems(isSet: (name: VariableName) => boolean, hasAccounts: boolean): string[] {
  if (isSet("QUOTES_BASE_URL")) {
    return CREDENTIAL_NAMES.filter((name) => !isSet(name)).map(
      (name) => `${name} is not set, and QUOTES_BASE_URL is: polling an account needs all four credentials`,
    );
  }
  // Credentials without an address mean a real account was wanted: never answer that with simulated prices. A file of
  // accounts may name these very variables, and where it is there nothing else is polled.
  const stray = hasAccounts ? [] : CREDENTIAL_NAMES.filter(isSet);
  if (stray.length === 0) return [];
  const [are, them] = stray.length > 1 ? ["are", "them"] : ["is", "it"];
  return [
    `QUOTES_BASE_URL is not set, and ${stray.join(", ")} ${are}: set it, or unset ${them} for the simulated market`,
  ];
}

function secretFromFile(
  name: VariableName,
  { file, directory }: { file: string; directory: string },
  problems: string[],
): string | undefined {
  try {
    const content = textOf(readTextFileSync(resolve(directory, file)).text);
    if (content === undefined) problems.push(`${name}_FILE names ${file}, which is empty`);
    return content;
  } catch (error) {
    problems.push(`${name}_FILE names ${file}, which cannot be read (${errnoOf(error)})`);
    return undefined;
  }
}

/** The settings of `.env`; none when there is no such file. One that cannot be read may hold the account's address. */
function dotenv(directory: string, problems: string[]): Record<string, string> {
  const path = join(directory, ".env");
  try {
    const { text } = readTextFileSync(path);
    const settings = parseDotenv(text);
    problems.push(...cutValues(text, settings));
    return settings;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") problems.push(`${path} cannot be read (${errnoOf(error)})`);
    return {};
  }
}

/** Settings that `.env` gives without quotes and with a `#` in the middle: its readers would drop the rest in silence. */
function cutValues(text: string, settings: Readonly<Record<string, string>>): string[] {
  const ours = new Set([
    ...VARIABLE_NAMES.flatMap((name) => [name, `${name}_FILE`]),
    ...accountVariables(settings),
  ]);
  const cut = text.matchAll(/^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*(?!['"`])[^\r\n#]*(?<![ \t])#/gm);
  return [...cut].flatMap(([, name = ""]) =>
    ours.has(name) ? [`${name} has a # in .env: put its value in quotes, or a blank before a comment`] : [],
  );
}

function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown error";
}

/** Whether the value of a variable must never be shown. */
export function isSecret(name: VariableName): boolean {
  return metaOf(name).secret === true;
}

/** Zod's own sentences, for what the schema gives none of its own, in the words of this program. */
function plainError(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === "invalid_value"
    ? `expected one of ${issue.values.map(String).join(", ")}`
    : undefined;
}

function describeIssue({ path, message }: z.core.$ZodIssue, settings: Settings): string {
  const name = String(path[0]) as VariableName;
  const value = settings[name];
  // An address with a user name or a query may hold a password although the variable is no secret.
  const shown = value === undefined || isSecret(name) || /[@?#]/.test(value) ? "" : ` is "${value}"`;
  return `${name}${shown}: ${message}`;
}

/** @param given.sslMode libpq's PGSSLMODE: TLS that an operator asked for so is not left out */
function toConfig(
  values: Environment,
  {
    sslMode,
    ...given
  }: { sslMode: string | undefined } & Pick<Config, "limitGiven" | "variable" | "ownFiles">,
): Config {
  return Object.freeze({
    databaseUrl: values.DATABASE_URL === undefined ? null : withSslMode(values.DATABASE_URL, sslMode),
    databaseReaderUrl: values.DATABASE_READER_URL && withSslMode(values.DATABASE_READER_URL, sslMode),
    feed: toFeed(values),
    limit: values.QUOTES_LIMIT,
    ...given,
    limitWindowMs: values.QUOTES_LIMIT_WINDOW_MS,
    simulatedAccounts: values.QUOTEKEEPER_SIMULATED_ACCOUNTS,
    dataDir: values.QUOTEKEEPER_DATA_DIR,
    jobsDir: values.QUOTEKEEPER_JOBS_DIR,
    secretsDir: values.QUOTEKEEPER_SECRETS_DIR,
    httpHost: values.QUOTEKEEPER_HTTP_HOST,
    httpPort: values.QUOTEKEEPER_HTTP_PORT,
    webToken: values.QUOTEKEEPER_WEB_TOKEN,
    webHosts: values.QUOTEKEEPER_WEB_HOSTS ?? [],
    webProxies: values.QUOTEKEEPER_WEB_PROXIES ?? [],
    attribution: values.QUOTEKEEPER_ATTRIBUTION,
    logLevel: values.QUOTEKEEPER_LOG_LEVEL,
    serveSealKey: values.QUOTEKEEPER_SERVE_SEAL_KEY,
    journalMaxBytes:
      values.QUOTEKEEPER_JOURNAL_MAX_MB === undefined
        ? undefined
        : values.QUOTEKEEPER_JOURNAL_MAX_MB * BYTES_PER_MB,
    journalReaders: values.QUOTEKEEPER_JOURNAL_READERS,
    retentionDays: values.QUOTEKEEPER_RETENTION_DAYS,
    lakeDir: values.QUOTEKEEPER_LAKE_DIR,
    lakeHotDays: values.QUOTEKEEPER_LAKE_HOT_DAYS,
  });
}

function toFeed(values: Environment): Feed {
  if (values.QUOTES_BASE_URL === undefined) return Object.freeze({ kind: "simulated" });
  return Object.freeze({
    kind: "account",
    baseUrl: values.QUOTES_BASE_URL,
    credentials: Object.freeze({
      consumerKey: values.QUOTES_CONSUMER_KEY ?? "",
      consumerSecret: values.QUOTES_CONSUMER_SECRET ?? "",
      accessToken: values.QUOTES_ACCESS_TOKEN ?? "",
      accessTokenSecret: values.QUOTES_ACCESS_TOKEN_SECRET ?? "",
    }),
  });
}
