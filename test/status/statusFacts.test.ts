import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import type { AccountStatus } from "../../src/status/statusJson.ts";
import type { AccountAnswers, Health } from "../../src/archive/ask/queries.ts";
import { answerLines, budgetLines, budgetOf, marketLine, nextLine } from "../../src/status/statusFacts.ts";
import { collectorLine } from "../../src/status/collectorStatus.ts";
import { missedBy, ledgerLines } from "../../src/status/ledgerStatus.ts";
import { statusLines } from "../../src/cli/terminal/statusText.ts";

const at = (time: string): Date => new Date(`2026-11-20T${time}:00Z`);

describe("misses that a person can mend", () => {
  type LedgerStatus = Parameters<typeof ledgerLines>[0];
  const ledger = (missed: LedgerStatus["missed"]): LedgerStatus => ({
    due: 600,
    missed,
    late: [],
    unknown: [],
  });
  /** The line of the slots when a job missed 47 for a reason at one time, and its newest slot was at another. */
  const line = (reason: string, lastAt: string, newest: string, job = "us") =>
    ledgerLines(
      ledger(missedBy([{ job, reason, count: 47, lastAt: at(lastAt) }], new Map([["us", at(newest)]]))),
    )[0];

  test.each(["budget", "refused", "malformed", "unauthorized"])(
    "misses for %s are red while the newest slots have them, and are shown with their time afterwards",
    (reason) => {
      expect(line(reason, "15:00", "15:00")).toMatchObject({
        state: "attention",
        text: `600 due in the last day, missed: 47 ${reason} (going on, last at 2026-11-20 10:00:00 New York)`,
      });
      expect(line(reason, "15:00", "15:14")?.state).toBe("attention");
      expect(line(reason, "15:00", "15:15")).toMatchObject({
        state: "ok",
        text: `600 due in the last day, missed: 47 ${reason} (last at 2026-11-20 10:00:00 New York)`,
      });
    },
  );

  test("misses of a job that is no longer there are over", () => {
    expect(line("budget", "15:00", "15:00", "renamed")?.state).toBe("ok");
  });

  test("misses go on when they do in one of several jobs; the counts of all jobs are added up", () => {
    const misses = [
      { job: "slow", reason: "budget", count: 5, lastAt: at("14:00") },
      { job: "us", reason: "budget", count: 40, lastAt: at("12:00") },
      { job: "us", reason: "down", count: 50, lastAt: at("13:00") },
    ];
    const newest = new Map([
      ["slow", at("14:00")],
      ["us", at("15:00")],
    ]);

    expect(missedBy(misses, newest)).toEqual([
      { reason: "down", count: 50, lastAt: at("13:00"), goesOn: false },
      { reason: "budget", count: 45, lastAt: at("14:00"), goesOn: true },
    ]);
  });

  describe("are over before their quarter of an hour", () => {
    const red = (reason: string, newest: string, ...answers: AccountAnswers[]) =>
      missedBy(
        [{ job: "us", reason, account: "main", count: 47, lastAt: at("15:00") }],
        new Map([["us", at(newest)]]),
        answers,
      )[0]?.goesOn;

    test("when a refused account has brought quotes since, but not by quotes of the slot itself", () => {
      const refused = answer("unauthorized", "15:00");

      expect(red("unauthorized", "15:00", refused, answer("quotes", "15:01"))).toBe(true);
      expect(red("unauthorized", "15:02", refused, answer("quotes", "15:02", { account: "other" }))).toBe(
        true,
      );
      expect(red("unauthorized", "15:00", refused, answer("quotes", "15:02"))).toBe(false);
      expect(red("unauthorized", "15:02", answer("unauthorized", "15:03"), answer("quotes", "15:02"))).toBe(
        true,
      );
    });

    test("when the same calls bring quotes at later slots, and not while the newest slot has the misses", () => {
      for (const reason of ["refused", "malformed"]) {
        expect(red(reason, "15:00", answer(reason, "15:00"), answer("quotes", "15:02"))).toBe(true);
        expect(red(reason, "15:01", answer(reason, "15:00"), answer("quotes", "15:02"))).toBe(false);
        // A part of an answer is missing, and the answer has quotes.
        expect(red(reason, "15:01", answer("quotes", "15:02"))).toBe(true);
      }
      expect(red("budget", "15:02", answer("quotes", "15:02"))).toBe(true);
    });
  });

  test("misses that heal by themselves are never red", () => {
    expect(line("transport", "15:00", "15:00")).toMatchObject({
      state: "ok",
      text: "600 due in the last day, missed: 47 transport",
    });
  });
});

const health = (fields: Partial<Health>): Health => ({
  ...{
    lastAnswerAt: "2026-11-20T15:00:00Z",
    lastQuotes: null,
    lastHour: {},
    lastOfOutcome: {},
    instruments: 0,
    sources: [],
  },
  ...{ deadLettersToday: 0, lastDeadLetterAt: null, loaded: new Map() },
  ...fields,
});

describe("answers", () => {
  const lines = (fields: Partial<Health>) => answerLines(health(fields), at("15:00"), { answers: [] });

  test("the line of answers counts answers, not quotes", () => {
    expect(lines({ lastHour: { quotes: 562, quota_fault: 3 } })[0]?.text).toBe(
      "last under a minute ago; in the last hour 562 answers with quotes, 3 quota_fault",
    );
  });

  test.each(["unauthorized", "refused", "malformed"])(
    "answers that are %s are red while they are among the newest, and are shown with their time afterwards",
    (outcome) => {
      const of = (time: string) => withAnswers(outcome, time)[0];

      expect(of("14:46")).toMatchObject({
        state: "attention",
        text: expect.stringContaining(`2 ${outcome} (going on, last at 2026-11-20 09:46:00 New York)`),
      });
      expect(of("14:45")).toMatchObject({
        state: "ok",
        text: expect.stringContaining(`2 ${outcome} (last at 2026-11-20 09:45:00 New York)`),
      });
    },
  );

  test.each(["unauthorized", "refused", "malformed"])(
    "answers that are %s are red until the next answer of the same account and form has quotes",
    (outcome) => {
      const state = (...since: AccountAnswers[]) => withAnswers(outcome, "14:58", ...since)[0]?.state;

      expect(state(answer("quotes", "14:57"))).toBe("attention");
      expect(state(answer("quotes", "14:59", { form: "chain" }))).toBe("attention");
      expect(state(answer("quotes", "14:59", { account: "other" }))).toBe("attention");
      expect(state(answer("server_error", "14:59"))).toBe("attention");
      expect(state(answer("quotes", "14:59"))).toBe("ok");
    },
  );

  test("the line of dead letters shows when the last was, and is red while there are new ones", () => {
    const of = (lastDeadLetterAt: string, lastAnswerAt: string | null = "2026-11-20T15:00:00Z") =>
      lines({ deadLettersToday: 12, lastDeadLetterAt, lastAnswerAt }).find(
        ({ subject }) => subject === "rows",
      );

    expect(of("2026-11-20T14:59:00Z")).toMatchObject({ state: "attention" });
    expect(of("2026-11-20T03:00:00Z")).toEqual({
      ...{ subject: "rows", state: "ok" },
      text: "12 dead letters in the last day (last at 2026-11-19 22:00:00 New York): see the table dead_letters",
    });
    expect(of("2026-11-20T03:00:00Z", null)).toMatchObject({ state: "attention" });
  });
});

const answer = (outcome: string, time: string, more: Partial<AccountAnswers> = {}): AccountAnswers => ({
  ...{ account: "main", market: "account", form: "symbols", outcome, lastAt: `2026-11-20T${time}:00Z` },
  ...more,
});

/** The lines when an outcome was last seen at a time, and other answers. */
const withAnswers = (outcome: string, time: string, ...others: AccountAnswers[]) =>
  answerLines(
    health({ lastHour: { [outcome]: 2 }, lastOfOutcome: { [outcome]: `2026-11-20T${time}:00Z` } }),
    at("15:00"),
    { answers: [answer(outcome, time), ...others] },
  );

const account = (name: string, facts: Partial<AccountStatus> = {}): AccountStatus => ({
  name,
  state: "active",
  calls: 10,
  limit: 60,
  windowMs: 60_000,
  otherCalls: 0,
  lastAnswerAt: null,
  serviceUsed: 12,
  serviceLimit: 60,
  serviceRemaining: 48,
  missed: {},
  market: "account",
  outOfBudget: false,
  ...facts,
});

describe("the budget", () => {
  const textOf = (facts: Partial<AccountStatus>) => budgetLines([account("main", facts)])[0]?.text;
  const text = (calls: number, serviceUsed: number | null, serviceLimit: number | null = 60) =>
    textOf({ calls, serviceUsed, serviceLimit });

  test("a service that counts fewer calls than we do is no contradiction: its own window may have begun later", () => {
    expect(text(27, 5)).toBe(
      "27 of 60 calls in the last minute; the service counts 5 in a window of its own, which may have begun later",
    );
    expect(text(27, 27)).toBe("27 of 60 calls in the last minute; the service counts 27");
    expect(text(27, 31)).toBe("27 of 60 calls in the last minute; the service counts 31");
    expect(text(27, null, null)).toBe("27 of 60 calls in the last minute");
  });

  test("the budget's line shows when the service allows another number than is set", () => {
    expect(text(27, 27, 40)).toBe("27 of 60 calls in the last minute; the service allows 40 and counts 27");
    expect(text(27, null, 120)).toBe("27 of 60 calls in the last minute; the service allows 120");
  });

  test("the budget's line names another program on the account", () => {
    const use = { calls: 27, serviceUsed: 47 };

    expect(textOf({ ...use, otherCalls: 20 })).toBe(
      "27 of 60 calls in the last minute; the service counts 47; another program uses about 20 calls a minute on this account",
    );
    expect(textOf(use)).not.toContain("another program");
    expect(textOf({ ...use, otherCalls: 3, windowMs: 300_000 })).toContain("3 calls in 5 min");
  });
});

describe("several accounts", () => {
  const lines = (...accounts: AccountStatus[]) => budgetLines(accounts);

  test("several accounts have a line of their own beside that of their sum; one account has not", () => {
    const both = lines(account("main"), account("second", { calls: 30, limit: 30, state: "drained" }));

    expect(both).toEqual([
      {
        subject: "budget",
        state: "ok",
        text: "40 of 90 calls in the last minute; the service allows 120 and counts 24 in a window of its own, which may have begun later",
      },
      { subject: "accounts", state: "ok", text: "main 10 of 60, second 30 of 30 (drained) calls" },
    ]);
    expect(lines(account("main")).map(({ subject }) => subject)).toEqual(["budget"]);
    expect(lines()).toEqual([]);
  });

  test.each<[Partial<AccountStatus>, string]>([
    [{ state: "refused" }, "REFUSED by the service: check its credentials"],
    [{ outOfBudget: true }, "out of budget"],
    [{ market: "simulated" }, "answers for a SIMULATED market, unlike others"],
    [{ otherCalls: 20 }, "another program uses about 20 calls a minute on it"],
  ])("several accounts need a person when one has trouble (%j), and that one is named", (facts, trouble) => {
    const [budget, accounts] = lines(account("main"), account("second", facts), account("third"));

    expect(budget?.state).toBe("ok");
    expect(budget?.text).not.toContain("another program");
    expect(accounts).toEqual({
      ...{ subject: "accounts", state: "attention" },
      text: `main 10 of 60, second 10 of 60 (${trouble}), third 10 of 60 calls`,
    });
  });

  test("accounts that are all simulated are no trouble, and the service's count of all is unknown when it is unknown of one", () => {
    const simulated = account("a", { market: "simulated", serviceUsed: null });

    expect(
      lines(simulated, account("b", { market: "simulated" }), account("c", { market: null }))[1]?.state,
    ).toBe("ok");
    expect(budgetOf([simulated, account("b")])).toMatchObject({
      calls: 20,
      limit: 120,
      serviceUsed: null,
      serviceRemaining: 96,
    });
  });

  test("an account's name and the service's words stand beside its answers that need a person", () => {
    const [answers] = answerLines(
      health({
        lastHour: { quotes: 9, unauthorized: 2 },
        lastOfOutcome: { quotes: "2026-11-20T15:00:00Z", unauthorized: "2026-11-20T14:59:00Z" },
      }),
      at("15:00"),
      {
        answers: [answer("unauthorized", "14:59", { account: "second" }), answer("quotes", "15:00")],
        words: { unauthorized: "HTTP 401, oauth_problem=consumer_key_rejected" },
      },
    );

    expect(answers?.text).toContain(
      '9 answers with quotes, 2 unauthorized of second (going on, last at 2026-11-20 09:59:00 New York), "HTTP 401, oauth_problem=consumer_key_rejected"',
    );
  });
});

const COLLECTOR = {
  ...{ state: "running" as const, names: ["quotes-1"], version: "0.9.0", overdue: null },
  ...{ seenAt: "2026-11-20T15:48:38Z", running: 1, stopped: 0, gone: 0 },
};

test("the example in docs/terminal.md is what these facts are told as", () => {
  const now = new Date("2026-11-20T15:48:39Z");
  const sinceMs = (ms: number): string => new Date(now.getTime() - ms).toISOString();
  const missed = [{ reason: "budget", count: 94, lastAt: new Date("2026-11-20T14:41:00Z"), goesOn: false }];

  const lines = [
    marketLine({ simulated: false, words: "https://api.broker.example", note: null }, "account"),
    collectorLine(COLLECTOR, true, now),
    nextLine({ job: "options", at: new Date("2026-11-20T15:49:00Z") }, COLLECTOR, now),
    ...budgetLines([account("main", { calls: 34, serviceUsed: 36, serviceRemaining: 24 })]),
    ...answerLines(
      health({
        lastAnswerAt: sinceMs(3_000),
        lastHour: { quotes: 2031 },
        lastOfOutcome: { quotes: sinceMs(3_000) },
        instruments: 33,
        sources: ["account"],
      }),
      now,
      { answers: [] },
    ),
    ...ledgerLines({ due: 12870, missed, late: [], unknown: [] }),
  ];

  const example = readFileSync(new URL("../../docs/terminal.md", import.meta.url), "utf8");
  const printed = statusLines(lines, { isTTY: false, columns: 200 }, {});
  expect(printed.filter((line) => !example.includes(`${line}\n`))).toEqual([]);
});
