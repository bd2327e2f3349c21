/** How a service that signs each call by OAuth 1.0a has its calls signed, and what of a signed call is a secret. */
import type { Service } from "../service.ts";
import { type Credentials, signRequest } from "./signature.ts";

/** The program's own credentials; the access token comes beside them, or by a login. */
export const CONSUMER = [
  { name: "consumerKey", variable: "QUOTES_CONSUMER_KEY", title: "OAuth consumer key" },
  { name: "consumerSecret", variable: "QUOTES_CONSUMER_SECRET", title: "OAuth consumer secret" },
] as const;

export const SIGNED_BY_OAUTH: Pick<Service, "sign" | "secrets"> = {
  sign: ({ method, url }, credentials, stamp) => ({
    authorization: signRequest({ method, url, credentials: credentials as Credentials, ...stamp }),
  }),
  secrets: (credentials, { authorization = "" }) => {
    const signature = /oauth_signature="([^"]*)"/.exec(authorization)?.[1] ?? "";
    return [...Object.values(credentials), decodeURIComponent(signature)];
  },
};
