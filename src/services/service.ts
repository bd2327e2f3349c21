/**
 * A quotes service as a value: how a call to it is written and signed, what is kept of its answers, and how these are told apart.
 * Everything that differs from one service to another stands in such a value. Pure: no clock, no network, and no secret in it.
 */
import { QuotekeeperError } from "../ground/errors.ts";
import type { OptionContract } from "../market/instrument.ts";
import type { Answer, RawAnswer } from "../quotes/answer.ts";
import type { RateLimit } from "../quotes/rateLimit.ts";
import type { QuoteCall, SavedCall } from "../quotes/call.ts";
import type { CallBody } from "./callBody.ts";
import type { Checkup } from "./checkup.ts";
import { percentEncode } from "./percentEncode.ts";
import type { Login } from "./serviceLogin.ts";
import type { Token } from "./serviceToken.ts";
import type { Stamp } from "./stamp.ts";

/** Secrets of an account, by the names that the service gives them. */
export type Credentials = Readonly<Record<string, string>>;

/** A call as it goes over the wire, but for its signature. */
export type WrittenCall = {
  method: "GET" | "POST";
  /** `{name}` in it stands for a credential or a token: an account's id in a path. */
  target: string;
  /** Of a POST; else absent. */
  body?: CallBody;
  accept: string;
};

type Writers = {
  readonly [Form in QuoteCall["form"]]?: (call: Extract<QuoteCall, { form: Form }>) => WrittenCall;
};

/** A secret of an account: its name in accounts.yaml, and the variable that has it where there is one account. */
type CredentialName = { name: string; variable: string; title: string };

/**
 * A setting of an account that is no secret: its name in accounts.yaml, and the variable that has it where there is one account. It is one
 * of some values, or the address of another host; the default stands first.
 */
export type ServiceOption = {
  name: string;
  variable: string;
  /** What it decides, a sentence for people. */
  does: string;
} & ({ values: readonly [string, ...string[]] } | { address: string; others?: OtherHosts });

/** Where the host is for other accounts, and a call with a small answer that shows whether a host takes the credentials. */
type OtherHosts = { readonly addresses: readonly string[]; readonly trial: QuoteCall };

/** The account's values, by the names of its service's options. */
export type OptionValues = Readonly<Record<string, string>>;

/** What is chosen of an option, or its default. */
export function optionValue(option: ServiceOption, chosen: OptionValues = {}): string {
  return chosen[option.name] ?? ("values" in option ? option.values[0] : option.address);
}

/** The values that are given for a service's options; undefined: none is. */
export function chosenOptions(
  { options = [] }: Pick<Service, "options">,
  given: (option: ServiceOption) => string | undefined,
): OptionValues | undefined {
  const chosen = options.flatMap((option) => {
    const value = given(option);
    return value === undefined ? [] : [[option.name, value]];
  });
  return chosen.length > 0 ? (Object.freeze(Object.fromEntries(chosen)) as OptionValues) : undefined;
}

export type Limit = { readonly calls: number; readonly windowMs: number };

type Address = {
  readonly baseUrl: string;
  /** Whether its quotes are, whatever is asked for, unless an answer says so itself. */
  readonly delayed: boolean;
  /** Absent: the service's. */
  readonly limit?: Limit;
  /** Its answers are stored ones, whatever is asked for: no price of them is of now. */
  readonly stored?: true;
  /** What it has, in words for people, where it is for trials. */
  readonly sandbox?: string;
};

/**
 * Symbols in one call: to begin with, and the most a list may grow to. A list of `least` is never too long: a service that says so
 * has another fault, and halving stops.
 */
export type Batch = {
  readonly first: number;
  readonly least: number;
  readonly most: number;
  /** Contracts of a list, where they stand in lists of their own. Absent: they stand beside stocks. */
  readonly contracts?: number;
};

export type Service = {
  /** In accounts.yaml, variables and records of the journal. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** An account and its quotes cost nothing. */
  readonly free?: true;
  /** What it was tried against, in words: never with an account. */
  readonly experimental?: string;
  readonly credentials: {
    readonly all: readonly CredentialName[];
    /** Names of those that tell one account from another, and stay an account's for good. */
    readonly identity: readonly string[];
    /** Names of those with which the identity is hidden from who may read it. */
    readonly secrets: readonly string[];
    /** How a newcomer gets them, a sentence a step. Absent: its page says it. */
    readonly steps?: readonly string[];
    /** What ends them, a sentence. Absent: nothing is known to. */
    readonly end?: string;
  };
  /** Settings of its own, beside the credentials. Absent: it has none. */
  readonly options?: readonly ServiceOption[];
  /**
   * Hosts beside the base address, by the word that `hostOf` has for each: the option that says where it is, and its own limit, which the
   * calls to the base address do not share.
   */
  readonly hosts?: Readonly<Record<string, { readonly option: string; readonly limit: Limit }>>;
  /** Its own addresses, the first of them by default; none: the operator says where it is. */
  readonly addresses: readonly Address[];
  /** The most calls in a window, where neither the settings nor the answers say another limit. */
  readonly limit: Limit;
  readonly batch: Batch;
  /** How each form of call is written. A form that is missing is none of the service's. */
  readonly write: Writers;
  /** Why it cannot be asked for a contract, behind the contract's name; null: it can. Absent: for each it can. */
  readonly lackOf?: (contract: OptionContract) => string | null;
  /** Whether a list of symbols may hold OCC symbols of contracts. */
  readonly optionsInList: boolean;
  /** Its quotes have no open interest: that of an underlying's contracts comes with the list of its expirations. */
  readonly listsInterest?: true;
  /** Whether each call says if it wants delayed quotes. Where it does not, the address tells which there are. */
  readonly asksDelayed: boolean;
  /** Whether its signatures hold a time, so that a clock that is off has calls refused. */
  readonly isTimed: boolean;

  /**
   * A call with what the account's options and the date decide, as the journal keeps it. Absent: a call says all.
   *
   * @param today the exchange's date
   */
  complete?(call: QuoteCall, account: { options: OptionValues; today: string }): QuoteCall;
  /** Which of `hosts` has the answer; undefined: the base address. Absent: it is always that. */
  hostOf?(call: QuoteCall): string | undefined;
  /**
   * Headers that show whose call it is.
   *
   * @param call with the base address and the target as `url`
   * @param credentials with the tokens of a session, where there is a login or a token
   */
  sign(call: WrittenCall & { url: string }, credentials: Credentials, stamp: Stamp): Record<string, string>;
  /** What must not be kept where an answer quotes it. @param signed what `sign` gave */
  secrets(credentials: Credentials, signed: Readonly<Record<string, string>>): string[];
  /** Headers of answers that are kept, names in lower case. */
  readonly keptHeaders: readonly string[];
  /**
   * Never throws: an answer that cannot be read is `malformed`.
   *
   * @param call that was answered, complete: what was asked decides what an answer means. Absent: nobody knows it
   */
  classify(raw: RawAnswer, call?: QuoteCall | SavedCall): Answer;
  /** The feed of a call as a source of its own (`RecordSource`). Absent: the service is one source. */
  sourceOf?(call: QuoteCall): { name: string; spot?: string; interest?: string };
  /** Never throws. @param headers names in lower case */
  rateLimit(headers: Readonly<Record<string, string>>): RateLimit;
  /** When the limit expires, in seconds since 1970 as they were sent; null: nothing says it. */
  limitEnd(headers: Readonly<Record<string, string>>): string | null;
  /** Absent: its credentials are all that it wants. */
  readonly login?: Login;
  /** Absent: no call brings a token. With a login it goes on from the tokens of that. */
  readonly token?: Token;
  /** What is assumed of it, and the calls that show whether it holds. */
  readonly checkup: Checkup;
};

/** @throws QuotekeeperError UNEXPECTED a form that the service has not: jobs that ask for one are refused before */
export function writeCall(
  { title, write }: Pick<Service, "title" | "write">,
  call: QuoteCall,
  credentials: Credentials = {},
): WrittenCall {
  const writer = write[call.form] as ((call: QuoteCall) => WrittenCall) | undefined;
  if (writer === undefined)
    throw new QuotekeeperError("UNEXPECTED", `${title} has no call of the form ${call.form}`);
  const written = writer(call);
  const valueOf = (_: string, name: string): string => percentEncode(credentials[name] ?? "");
  return { ...written, target: written.target.replace(/\{(\w+)\}/g, valueOf) };
}
