/**
 * A token that calls bring without a person, and that lasts for a while: each step is a call and a function from its answer, and the
 * edge makes the call. Pure: no clock, no network.
 */
import type { LoginAnswer, LoginCall, NotLoggedIn, Secrets } from "./serviceLogin.ts";
import type { Stamp } from "./stamp.ts";

export type Token = {
  /** The first brings the token. Others bring what stands in paths, such as the account's id (see `WrittenCall`). */
  steps: readonly {
    /** @param credentials with all tokens so far */
    ask: (baseUrl: string, credentials: Secrets, stamp: Stamp) => LoginCall;
    /**
     * Never throws. `tokens`: by the names that `sign` and the next renewal read. `lastsMs`: from the call on; where the answer does not
     * say it, what was asked for. What is no number, or below 0, says nothing. A fault of `access` needs other credentials, or a login where the service has one; others pass.
     */
    read: (answer: LoginAnswer) => { tokens: Secrets; lastsMs?: number } | NotLoggedIn;
  }[];
  /** How long before its end a token is renewed, in ms; one that lasts less than twice as long, at half its life. */
  aheadMs: number;
};
