/** `quotekeeper serve keys add|list|revoke`: who may call the service. A running service follows each change at once. */
import { InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import type { Credentials } from "../services/oauth/signature.ts";
import { count, instant } from "../ground/jsonWords.ts";
import type { AccessLevel } from "../serve/keys/key.ts";
import { parseKey, parseWhole } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { addKey, listKeys, type NewKey, revokeKey } from "../serve/keys/keyStore.ts";
import { type StoredKey } from "../serve/keys/keyStore.ts";
import type { Edges } from "../ground/edges.ts";
import { keyLines } from "./terminal/keyLines.ts";
import { keyPlace } from "../serve/serveState.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

type Output = { json: boolean };

const storedKey = {
  label: z.string().nullable(),
  access: z.enum(["real-time", "delayed"]),
  quoteLimit: count.nullable(),
  addedAt: instant,
};

const shownKey = z.strictObject({
  ...storedKey,
  consumerKey: z.string(),
  token: z.string(),
});

export const keysListJson = z.array(shownKey);

export const keysRevokeJson = z.strictObject({ revoked: shownKey });

export const keysAddJson = z.strictObject({
  consumerKey: z.string(),
  consumerSecret: z.string(),
  token: z.string(),
  tokenSecret: z.string(),
  ...storedKey,
});

type AddOptions = {
  access: AccessLevel;
  limit?: number;
  consumerKey?: string;
  token?: string;
  key?: Credentials;
  json: boolean;
};

export const addServeKeys: AddCommand = (keys, cli) => {
  const { run, edges } = cli;
  addAdd(keys, cli);
  keys
    .command("list")
    .description("the keys without their secrets, oldest first")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      run((config) => keysList(config, edges, { json }), { readsOnly: true }),
    );
  keys
    .command("revoke")
    .description("removes a key; running services refuse it from the next call on")
    .argument("<token>", "its token, or its label")
    .option("--json", "print JSON", false)
    .action((which: string, { json }: { json: boolean }) =>
      run((config) => keysRevoke(config, edges, { which, json })),
    );
};

const addAdd: AddCommand = (keys, { run, edges }) => {
  const names = ["consumerKey", "token"];
  keys
    .command("add")
    .description("makes a key, or adds one that you have; its secrets are shown this once")
    .argument("[label]", "a name for people; each can be used once", parseLabel)
    .addOption(
      new Option("--access <level>", "which quotes its account may see")
        .choices(["real-time", "delayed"])
        .default("real-time"),
    )
    .option(
      "--limit <calls>",
      "quote calls it may make per window; default: the service's limit",
      parseWhole(1, 100_000),
    )
    .option(
      "--consumer-key <text>",
      "its consumer key; one that is there already gets another token",
      parseName,
    )
    .option("--token <text>", "its access token; default: one is made", parseName)
    .addOption(
      new Option(
        "--key <key>",
        "all of it, as consumerKey:consumerSecret:token:tokenSecret; other users of this machine can see it while the command runs",
      )
        .argParser((text) => parseKey(text, [])[0])
        .conflicts(names),
    )
    .option("--json", "print JSON", false)
    .action((label: string | undefined, options: AddOptions) =>
      run((config) => keysAdd(config, edges, toRequest(label, options))),
    );
};

function toRequest(
  label: string | undefined,
  { access, limit, key, json, ...names }: AddOptions,
): NewKey & Output {
  const secrets = key && { consumerSecret: key.consumerSecret, accessTokenSecret: key.accessTokenSecret };
  return {
    label: label ?? null,
    access,
    quoteLimit: limit ?? null,
    json,
    consumerKey: key?.consumerKey ?? names.consumerKey,
    token: key?.accessToken ?? names.token,
    secrets,
  };
}

function parseLabel(text: string): string {
  if (!/^[\p{L}\p{N}\p{P}\p{S}](?:[\p{L}\p{N}\p{P}\p{S} ]{0,62}[\p{L}\p{N}\p{P}\p{S}])?$/u.test(text))
    throw new InvalidArgumentError("Expected up to 64 printable characters.");
  return text;
}

/** A name without a colon: `--key` puts colons between names. */
function parseName(text: string): string {
  if (!/^[!-9;-~]{1,128}$/.test(text))
    throw new InvalidArgumentError("Expected up to 128 characters of ASCII without blanks and colons.");
  return text;
}

async function keysAdd(config: Config, edges: Edges, { json, ...asked }: NewKey & Output): Promise<number> {
  const { stored, credentials, path } = await addKey(keyPlace(config, edges), asked);
  const { consumerSecret, accessTokenSecret: tokenSecret } = credentials;
  if (json) {
    const { consumerKey, token, ...rest } = toJson(stored);
    const shown = { consumerKey, consumerSecret, token, tokenSecret, ...rest };
    printJson(edges.stdout, keysAddJson, shown);
    return 0;
  }
  edges.stdout.write(keyLines(credentials));
  say(
    edges.stdout,
    `Its secrets are shown this once. They are kept in ${path}, which its owner alone may read.`,
  );
  return 0;
}

async function keysList(config: Config, edges: Edges, { json }: Output): Promise<number> {
  const keys = listKeys(keyPlace(config, edges));
  if (json) printJson(edges.stdout, keysListJson, keys.map(toJson));
  else if (keys.length === 0) say(edges.stdout, "There are no keys: `quotekeeper serve keys add` makes one.");
  else {
    const columns = ["Label", "Consumer key", "Token", "Access", ...right("Quote calls"), "Added (New York)"];
    edges.stdout.write(table(columns, keys.map(toCells), edges));
  }
  return 0;
}

/** @param which the key's token or label */
async function keysRevoke(
  config: Config,
  edges: Edges,
  { which, json }: { which: string } & Output,
): Promise<number> {
  const revoked = await revokeKey(keyPlace(config, edges), which);
  if (json) printJson(edges.stdout, keysRevokeJson, { revoked: toJson(revoked) });
  else
    say(edges.stdout, `Revoked ${revoked.label ?? revoked.token}: services that run refuse it from now on.`);
  return 0;
}

type ShownKey = Omit<StoredKey, "consumerSecret" | "tokenSecret">;

function toJson({ label, consumerKey, token, access, quoteLimit, addedAt }: StoredKey): ShownKey {
  return { label, consumerKey, token, access, quoteLimit, addedAt };
}

function toCells({ label, consumerKey, token, access, quoteLimit, addedAt }: StoredKey): string[] {
  const when = exchangeTime(new Date(addedAt));
  return [
    label ?? "",
    consumerKey,
    token,
    access,
    quoteLimit === null ? "as usual" : String(quoteLimit),
    when,
  ];
}
