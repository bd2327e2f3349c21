/** Which element of a quote is which column, by the specification and the design: what the program says is checked with it. */

/** Elements of `quote`, and columns of `quotes`. */
export const QUOTE_COLUMNS = {
  askprice: "ask",
  bidprice: "bid",
  change: "change",
  lastprice: "last",
  pctchange: "pct_change",
};

/** Elements of `extendedquote`, and columns of `extended_quotes`. */
export const EXTENDED_COLUMNS = {
  asksize: "ask_size",
  bidsize: "bid_size",
  highprice: "high",
  lowprice: "low",
  openprice: "open",
  prevclose: "previous_close",
  volume: "volume",
  earningspershare: "earnings_per_share",
  high52price: "high_52_week",
  low52price: "low_52_week",
  priceearningsratio: "pe_ratio",
  sessionvolume: "session_volume",
  contracthigh: "contract_high",
  contractlow: "contract_low",
  contractsize: "contract_size",
  delta: "delta",
};

/** Elements of `dividenddata`, and columns of `dividends`. */
export const DIVIDEND_COLUMNS = { amt: "amount", exdate: "ex_date", yield: "yield" };
