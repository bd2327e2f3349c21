/** When contracts of each root are settled: by opening or by closing prices of their date. */

/** `third Friday`: by opening prices on the monthly date, by closing prices on others. */
type Settlement = "open" | "third Friday" | "close";

const MONTHLY = ["SPX", "NDX", "RUT", "DJX", "RUI", "RLG", "RLV", "MNX", "RMN", "CBTX", "MBTX"];
const SECTORS = ["B", "C", "E", "I", "M", "R", "RE", "T", "U", "V", "Y"].map((sector) => `SIX${sector}`);
const VOLATILITY = ["VIX", "VIXW", "XSPAM"];
const CLOSE = [
  ...["SPXW", "SPXPM", "SPXQ", "XSP", "NANOS", "OEX", "XEO", "NDXP", "NQX", "XND"],
  ...["RUTW", "RUTQ", "MRUT", "MXEA", "MXEF", "CBTXW", "MBTXW"],
];

/**
 * Assumed: without a root an index's contract on a third Friday is the one that is settled in the morning, for the exchanges list it
 * under the index's own name; and a root that is not here, as all of stocks, is settled at the close.
 *
 * From the exchanges' specifications, read in November 2026:
 * - SPX: cboe.com/products/indexopts/spx_spec.aspx (the opening prices, SET; SPXW trades until the close of its date). Quarters, ends of
 *   months: markets.cboe.com/tradable_products/sp_500/spx_end_of_month_options/specifications. LEAPS have the root and the date of SPX.
 * - NDX, NDXP, XND: nasdaq.com/nasdaq-100-index-options. MNX is a tenth of NDX: marketswiki.com/wiki/Options_on_NASDAQ-100_Index.
 * - RUT, RUTW: cboe.com/tradable_products/ftse_russell/russell_2000_index_options. RUTW and RUTQ settle at the close since January 2016:
 *   cboeoptionshub.com/2015/12/21. MRUT: .../mini_russell_2000_index_options/mrut_specifications. RMN: cboe.com/Products/indexopts/rmn_spec.aspx.
 * - RUI, RLG, RLV: cboe.com/tradable_products/ftse_russell/russell_1000_index_options/rlv_specifications, marketswiki.com/wiki/RUI.
 * - DJX: cboe.com/products/indexopts/djx_spec.aspx.
 * - VIX, VIXW: cfe.cboe.com/Products/settlement_VIX.aspx (the special opening quotation of each expiration date, mostly Wednesdays).
 * - XSP: markets.cboe.com/tradable_products/sp_500/mini_spx_options/specifications; until November 2013 by opening prices, then as XSPAM.
 * - OEX, XEO: cboe.com/Products/indexopts/xeo_spec.aspx. NANOS: res.cboe.com/tradable_products/sp_500/nanos_index_options/specifications.
 * - MXEA, MXEF: cboe.com/tradable_products/msci/msci_index_options.
 * - SIX.: cboe.com/tradable_products/sp_500/cboe_select_sectors_index_options/sixm_spec.
 * - CBTX, MBTX: cboe.com/en/tradable-products/cryptocurrency/bitcoin-etf-index-options/vendor-symbols.
 *
 * `expires_at` of migrations/repeat/ has the same roots; a test compares both.
 */
export const SETTLEMENT_OF_ROOT: ReadonlyMap<string, Settlement> = new Map([
  ...[...MONTHLY, ...SECTORS].map((root): [string, Settlement] => [root, "third Friday"]),
  ...VOLATILITY.map((root): [string, Settlement] => [root, "open"]),
  ...CLOSE.map((root): [string, Settlement] => [root, "close"]),
]);
