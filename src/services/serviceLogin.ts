/**
 * A login, where a service wants a person for it: each step is a call and a function from its answer, and the edge makes the call.
 * Pure: no clock, no network.
 */
import type { RawAnswer } from "../quotes/answer.ts";
import type { CallBody } from "./callBody.ts";
import type { Stamp } from "./stamp.ts";

/** Secrets by the names that the service gives them. */
export type Secrets = Readonly<Record<string, string>>;

/** A call of a login or for a token: a POST where it has a body, else a GET. */
export type LoginCall = { url: string; headers: Readonly<Record<string, string>>; body?: CallBody };

/** What is kept between the address that a person opens and the code that they bring back. A secret. */
export type PendingLogin = { token: string; secret: string };

/**
 * What was wrong when there is no session. `code`: the person's code is not right. `clock`: the time of the signature.
 * `access`: the key, the token, or the place that was called. `service`: the service itself failed. `answer`: anything else.
 */
type LoginFault = "code" | "clock" | "access" | "service" | "answer";

/** Why there is no session. `refused`: in words without a secret. */
export type NotLoggedIn = { refused: string; fault: LoginFault };

export type LoginAnswer = Pick<RawAnswer, "status" | "body">;

/** Where a login takes place. `calls`: base address of its calls; `page`: the page that a person opens, without its query. */
export type LoginPlace = { calls: string; page: string };

export type Login = {
  /**
   * Where an account at this address logs in: the places to try, the likeliest first.
   *
   * @param loginUrl base address of the calls, where the operator names it: then it is the only place
   */
  places: (baseUrl: string, loginUrl: string | undefined) => readonly LoginPlace[];
  begin: (place: LoginPlace, credentials: Secrets, stamp: Stamp) => LoginCall;
  /** `url`: the address that a person opens. */
  began: (
    answer: LoginAnswer,
    place: LoginPlace,
    credentials: Secrets,
  ) => { url: string; pending: PendingLogin } | NotLoggedIn;
  /** @param given `code`: what the page has shown to the person */
  finish: (
    place: LoginPlace,
    credentials: Secrets,
    given: { pending: PendingLogin; code: string; stamp: Stamp },
  ) => LoginCall;
  /** The secrets of the session, by the names that `sign` reads. */
  finished: (answer: LoginAnswer) => { tokens: Secrets } | NotLoggedIn;
  endsAt: (startedAt: Date) => Date;
  /** Absent: its sessions never sleep. */
  waking?: {
    /** Wakes a session that sleeps. @param credentials with the tokens of the session */
    renew: (place: LoginPlace, credentials: Secrets, stamp: Stamp) => LoginCall;
    /** Null: the session goes on. */
    renewed: (answer: LoginAnswer) => NotLoggedIn | null;
    /** A session sleeps after so long without a call, in ms. */
    idleMs: number;
  };
};
