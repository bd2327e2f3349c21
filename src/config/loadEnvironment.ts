/** Reads the settings once, at the start: process environment over `.env`, secrets also from files. */
import { resolve } from "node:path";
import type { z } from "zod";
import { QuotekeeperError } from "../ground/errors.ts";
import { counted } from "../ground/figures.ts";
import { knownService, limitAt, serviceNamed } from "../services/registry.ts";
import { chosenOptions, type Credentials, type OptionValues, type Service } from "../services/service.ts";
import { withSslMode } from "./databaseUrl.ts";
import {
  ADDRESS_NAMES,
  CREDENTIAL_NAMES,
  type Environment,
  environmentSchema,
  isSecret,
  VARIABLE_NAMES,
  type VariableName,
} from "./environment.ts";
import {
  accountsText,
  collect,
  givenSettings,
  isGiven,
  secretFiles,
  type Settings,
  textOf,
  type Variables,
} from "./settingSources.ts";
import { staysPrivate } from "./settingKinds.ts";

/** An account of a real service, or the simulated one. Nothing else, and never by accident. */
type Feed =
  | {
      kind: "account";
      baseUrl: string;
      credentials: Credentials;
      /** Of the service's own. */
      options?: OptionValues;
    }
  | { kind: "simulated" };

export type Config = ReturnType<typeof toConfig>;

/** What the settings say besides their values. */
type ConfigContext = {
  /** libpq's PGSSLMODE: TLS that an operator asked for that way stays on. */
  sslMode: string | undefined;
  /** Whether somebody has set the limit. If not, it rises to what the service names. */
  limitGiven: boolean;
  /** A variable of the environment or of `.env` by its name, as `accounts.yaml` names secrets. */
  variable: (name: string) => string | undefined;
  /** This program's own files and directories, which no file of the jobs directory may name. */
  ownFiles: readonly string[];
};

const BYTES_PER_MB = 1_000_000;

/**
 * @param env the process's environment
 * @param directory where `.env` is looked for, and what the paths of `NAME_FILE` are relative to
 * @throws QuotekeeperError CONFIG_INVALID with all problems at once; values of secrets are never in it
 */
export function loadConfig(env: Variables, directory: string): Config {
  const problems: string[] = [];
  const given = givenSettings(env, directory, problems);
  const settings = collect(given, directory, problems);
  const parsed = environmentSchema.safeParse(settings, { error: plainError });
  if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => describeIssue(issue, settings)));
  problems.push(...plainHttpProblems(settings));
  if (isGiven(given, "DATABASE_READER_URL") && !isGiven(given, "DATABASE_URL"))
    problems.push("DATABASE_READER_URL is set, and DATABASE_URL is not: the embedded database has a reader");
  // A secret whose file cannot be read counts as set: its own problem is in the list already.
  const service = serviceNamed(settings.QUOTES_SERVICE);
  // One that is not known is a problem of its own.
  if (service)
    problems.push(...feedProblems(service, (name) => isGiven(given, name), accountsText(given) !== null));
  if (!parsed.success || problems.length > 0) throw configInvalid([...new Set(problems)]);
  return toConfig(parsed.data, {
    sslMode: textOf(given["PGSSLMODE"]),
    limitGiven: isGiven(given, "QUOTES_LIMIT"),
    // Properties of every object, such as toString, are no variables.
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

function isCredential(name: VariableName): boolean {
  return CREDENTIAL_NAMES.includes(name);
}

function configInvalid(problems: readonly string[]): QuotekeeperError {
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("CONFIG_INVALID", `${count} in the settings:`, { problems });
}

/** A signature does not hide what it signs, and anybody on the way can change an answer over plain http. */
function plainHttpProblems({ QUOTES_ALLOW_HTTP: allowed, ...settings }: Settings): string[] {
  return ADDRESS_NAMES.flatMap((name) => {
    const url = settings[name as keyof typeof settings];
    // An address of another form is refused elsewhere, and may hold a password.
    if (url === undefined || !/^http:\/\/[^/@?#][^@?#]*$/.test(url) || !URL.canParse(url)) return [];
    if (allowed === "true" || staysPrivate(url)) return [];
    return [`${name} is "${url}": expected https, or QUOTES_ALLOW_HTTP=true to go without encryption`];
  });
}

/** How many credentials an account needs, in words. */
const ALL = ["it", "both credentials", "all three credentials", "all four credentials"];

/** An address and the service's credentials come together or not at all. */
function feedProblems(
  { addresses, credentials }: Service,
  isSet: (name: VariableName) => boolean,
  hasAccounts: boolean,
): string[] {
  const needed = credentials.all.map(({ variable }) => variable as VariableName);
  if (isSet("QUOTES_BASE_URL") || addresses.length > 0) {
    // accounts.yaml has the secrets of its accounts.
    if (!isSet("QUOTES_BASE_URL") && hasAccounts) return [];
    const by = isSet("QUOTES_BASE_URL") ? "QUOTES_BASE_URL" : "QUOTES_SERVICE";
    const all = ALL[needed.length - 1] ?? "all credentials";
    return needed
      .filter((name) => !isSet(name))
      .map((name) => `${name} is not set, and ${by} is: polling an account needs ${all}`);
  }
  // Credentials without an address mean a real account was wanted: never answer that with simulated prices. A file of
  // accounts may name these very variables, and where it is there nothing else is polled.
  const stray = hasAccounts ? [] : CREDENTIAL_NAMES.filter((name) => isSet(name as VariableName));
  if (stray.length === 0) return [];
  const [are, them] = stray.length > 1 ? ["are", "them"] : ["is", "it"];
  return [
    `QUOTES_BASE_URL is not set, and ${stray.join(", ")} ${are}: set it, or unset ${them} for the simulated market`,
  ];
}

/** Sentences for issues for which the schema has none of its own. */
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

/** `QUOTEKEEPER_LOG_LEVEL` as `logLevel`. */
type SettingName<Variable> = Variable extends `QUOTEKEEPER_${infer Words}` ? CamelCase<Words> : never;
type CamelCase<Words extends string> = Words extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Words>;

/** The program's own settings, as the schema gives them. */
type OwnSettings = { [Variable in keyof Environment as SettingName<Variable>]: Environment[Variable] };

function ownSettings(values: Environment): OwnSettings {
  const own = Object.entries(values).flatMap(([variable, value]) => {
    const [prefix, ...words] = variable.toLowerCase().split("_");
    const name = words.map((word, place) =>
      place === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1),
    );
    return prefix === "quotekeeper" ? [[name.join(""), value]] : [];
  });
  return Object.fromEntries(own) as OwnSettings;
}

function toConfig(values: Environment, { sslMode, ...given }: ConfigContext) {
  const { journalMaxMb, ...settings } = ownSettings(values);
  const service = knownService(values.QUOTES_SERVICE);
  const feed = toFeed(values, service);
  const limit = limitAt(service, feed.kind === "account" ? feed.baseUrl : null);
  return Object.freeze({
    ...settings,
    /** Null: the embedded database. */
    databaseUrl: values.DATABASE_URL === undefined ? null : withSslMode(values.DATABASE_URL, sslMode),
    /** The login of readers; undefined: `databaseUrl`. */
    databaseReaderUrl: values.DATABASE_READER_URL && withSslMode(values.DATABASE_READER_URL, sslMode),
    service,
    feed,
    /** Where an account logs in; undefined: where its service says. */
    loginUrl: values.QUOTES_LOGIN_URL,
    limit: values.QUOTES_LIMIT ?? limit.calls,
    ...given,
    limitWindowMs: values.QUOTES_LIMIT_WINDOW_MS ?? limit.windowMs,
    webHosts: settings.webHosts ?? [],
    webProxies: settings.webProxies ?? [],
    /** Undefined: no cap. */
    journalMaxBytes: journalMaxMb === undefined ? undefined : journalMaxMb * BYTES_PER_MB,
  });
}

function toFeed(values: Environment, service: Service): Feed {
  const { addresses, credentials } = service;
  const baseUrl = values.QUOTES_BASE_URL ?? addresses[0]?.baseUrl;
  if (baseUrl === undefined) return Object.freeze({ kind: "simulated" });
  const given = values as Readonly<Record<string, unknown>>;
  const secrets = credentials.all.map(({ name, variable }) => [name, String(given[variable] ?? "")]);
  const options = chosenOptions(service, ({ variable }) => given[variable] as string | undefined);
  return Object.freeze({
    kind: "account",
    baseUrl,
    credentials: Object.freeze(Object.fromEntries(secrets)),
    ...(options && { options }),
  });
}
