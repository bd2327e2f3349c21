/** The element `All` of a quote in which there is nothing: it names all members, in the order of recorded answers. */
import { number, type Value } from "../wire.ts";
import { price } from "./wire.ts";

const NO_PRICE = price(null);
const NO_COUNT = number(0);

/**
 * Absent numbers are 0.0 or 0, absent texts empty. Members that are undefined are missing where there is nothing.
 *
 * What is spread over it keeps this order.
 */
export const ABSENT: Readonly<Record<string, Value | undefined>> = {
  adjustedFlag: false,
  ask: NO_PRICE,
  askSize: NO_COUNT,
  askTime: "",
  bid: NO_PRICE,
  bidExchange: "",
  bidSize: NO_COUNT,
  bidTime: "",
  changeClose: NO_PRICE,
  changeClosePercentage: NO_PRICE,
  companyName: "",
  daysToExpiration: NO_COUNT,
  dirLast: "",
  dividend: NO_PRICE,
  eps: NO_PRICE,
  estEarnings: NO_PRICE,
  exDividendDate: NO_COUNT,
  high: NO_PRICE,
  high52: NO_PRICE,
  lastTrade: NO_PRICE,
  low: NO_PRICE,
  low52: NO_PRICE,
  open: NO_PRICE,
  openInterest: NO_COUNT,
  optionStyle: "",
  optionUnderlier: "",
  optionUnderlierExchange: undefined,
  previousClose: NO_PRICE,
  previousDayVolume: NO_COUNT,
  primaryExchange: "",
  symbolDescription: "",
  totalVolume: NO_COUNT,
  upc: NO_COUNT,
  cashDeliverable: NO_COUNT,
  marketCap: NO_PRICE,
  sharesOutstanding: NO_COUNT,
  nextEarningDate: "",
  beta: NO_PRICE,
  yield: NO_PRICE,
  declaredDividend: NO_PRICE,
  dividendPayableDate: NO_COUNT,
  pe: NO_PRICE,
  week52LowDate: NO_COUNT,
  week52HiDate: NO_COUNT,
  intrinsicValue: NO_PRICE,
  timePremium: NO_PRICE,
  optionMultiplier: NO_PRICE,
  contractSize: NO_PRICE,
  expirationDate: NO_COUNT,
  optionPreviousBidPrice: undefined,
  optionPreviousAskPrice: undefined,
  osiKey: undefined,
  timeOfLastTrade: NO_COUNT,
  averageVolume: NO_COUNT,
  ExtendedHourQuoteDetail: undefined,
};
