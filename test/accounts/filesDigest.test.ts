/** The digests by which collectors compare their files. */
import { expect, test } from "@jest/globals";
import type { Account } from "../../src/accounts/account.ts";
import { filesSaid, whatDiffers } from "../../src/accounts/lease/filesDigest.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import type { Service } from "../../src/services/service.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";

function said(service: Service, options?: Record<string, string>) {
  const account: Account = {
    ...{ name: "main", limit: 60, limitGiven: true, limitWindowMs: 60_000, service },
    feed: {
      ...{ kind: "account", baseUrl: "https://api.broker.example" },
      credentials: { accessToken: "a token", keyId: "a key", secretKey: "a secret" },
      ...(options && { options }),
    },
  };
  return filesSaid({ jobs: [], calendar: [], accounts: [account] }).files;
}

test("files are other ones where an account has another feed or trading address, and alike where one names a default", () => {
  const mine = said(ALPACA);
  const differing = (options: Record<string, string>): string => whatDiffers(mine, said(ALPACA, options));

  expect(differing({ stockFeed: "delayed_sip", optionFeed: "indicative" })).toBe("");
  for (const [name, value] of [
    ["stockFeed", "sip"],
    ["optionFeed", "opra"],
    ["tradingUrl", "https://api.alpaca.markets"],
  ] as const)
    expect(differing({ [name]: value })).toBe("the account main (not the same)");
});

test("the digest of an account whose service has no options is that of every version", () => {
  expect(said(TRADIER).accounts).toEqual({ main: "3b9bca6a59794dd6e83fc4775081c7d8" });
});
