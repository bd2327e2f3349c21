/** Credentials as lines for a shell or an `.env` file. */
import type { Credentials } from "../../quotes-api/oauth/signature.ts";

export function keyLines({
  consumerKey,
  consumerSecret,
  accessToken,
  accessTokenSecret,
}: Credentials): string {
  return [
    `QUOTES_CONSUMER_KEY=${consumerKey}`,
    `QUOTES_CONSUMER_SECRET=${consumerSecret}`,
    `QUOTES_ACCESS_TOKEN=${accessToken}`,
    `QUOTES_ACCESS_TOKEN_SECRET=${accessTokenSecret}`,
    "",
  ].join("\n");
}
