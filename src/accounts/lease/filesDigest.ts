/** What a collector's files say, as digests: all collectors of an archive are to have the same. */
import { createHash } from "node:crypto";
import { type Account, accountKey, accountOptions } from "../account.ts";
import type { FilesDigest } from "./leaseStore.ts";
import { DEFAULT_SERVICE } from "../../journal/record.ts";

export type FilesReport = { digest: string; files: FilesDigest; accounts: readonly { name: string }[] };

/** The digests of all that has to be alike. Where the files stand does not matter, and of secrets nothing can be told. */
export function filesSaid({
  jobs,
  calendar,
  accounts,
}: {
  jobs: readonly { name: string }[];
  calendar: unknown;
  accounts: readonly Account[];
}): FilesReport {
  const files: FilesDigest = {
    jobs: byName(jobs, (job) => ({ ...job, file: null, symbolsFile: null })),
    accounts: byName(accounts, (account) => ({
      ...account,
      service: account.service.name === DEFAULT_SERVICE ? undefined : account.service.name,
      feed: accountKey(account),
      // Of a service without options the digest is that of older versions, as its service's name is.
      options: accountOptions(account),
    })),
    calendar: digestOf(calendar),
  };
  return { digest: digestOf(files), files, accounts: accounts.map(({ name }) => ({ name })) };
}

export function whatDiffers(mine: FilesDigest, theirs: FilesDigest): string {
  const parts = [
    ...differing("the job", mine.jobs, theirs.jobs),
    ...differing("the account", mine.accounts, theirs.accounts),
    ...(mine.calendar === theirs.calendar ? [] : ["calendar.yaml"]),
  ];
  return parts.slice(0, MOST_NAMED).join(", ") + (parts.length > MOST_NAMED ? ", and more" : "");
}

const MOST_NAMED = 10;

function differing(
  what: string,
  mine: Readonly<Record<string, string>>,
  theirs: Readonly<Record<string, string>>,
): string[] {
  return [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].sort().flatMap((name) => {
    if (mine[name] === theirs[name]) return [];
    const how =
      mine[name] === undefined ? "there alone" : theirs[name] === undefined ? "here alone" : "not the same";
    return [`${what} ${name} (${how})`];
  });
}

function byName<Item extends { name: string }>(
  items: readonly Item[],
  said: (item: Item) => object,
): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item.name, digestOf(said(item))]));
}

function digestOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex")
    .slice(0, 32);
}

/** The same with the keys of objects in order: two files may say the same in another one. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
