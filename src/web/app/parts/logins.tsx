/** Logins that services want of a person each day: until when somebody is logged in, and a way to log in. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { LoginStart, LoginDone, Problem, StatusView } from "../../api/types.ts";
import { ApiProblem, post } from "../lib/api.ts";
import { countdown, exchangeMoment } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { now, page } from "../lib/newest.ts";
import { Panel } from "./facts.tsx";
import { ProblemNote } from "./notes.tsx";

type Login = StatusView["logins"][number];

/** How long before its end a login is offered, ms. */
const SOON_MS = 3_600_000;

/** A card for each account whose service needs a login now or soon. */
export function Logins() {
  const [made, setMade] = useState<ReadonlySet<string>>(new Set());
  const ends = (until: string | null): boolean => until === null || Date.parse(until) - nowMs.value < SOON_MS;
  const all = now.value?.status?.logins ?? [];
  const logins = all.filter(({ account, needed, until }) => needed || ends(until) || made.has(account));
  if (logins.length === 0) return null;
  return (
    <div class="panels logins">
      {logins.map((login) => (
        <LoginPanel
          key={login.account}
          login={login}
          kind={logins.length === 1 ? "wide" : "half"}
          keep={() => setMade(new Set([...made, login.account]))}
        />
      ))}
    </div>
  );
}

/** What `status` says is a few seconds old: so long, in ms, a login that was just made here counts as it was answered. */
const STATUS_OLD_MS = 10_000;

function LoginPanel({ login, kind, keep }: { login: Login; kind: string; keep: () => void }) {
  const { account, needed } = login;
  const [made, setMade] = useState<{ until: string; atMs: number } | null>(null);
  const isNew = made !== null && nowMs.value - made.atMs < STATUS_OLD_MS;
  const until = isNew ? made.until : login.until;
  const state = useRef<HTMLParagraphElement>(null);
  const done = (end: string): void => {
    setMade({ until: end, atMs: nowMs.peek() });
    keep();
    // The field is gone: who uses the keys goes on here.
    state.current?.focus();
  };
  return (
    <Panel id={`login-${account}`} kind={`marked ${kind}`} title={<Title account={account} />}>
      <p ref={state} tabIndex={-1} data-login={until !== null ? "open" : needed ? "needed" : "none"}>
        <b role="status">
          {until === null ? "Nobody is logged in." : `Logged in until ${exchangeMoment(until)}`}
        </b>
        {until !== null && <>, for {countdown(Date.parse(until) - nowMs.value)}.</>}
      </p>
      {page.value?.protected && now.value?.collects ? (
        <LogIn account={account} again={until !== null} done={done} />
      ) : (
        <Elsewhere collects={now.value?.collects === true} />
      )}
    </Panel>
  );
}

/** A name stands as it is written. */
function Title({ account }: { account: string }) {
  return (
    <>
      Login <small>of {account}</small>
    </>
  );
}

function Elsewhere({ collects }: { collects: boolean }) {
  return (
    <p class="dim after">
      <code>quotekeeper login</code>, in the directory of the collector, logs in.
      {collects && (
        <>
          {" "}
          This page can do it too where <code>QUOTEKEEPER_WEB_TOKEN</code> is set.
        </>
      )}
    </p>
  );
}

type LogInProps = { account: string; again: boolean; done: (until: string) => void };

function LogIn({ account, again, done }: LogInProps) {
  const [url, setUrl] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asking, setAsking] = useState(false);
  const path = `api/accounts/${encodeURIComponent(account)}/login`;

  const ask = async <T,>(to: string, body: object, take: (answer: T) => void): Promise<void> => {
    if (asking) return;
    setAsking(true);
    setProblem(null);
    try {
      take(await post<T>(to, body));
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error.problem);
    } finally {
      setAsking(false);
    }
  };
  const begin = (): Promise<void> => ask<LoginStart>(path, {}, (begun) => setUrl(begun.url));
  const finish = (code: string): Promise<void> =>
    ask<LoginDone>(`${path}/code`, { code }, ({ until }) => {
      setUrl(null);
      done(until);
    });

  // A button that is disabled would lose who has pressed it by a key.
  return (
    <div aria-busy={asking}>
      {url !== null && <Steps key={url} account={account} url={url} finish={finish} />}
      {problem && <ProblemNote problem={problem} />}
      <button type="button" onClick={() => void begin()}>
        {url !== null ? "New address" : again ? "Log in again" : "Log in"}
      </button>
    </div>
  );
}

type StepsProps = { account: string; url: string; finish: (code: string) => Promise<void> };

function Steps({ account, url, finish }: StepsProps) {
  const [code, setCode] = useState("");
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    void finish(code);
  };
  return (
    <form onSubmit={submit}>
      <p class="wraps">
        <a ref={link} href={url} target="_blank" rel="noopener noreferrer">
          Open the service's page
        </a>
        , log in there and accept, within five minutes: <code class="dim">{url}</code>
      </p>
      <div class="row below">
        <label for={`code-${account}`}>The code that it shows</label>
        <input
          id={`code-${account}`}
          class="mono"
          type="text"
          autocomplete="one-time-code"
          autocapitalize="none"
          spellcheck={false}
          size={8}
          maxLength={200}
          required
          value={code}
          onInput={({ currentTarget }) => setCode(currentTarget.value)}
        />
        <button type="submit">Finish</button>
      </div>
    </form>
  );
}
