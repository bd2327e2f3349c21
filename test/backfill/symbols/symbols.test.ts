/** `quotekeeper backfill --symbols-file|--chain` against the project's own service, over real sockets. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runProgram } from "../../../src/cli/program.ts";
import { openFetchQuotes } from "../../../src/collect/fetchQuotes.ts";
import { createObserver } from "../../../src/ground/clock.ts";
import { capturedEdges } from "../../cli/edges.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { startSimulatedService } from "../../support/simulatedService.ts";
import { startStubService } from "../../support/stubService.ts";
import { backfillWorld } from "../world.ts";
import {
  account,
  answersIn,
  askedOf,
  contracts,
  printed,
  scripted,
  strikes,
  sweep,
  symbols,
  symbolsFile,
  sweepFile,
} from "./world.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";

test("a sweep of 500 symbols and 100 options keeps within 60 calls a minute, and stores each once", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const service = await startSimulatedService(clock);
  const file = symbolsFile(world, ["# all of them", ...symbols(500), ...contracts(100)]);

  const outcome = await sweepFile(account(world, service.baseUrl), file, clock);

  const answers = await answersIn(world);
  expect(outcome.stderr).toContain("600 instruments in 105 calls");
  expect(printed(outcome).remarks.join("\n")).toContain("600 instruments: 600 with a quote, 0 without");
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers).toHaveLength(105);
  expect(new Set(askedOf(answers)).size).toBe(600);
  expect(printed(outcome).report).toMatchObject({
    answers: 105,
    newAnswers: 105,
    read: 700,
    stored: 700,
    missing: 0,
  });
  expect(outcome.exitCode).toBe(0);
  // No coverage counts it.
  const { rows } = await world.pool.query(
    "select (select count(*)::int from slots) as slots, (select count(*)::int from coverage_daily) as days",
  );
  expect(rows).toEqual([{ slots: 0, days: 0 }]);
});

test("beside another program on the account that shows in no journal, neither is refused", async () => {
  const world = await backfillWorld();
  const statuses: number[] = [];
  let dueAtMs = 0;
  const clock: TestClock = createTestClock(undefined, {
    // One call every three seconds: a third of the limit.
    onSleep: async () => {
      for (; dueAtMs <= clock.monotonicMs(); dueAtMs += 3_000)
        statuses.push(
          (await other.fetchQuotes({ form: "symbols", symbols: ["IBM"], delayed: false })).status,
        );
    },
  });
  const service = await startSimulatedService(clock);
  const observe = createObserver(clock);
  const { baseUrl, credentials } = service;
  const other = openFetchQuotes({
    service: REFERENCE,
    baseUrl,
    credentials: () => credentials,
    clock,
    observe,
    userAgent: "other",
  });
  const file = symbolsFile(world, contracts(150));

  const outcome = await sweepFile(account(world, baseUrl), file, clock);
  await other.close();

  const answers = await answersIn(world);
  expect(outcome.exitCode).toBe(0);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(statuses.length).toBeGreaterThan(60);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test("Ctrl-C in the midst keeps what was answered; the next run polls the rest, each exactly once, in whatever order they stand in the file then, and reports both", async () => {
  const world = await backfillWorld();
  let interrupt = (): void => undefined;
  const clock = createTestClock(undefined, { onSleep: () => interrupt() });
  const service = await startSimulatedService(clock);
  const file = symbolsFile(world, [...symbols(300), ...contracts(80)]);
  const env = account(world, service.baseUrl);
  const captured = capturedEdges({ env, clock });
  interrupt = captured.interrupt;

  const exitCode = await runProgram(["backfill", "--symbols-file", file], captured.edges);
  const first = await answersIn(world);
  clock.advance(600_000);
  const reordered = symbolsFile(world, [...contracts(80), ...symbols(300).toReversed()]);
  const outcome = await sweepFile(env, reordered, clock);

  const all = await answersIn(world);
  expect(exitCode).toBe(130);
  expect(captured.stderr()).toMatch(/quotes? (is|are) kept; the same command goes on with the rest/);
  expect(first.length).toBeGreaterThan(0);
  expect(first.length).toBeLessThan(83);
  expect(askedOf(all).toSorted()).toEqual([...symbols(300), ...strikes(80)].toSorted());
  expect(outcome.exitCode).toBe(0);
  expect(printed(outcome)).toMatchObject({
    resumed: true,
    report: { answers: all.length, stored: 300 + 160 },
  });
});

test("--restart begins a sweep anew that was ended in its midst, and polls all of it again", async () => {
  const world = await backfillWorld();
  let interrupt = (): void => undefined;
  const clock = createTestClock(undefined, { onSleep: () => interrupt() });
  const service = await startSimulatedService(clock);
  const file = symbolsFile(world, contracts(5));
  const env = account(world, service.baseUrl);
  const captured = capturedEdges({ env, clock });
  interrupt = captured.interrupt;
  await runProgram(["backfill", "--symbols-file", file], captured.edges);
  const before = await answersIn(world);
  clock.advance(60_000);

  const outcome = await sweep(env, clock, "--symbols-file", file, "--restart", "--json");

  expect(before.length).toBeGreaterThan(0);
  expect(printed(outcome)).toMatchObject({ resumed: false, report: { answers: 5, stored: 10 } });
  expect(await answersIn(world)).toHaveLength(before.length + 5);
  expect(readdirSync(join(world.env["QUOTEKEEPER_DATA_DIR"] ?? "", "once"))).toEqual([]);
});

test("a dry run sends nothing and keeps nothing, and says which calls would be made, and how long they take", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const stub = await startStubService({ status: 500 });
  const file = symbolsFile(world, [...symbols(250), ...contracts(117)]);

  const outcome = await sweep(account(world, stub.baseUrl), clock, "--symbols-file", file, "--dry-run");

  expect(outcome.exitCode).toBe(0);
  expect(stub.requests).toEqual([]);
  expect(readdirSync(world.env["QUOTEKEEPER_DATA_DIR"] ?? "")).toEqual(["symbols.txt"]);
  expect(outcome.stdout).toContain("367 instruments in 120 calls");
  expect(outcome.stdout).toContain("about 2 min");
  expect(outcome.stdout).toContain("SIM0000, SIM0001 and 98 more");
});

test("a list that is too long is halved until the service takes it, and no symbol is lost or polled twice", async () => {
  const world = await backfillWorld();
  const service = await scripted((list) => (list.length > 30 ? 414 : 200));
  const file = symbolsFile(world, symbols(200));

  const outcome = await sweepFile(account(world, service.baseUrl), file);

  const good = (await answersIn(world)).filter(({ status }) => status === 200);
  expect(outcome.exitCode).toBe(0);
  expect(askedOf(good).toSorted()).toEqual(symbols(200));
  // 100 and 50 are refused by what had entered the queue, and then no longer tried.
  expect(service.lists.filter((list) => list.length > 50).length).toBeLessThanOrEqual(2);
  expect(service.lists.filter((list) => list.length > 30).length).toBeLessThanOrEqual(6);
});

test.each([400, 500])(
  "a symbol for which whole calls fail with %d is found, and costs itself alone",
  async (status) => {
    const world = await backfillWorld();
    const service = await scripted((list) => (list.includes("SIM0077") ? status : 200));
    const file = symbolsFile(world, symbols(250));

    const outcome = await sweepFile(account(world, service.baseUrl), file);

    const { report, remarks } = printed(outcome);
    expect(outcome.exitCode).toBe(1);
    expect(report["stored"]).toBe(249);
    expect(remarks.join("\n")).toMatch(/SIM0077/);
    const good = (await answersIn(world)).filter((answer) => answer.status === 200);
    expect(new Set(askedOf(good)).size).toBe(249);
    expect(askedOf(good)).toHaveLength(249);
    expect(service.lists.length).toBeLessThan(40);
  },
);

test("what the service does not know is named, counted as missing, and costs itself alone", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const service = await startSimulatedService(clock);
  const file = symbolsFile(world, [
    "SIM0001",
    "NOSUCH",
    "AAPL:2020-12-18:CALL:100",
    "AAPL:2026-12-18:CALL:150",
  ]);

  const outcome = await sweepFile(account(world, service.baseUrl), file, clock);

  const { report, remarks } = printed(outcome);
  expect(outcome.exitCode).toBe(1);
  expect(report).toMatchObject({ answers: 2, stored: 3, missing: 1, deadLettered: 0 });
  expect(remarks).toContain("Without a quote: the service does not know NOSUCH");
  expect(remarks).toContain("Without a quote: expired, and not asked: AAPL:2020-12-18:CALL:100");
});

test("a symbols file may hold comments, commas, empty lines and the same symbol twice, in whatever case", async () => {
  const world = await backfillWorld();
  const service = await scripted(() => 200);
  const file = symbolsFile(world, ["# mine", "AAPL, IBM  # two", "", "IBM,AAPL", "msft", "aapl"]);

  const outcome = await sweep(account(world, service.baseUrl), createTestClock(), "--symbols-file", file);

  expect(outcome.exitCode).toBe(0);
  expect(service.lists).toEqual([["AAPL", "IBM", "MSFT"]]);
});

test("a chain around the last price is expanded when its underlying has been polled, which comes first", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const service = await startSimulatedService(clock);
  const env = account(world, service.baseUrl);

  const outcome = await sweep(env, clock, "--chain", "AAPL:next=2,percent=5,step=5,types=CALL", "--json");

  const asked = askedOf(await answersIn(world));
  expect(outcome.exitCode).toBe(0);
  expect(asked[0]).toBe("AAPL");
  expect(asked.length).toBeGreaterThan(4);
  expect(new Set((await answersIn(world)).map(({ request }) => JSON.stringify(request))).size).toBe(
    asked.length,
  );
});

test("what is wrong in a symbols file and a chain is told all at once, with file and line, exit code 2", async () => {
  const world = await backfillWorld();
  const stub = await startStubService({ status: 500 });
  const file = symbolsFile(world, [
    "AAPL",
    "two words",
    "AAPL:2026-02-30:CALL:150",
    "AAPL:2026-12-18:BOTH:1",
  ]);

  const outcome = await sweep(
    account(world, stub.baseUrl),
    createTestClock(),
    ...["--symbols-file", file, "--chain", "IBM:next=x,kinds=monthly", "--chain", "GE:percent=500"],
  );

  expect(outcome.exitCode).toBe(2);
  expect(outcome.stderr).toContain(`${file}:2: `);
  expect(outcome.stderr).toContain(`${file}:3: `);
  expect(outcome.stderr).toContain(`${file}:4: `);
  expect(outcome.stderr).toMatch(/--chain IBM:next=x,kinds=monthly: kinds is not an option here/);
  expect(outcome.stderr).toMatch(/--chain IBM:next=x,kinds=monthly: next is x: expected a whole number/);
  expect(outcome.stderr).toMatch(/--chain GE:percent=500: percent is 500: expected at most 100/);
  expect(stub.requests).toEqual([]);
});
