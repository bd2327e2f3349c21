/** What the configuration says of the account that a sweep asks. Pure. */
import type { Config } from "../../../config/loadEnvironment.ts";

/** Which service is asked: a sweep of one is not gone on with at another. Holds no secret. */
export function serviceOf({ feed }: Pick<Config, "feed">): string {
  if (feed.kind === "simulated") return "simulated";
  const { host, pathname } = new URL(feed.baseUrl);
  return `${host}${pathname}`;
}
