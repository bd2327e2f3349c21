/**
 * Assumed: the HTTP statuses of failed calls, which the specification does not show. Clients of the live service have
 * seen 401, 414 and 429 (field notes); the others are what HTTP and RFC 5849 section 3.2 say.
 */
export const STATUS = {
  /** Not HTTP, not one `Host`; a query or protocol parameter that is malformed, missing, unknown or given twice. */
  malformed: 400,
  /** Not signed, wrongly signed, or signed with a key, a timestamp or a nonce that does not hold. */
  unauthenticated: 401,
  /** Another version, or a path outside of `/v1`. */
  notFound: 404,
  /** A request that took too long to arrive. */
  tooSlow: 408,
  bodyTooLong: 413,
  lineTooLong: 414,
  /** An `Expect` that is not `100-continue`. */
  expectationFailed: 417,
  /** The rate-limit fault. */
  limitReached: 429,
  headersTooLong: 431,
  /** An authenticated call whose answer the specification does not show; it is counted. */
  notShown: 501,
  failed: 500,
  /** The archive's database is away, or too slow. */
  databaseAway: 503,
} as const;
