/** Accounts as accounts.yaml has them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Credentials } from "../../src/services/oauth/signature.ts";

/** The four credentials of an account. */
export const CREDENTIALS = ["consumerKey", "consumerSecret", "accessToken", "accessTokenSecret"] as const;

/** An account that is right, each secret of it in a variable of its name: `QUOTES_MAIN_CONSUMERKEY`. */
export function accountYaml(name: string, more: Record<string, string | null> = {}): string {
  const options: Record<string, string | null> = { name, baseUrl: "https://api.broker.example" };
  for (const what of CREDENTIALS) options[`${what}Variable`] = variableOf(name, what);
  const lines = Object.entries({ ...options, ...more }).filter(([, value]) => value !== null);
  return lines.map(([key, value], place) => `  ${place === 0 ? "-" : " "} ${key}: ${value}\n`).join("");
}

/** The variable of a credential. */
export function variableOf(name: string, what: string): string {
  return `quotes_${name}_${what}`.toUpperCase();
}

/** The variables of accounts of these names. */
export function accountVariables(...names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => CREDENTIALS.map((what) => [variableOf(name, what), `${name}'s ${what}`])),
  );
}

/** The credentials of an account whose secrets are in its variables. */
export function credentialsOf(name: string): Credentials {
  const [consumerKey, consumerSecret, accessToken, accessTokenSecret] = CREDENTIALS.map(
    (what) => `${name}'s ${what}`,
  ) as [string, string, string, string];
  return { consumerKey, consumerSecret, accessToken, accessTokenSecret };
}

/** Writes accounts.yaml with these accounts of a service into a jobs directory. @returns the settings that hold their secrets */
export function writeAccounts(
  jobsDir: string,
  baseUrl: string,
  names: readonly string[],
): Record<string, string> {
  const accounts = names.map((name) => accountYaml(name, { baseUrl }));
  writeFileSync(join(jobsDir, "accounts.yaml"), `accounts:\n${accounts.join("")}`);
  return { ...accountVariables(...names), QUOTEKEEPER_JOBS_DIR: jobsDir };
}
