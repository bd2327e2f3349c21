/**
 * What the dashboard asks of the archive, through a small pool of its own whose sessions cannot write and whose
 * statements end after a few seconds (`createPool` with `readOnly`).
 */
export { readQuotes, readQuotesSince } from "./queries/quotes.ts";
export { readBars, type Series } from "./queries/bars.ts";
export { readChain, readChainKeys } from "./queries/chain.ts";
export { readCoverageView, readMisses } from "./queries/coverage.ts";
export { readMinutes } from "./queries/activity.ts";
