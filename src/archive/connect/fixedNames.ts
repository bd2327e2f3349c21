/** Names and numbers that are the same in every archive. */

/** The role with which people's tools and the dashboard read the archive (schema/readerRole.ts). On the embedded database it needs no password from this machine's loopback. */
export const READER = "quotekeeper_reader";

/** Connections that all with the role's name can have at a time. */
export const READER_CONNECTIONS = 10;

/** The simulated market's number, as the first migration gave it: the source whose sessions are not the exchange's. */
export const SIMULATED_SOURCE = 2;
