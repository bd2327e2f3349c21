/** Opens what is polled: the account's service, or the simulated one on loopback over real HTTP and OAuth. */
import { join } from "node:path";
import { z } from "zod";
import type { FetchOptions, FetchQuotes, OpenFetchQuotes } from "../collect/fetchQuotes.ts";
import type { Account } from "../accounts/account.ts";
import type { Clock, Instant } from "../ground/clock.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { DEFAULT_SERVICE, type RecordSource } from "../journal/record.ts";
import { type RawAnswer, refusesCredentials, wantsLogin } from "../quotes/answer.ts";
import type { QuoteCall } from "../quotes/call.ts";
import type { Credentials } from "../services/oauth/signature.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";
import { SERVICE_LIMITS } from "../serve/limits.ts";
import type { Service } from "../services/service.ts";
import { Session } from "../collect/login/accountSession.ts";
import { sessionOf } from "../collect/login/keptSession.ts";
import { VERSION } from "../ground/version.ts";

export type OpenFeed = {
  simulated: boolean;
  /** Null: the service wants no person's login. */
  session: Session | null;
  fetchQuotes: FetchQuotes;
  /** What timestamps are corrected by, in ms: not 0 when the service showed that the machine's clock is off. */
  clockCorrectionMs: () => number;
  sourceOf: (answer: Pick<RawAnswer, "status" | "headers"> & { request: QuoteCall }) => RecordSource;
  /** Which market the answers with quotes so far came from, for the ledger. */
  ledgerSource: () => LedgerSource;
  /** The same, null until one has come. */
  answeredAs: () => LedgerSource | null;
  close: () => Promise<void>;
};

/** Seed of the simulated market where none is given. */
const DEFAULT_SEED = 1;

type FeedOptions = {
  dataDir: string;
  clock: Clock;
  /** Names answers by the time they arrive; all feeds of a process share it, for no two answers may have one name. */
  observe: () => Instant;
  onRenewed?: () => void;
};

/**
 * Opens the feed of an account. The simulated one is only ever opened when no account is configured. What a feed takes is
 * loaded here, and by no command that opens none.
 */
export async function openFeed(account: Account, options: FeedOptions): Promise<OpenFeed> {
  const { feed } = account;
  const { dataDir, clock, observe } = options;
  const { openFetchQuotes } = await import("../collect/fetchQuotes.ts");
  const { service } = account;
  const userAgent = `quotekeeper/${VERSION}`;
  const callsTo = (at: Pick<FetchOptions, "baseUrl" | "options" | "credentials">): OpenFetchQuotes =>
    openFetchQuotes({ service, ...at, clock, observe, userAgent });
  if (feed.kind === "account") {
    const { baseUrl, credentials, options: chosen } = feed;
    const of = sessionOf(account);
    const session = of && new Session(of, { dataDir, clock, onRenewed: options.onRenewed });
    const opened = session
      ? withSession(callsTo({ baseUrl, options: chosen, credentials: session.credentials }), session, service)
      : callsTo({ baseUrl, options: chosen, credentials: () => credentials });
    const known = join(dataDir, SERVICE_FILE);
    let newest = (await readSource(known, baseUrl)) ?? "account";
    let last: RecordSource | null = null;
    return {
      simulated: false,
      ...opened,
      session: service.login ? session : null,
      sourceOf: ({ status, headers, request }) => {
        const source = sourceOf(headers, account, request);
        // A refusal does not say it, and may be that of something before the service.
        if (status !== 200) return last ?? source;
        const kind = source.kind === "account" ? "account" : "simulated";
        // Where it cannot be kept, the next start learns it from its first answer.
        if (kind !== newest) void keepJson(known, { baseUrl, kind } satisfies z.infer<typeof serviceSchema>);
        newest = kind;
        last = source;
        return source;
      },
      ledgerSource: () => newest,
      answeredAs: () => last && newest,
    };
  }
  return openSimulated(account, { clock, callsTo });
}

/** The simulated market, in this process. */
async function openSimulated(
  account: Account,
  {
    clock,
    callsTo,
  }: { clock: Clock; callsTo: (at: Pick<FetchOptions, "baseUrl" | "credentials">) => OpenFetchQuotes },
): Promise<OpenFeed> {
  const { createQuoteService } = await import("../serve/quoteService.ts");
  const { createSimulatedMarket } = await import("../serve/simulated/market.ts");
  const credentials = randomCredentials(clock);
  const market = createQuoteService({
    source: createSimulatedMarket({ seed: DEFAULT_SEED }),
    keys: [credentials],
    clock: neverSetBack(clock),
    limits: { ...SERVICE_LIMITS, quotes: account.limit, windowMs: account.limitWindowMs },
  });
  const baseUrl = await market.listen({ host: "127.0.0.1", port: 0 });
  const opened = callsTo({ baseUrl, credentials: () => credentials });
  return {
    simulated: true,
    ...opened,
    session: null,
    sourceOf: () => SIMULATED,
    ledgerSource: () => "simulated",
    answeredAs: () => "simulated",
    close: async () => {
      await opened.close();
      await market.close();
    },
  };
}

/** Calls that are made with a session: it is woken before them, and told of what the service says of it. */
function withSession(opened: OpenFetchQuotes, session: Session, service: Service): OpenFetchQuotes {
  const isOf = service.token ? refusesCredentials : wantsLogin;
  return {
    ...opened,
    fetchQuotes: async (call, signal, mayLeave) => {
      await session.awake(signal);
      const response = await opened.fetchQuotes(call, signal, mayLeave);
      const isOver = response.status !== 200 && isOf(service.classify(response, response.request));
      session.answered(isOver);
      // At once, for a command that makes one call: where it cannot be woken, the next login begins another session.
      if (isOver) await session.awake(signal).catch(() => undefined);
      return response;
    },
  };
}

/**
 * The same clock, but for a time that it goes on when it is set back. A service has a clock of its own, and this one
 * accepts no call of a time that it has forgotten.
 */
function neverSetBack(clock: Clock): Clock {
  let [lastMs, atMs] = [-Infinity, 0];
  return {
    ...clock,
    now: () => {
      const nowMs = clock.monotonicMs();
      lastMs = Math.max(clock.now().getTime(), lastMs + nowMs - atMs);
      atMs = nowMs;
      return new Date(lastMs);
    },
  };
}

const SIMULATED: RecordSource = { kind: "simulated", name: "simulated" };
/** Rows of the specification's service are those of `account`, as they were before there were others. */
const accountSource = (service: Service, call: QuoteCall): RecordSource => {
  const own = { name: service.name === DEFAULT_SERVICE ? "account" : service.name };
  return { kind: "account", ...(service.sourceOf?.(call) ?? own) };
};

/** Real prices of another time, played by a `serve --source archive`: kept under the time they came again. */
const PLAYED: RecordSource = { kind: "simulated", name: "archive" };

/**
 * A configured service that says it is a simulated market is one: its rows are never taken for real ones. Nor are those
 * of an archive that is played: the prices were real once, but not at the time they are kept under. Nor are the stored answers of a
 * sandbox.
 */
function sourceOf(
  headers: Readonly<Record<string, string>>,
  { service, feed }: Pick<Account, "service" | "feed">,
  call: QuoteCall,
): RecordSource {
  const source = headers["x-quotekeeper-source"];
  if (source !== undefined) return source === "archive" ? PLAYED : SIMULATED;
  const isStored = service.addresses.some(
    ({ baseUrl, stored }) => stored === true && feed.kind === "account" && feed.baseUrl === baseUrl,
  );
  return isStored ? { kind: "simulated", name: `${service.name} sandbox` } : accountSource(service, call);
}

/** Credentials that nobody else has, for a service that lives as long as this process. */
export function randomCredentials(clock: Clock): Credentials {
  const word = (): string => Buffer.from(clock.random(18)).toString("base64url");
  return { consumerKey: word(), consumerSecret: word(), accessToken: word(), accessTokenSecret: word() };
}

/**
 * What the service at an address called itself when it last answered. A start has to know before the first answer which
 * market's slots it takes up.
 */
const SERVICE_FILE = "service.json";

const serviceSchema = z.strictObject({ baseUrl: z.string(), kind: z.enum(["account", "simulated"]) });

async function readSource(path: string, baseUrl: string): Promise<LedgerSource | null> {
  const service = await readJson(path, serviceSchema);
  return service?.baseUrl === baseUrl ? service.kind : null;
}
