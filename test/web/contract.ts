import type { Contract } from "../../src/archive/ask/dashboardTypes.ts";

/** A contract of a chain of which nothing but these fields is known. */
export const contract = (
  strike: string,
  optionType: "CALL" | "PUT",
  fields: Partial<Contract> = {},
): Contract => ({
  instrument: "",
  strike,
  optionType,
  observedAt: "",
  bid: null,
  ask: null,
  mid: null,
  last: null,
  volume: null,
  spot: null,
  moneyness: null,
  ivBid: null,
  ivMid: null,
  ivAsk: null,
  delta: null,
  gamma: null,
  vega: null,
  theta: null,
  serviceDelta: null,
  ...fields,
});
