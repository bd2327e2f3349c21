/** E*TRADE's sandbox: stored answers, whatever is asked (pyetrade issue 88). */
import type { Answers } from "./answers.ts";

/** When the answers were stored: in a session, years ago. */
const STORED_AT = new Date("2018-06-20T19:17:00Z");

const STORED_EXPIRATION = "2018-08-17";

/** IBM for each question. Assumed: what is wrong with a call is still told, but an unknown symbol. */
export function sandboxOf({ quotes, chain, expirations }: Answers): Answers {
  return {
    quotes: () => quotes(["IBM"], { detail: "ALL", at: STORED_AT }),
    chain: () =>
      chain("IBM", {
        date: STORED_EXPIRATION,
        includeWeekly: true,
        isMini: false,
        sides: ["Call", "Put"],
        noOfStrikes: 2,
        near: null,
        at: STORED_AT,
      }),
    expirations: () => expirations("IBM", { type: "ALL", at: STORED_AT }),
  };
}
