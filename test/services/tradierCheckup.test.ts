/** What the checkup of Tradier makes of answers that are not as is assumed. */
import { expect, test } from "@jest/globals";
import type { Probe } from "../../src/services/checkup.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";

const AT = "2026-11-20T20:00:00.000000Z";

function probed(call: Probe["call"], document: object): Probe {
  const body = Buffer.from(JSON.stringify(document));
  const answer = TRADIER.classify({ status: 200, headers: {}, body, observedAt: AT });
  return { call, answer, status: 200, headers: {}, body, requestedAt: AT, observedAt: AT };
}

const asked = { form: "symbols", symbols: ["SPY"], delayed: false } as const;
const fund = (bidsize: number, asksize: number) =>
  probed(
    { ...asked, symbols: ["SPY"] },
    { quotes: { quote: { symbol: "SPY", type: "etf", last: 612.5, bidsize, asksize } } },
  );

function verdictOf(assumption: string, calls: readonly Probe[]) {
  const found = TRADIER.checkup.findings(calls, false).find((one) => one.assumption === assumption);
  return found && [found.verdict, found.why, found.needed];
}

test.each([
  ["in shares", 80, 1_240, "ok", "2 of 2 are multiples of a round lot", false],
  [
    "in hundreds",
    3,
    17,
    "not_so",
    "0 of 2 are multiples of a round lot, each is smaller: they are no shares",
    true,
  ],
  ["in both", 80, 17, "unknown", "1 of 2 are multiples of a round lot", false],
  ["missing", 0, 0, "unknown", "no size of a round lot came", false],
])("sizes that are %s are told as such", (_, bid, ask, ...told) => {
  expect(verdictOf("Sizes of stocks are shares, as they are stored", [fund(bid, ask)])).toEqual(told);
});

test.each([
  [0.0191, "ok", "rho of 0 of 1 puts is below 0"],
  [-1.26, "not_so", "rho of 1 of 1 puts is below 0"],
])("a put with a rho of %s is told as the call's or as its own", (rho, verdict, why) => {
  const option = { symbol: "SPY261218P00600000", type: "option", option_type: "put", greeks: { rho } };
  const chain = probed(
    { form: "chain", underlying: "SPY", expiration: "2026-12-18", delayed: false },
    { options: { option } },
  );
  const calls = [fund(80, 80), fund(80, 80), fund(80, 80), fund(80, 80), chain];

  expect(verdictOf("Theta and rho of a put are the call's, so that they are not stored", calls)).toEqual([
    verdict,
    why,
    false,
  ]);
});

test("a sandbox that does not know an index or a class of shares is told, and that is no reason to fail", () => {
  const unknown = probed(
    { ...asked, symbols: ["SPY", "BRK.B", "SPX", "NDX", "RUT", "ZZQXZZ"] },
    {
      quotes: {
        quote: [
          { symbol: "BRK/B", type: "stock" },
          { symbol: "SPX", type: "index" },
        ],
        unmatched_symbols: { symbol: ["NDX", "RUT", "ZZQXZZ"] },
      },
    },
  );
  const calls = [fund(80, 80), unknown];

  expect(verdictOf("A class of shares has a quote by the archive's name", calls)).toEqual([
    "ok",
    "1 of 1",
    false,
  ]);
  expect(verdictOf("Indexes have quotes", calls)).toEqual(["not_so", "1 of 3", false]);
});
