/** `quotekeeper serve keys add|list|revoke`: who may call the service. A service that runs follows each change at once. */
import type { Config } from "../config/loadEnvironment.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import type { StoredKey } from "../serve/keys/keyFile.ts";
import { addKey, listKeys, type NewKey, revokeKey } from "../serve/keys/keyStore.ts";
import type { Edges } from "../run/edges.ts";
import { keyLines } from "./terminal/keyLines.ts";
import { keyPlace } from "../run/serveState.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

type Output = { json: boolean };

/** How secrets are kept, in words for people. */
const AT_REST = "AES-256-GCM; not hashed, because HMAC-SHA1 needs the secret itself to verify a signature";

/** Adds a key and shows its secrets, this once. @returns 0 */
export async function keysAdd(
  config: Config,
  edges: Edges,
  { json, ...asked }: NewKey & Output,
): Promise<number> {
  const { stored, credentials, sealedBy } = await addKey(keyPlace(config, edges), asked);
  const { consumerSecret, accessTokenSecret: tokenSecret } = credentials;
  if (json) {
    const { consumerKey, token, ...rest } = toJson(stored);
    const shown = { consumerKey, consumerSecret, token, tokenSecret, ...rest };
    edges.stdout.write(`${JSON.stringify({ ...shown, sealed: AT_REST, sealedBy }, null, 2)}\n`);
    return 0;
  }
  edges.stdout.write(keyLines(credentials));
  say(
    edges.stdout,
    `Its secrets are shown this once. On the disk they are sealed (${AT_REST}) with the secret in ${sealedBy}.`,
  );
  return 0;
}

/** Lists the keys without their secrets, oldest first. @returns 0 */
export async function keysList(config: Config, edges: Edges, { json }: Output): Promise<number> {
  const keys = listKeys(keyPlace(config, edges));
  if (json) edges.stdout.write(`${JSON.stringify(keys.map(toJson), null, 2)}\n`);
  else if (keys.length === 0) say(edges.stdout, "There are no keys: `quotekeeper serve keys add` makes one.");
  else {
    const columns = [
      { heading: "Label" },
      { heading: "Consumer key" },
      { heading: "Token" },
      { heading: "Access" },
      { heading: "Quote calls", right: true },
      { heading: "Added (New York)" },
    ];
    edges.stdout.write(table(columns, keys.map(toCells), edges.stdout, edges.env));
  }
  return 0;
}

/** Takes a key away, by its token or its label. @returns 0 */
export async function keysRevoke(
  config: Config,
  edges: Edges,
  { which, json }: { which: string } & Output,
): Promise<number> {
  const revoked = await revokeKey(keyPlace(config, edges), which);
  if (json) edges.stdout.write(`${JSON.stringify({ revoked: toJson(revoked) }, null, 2)}\n`);
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
