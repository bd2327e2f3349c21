/** `quotekeeper serve keys add|list|revoke`: who may call the service. A running service follows each change at once. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { count, instant } from "../ground/jsonWords.ts";
import { parseKey, parseWhole } from "./arguments.ts";
import { choice, command, option, withDefault, without, word } from "./command.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { addKey, listKeys, revokeKey, type StoredKey } from "../serve/keys/keyStore.ts";
import { keyLines } from "./terminal/keyLines.ts";
import { keyPlace } from "../serve/serveState.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

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

const add = command({
  does: "makes a key, or adds one that you have; its secrets are shown this once",
  options: {
    label: word("[label]", "a name for people; each can be used once", parseLabel),
    access: withDefault(
      "real-time",
      choice("<level>", "which quotes its account may see", ["real-time", "delayed"]),
    ),
    limit: option(
      "<calls>",
      "quote calls it may make per window; default: the service's limit",
      parseWhole(1, 100_000),
    ),
    consumerKey: option(
      "<text>",
      "its consumer key; one that is there already gets another token",
      parseName,
    ),
    token: option("<text>", "its access token; default: one is made", parseName),
    key: without(
      ["consumerKey", "token"],
      option(
        "<key>",
        "all of it, as consumerKey:consumerSecret:token:tokenSecret; other users of this machine can see it while the command runs",
        parseKey,
      ),
    ),
  },
  json: z.strictObject({
    consumerKey: z.string(),
    consumerSecret: z.string(),
    token: z.string(),
    tokenSecret: z.string(),
    ...storedKey,
  }),
  run: async (config, edges, { label, access, limit, key, printJson, ...names }) => {
    const { stored, credentials, path } = await addKey(keyPlace(config, edges), {
      label,
      access,
      quoteLimit: limit,
      consumerKey: key?.consumerKey ?? names.consumerKey ?? undefined,
      token: key?.accessToken ?? names.token ?? undefined,
      ...(key && { secrets: key }),
    });
    if (printJson) {
      const { consumerKey, token, ...rest } = toJson(stored);
      const { consumerSecret, accessTokenSecret: tokenSecret } = credentials;
      printJson({ consumerKey, consumerSecret, token, tokenSecret, ...rest });
      return 0;
    }
    edges.stdout.write(keyLines(credentials));
    say(
      edges.stdout,
      `Its secrets are shown this once. They are kept in ${path}, which its owner alone may read.`,
    );
    return 0;
  },
});

const list = command({
  does: "the keys without their secrets, oldest first",
  json: z.array(shownKey),
  readsOnly: true,
  run: async (config, edges, { printJson }) => {
    const keys = listKeys(keyPlace(config, edges));
    if (printJson) printJson(keys.map(toJson));
    else if (keys.length === 0)
      say(edges.stdout, "There are no keys: `quotekeeper serve keys add` makes one.");
    else {
      const numbers = right("Quote calls");
      const columns = ["Label", "Consumer key", "Token", "Access", ...numbers, "Added (New York)"];
      edges.stdout.write(table(columns, keys.map(toCells), edges));
    }
    return 0;
  },
});

const revoke = command({
  does: "removes a key; running services refuse it from the next call on",
  options: { which: word("<token>", "its token, or its label") },
  json: z.strictObject({ revoked: shownKey }),
  run: async (config, edges, { which, printJson }) => {
    const revoked = await revokeKey(keyPlace(config, edges), which);
    if (printJson) printJson({ revoked: toJson(revoked) });
    else
      say(
        edges.stdout,
        `Revoked ${revoked.label ?? revoked.token}: services that run refuse it from now on.`,
      );
    return 0;
  },
});

export const serveKeys = command({ commands: { add, list, revoke } });

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
