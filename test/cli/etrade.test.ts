/** The real commands against a fake of E*TRADE over HTTP. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, jest, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { CONSUMER, type FakeEtradeOptions } from "../fakes/etrade/fake.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { type Given, openFakeEtrade } from "../support/livingFakes.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, type Outcome, run } from "./edges.ts";
import { surroundings } from "./oneJob.ts";

// Whole commands run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const IN_SESSION = "2026-11-20T20:00:03.000Z";

async function world(job: string, given: Given<FakeEtradeOptions>) {
  const { fake, settings } = await openFakeEtrade(given);
  const { pool, settings: own } = await surroundings(job);
  return { fake, pool, env: { ...own, ...settings }, clock: given.clock };
}

type World = Awaited<ReturnType<typeof world>>;

/**
 * `login` with a person at the keyboard, who opens each address that is printed and types what its page shows. The terminal stays
 * open.
 *
 * @param mistyped how many of the first codes are wrong
 */
async function logIn(
  { env, clock, fake }: Omit<World, "pool">,
  argv: readonly string[] = [],
  mistyped = 0,
): Promise<Outcome & { urls: string[] }> {
  const stdin = new Readable({ read: () => undefined });
  const urls: string[] = [];
  const { edges, stdout, stderr } = capturedEdges({ env, clock, stdin: () => stdin });
  const { write } = edges.stdout;
  edges.stdout.write = (text) => {
    write(text);
    if (!text.startsWith("The code")) return;
    const url = /https?:\S+/.exec(stdout().slice(stdout().lastIndexOf("http")))?.[0] ?? "";
    urls.push(url);
    const isWrong = urls.length <= mistyped;
    void fake.authorize(url).then((code) => stdin.push(isWrong ? "WRONG\n" : `${code}\n`));
  };
  const exitCode = await runProgram(["login", ...argv], edges);
  return { exitCode, stdout: stdout(), stderr: stderr(), urls };
}

const JOB = `name: us
schedule: "* * * * *"
session: regular
symbols: [AAPL, IBM]
options:
${[240, 250, 260].map((strike) => `  - { underlying: AAPL, expiration: 2026-12-18, type: PUT, strike: ${strike} }`).join("\n")}
`;

test("login prints the address, takes the code, and says until when; a poll then stores a stock and a contract of one call", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { env, clock, pool, fake } = here;

  const loggedIn = await logIn(here);
  const again = await run(["login"], env, clock);
  const polled = await run(["poll", "--symbols", "AAPL,AAPL261218P00250000", "--json"], env, clock);

  expect([loggedIn.exitCode, again.exitCode, polled.exitCode]).toEqual([0, 0, 0]);
  expect(loggedIn.urls).toEqual([
    expect.stringMatching(/\/e\/t\/etws\/authorize\?key=fake-etrade-key&token=\S+$/),
  ]);
  expect(loggedIn.stdout).toContain(
    "default is logged in until 2026-11-21 00:00:00 New York, for 9 h 0 min.",
  );
  // Who is logged in is told so, and opens nothing.
  expect(again.stdout).toBe("default is logged in until 2026-11-21 00:00:00 New York, for 9 h 0 min.\n");
  expect(fake.logins).toHaveLength(1);
  expect(await rowsOfQuery(pool, "select name, kind from sources where id >= 100")).toEqual([
    { name: "etrade", kind: "account" },
  ]);
  expect(fake.calls.filter(({ path }) => path.startsWith("/v1"))).toHaveLength(1);
  for (const { stdout, stderr } of [loggedIn, again, polled])
    expect(stdout + stderr).not.toContain(CONSUMER.secret);
});

test("without a login poll, sweep and doctor say so before a call, and jobs and plan need none", async () => {
  const { env, clock, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const polled = await run(["poll", "--symbols", "AAPL"], env, clock);
  const swept = await run(["backfill", "--chain", "AAPL:dates=listed,strikes=all"], env, clock);
  const doctor = await run(["doctor"], env, clock);
  const checked = await run(["jobs", "check"], env, clock);
  const planned = JSON.parse((await run(["plan", "--json"], env, clock)).stdout) as { callsPerPass: number };

  expect([polled.exitCode, swept.exitCode, doctor.exitCode, checked.exitCode]).toEqual([1, 1, 1, 0]);
  for (const { stderr } of [polled, swept, doctor]) {
    expect(stderr).toContain("LOGIN_NEEDED");
    expect(stderr).toContain("quotekeeper login");
  }
  expect(planned.callsPerPass).toBe(1);
  expect(fake.calls).toEqual([]);
});

test("a poll whose session the service has ended says so, and the next login makes another one", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { env, clock, fake } = here;
  await logIn(here);
  fake.endSession();

  const polled = await run(["poll", "--symbols", "AAPL"], env, clock);
  const again = await logIn(here);
  const then = await run(["poll", "--symbols", "AAPL"], env, clock);

  expect([polled.exitCode, again.exitCode, then.exitCode]).toEqual([1, 0, 0]);
  expect(polled.stderr).toContain("LOGIN_NEEDED: the service answered: oauth_problem=token_expired");
  expect([again.urls.length, fake.logins.length]).toEqual([1, 2]);
});

test("a sweep whose session the service has ended waits for no login: it says so, and the same command goes on after one", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { env, clock, fake } = here;
  const list = join(tempDir(), "symbols.txt");
  writeFileSync(list, "AAPL\nIBM\n");
  const sweep = () => run(["backfill", "--symbols-file", list, "--json"], env, clock);
  await logIn(here);
  fake.endSession();

  const ended = await sweep();
  await logIn(here);
  const then = await sweep();

  expect([ended.exitCode, then.exitCode]).toEqual([1, 0]);
  expect(ended.stderr).toContain("LOGIN_NEEDED");
  expect(JSON.parse(then.stdout)).toMatchObject({ resumed: true, report: { stored: 2 } });
});

test("a mistyped code is asked for again, three times at most, at the same address", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const never = await logIn(here, [], 3);
  const third = await logIn(here, [], 2);

  expect([never.exitCode, never.urls.length, new Set(never.urls).size]).toEqual([1, 3, 1]);
  expect(never.stderr.match(/LOGIN_CODE_WRONG/g)).toHaveLength(3);
  expect([third.exitCode, third.urls.length, new Set(third.urls).size]).toEqual([0, 3, 1]);
  expect(here.fake.logins).toHaveLength(1);
});

test("a poll whose session sleeps, as the service says, wakes it and has its quote", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { env, clock, fake } = here;
  await logIn(here);
  fake.failNext("tokenExpired");

  const polled = await run(["poll", "--symbols", "AAPL"], env, clock);

  expect(polled).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("LOGIN_NEEDED") });
  expect(
    fake.calls.map(({ path, status }) => `${path.split("/").slice(0, 4).join("/")} ${status}`).slice(-3),
  ).toEqual([...["/v1/market/quote 401", "/oauth/renew_access_token 200", "/v1/market/quote 200"]]);
});

test("status has the words with which the service refused a call", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  await logIn(here);
  here.fake.failNext("consumerKeyRejected");
  await run(["poll", "--symbols", "AAPL"], here.env, here.clock);

  const { stdout } = await run(["status"], here.env, here.clock);

  expect(stdout).toMatch(
    /^answers +ATTENTION .*1 unauthorized \(going on.*\), "oauth_problem=consumer_key_rejected"/m,
  );
});

test("a wrong code and an interrupted login leave nothing, and a service without a login says that it wants none", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { env, clock } = here;

  const wrong = await runWithLine("WRONG", here);
  const none = await runWithLine(null, here);
  const tradier = await run(
    ["login"],
    {
      ...env,
      QUOTES_SERVICE: "tradier",
      QUOTES_ACCESS_TOKEN: "t",
      QUOTES_CONSUMER_KEY: "",
      QUOTES_CONSUMER_SECRET: "",
    },
    clock,
  );

  expect([wrong.exitCode, none.exitCode, tradier.exitCode]).toEqual([1, 1, 2]);
  expect(wrong.stderr).toContain(
    "E*TRADE has not let the account default in: HTTP 401, oauth_problem=verifier_invalid",
  );
  expect(none.stderr).toContain("no code was given");
  expect(tradier.stderr).toContain("Tradier wants no login");
  expect((await run(["poll", "--symbols", "AAPL"], env, clock)).stderr).toContain("LOGIN_NEEDED");
});

/** `login` with a line on the standard input, or with none. */
async function runWithLine(line: string | null, { env, clock }: Omit<World, "pool">): Promise<Outcome> {
  const stdin = Readable.from(line === null ? [] : [`${line}\n`]);
  const { edges, stdout, stderr } = capturedEdges({ env, clock, stdin: () => stdin });
  return { exitCode: await runProgram(["login"], edges), stdout: stdout(), stderr: stderr() };
}

test.each([
  ["2026-11-20T12:29:00.000Z", "2 h 1 min", "idle", false],
  ["2026-11-20T12:31:00.000Z", "1 h 59 min", "attention", true],
  ["2026-11-20T15:00:30.000Z", "1 min", "attention", true],
  ["2026-11-21T15:00:30.000Z", "47 h 30 min", "idle", false],
])(
  "at %s the next poll is in %s: status is %s of a login that nobody has made",
  async (at, wait, state, needed) => {
    const { env, clock } = await world(JOB, { clock: createTestClock(at) });

    const { stdout } = await run(["status", "--json"], env, clock);

    const { lines, logins } = JSON.parse(stdout) as { lines: { subject: string }[]; logins: unknown };
    expect(logins).toEqual([{ account: "default", until: null, needed }]);
    expect(lines.find(({ subject }) => subject === "login")).toMatchObject({
      state,
      text: expect.stringContaining(wait),
    });
  },
);

test("of several accounts each that has no session logs in, one after the other, and status says what each has", async () => {
  const clock = createTestClock(IN_SESSION);
  const second = { key: "second-key", secret: "second-secret" };
  const here = await world(JOB, { clock, consumers: [CONSUMER, second] });
  const {
    QUOTES_BASE_URL: baseUrl = "",
    QUOTES_CONSUMER_KEY: _key,
    QUOTES_CONSUMER_SECRET: _secret,
    ...rest
  } = here.env;
  const accounts = [CONSUMER, second].map(({ key, secret }, place) => {
    const variables = [`QUOTES_KEY_${place}`, `QUOTES_SECRET_${place}`];
    Object.assign(rest, { [variables[0] ?? ""]: key, [variables[1] ?? ""]: secret });
    return `  - { name: a${place}, baseUrl: "${baseUrl}", consumerKeyVariable: ${variables[0]}, consumerSecretVariable: ${variables[1]} }`;
  });
  writeFileSync(join(rest.QUOTEKEEPER_JOBS_DIR, "accounts.yaml"), `accounts:\n${accounts.join("\n")}\n`);
  const { QUOTES_BASE_URL: _url, ...env } = { QUOTES_BASE_URL: "", ...rest };

  const one = await logIn({ ...here, env: env as World["env"] }, ["--account", "a1"]);
  const half = await run(["status"], env, clock);
  const mistyped = await logIn({ ...here, env: env as World["env"] }, ["--again"], 3);
  const both = await logIn({ ...here, env: env as World["env"] });

  expect([one.exitCode, one.urls.length, both.exitCode, both.urls.length]).toEqual([0, 1, 0, 1]);
  // The second account is let in after the first was not.
  expect([mistyped.exitCode, mistyped.urls.length]).toEqual([1, 4]);
  expect(half.stdout).toMatch(
    /nobody is logged in to a0, and the next poll is in 1 min: run `quotekeeper login --account a0`; a1 until/,
  );
  expect(both.stdout).toContain("All accounts are logged in.");
  expect(here.fake.logins.map(({ consumerKey }) => consumerKey)).toEqual([
    ...[second.key, second.key, CONSUMER.key],
  ]);
});

test("doctor says what holds, and its report has no symbol and no secret", async () => {
  const here = await world(JOB, {
    clock: createTestClock(IN_SESSION),
    mostStrikes: 90,
    trading: () => "usual",
  });
  await logIn(here);

  const { exitCode, stdout } = await run(["doctor"], here.env, here.clock);

  expect(stdout.split("\n").filter((line) => /^(?:NOT SO|UNKNOWN)/.test(line))).toEqual([]);
  expect(exitCode).toBe(0);
  expect(here.fake.calls.filter(({ path }) => path.startsWith("/v1"))).toHaveLength(6);
  for (const word of ["SPY", CONSUMER.key, CONSUMER.secret]) expect(stdout).not.toContain(word);
});

test("doctor tells in which form answers came, where they are not in JSON", async () => {
  const here = await world(JOB, { clock: createTestClock(IN_SESSION), form: "xml" });
  await logIn(here);

  const { exitCode, stdout } = await run(["doctor"], here.env, here.clock);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^NOT SO +Answers come as JSON, and can be read: 0 of 1 /m);
  expect(stdout).toMatch(/^NOT SO +Every answer comes as JSON, .*: XML in 1 of 1 answers\.$/m);
});

const WHOLE_JOB = `name: us
schedule: "*/2 * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: { next: 2 }, strikes: all }
`;

test("collect misses what is due for want of a login, and stores it from the login on, as the fake's log and the tables count it", async () => {
  const here = await world(WHOLE_JOB, {
    ...{ clock: systemClock, calendar: alwaysOpen, mostStrikes: 4, trading: () => "usual" },
  });
  const { env, pool, fake } = here;
  const { edges, interrupt, stderr } = capturedEdges({ env });
  const collecting = runProgram(["collect"], edges);
  const slots = async (where: string): Promise<number> =>
    (await rowsOfQuery(pool, `select from slots where ${where}`).catch(() => [])).length;
  await until(async () => (await slots("missed = due")) >= 2, "slots without a login");
  const before = fake.calls.length;
  // From the login on a slow machine may also miss what does not fit into its slot.
  const reasons = await rowsOfQuery(pool, "select distinct reason from misses where reason <> 'down'");
  await logIn(here);
  await until(async () => (await slots("stored > 2 and missed = 0")) >= 2, "slots with a login");
  interrupt();
  const exitCode = await collecting;

  const [counted] = await rowsOfQuery(
    pool,
    `select (select bool_and(due = stored + missed) from slots) as adds_up,
            (select count(*)::int from responses where outcome = 'quotes') as answers,
            (select count(*)::int from responses where outcome <> 'quotes') as others,
            (select count(*)::int from responses r where not exists (select from quotes where observed_at = r.observed_at)) as empty`,
  );
  expect([exitCode, before, reasons]).toEqual([0, 0, [{ reason: "login" }]]);
  expect(counted).toEqual({
    ...{ adds_up: true, others: 0, empty: 0 },
    answers: fake.calls.filter(({ path, status }) => path.startsWith("/v1") && status === 200).length,
  });
  expect(stderr()).toContain("nobody has logged in");
  expect(stderr()).not.toContain(CONSUMER.secret);
});
