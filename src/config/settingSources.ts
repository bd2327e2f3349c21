/** Where settings stand: in the process's environment, in `.env`, and for secrets in files. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse as parseDotenv } from "dotenv";
import { QuotekeeperError } from "../ground/errors.ts";
import { openToOthers, readTextFileSync } from "../ground/plainFiles.ts";
import {
  ACCOUNTS_FILES,
  DEFAULT_JOBS_DIR,
  isSecret,
  VARIABLE_NAMES,
  type VariableName,
} from "./environment.ts";
import { type UnknownVariable, unknownVariables } from "./unknownVariables.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export type Settings = Partial<Record<VariableName, string>>;

export function givenSettings(
  env: Variables,
  directory: string,
  problems: string[],
): Record<string, string | undefined> {
  return { ...dotenv(directory, problems), ...env };
}

/** Variables of the environment and of `.env` that look like misspelt settings. Never throws. */
export function misspeltSettings(env: Variables, directory: string): UnknownVariable[] {
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
export function exposedSecrets(env: Variables, directory: string): QuotekeeperError | null {
  const inDotenv = dotenv(directory, []);
  const given: Variables = { ...inDotenv, ...env };
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

export function secretFiles(given: Variables, directory: string, names: readonly VariableName[]): string[] {
  return names.flatMap((name) => textOf(given[`${name}_FILE`]) ?? []).map((file) => resolve(directory, file));
}

/** The text of the jobs directory's file of accounts, empty when it cannot be read; null where there is none. */
export function accountsText(given: Variables): string | null {
  const dir = resolve(textOf(given["QUOTEKEEPER_JOBS_DIR"]) ?? DEFAULT_JOBS_DIR);
  const name = ACCOUNTS_FILES.find((one) => existsSync(join(dir, one)));
  if (name === undefined) return null;
  try {
    return readTextFileSync(join(dir, name)).text;
  } catch {
    return "";
  }
}

/** Problems of that file are reported where it is read whole. */
function accountVariables(given: Variables): string[] {
  const found = (accountsText(given) ?? "").matchAll(/Variable["']?\s*:\s*["']?(\w+)/g);
  return [...found].map(([, name = ""]) => name);
}

export function collect(env: Variables, directory: string, problems: string[]): Settings {
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

export function isGiven(env: Variables, name: VariableName): boolean {
  return textOf(env[name]) !== undefined || (isSecret(name) && textOf(env[`${name}_FILE`]) !== undefined);
}

/** A variable that is set to nothing, or to blanks, is not set. */
export function textOf(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
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

/**
 * The settings of `.env`; none when there is no such file. An unreadable one is a problem: it may hold the account's
 * address.
 */
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

/** Unquoted settings of `.env` with a `#` in the middle: its readers would drop the rest in silence. */
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
