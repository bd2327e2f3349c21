/**
 * OAuth 1.0 signatures (RFC 5849): the signature base string, HMAC-SHA1 over it, and the
 * `Authorization` header of a signed request.
 */
import { createHmac } from "node:crypto";
import OAuth from "oauth-1.0a";
import { QuotekeeperError } from "../../ground/errors.ts";
import { percentEncode } from "../percentEncode.ts";
import { normalizeParameters, parseQuery, type Parameter } from "./parameters.ts";

/** Never logged, stored or put into a message. */
export type Credentials = {
  consumerKey: string;
  consumerSecret: string;
  accessToken: string;
  accessTokenSecret: string;
};

type SigningSecrets = Pick<Credentials, "consumerSecret" | "accessTokenSecret">;

/**
 * The base string URI, RFC 5849 section 3.4.1.2: scheme and host in lower case, the port only when it
 * is not the scheme's own, the path as it stands on the wire, no query and no fragment.
 *
 * @param scheme `http` or `https`, any case
 * @param authority host and optional port, as the `Host` header has it
 * @param path the raw path; empty means `/`
 */
export function baseStringUri(scheme: string, authority: string, path: string): string {
  const lowerScheme = scheme.toLowerCase();
  const defaultPort = lowerScheme === "https" ? ":443" : ":80";
  const host = authority.toLowerCase();
  const shortHost = host.endsWith(defaultPort) ? host.slice(0, -defaultPort.length) : host;
  return `${lowerScheme}://${shortHost}${path === "" ? "/" : path}`;
}

/** Base64 of the HMAC-SHA1 of a base string, RFC 5849 section 3.4.2. */
export function signatureOf(baseString: string, secrets: SigningSecrets): string {
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.accessTokenSecret)}`;
  return hmacSha1(baseString, key);
}

function hmacSha1(text: string, key: string): string {
  return createHmac("sha1", key).update(text).digest("base64");
}

/** What a login signs besides: RFC 5849 sections 2.1 and 2.3. */
export type LoginParameters = { oauth_callback?: string; oauth_verifier?: string };

type RequestToSign = {
  method: string;
  /** The absolute URL with its query, encoded as it goes on the wire (a comma in `symbols` as `%2C`). */
  url: string;
  /** An empty access token: there is none yet, and none is signed. */
  credentials: Credentials;
  login?: LoginParameters;
  /** Unique for this timestamp and token; a retry needs a new one. */
  nonce: string;
  /** Unix time in whole seconds. */
  timestamp: number;
};

/**
 * Signs a request without a form body.
 *
 * @returns the value of the `Authorization` header, `OAuth oauth_consumer_key="...", ...`
 * @throws {TypeError} when the URL is not absolute; QuotekeeperError UNEXPECTED when its query is not well encoded
 */
export function signRequest({ method, url, credentials, ...own }: RequestToSign): string {
  const oauth = new StrictOAuth(credentials, own);
  const { accessToken: key, accessTokenSecret: secret } = credentials;
  return oauth.toHeader(oauth.authorize({ method, url }, key === "" ? undefined : { key, secret }))
    .Authorization;
}

/**
 * `oauth-1.0a` 2.2.6 with the caller's nonce and time, and with what it reads wrongly from a URL put
 * right. By itself it signs an encoded parameter name twice encoded, forgets the first of two values when
 * it is empty (`a=&a=1`), cuts a value at a second `=` and a query at a second `?`, keeps `+` as a plus,
 * trips over a name such as `constructor`, leaves upper case, a default port and a fragment in the base
 * URL, and mixes the query into the header's own parameters.
 */
class StrictOAuth extends OAuth {
  readonly #own: Pick<RequestToSign, "nonce" | "timestamp" | "login">;

  constructor(credentials: Credentials, own: Pick<RequestToSign, "nonce" | "timestamp" | "login">) {
    super({
      consumer: { key: credentials.consumerKey, secret: credentials.consumerSecret },
      signature_method: "HMAC-SHA1",
      hash_function: hmacSha1,
    });
    this.#own = own;
  }

  override getNonce(): string {
    return this.#own.nonce;
  }

  override getTimeStamp(): number {
    return this.#own.timestamp;
  }

  /** The library signs and sends what is in `oauthData`, once the signature is made. */
  override getSignature(request: OAuth.RequestOptions, tokenSecret: string, oauthData: OAuth.Data): string {
    return super.getSignature(request, tokenSecret, Object.assign(oauthData, this.#own.login));
  }

  override getBaseUrl(url: string): string {
    const { protocol, host, pathname } = new URL(url);
    return baseStringUri(protocol.slice(0, -1), host, pathname);
  }

  override getParameterString(request: OAuth.RequestOptions, oauthData: OAuth.Data): string {
    const protocol = Object.entries(oauthData).map(([name, value]): Parameter => [name, String(value)]);
    const query = parseQuery(new URL(request.url).search.slice(1));
    if (query === null)
      throw new QuotekeeperError("UNEXPECTED", "a query that is to be signed is not well encoded");
    return normalizeParameters([...protocol, ...query]);
  }
}
