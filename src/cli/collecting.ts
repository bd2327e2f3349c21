/** What `start` and `collect` do once the archive is open: schema, dashboard, collection, and what the terminal shows. */
import { resolve } from "node:path";
import type { Logger } from "pino";
import { collectingGoesOn, databaseError, isDatabaseError } from "../archive/connect/databaseError.ts";
import { explain } from "../archive/connect/explain.ts";
import { currentVersion, migrate } from "../archive/schema/migrations.ts";
import { atMost, instantFromDate } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Log } from "../ground/log.ts";
import type { Meter } from "../web/monitoring/meter.ts";
import type { Web } from "../web/server.ts";
import type { Edges } from "../ground/edges.ts";
import type { JobSet } from "../schedule/followJobs.ts";
import type { Archive } from "../archive/openArchive.ts";
import { type Collection, startCollection } from "../collector/collection.ts";
import { createEvents } from "../collector/troubles.ts";
import type { CalmLog } from "../ground/calmLog.ts";
import { type Account, marketOf } from "../accounts/account.ts";
import type { StatusLine } from "./terminal/statusLine.ts";
import { programName } from "../ground/packageRoot.ts";
import { VERSION } from "../ground/version.ts";
import { say } from "./terminal/harmless.ts";
import { inHours, inSeconds, inWindow } from "../market/durations.ts";
import { counted, thousands } from "../ground/figures.ts";

const LINE_EVERY_MS = 1_000;

export type OpenedArchive = {
  archive: Archive;
  reader: ReturnType<Archive["openReader"]>;
  web: Web | null;
  collection: Collection | null;
};

type CollectContext = {
  opened: OpenedArchive;
  fleet: NonNullable<Parameters<typeof startCollection>[0]["fleet"]>;
  jobs: JobSet;
  /** Whether the database has its schema; resolves when that is known. */
  schemaReady: Promise<boolean>;
  /** Does nothing where the dashboard is open, or where there is none. */
  openDashboard: () => Promise<void>;
  meter: Meter;
  line: StatusLine;
  log: Logger;
  calm: CalmLog;
  /** The signal or the error code that ends the collection. */
  ending: Promise<string>;
};

/** How long a start waits for the schema, in ms. Polls that fall into the wait are lost. */
const SCHEMA_MS = 5_000;

/**
 * Migrates the schema, and waits a few seconds for it. After that the loader waits for the schema.
 *
 * @param ending ends the wait too
 * @returns `isReady`: whether the database has its schema, null: unknown yet; `settled`: the same, once it is known
 * @throws QuotekeeperError when waiting does not help; after the wait `onLate` is called with the error instead
 */
export async function prepareSchema(
  archive: Archive,
  { clock }: Pick<Edges, "clock">,
  { log, ending, onLate }: { log: Log; ending: Promise<unknown>; onLate: (error: QuotekeeperError) => void },
): Promise<{ isReady: boolean | null; settled: Promise<boolean> }> {
  let [isReady, waits]: [boolean | null, boolean] = [null, true];
  const preparing = schemaOf(archive, clock, log).then((found) => (isReady = found));
  const settled = preparing.catch((error: unknown) => {
    if (!waits && error instanceof QuotekeeperError) onLate(error);
    return false;
  });
  await atMost(SCHEMA_MS, Promise.race([preparing, ending]), clock);
  waits = false;
  if (isReady === null)
    log.warn(
      { address: archive.address },
      `the database has not had its schema looked at within ${inSeconds(SCHEMA_MS)}: collecting begins meanwhile`,
    );
  return { isReady, settled };
}

async function schemaOf(archive: Archive, clock: Edges["clock"], log: Log): Promise<boolean> {
  try {
    const { toRebuild, warnings } = await migrate(archive.pool, instantFromDate(clock.now()));
    for (const warning of [toRebuild, ...warnings].filter((one) => one !== null)) log.warn({}, warning);
    await currentVersion(archive.pool);
    return true;
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    const problem = databaseError(await explain(archive.pool, error), archive.address);
    if (!collectingGoesOn(problem)) throw problem;
    log.warn({}, `${problem.message} Collection goes on meanwhile.`);
    return false;
  }
}

export async function collect(
  config: Config,
  { clock, bootId, stdout, stderr }: Edges,
  { opened, fleet, jobs, schemaReady, openDashboard, meter, line, log, calm, ending }: CollectContext,
): Promise<void> {
  const { archive } = opened;
  await openDashboard();
  const look = createEvents(log);
  const refresh = (): void => {
    if (!opened.collection) return;
    line.show(statusText(opened.collection, clock.now()));
    look(opened.collection);
  };
  const started = await startCollection({
    config,
    archive,
    clock,
    bootId,
    log,
    calm,
    meter,
    fleet,
    jobs,
    schemaReady,
    onChange: oncePerTurn(refresh),
  });
  opened.collection = started;
  say(stdout, ...banner(config, opened, started));
  // A terminal shows the banner; a collected log needs a line with the same facts.
  const machine = !stderr.isTTY;
  if (machine) log.info(startFacts(config, opened, started), "started");
  const ticking = setInterval(refresh, LINE_EVERY_MS);
  const signal = await ending;
  clearInterval(ticking);
  line.end();
  if (machine) log.info({ signal }, "ending");
  say(stdout, "Ending: finishing the calls under way and storing their answers.");
}

function startFacts(config: Config, { archive, web }: OpenedArchive, { accounts }: Collection): object {
  const called = accounts.sharing;
  const { simulated, address } = marketOf(called);
  return {
    version: VERSION,
    market: simulated ? "simulated" : address,
    ...(called.length > 1 && { accounts: called.map(({ name }) => name) }),
    database: archive.address,
    ...(web && { dashboard: web.address }),
    dataDir: resolve(config.dataDir),
    jobsDir: resolve(config.jobsDir),
  };
}

function banner(config: Config, { archive, web }: OpenedArchive, { accounts }: Collection): string[] {
  const called = accounts.sharing;
  const { simulated, words, note } = marketOf(called);
  const market = simulated
    ? "SIMULATED: these quotes are made up. Its service runs on loopback and never closes, so the jobs' sessions do not apply. Set QUOTES_SERVICE or QUOTES_BASE_URL to poll a real account."
    : words;
  return [
    "",
    `Market     ${market}`,
    ...(note === null ? [] : [`           ${note}. \`${programName()} doctor\` says what holds.`]),
    ...(called.length > 1 ? [`Accounts   ${called.map(limitInWords).join(", ")}`] : []),
    `Database   ${archive.readerUrl}${archive.embedded ? " (read only, no password, this machine only)" : ""}`,
    ...(web ? [`Dashboard  ${web.address}`] : []),
    `Data       ${resolve(config.dataDir)}`,
    `Jobs       ${resolve(config.jobsDir)}`,
    "Ctrl-C ends it.",
    "",
  ];
}

function limitInWords({ name, limit, limitWindowMs }: Account): string {
  return `${name} ${counted(limit, "call")} ${limitWindowMs === 60_000 ? "a minute" : `in ${inSeconds(limitWindowMs)}`}`;
}

/** Which collectors call the accounts, for a collector that calls none; null: it calls one. */
function waitingText(fleet: ReturnType<Collection["fleet"]>): string | null {
  if (!fleet || fleet.accounts.length === 0 || fleet.accounts.some(({ held }) => held)) return null;
  const callers = fleet.accounts.map(({ name, caller }) =>
    caller === null ? `nobody calls ${name}` : `${caller || "another collector"} calls ${name}`,
  );
  return `waiting: ${callers.join(", ")}`;
}

function statusText({ accounts, collector, loader, loaded, fleet }: Collection, now: Date): string {
  const { accounts: states, ...status } = collector.status();
  const { callsUsed, limit, queued, nextPollAt, missed, lastError } = status;
  const { quotes, deadLetters } = loaded();
  const failure = loader.failure();
  const corrections = accounts.all.map(({ feed }) => feed.clockCorrectionMs());
  const correctionMs = corrections.find((ms) => ms !== 0) ?? 0;
  return [
    ...(marketOf(accounts.sharing).simulated ? ["SIMULATED"] : []),
    waitingText(fleet()) ??
      `${thousands(callsUsed)}/${counted(limit, "call")} ${inWindow(accounts.sharing[0]?.limitWindowMs ?? 60_000)}`,
    `${counted(quotes, "row")} stored`,
    nextPollAt ? `next poll in ${inHours(nextPollAt.getTime() - now.getTime())}` : "no poll ahead",
    ...(queued > 0 ? [`${queued} queued`] : []),
    ...accounts.all.flatMap(({ account, feed }) =>
      feed.session?.isOpen() === false ? [`nobody is logged in to ${account.name}`] : [],
    ),
    ...(states.length > 1
      ? states.flatMap(({ name, state }) => (state === "active" ? [] : [`${name} is ${state}`]))
      : []),
    ...(missed > 0 ? [`${missed} missed`] : []),
    ...(deadLetters > 0 ? [`${deadLetters} dead letters`] : []),
    ...(correctionMs === 0 ? [] : [`the machine's clock is ${Math.round(-correctionMs / 1000)} s off`]),
    ...(failure === null ? [] : [databaseError(failure, "").code]),
    ...(lastError !== null
      ? [lastError instanceof QuotekeeperError ? lastError.code : lastError.message]
      : []),
  ].join(" | ");
}

/** Says what was stored, and whether the database lacks answers. @returns the exit code */
export function farewell(collection: Collection | null, { stdout }: Edges): number {
  if (!collection) return 0;
  const { quotes, responses } = collection.loaded();
  const { answered, kept } = collection.calls;
  say(
    stdout,
    `${counted(answered, "call was", "calls were")} answered; ${counted(kept, "answer is", "answers are")} in the journal.`,
    `Stored ${counted(quotes, "quote")} of ${counted(responses, "answer")} in the database. The next start goes on with the same data.`,
  );
  const failure = collection.loader.failure();
  if (failure === null) return 0;
  const what =
    failure instanceof QuotekeeperError && failure.code === "DATABASE_SLOW"
      ? `It is not known whether the database has taken all of it: ${failure.detail}. What is not there`
      : `The database has not taken all of it (${databaseError(failure, "").code}): the rest`;
  say(stdout, `${what} is safe in the journal and is loaded at the next start.`);
  return 1;
}

/** Acts once a turn of the event loop: at a slot's start a thousand calls may end at once. */
function oncePerTurn(act: () => void): () => void {
  let coming = false;
  return () => {
    if (coming) return;
    coming = true;
    setImmediate(() => {
      coming = false;
      act();
    });
  };
}
