/** Where the credentials of accounts stand: in files and variables that accounts.yaml names, never in that file itself. */
import { resolve } from "node:path";
import { ACCOUNT_VARIABLE } from "../config/environment.ts";
import { CONTAINER_SECRETS } from "../config/settingSources.ts";
import { type Bounds, openToOthers, readTextAndMode } from "../ground/plainFiles.ts";
import { SERVICES } from "../services/registry.ts";
import type { Credentials, Service } from "../services/service.ts";
import type { AccountSettings } from "./account.ts";

export const CREDENTIALS = [
  ...new Map(SERVICES.flatMap(({ credentials }) => credentials.all.map((one) => [one.name, one]))).values(),
];

export type Entry = Readonly<Record<string, string | undefined>>;

/** The credentials of an account; those with a problem, which is told, are missing. */
export function secretsOf(
  entry: Entry,
  {
    service,
    dir,
    settings,
    files,
  }: { service: Service; dir: string; settings: AccountSettings; files: SecretFiles },
  told: (option: string, message: string) => void,
): Credentials {
  const secrets: Record<string, string> = {};
  const needed = new Set(service.credentials.all.map(({ name }) => name));
  for (const { name: what } of CREDENTIALS) {
    const [byFile, byVariable] = [`${what}File`, `${what}Variable`];
    const [path, variable] = [entry[byFile], entry[byVariable]];
    if (!needed.has(what)) {
      const [stray] = [byFile, byVariable, what].filter((option) => option in entry);
      if (stray !== undefined) told(stray, `.${stray}: ${service.title} has no such credential`);
    } else if (byFile in entry && byVariable in entry)
      told(byVariable, ` has both ${byFile} and ${byVariable}: keep one of them`);
    else if (path) {
      const found = files.get(resolve(dir, path));
      if (found && "value" in found) secrets[what] = found.value;
      else told(byFile, `.${byFile} names a file that ${found?.problem}`);
    } else if (variable && !variable.startsWith(ACCOUNT_VARIABLE))
      // Not which one: somebody may have put the secret itself here.
      told(
        byVariable,
        `.${byVariable} names a variable that does not begin with ${ACCOUNT_VARIABLE}: rename it here and where it is set, for example SECOND_KEY to ${ACCOUNT_VARIABLE}SECOND_KEY`,
      );
    else if (variable) {
      const value = settings.variable(variable);
      if (value !== undefined) secrets[what] = value;
      else told(byVariable, `.${byVariable} names a variable that is not set`);
    } else if (!(byFile in entry) && !(byVariable in entry))
      told(
        what,
        what in entry
          ? `.${what} stands here itself, which no secret may: give ${byFile} or ${byVariable} in its place`
          : ` has no ${what}: give ${byFile} or ${byVariable}`,
      );
  }
  return secrets;
}

/** What stands in each file of a secret, by its absolute path. */
export type SecretFiles = ReadonlyMap<string, { value: string } | { problem: string }>;

/** Where the files of secrets may lie. accounts.yaml can name no others. */
export function boundsOf(dir: string, { secretsDir, ownFiles }: AccountSettings): Bounds {
  const outside =
    secretsDir === undefined
      ? "outside the jobs directory: move it there, or set QUOTEKEEPER_SECRETS_DIR to the directory of the accounts' secrets"
      : "outside the jobs directory and QUOTEKEEPER_SECRETS_DIR: move it to one of them";
  return { below: [dir, ...(secretsDir === undefined ? [] : [secretsDir])], own: ownFiles, outside };
}

/** Others are kept out by the file's own mode, whatever its directory's: a directory is opened sooner than a file. */
export async function secretInFile(
  path: string,
  bounds: Bounds,
): Promise<{ value: string } | { problem: string }> {
  try {
    const { text, mode } = await readTextAndMode(path, { bounds });
    if (openToOthers(mode, 0o004) !== 0 && !path.startsWith(CONTAINER_SECRETS))
      return { problem: "every user of this machine may read: take that right away (chmod o-r)" };
    const value = text.trim();
    return value === "" ? { problem: "is empty" } : { value };
  } catch (error) {
    return { problem: `cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})` };
  }
}
