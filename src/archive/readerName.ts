/** The role `quotekeeper_reader`, with which people's tools and the dashboard read the archive (readerRole.ts). */

/** The role. On the embedded database it needs no password from this machine's loopback. */
export const READER = "quotekeeper_reader";

/** Connections that all with the role's name can have at a time. */
export const READER_CONNECTIONS = 10;
