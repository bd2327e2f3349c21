/**
 * What the target of a request and the address it was sent to contribute to its signature. It is the same for all
 * requests of one target, whoever signs them, so a service remembers it.
 */
import { percentEncode } from "../percentEncode.ts";
import {
  encodeParameters,
  joinEncoded,
  parseQuery,
  type EncodedParameter,
  type Parameter,
} from "./parameters.ts";
import { baseStringUri } from "./signature.ts";

/** Shared by requests and not to be changed. */
export type SignedTarget = {
  /** The base string URI, percent-encoded as it stands in a signature base string. */
  uri: string;
  /** Null when the query is not percent-encoded UTF-8 or has more than `MAX_PARAMETERS`. */
  query: {
    /** How the request is signed; most requests have these parameters in a header instead. */
    protocol: readonly Parameter[];
    /** All but `oauth_signature`. */
    signed: readonly EncodedParameter[];
    /** The same as it stands in a base string before and behind the protocol parameters of a header, with `%26` between. */
    around: readonly [before: string, behind: string];
  } | null;
};

/**
 * @param scheme `http` or `https`
 * @param host the `Host` header
 * @param target raw path and query
 */
export function signedTarget(scheme: string, host: string, target: string): SignedTarget {
  const { path, query } = splitTarget(target);
  const uri = percentEncode(baseStringUri(scheme, host, path));
  const parameters = readParameters(query);
  if (parameters === null) return { uri, query: null };
  const protocol = parameters.filter(([name]) => isProtocol(name));
  const signed = encodeParameters(unsigned(parameters));
  const textOf = (some: EncodedParameter[], join: (text: string) => string): string =>
    some.length === 0 ? "" : join(joinEncoded(some, []));
  const before = textOf(
    signed.filter(({ name }) => name < PROTOCOL),
    (text) => `${text}%26`,
  );
  const behind = textOf(
    signed.filter(({ name }) => name >= PROTOCOL),
    (text) => `%26${text}`,
  );
  return { uri, query: { protocol, signed, around: [before, behind] } };
}

/** Null when the parameters cannot be decoded, or are too many. */
export function readParameters(text: string): Parameter[] | null {
  try {
    return parseQuery(text);
  } catch {
    return null;
  }
}

export function unsigned(parameters: readonly Parameter[]): Parameter[] {
  return parameters.filter((parameter) => parameter[0] !== "oauth_signature");
}

/** A parameter of OAuth's own says how a request is signed, not what it asks for. */
export function isProtocol(name: string): boolean {
  return name.startsWith(PROTOCOL);
}

const PROTOCOL = "oauth_";

/** At its first `?`. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
