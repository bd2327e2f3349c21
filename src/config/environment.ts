/**
 * Every setting of the program, with its type, default, bound, unit and sentence: the only place. The pages
 * `docs/configuration.md` and `.env.example` are generated from it.
 */
import { z } from "zod";
import { DEFAULT_SERVICE } from "../journal/record.ts";
import { SERVICES } from "../services/registry.ts";
import { optionValue, type ServiceOption } from "../services/service.ts";
import { baseUrl, beatUrl, databaseUrl, hostName, list, network, text, whole } from "./settingKinds.ts";
import { alternatives } from "./wording.ts";

type VariableMeta = {
  /** Never shown, and may come from a file (`NAME_FILE`). */
  secret?: boolean;
  example?: string;
  /** What holds when it is unset, where that is more than a value. */
  shownDefault?: string;
  unit?: string;
};

const variableMeta = z.registry<VariableMeta>();

/** Below the working directory. `start` puts the examples there. */
export const DEFAULT_JOBS_DIR = "./jobs";

/** Days of quotes that `lake --drop-hot` leaves in the database by default. */
export const HOT_DAYS = 90;

export const ACCOUNTS_FILES: readonly string[] = ["accounts.yaml", "accounts.yml"];

/**
 * The prefix of variables that accounts.yaml may name, so that a writer of that file cannot reach the rest of the
 * environment, such as DATABASE_URL.
 */
export const ACCOUNT_VARIABLE = "QUOTES_";

/** Variables with the credentials of one service or another. */
export const CREDENTIAL_NAMES: readonly string[] = [
  ...new Set(SERVICES.flatMap(({ credentials }) => credentials.all.map(({ variable }) => variable))),
];

/** Variables with the address to which an account's calls go. */
export const ADDRESS_NAMES: readonly string[] = [
  "QUOTES_BASE_URL",
  "QUOTES_LOGIN_URL",
  ...SERVICES.flatMap(({ options = [] }) =>
    options.flatMap((option) => ("address" in option ? [option.variable] : [])),
  ),
];

/** What the services name themselves: their credentials and options, by their variables. */
function serviceSettings(): Readonly<Record<never, never>> {
  const options = SERVICES.flatMap(({ title, options: own = [] }) => own.map((one) => ({ ...one, title })));
  return Object.fromEntries([
    ...CREDENTIAL_NAMES.map((variable) => [variable, credential(variable)]),
    ...options.map(({ title, ...one }) => [one.variable, optionSetting(one, title)]),
  ]) as Readonly<Record<never, never>>;
}

/** An option of an account, as its variable and accounts.yaml have it. */
export function optionSetting(option: ServiceOption, title: string) {
  const words = `${option.does} Of ${title}.`;
  const unset = optionValue(option);
  const kind = "values" in option ? z.enum(option.values) : baseUrl;
  return kind
    .optional()
    .describe(words)
    .register(variableMeta, { shownDefault: `unset: ${unset}` });
}

/** A credential of an account. Its sentence says what each service calls it. */
function credential(variable: string) {
  const uses = SERVICES.flatMap(({ title: service, credentials }) =>
    credentials.all.filter((one) => one.variable === variable).map(({ title }) => `${title} (${service})`),
  );
  return text
    .optional()
    .describe(`Credential of the account: ${uses.join(", ")}.`)
    .register(variableMeta, { secret: true, shownDefault: "required for an account of that service" });
}

const OWN_ADDRESSES = SERVICES.flatMap(({ title, addresses }) =>
  addresses.slice(0, 1).map(({ baseUrl: own }) => `${own} for ${title}`),
);

export const environmentSchema = z.object({
  DATABASE_URL: databaseUrl
    .optional()
    .describe(
      "Address of a PostgreSQL server, 15 or later, in libpq's form, `sslmode` included (docs/databases.md). TimescaleDB is used if it is installed there.",
    )
    .register(variableMeta, {
      secret: true,
      example: "postgresql://quotekeeper:secret@127.0.0.1:5432/quotekeeper",
      shownDefault: "unset: embedded PostgreSQL under the data directory",
    }),
  DATABASE_READER_URL: databaseUrl
    .optional()
    .describe(
      "Address of the same database for the dashboard and `serve`, with a user who can only read (docs/databases.md).",
    )
    .register(variableMeta, {
      secret: true,
      example: "postgresql://quotekeeper_dashboard:secret@127.0.0.1:5432/quotekeeper",
      shownDefault: "unset: DATABASE_URL, in the role quotekeeper_reader",
    }),
  QUOTES_SERVICE: z
    .enum(SERVICES.map(({ name }) => name))
    .default(DEFAULT_SERVICE)
    .describe(
      `Which service is polled: ${alternatives(SERVICES.map(({ name, title }) => `${name} (${title})`))}.`,
    ),
  QUOTES_BASE_URL: baseUrl
    .optional()
    .describe(
      "Base address of the service, without /v1. With it, or with a service that has an address of its own, all credentials of the service are required.",
    )
    .register(variableMeta, {
      example: "https://api.broker.example",
      shownDefault: `unset: ${OWN_ADDRESSES.join(", ")}; else the simulated service, on loopback, over real HTTP and OAuth`,
    }),
  QUOTES_LOGIN_URL: baseUrl
    .optional()
    .describe(
      "Base address at which a person logs in, of a service that wants a login, where it is not the service's own.",
    )
    .register(variableMeta, {
      shownDefault: "unset: the service's, or QUOTES_BASE_URL where that is another address",
    }),
  QUOTES_ALLOW_HTTP: z
    .enum(["true", "false"])
    .default("false")
    .describe(
      "Whether QUOTES_BASE_URL, or another address to which an account's calls go, may be plain http to another machine. Anybody on the way can then read and change its answers. Plain http to this machine is always allowed.",
    ),
  ...serviceSettings(),
  QUOTES_LIMIT: whole(1, 100_000)
    .optional()
    .describe(
      "The most quote calls that the account may make in one window. If the service's headers name a lower limit, or its refusals show one, the program keeps to that at once. A higher limit that the headers name is used only while this is unset. In accounts.yaml an account can have a limit of its own.",
    )
    .register(variableMeta, {
      unit: "calls",
      shownDefault: `${SERVICES.map(({ name, limit }) => `${limit.calls} of ${name}`).join(", ")}, or more when the service names more`,
    }),
  QUOTES_LIMIT_WINDOW_MS: whole(1, 86_400_000)
    .optional()
    .describe("Length of that window.")
    .register(variableMeta, {
      unit: "milliseconds",
      shownDefault: `the service's: ${SERVICES.map(({ name, limit }) => `${limit.windowMs} of ${name}`).join(", ")}`,
    }),
  QUOTEKEEPER_SIMULATED_ACCOUNTS: whole(1, 20)
    .default(1)
    .describe(
      "How many accounts of the simulated service share the jobs, each with QUOTES_LIMIT calls. With 2, `start` shows how several accounts work together (docs/accounts.md).",
    )
    .register(variableMeta, { unit: "accounts" }),
  QUOTEKEEPER_DATA_DIR: text
    .default("./data")
    .describe("Directory of the journal and of the embedded database. It is made if it does not exist."),
  QUOTEKEEPER_JOBS_DIR: text
    .default(DEFAULT_JOBS_DIR)
    .describe(
      "Directory of the job files, which docs/jobs.md describes, and of accounts.yaml (docs/accounts.md). If ./jobs does not exist and no account is set, `start` writes the examples to it.",
    ),
  QUOTEKEEPER_SECRETS_DIR: text
    .optional()
    .describe(
      "A directory outside the jobs directory whose files accounts.yaml may name as secrets of accounts (docs/accounts.md), for example /run/secrets in a container. A writer of accounts.yaml can send its files to an address of his own, except those that other settings name (docs/security.md).",
    )
    .register(variableMeta, {
      example: "/run/secrets",
      shownDefault: "unset: only files below the jobs directory",
    }),
  QUOTEKEEPER_HTTP_HOST: text
    .default("127.0.0.1")
    .describe(
      "Address that the dashboard listens on. For one that other machines can reach, such as 0.0.0.0, QUOTEKEEPER_WEB_TOKEN has to be set too.",
    ),
  QUOTEKEEPER_HTTP_PORT: whole(0, 65_535)
    .default(8080)
    .describe("Port that the dashboard listens on. 0 takes any free one."),
  QUOTEKEEPER_WEB_TOKEN: text
    .min(16, "expected 16 characters or more")
    .optional()
    .describe(
      "Token that the dashboard asks for, as a login in the browser or as `Authorization: Bearer`, for example the output of `openssl rand -hex 24`.",
    )
    .register(variableMeta, {
      secret: true,
      shownDefault: "unset: no token, and only this machine may be able to reach QUOTEKEEPER_HTTP_HOST",
    }),
  QUOTEKEEPER_WEB_HOSTS: list(hostName)
    .optional()
    .describe(
      "Names by which the dashboard may be called, besides localhost, separated by commas: the name of a proxy in front of it, or of this machine in its network. With QUOTEKEEPER_WEB_TOKEN it may also be called by any IP address.",
    )
    .register(variableMeta, { example: "quotes.example", shownDefault: "unset: none" }),
  QUOTEKEEPER_WEB_PROXIES: list(network)
    .optional()
    .describe(
      "IP addresses or networks of the proxies in front of the dashboard, separated by commas. What they say in `X-Forwarded-For` is believed, so that wrong tokens slow down only whoever sends them, and not everybody behind the proxy.",
    )
    .register(variableMeta, {
      example: "127.0.0.1",
      shownDefault: "unset: all requests through a proxy count as one source",
    }),
  QUOTEKEEPER_ATTRIBUTION: text
    .max(300, "expected at most 300 characters")
    .optional()
    .describe(
      "Text that stands below every view of the dashboard and says whose data it shows, as the provider requires.",
    )
    .register(variableMeta, {
      example: "Market data by Broker Example, delayed where marked",
      shownDefault: "unset: no line",
    }),
  QUOTEKEEPER_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("Least severe level of log lines that are written to stderr."),
  QUOTEKEEPER_HEARTBEAT_URL: beatUrl
    .optional()
    .describe(
      "Address that `start` and `collect` ask with a GET each minute while `quotekeeper status` finds nothing that needs a person. Who watches it raises the alarm when the GETs stay away (docs/monitoring.md). Each collector has an address of its own.",
    )
    .register(variableMeta, {
      secret: true,
      example: "https://monitor.example/ping/1234",
      shownDefault: "unset: no heartbeat",
    }),
  QUOTEKEEPER_HEARTBEAT_FAIL_URL: beatUrl
    .optional()
    .describe(
      "Address that gets a GET as soon as `quotekeeper status` finds something that needs a person, and then each ten minutes.",
    )
    .register(variableMeta, {
      secret: true,
      example: "https://monitor.example/ping/1234/fail",
      shownDefault: "unset: the heartbeat stays away, and that is all",
    }),
  QUOTEKEEPER_JOURNAL_READERS: z
    .enum(["owner", "group"])
    .default("owner")
    .describe(
      "Who may read the journal: only the user who runs the program, or also the group of its files (0750, 0640), for example for a backup. Only the owner may read the rest of the data directory.",
    ),
  QUOTEKEEPER_JOURNAL_MAX_MB: whole(128, 100_000_000)
    .optional()
    .describe(
      "The most megabytes (of 1,000,000 bytes) that the journal may take on the disk. An answer that would exceed this is refused with an error and recorded as missed; nothing is ever deleted to make room.",
    )
    .register(variableMeta, { unit: "megabytes", shownDefault: "unset: as much as the disk has" }),
  QUOTEKEEPER_LAKE_DIR: text
    .optional()
    .describe(
      "A directory for whole days as Parquet files, see docs/lake.md. With it, `start` and `collect` write each day there when it is over.",
    )
    .register(variableMeta, { shownDefault: "unset: no lake" }),
  QUOTEKEEPER_LAKE_HOT_DAYS: whole(1, 36_500)
    .optional()
    .describe(
      "How many days of quotes `lake --drop-hot` leaves in the database. Older ones are dropped where a proven file of the lake has them; bars, dividends and the ledger stay. `start` and `collect` drop none unless this is set.",
    )
    .register(variableMeta, {
      unit: "days",
      shownDefault: `unset: ${HOT_DAYS} for --drop-hot, and nothing is dropped by itself`,
    }),
  QUOTEKEEPER_RETENTION_DAYS: whole(1, 36_500)
    .optional()
    .describe(
      "How many days of quotes the database keeps, on TimescaleDB Community only; `quotekeeper migrate` puts it into effect. Bars, dividends and the journal stay.",
    )
    .register(variableMeta, { unit: "days", shownDefault: "unset: nothing is ever dropped" }),
});

export type Environment = z.infer<typeof environmentSchema>;

/** Of the schema; those that the services name themselves are texts to TypeScript. */
export type VariableName = keyof typeof environmentSchema.shape;

export const VARIABLE_NAMES = Object.keys(environmentSchema.shape) as VariableName[];

export function metaOf(name: VariableName): VariableMeta {
  return variableMeta.get(environmentSchema.shape[name]) ?? {};
}

export function isSecret(name: VariableName): boolean {
  return metaOf(name).secret === true;
}
