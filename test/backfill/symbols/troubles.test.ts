/** A sweep by several accounts, and one whose service or database is in trouble. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { credentialsOf, writeAccounts } from "../../support/accounts.ts";
import { createTestClock } from "../../support/clock.ts";
import { startSimulatedService } from "../../support/simulatedService.ts";
import { closedPort, startStubService } from "../../support/stubService.ts";
import { tempDir } from "../../support/tempDir.ts";
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

test("a database that is away stops no call and no report, which comes from the journal; the next load stores what it has", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const service = await startSimulatedService(clock);
  const file = symbolsFile(world, [...symbols(120), ...contracts(2)]);
  const env = account(world, service.baseUrl);
  const away = `postgres://nobody@127.0.0.1:${await closedPort()}/nothing`;

  const without = await sweepFile({ ...env, DATABASE_URL: away }, file, clock);
  const later = await sweep(env, clock, "--journal", "--json");

  expect(without.exitCode).toBe(1);
  expect(printed(without).report).toMatchObject({ answers: 4, read: 124, stored: 124 });
  expect(printed(without).remarks.join("\n")).toMatch(/Not loaded: DATABASE_UNREACHABLE/);
  expect(printed(later)).toMatchObject({ report: { answers: 4, newAnswers: 4, stored: 124 } });
});

test("credentials that are refused end it with the error, and nothing more is asked", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const stub = await startStubService({
    status: 401,
    body: "Not authorized",
    headers: { Date: "Fri, 20 Nov 2026 22:50:00 GMT" },
  });
  const file = symbolsFile(world, [...symbols(300), ...contracts(20)]);

  const outcome = await sweep(account(world, stub.baseUrl), clock, "--symbols-file", file);

  expect(outcome.exitCode).toBe(1);
  expect(outcome.stderr).toContain("SERVICE_UNAUTHORIZED");
  expect(stub.requests).toHaveLength(1);
});

test("a service that is out of order is asked a few times, more and more seldom, and then left alone", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const stub = await startStubService({ status: 503 });
  const file = symbolsFile(world, [...symbols(300), ...contracts(20)]);

  const outcome = await sweep(account(world, stub.baseUrl), clock, "--symbols-file", file);

  expect(outcome.exitCode).toBe(1);
  expect(outcome.stderr).toContain("SERVICE_ERROR");
  expect(stub.requests.length).toBeLessThan(40);
});

test("a service that is out of order for a while is waited for, and every symbol is polled once", async () => {
  const world = await backfillWorld();
  let calls = 0;
  const service = await scripted(() => ((calls += 1) > 3 && calls <= 15 ? 503 : 200));
  const file = symbolsFile(world, symbols(900));
  const clock = createTestClock();

  const outcome = await sweepFile(account(world, service.baseUrl), file, clock);

  const good = (await answersIn(world)).filter(({ status }) => status === 200);
  expect(outcome.exitCode).toBe(0);
  expect(askedOf(good).toSorted()).toEqual(symbols(900));
  expect(printed(outcome).report).toMatchObject({ newAnswers: good.length + 12, stored: 900 });
  // Asked more and more seldom: twelve failures take minutes.
  expect(clock.monotonicMs()).toBeGreaterThan(120_000);
});

const NAMES = ["main", "second", "third"];
const byAccount = (answers: Awaited<ReturnType<typeof answersIn>>): Record<string, number> =>
  Object.fromEntries(NAMES.map((name) => [name, answers.filter(({ account: its }) => its === name).length]));

test("a sweep is shared by all, each within its own limit, or is the one's that is named", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const { baseUrl } = await startSimulatedService(clock, { keys: NAMES.map(credentialsOf) });
  const env = { ...world.env, ...writeAccounts(tempDir(), baseUrl, NAMES) };
  const file = symbolsFile(world, [...symbols(600), ...contracts(174)]);
  const few = join(tempDir(), "few.txt");
  writeFileSync(few, contracts(10).join("\n"));

  const outcome = await sweepFile(env, file, clock);
  const shared = await answersIn(world);
  const one = await sweep(env, clock, "--symbols-file", few, "--account", "third", "--json");
  const all = await answersIn(world);

  expect(outcome).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining("774 instruments in 180 calls"),
  });
  expect(outcome.stderr).toContain("180 calls a minute");
  expect(shared.map(({ status }) => status)).toEqual(shared.map(() => 200));
  expect(new Set(askedOf(shared)).size).toBe(774);
  expect(askedOf(shared)).toHaveLength(774);
  expect(byAccount(shared)).toEqual({ main: 60, second: 60, third: 60 });
  expect(one.exitCode).toBe(0);
  expect(byAccount(all)).toEqual({ main: 60, second: 60, third: 70 });
});

test("an account that is refused leaves its part of a sweep to the others, and the sweep ends well", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const { baseUrl } = await startSimulatedService(clock, { keys: NAMES.slice(1).map(credentialsOf) });
  const env = { ...world.env, ...writeAccounts(tempDir(), baseUrl, NAMES) };
  const file = symbolsFile(world, contracts(60));

  const outcome = await sweepFile(env, file, clock);

  const answered = (await answersIn(world)).filter(({ status }) => status === 200);
  expect(outcome.exitCode).toBe(0);
  expect(askedOf(answered).toSorted()).toEqual(strikes(60).toSorted());
  expect(byAccount(answered)["main"]).toBe(0);
});

test("a sweep whose accounts are all refused ends with the error", async () => {
  const world = await backfillWorld();
  const clock = createTestClock();
  const { baseUrl } = await startSimulatedService(clock, { keys: [] });
  const env = { ...world.env, ...writeAccounts(tempDir(), baseUrl, NAMES) };

  const outcome = await sweep(env, clock, "--symbols-file", symbolsFile(world, contracts(60)));

  expect(outcome).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("SERVICE_UNAUTHORIZED") });
});
