/**
 * The edge to a service: one signed call, with deadlines that win over a hanging body and a cap on its size. It tries
 * nothing twice and follows no redirect: an answer of any status is an answer, and what is done about it, or about no
 * answer, is for the dispatcher to say, by the error's code.
 */
import { type Clock, type Instant, instantFromDate, settledOrAborted } from "../ground/clock.ts";
import { exchangeDate } from "../market/calendar/dates.ts";
import { correctionAfterRefusal } from "../services/clockSkew.ts";
import type { QuoteCall } from "../quotes/call.ts";
import {
  type Credentials,
  optionValue,
  type OptionValues,
  type Service,
  writeCall,
} from "../services/service.ts";
import { stampOf } from "../services/stamp.ts";
import { type HttpAnswer, openCaller, type SignedCall } from "./transport/httpCalls.ts";
import type { HostAddresses } from "../ground/hostAddresses.ts";
import type { Deadlines } from "./transport/deadlines.ts";
import { withholding } from "./transport/withhold.ts";

type RawResponse = {
  /** The call as it was made: with what the account's settings decide. */
  request: QuoteCall;
  requestedAt: Instant;
  observedAt: Instant;
  status: number;
  headers: Record<string, string>;
  /** Byte for byte, but for credentials of ours that the service quotes: they are overwritten with `*`. */
  body: Uint8Array;
};

/**
 * Asks the service once.
 *
 * Rejects with SERVICE_UNREACHABLE, SERVICE_CUT_SHORT, SERVICE_TIMEOUT, SERVICE_UNTRUSTED, SERVICE_ANSWER_TOO_LARGE,
 * LEASE_UNSURE when it may not leave, or CALL_CANCELLED after the signal. Nothing signed is in those errors, and they have
 * no cause that could hold it.
 *
 * @param mayLeave asked when a connection is there and the call is about to be written to it: so it is the last word, also
 *   for a call that has waited for a connection, or in a process that was paused. False: no byte of it leaves
 */
export type FetchQuotes = (
  call: QuoteCall,
  signal?: AbortSignal,
  mayLeave?: () => boolean,
) => Promise<RawResponse>;

/** Bytes of a body in which a document that says "not authorized" is looked for; it has no room for quotes. */
const SHORT_BODY = 4_096;

export type FetchOptions = {
  service: Service;
  baseUrl: string;
  /** Of the account. Default: none, and the service's defaults hold. */
  options?: OptionValues;
  /** Asked for each call: those of a session change. What it throws is the call's error. */
  credentials: () => Credentials;
  clock: Clock;
  /** Gives strictly increasing receive times. */
  observe: () => Instant;
  userAgent: string;
  deadlines?: Deadlines;
  /** Default: the machine's own. */
  addresses?: HostAddresses;
};

export type OpenFetchQuotes = {
  fetchQuotes: FetchQuotes;
  /** What is added to the machine's clock in timestamps, in ms; 0 unless the service showed that the clock is off. */
  clockCorrectionMs: () => number;
  /** Cuts off what is under way, and closes all connections. */
  close: () => Promise<void>;
};

export function openFetchQuotes(options: FetchOptions): OpenFetchQuotes {
  const { service, clock } = options;
  const callers = new Map<string, ReturnType<typeof openCaller>>();
  const callerAt = (baseUrl: string): ReturnType<typeof openCaller> => {
    const caller = callers.get(baseUrl) ?? openCaller(baseUrl, options);
    callers.set(baseUrl, caller);
    return caller;
  };
  // An address that is none is told at once.
  callerAt(options.baseUrl);
  let correctionMs = 0;

  const send: FetchQuotes = async (asked, signal, mayLeave) => {
    const signedWithMs = correctionMs;
    const request =
      service.complete?.(asked, { options: options.options ?? {}, today: exchangeDate(clock.now()) }) ??
      asked;
    const signed = signCall(request, options, signedWithMs);
    const answered = await callerAt(signed.baseUrl).call(signed, {
      callers: signal ? [signal] : [],
      mayLeave,
    });
    const response = toResponse(signed, answered, options);
    // The clock itself: receive times never go back, also when the clock was set back.
    const observedAt = instantFromDate(clock.now());
    if (service.isTimed && isRefusal(response, service))
      correctionMs = correctionAfterRefusal(signedWithMs, { ...response, observedAt });
    return response;
  };

  let first: Promise<unknown> | null = null;
  return {
    fetchQuotes: async (call, signal, mayLeave) => {
      if (first === null) {
        // Until one call was answered nobody knows whether the clock is right: many refused for it would cost the budget.
        const sent = send(call, signal, mayLeave);
        first = sent;
        return sent;
      }
      await settledOrAborted(first, signal);
      return send(call, signal, mayLeave);
    },
    clockCorrectionMs: () => correctionMs,
    close: async () => {
      await Promise.all([...callers.values()].map((caller) => caller.close()));
    },
  };
}

type SigningInput = SignedCall & {
  request: QuoteCall;
  baseUrl: string;
  credentials: Credentials;
  requestedAt: Instant;
};

/** Signs a call: with a nonce and a timestamp of its own, each time it is made. */
function signCall(request: QuoteCall, options: FetchOptions, correctionMs: number): SigningInput {
  const { service, credentials: credentialsNow, clock } = options;
  const credentials = credentialsNow();
  const written = writeCall(service, request, credentials);
  const baseUrl = addressOf(service.hostOf?.(request), options);
  const url = `${baseUrl}${written.target}`;
  const now = clock.now();
  const stamp = stampOf(clock, now.getTime() + correctionMs);
  const signed = service.sign({ ...written, url }, credentials, stamp);
  return { ...written, request, baseUrl, url, credentials, signed, requestedAt: instantFromDate(now) };
}

/** @param host a word of the service's; undefined: the base address */
function addressOf(host: string | undefined, { service, baseUrl, options = {} }: FetchOptions): string {
  const name = host === undefined ? undefined : service.hosts?.[host]?.option;
  const option = service.options?.find((one) => one.name === name);
  if (!option || !("address" in option)) return baseUrl;
  return optionValue(option, options);
}

function toResponse(
  { request, credentials, signed, requestedAt }: SigningInput,
  { status, headers, body }: HttpAnswer,
  { service, observe }: FetchOptions,
): RawResponse {
  const observedAt = observe();
  const withhold = withholding(service.secrets(credentials, signed));
  const kept: Record<string, string> = {};
  for (const name of service.keptHeaders) {
    const value = headers[name];
    if (value !== undefined) kept[name] = withhold.text(Array.isArray(value) ? value.join(", ") : value);
  }
  return { request, requestedAt, observedAt, status, headers: kept, body: withhold.bytes(body) };
}

function isRefusal(response: RawResponse, service: Service): boolean {
  const { status, body } = response;
  if (status === 200 && body.byteLength > SHORT_BODY) return false;
  return service.classify(response, response.request).outcome === "unauthorized";
}
