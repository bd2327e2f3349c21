/**
 * Reads accounts.yaml, which names the accounts that share the jobs, and the secrets that it names. No message tells
 * anything that stands in it or in them but the names of accounts: a secret that was put in the wrong place stays one.
 */
import { readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { ACCOUNTS_FILES, optionSetting } from "../config/environment.ts";
import { baseUrl, plainName, staysPrivate, whole } from "../config/settingKinds.ts";
import { type FileProblem, inOrder, jobsInvalid, readYamlFile } from "../config/yamlFile.ts";
import { readTextFile } from "../ground/plainFiles.ts";
import { limitAt, SERVICES, serviceNamed } from "../services/registry.ts";
import { chosenOptions, type Credentials, type Service } from "../services/service.ts";
import { type Account, type Accounts, type AccountSettings, areSome, settingsAccounts } from "./account.ts";
import {
  boundsOf,
  CREDENTIALS,
  type Entry,
  secretInFile,
  type SecretFiles,
  secretsOf,
} from "./accountSecrets.ts";

const credentialOptions = Object.fromEntries(
  CREDENTIALS.flatMap(({ name, title }) => [
    [`${name}File`, secret().describe(`File of the ${title}.`)],
    [`${name}Variable`, secret().describe(`Variable with the ${title}.`)],
  ]),
);

/** Options of the services' own. */
const OPTIONS = SERVICES.flatMap(({ title, options = [] }) => options.map((option) => ({ option, title })));
const serviceOptions = Object.fromEntries(
  OPTIONS.map(({ option, title }) => {
    const setting = optionSetting(option, title);
    return [option.name, setting.describe(`${setting.description} Without it \`${option.variable}\`.`)];
  }),
);

function secret() {
  return z.string().min(1).optional();
}

/** The file, as it is written. That each credential is there once, and what two accounts must not share, is looked at apart. */
export const accountsSchema = z.strictObject({
  accounts: z
    .array(
      z.strictObject({
        name: plainName.describe(
          "Name of the account, unique: letters, digits, dots, dashes and underscores, at most 64. Answers and slots are kept under it for good.",
        ),
        service: z
          .enum(SERVICES.map((one) => one.name))
          .optional()
          .describe(
            "The service that the account is of; the same for all accounts. Without it `QUOTES_SERVICE`.",
          ),
        baseUrl: baseUrl
          .optional()
          .describe(
            "Base address of the service, without /v1; the same for all accounts. It may be left out where the service has one of its own. Plain http to another machine needs `QUOTES_ALLOW_HTTP`.",
          ),
        limit: whole(1, 100_000)
          .optional()
          .describe(
            "The most quote calls that the account may make in one window. Without it `QUOTES_LIMIT`, and where that is not set either the limit of the service, or more when the service names more.",
          ),
        windowMs: whole(1, 86_400_000)
          .optional()
          .describe(
            "Length of that window in ms. Without it `QUOTES_LIMIT_WINDOW_MS`, and where that is not set the service's.",
          ),
        whenUnsure: z
          .enum(["stop", "go"])
          .optional()
          .describe(
            "With several collectors: what becomes of the account's calls while the database cannot confirm whose it is. `go`, the default: they go on with care, three a window fewer and one at a time. `stop`: none is made until it can; for a service whose answers do not tell how many calls it has counted.",
          ),
        ...credentialOptions,
        ...serviceOptions,
      }),
    )
    .min(1)
    .describe("The accounts; one at least."),
});

const TEXT_KEYS: ReadonlySet<string> = new Set([
  "name",
  "service",
  "baseUrl",
  ...Object.keys(credentialOptions),
  ...Object.keys(serviceOptions),
]);

/** As much of a wrong file as can be looked at all the same. */
const looseSchema = z
  .object({
    accounts: z.array(z.record(z.string(), z.string().optional().catch(undefined)).catch({})),
  })
  .catch({ accounts: [] });

type AccountsReport = {
  accounts: Account[];
  /** The names of all that are meant, also where something is wrong; none where they are not known. */
  names: string[];
  problems: FileProblem[];
  others: string[];
};

/** The accounts of a jobs directory; without the file, the settings' ones. Problems are returned, never thrown. */
export async function readAccounts(dir: string, settings: AccountSettings): Promise<AccountsReport> {
  const report: AccountsReport = { accounts: [], names: [], problems: [], others: [] };
  const told = (file: string, message: string): void => void report.problems.push({ file, line: 1, message });
  const unread = ({ code, message }: NodeJS.ErrnoException): string => `cannot be read (${code ?? message})`;
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR")
      told(dir, `the jobs directory ${unread(error)}, and may hold accounts`);
    return [];
  });
  const [name, another] = ACCOUNTS_FILES.filter((one) => names.includes(one));
  if (name === undefined) {
    if (report.problems.length > 0) return report;
    const accounts = settingsAccounts(settings);
    return { ...report, accounts: [...accounts], names: accounts.map((account) => account.name) };
  }
  const file = join(dir, name);
  if (another !== undefined) told(join(dir, another), `${name} is here as well: keep one of them`);
  const text = await readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    told(file, `the file ${unread(error)}`);
    return null;
  });
  if (text === null) return report;
  if (settings.simulatedAccounts > 1)
    told(file, "QUOTEKEEPER_SIMULATED_ACCOUNTS is for the simulated market: unset it, or remove this file");
  const { accounts, problems, ...found } = await accountsOf(file, text, settings);
  report.problems.push(...problems);
  Object.assign(report, found);
  if (problems.length === 0 && !holdsFeed(accounts, settings))
    told(
      file,
      "QUOTES_BASE_URL is set, and its account is none of these: add it here, or unset QUOTES_BASE_URL, for these accounts are polled in its place",
    );
  return report.problems.length > 0 ? report : { ...report, accounts };
}

/** The accounts, for commands that need no jobs. @throws QuotekeeperError JOBS_INVALID with every problem */
export async function requireAccounts(dir: string, settings: AccountSettings): Promise<Accounts> {
  const { accounts, problems } = await readAccounts(dir, settings);
  if (problems.length > 0 || !areSome(accounts)) throw jobsInvalid(problems);
  return accounts;
}

async function accountsOf(file: string, text: string, settings: AccountSettings): Promise<AccountsReport> {
  const read = readYamlFile(file, text, { schema: accountsSchema, textKeys: TEXT_KEYS, hidden: true });
  const problems = read.ok ? [] : read.problems;
  const entries = looseSchema.parse(read.value).accounts;
  const dir = dirname(file);
  const others = entries.flatMap((entry) =>
    CREDENTIALS.flatMap(({ name }) => {
      const path = entry[`${name}File`];
      return path ? [resolve(dir, path)] : [];
    }),
  );
  const bounds = boundsOf(dir, settings);
  const files: SecretFiles = new Map(
    await Promise.all(others.map(async (path) => [path, await secretInFile(path, bounds)] as const)),
  );
  const secrets = lookAt(entries, { dir, settings, files }, (index, option, message) => {
    const line = read.lineOf(["accounts", index, option]);
    problems.push({ file, line, message: `accounts[${index}]${message}` });
  });
  if (!read.ok || problems.length > 0)
    return {
      accounts: [],
      problems: inOrder(problems),
      names: entries.flatMap(({ name }) => name ?? []),
      others,
    };
  const accounts = read.value.accounts.map(({ name, limit, windowMs, whenUnsure, ...account }, index) => {
    const service = serviceOf(account, settings);
    const baseUrl = account.baseUrl ?? service.addresses[0]?.baseUrl ?? "";
    const credentials = Object.freeze(secrets[index] ?? {});
    const options = chosenOptions(
      service,
      // The settings have refused a wrong value already.
      (one) =>
        entries[index]?.[one.name] ??
        optionSetting(one, service.title).parse(settings.variable(one.variable)),
    );
    const own = limitAt(service, baseUrl);
    return Object.freeze({
      name,
      ...(whenUnsure && { whenUnsure }),
      service,
      feed: Object.freeze({ kind: "account" as const, baseUrl, credentials, ...(options && { options }) }),
      loginUrl: settings.loginUrl,
      limit: limit ?? (settings.limitGiven || service === settings.service ? settings.limit : own.calls),
      limitGiven: limit !== undefined || settings.limitGiven,
      limitWindowMs: windowMs ?? (service === settings.service ? settings.limitWindowMs : own.windowMs),
    });
  });
  return { accounts, names: accounts.map(({ name }) => name), problems, others };
}

/** The service of an account; that of the settings where its own is not known, which is told already. */
function serviceOf({ service }: { service?: string | undefined }, settings: AccountSettings): Service {
  return (service === undefined ? null : serviceNamed(service)) ?? settings.service;
}

/** What the schema of one account cannot check: secrets, settings, and two accounts that share something. */
function lookAt(
  entries: readonly Entry[],
  { dir, settings, files }: { dir: string; settings: AccountSettings; files: SecretFiles },
  told: (index: number, option: string, message: string) => void,
): Credentials[] {
  const allowsHttp = settings.variable("QUOTES_ALLOW_HTTP") === "true";
  const seen = new Map<string, number>();
  /** The first account with this value, when it is not this one. */
  const twinOf = (index: number, ...value: (string | undefined)[]): number | null => {
    if (value.includes(undefined)) return null;
    const key = JSON.stringify(value);
    const first = seen.get(key) ?? index;
    seen.set(key, first);
    return first === index ? null : first;
  };
  const nameOf = (index: number): string =>
    plainName.safeParse(entries[index]?.["name"]).data ?? `accounts[${index}]`;
  let first: { service: Service; url: string; index: number } | null = null;
  return entries.map((entry, index) => {
    const service = serviceOf(entry, settings);
    const named = twinOf(index, entry["name"]?.toLowerCase());
    const another = `.name is that of accounts[${named}] too: each needs a name of its own, in any case`;
    if (named !== null) told(index, "name", another);
    const given = entry["baseUrl"] ?? service.addresses[0]?.baseUrl;
    if (given === undefined)
      told(index, "baseUrl", ` has no baseUrl: ${service.title} has no address that everybody calls`);
    const url = baseUrl.safeParse(given).data;
    for (const option of allowsHttp ? [] : ["baseUrl", ...Object.keys(serviceOptions)]) {
      const address = baseUrl.safeParse(option === "baseUrl" ? given : entry[option]).data;
      if (address !== undefined && !staysPrivate(address))
        told(index, option, `.${option}: expected https, or QUOTES_ALLOW_HTTP=true to go without encryption`);
    }
    if (url !== undefined) first ??= { service, url, index };
    if (url !== undefined && first !== null && (service !== first.service || url !== first.url)) {
      const option = service === first.service ? "baseUrl" : "service";
      told(
        index,
        option,
        `.${option} is not that of accounts[${first.index}]: all accounts are of one service, whose market the archive keeps`,
      );
    }
    for (const { option } of OPTIONS)
      if (option.name in entry && !service.options?.some(({ name }) => name === option.name))
        told(index, option.name, `.${option.name}: ${service.title} has no such option`);
    const secrets = secretsOf(entry, { service, dir, settings, files }, (option, message) =>
      told(index, option, message),
    );
    const { identity } = service.credentials;
    const keyed = twinOf(index, ...identity.map((name) => secrets[name]));
    if (keyed !== null)
      told(
        index,
        "name",
        ` (${nameOf(index)}) is the same account as ${nameOf(keyed)}: their ${identityInWords(service)} the same`,
      );
    return secrets;
  });
}

/** `consumer key and access token are`, without what signs them. */
function identityInWords({ credentials: { all, identity } }: Service): string {
  const titles = all.flatMap(({ name, title }) =>
    identity.includes(name) ? [title.replace("OAuth ", "")] : [],
  );
  return `${titles.join(" and ")} ${titles.length > 1 ? "are" : "is"}`;
}

/** Whether the account of the environment's variables, if there is one, is among these. */
function holdsFeed(accounts: readonly Account[], settings: AccountSettings): boolean {
  // An address that the service has of its own says nothing of an account.
  if (settings.feed.kind === "simulated" || settings.variable("QUOTES_BASE_URL") === undefined) return true;
  const keyOf = ({ service, feed }: Pick<Account, "service" | "feed">): string =>
    feed.kind === "simulated"
      ? ""
      : JSON.stringify([
          service.name,
          feed.baseUrl,
          ...service.credentials.identity.map((name) => feed.credentials[name]),
        ]);
  return accounts.some((account) => keyOf(account) === keyOf(settings));
}
