import type { Bar, Contract } from "../../src/archive/ask/dashboardTypes.ts";

/** A bar of the regular session, of one trade at 1. @param at its beginning, ISO 8601 */
export const bar = (at: string, fields: Partial<Bar> = {}): Bar => ({
  date: at.slice(0, 10),
  session: "regular",
  at,
  open: "1",
  high: "1",
  low: "1",
  close: "1",
  bid: null,
  ask: null,
  meanSpread: null,
  quoteCount: "1",
  volume: null,
  ...fields,
});

const UNKNOWN = (
  "bid mid ask last volume spot moneyness ivBid ivMid ivAsk delta gamma vega theta serviceDelta serviceIvBid serviceIvMid " +
  "serviceIvAsk serviceGamma serviceTheta serviceVega ivDifference deltaDifference gammaDifference thetaDifference " +
  "vegaDifference greeksAt quotedAt tradedAt stillSince openInterest"
).split(" ");

/** A contract of a chain of which nothing but these fields is known. */
export const contract = (
  strike: string,
  optionType: "CALL" | "PUT",
  fields: Partial<Contract> = {},
): Contract => {
  const unknown = Object.fromEntries(UNKNOWN.map((name) => [name, null])) as unknown as Contract;
  return { ...unknown, instrument: "", observedAt: "", strike, optionType, ...fields };
};
