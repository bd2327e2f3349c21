/** Credentials as lines for a shell or an `.env` file. */
import type { Credentials } from "../../services/oauth/signature.ts";

export function keyLines(key: Credentials): string {
  return [
    `QUOTES_CONSUMER_KEY=${key.consumerKey}`,
    `QUOTES_CONSUMER_SECRET=${key.consumerSecret}`,
    `QUOTES_ACCESS_TOKEN=${key.accessToken}`,
    `QUOTES_ACCESS_TOKEN_SECRET=${key.accessTokenSecret}`,
    "",
  ].join("\n");
}
