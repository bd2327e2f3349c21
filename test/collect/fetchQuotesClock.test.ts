/** A machine whose clock is off still signs acceptably: against the real service with its window of 10 s. */
import { afterAll, expect, test } from "@jest/globals";
import { type Clock, createObserver } from "../../src/ground/clock.ts";
import { openFetchQuotes, type OpenFetchQuotes } from "../../src/collect/fetchQuotes.ts";
import { createTestClock } from "../support/clock.ts";
import { symbolsCall } from "../support/journal.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { startStubService } from "../support/stubService.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const CALL = symbolsCall("AAPL");
const opened: OpenFetchQuotes[] = [];

afterAll(async () => {
  for (const { close } of opened) await close();
});

/** The true time: it stands still, so that it does not matter how long a call takes. */
const truth = createTestClock();

/** The service, whose clock is right, and so is its Date. */
const startRightService = (): Promise<{ baseUrl: string }> => startSimulatedService(truth);

/** The machine's clock, so many seconds ahead; `shift` moves it. */
function shiftedClock(seconds: number): Clock & { shift: (seconds: number) => void } {
  let shiftMs = seconds * 1_000;
  return {
    ...truth,
    now: () => new Date(truth.now().getTime() + shiftMs),
    shift: (more) => {
      shiftMs += more * 1_000;
    },
  };
}

function open(baseUrl: string, clock: Clock, credentials = TEST_CREDENTIALS): OpenFetchQuotes {
  const made = openFetchQuotes({
    service: REFERENCE,
    baseUrl,
    credentials: () => credentials,
    clock,
    observe: createObserver(clock),
    userAgent: "test",
  });
  opened.push(made);
  return made;
}

async function statuses({ fetchQuotes }: OpenFetchQuotes, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n++) seen.push((await fetchQuotes(CALL)).status);
  return seen;
}

test.each([60, -3_600])(
  "a clock that is off by %d s costs one refused call, and the next ones are accepted",
  async (seconds) => {
    const { baseUrl } = await startRightService();
    const edge = open(baseUrl, shiftedClock(seconds));

    expect(await statuses(edge, 4)).toEqual([401, 200, 200, 200]);
    expect(Math.abs(edge.clockCorrectionMs() + seconds * 1_000)).toBeLessThan(2_000);
  },
);

test("a clock that is off costs one refused call also when many are made at once", async () => {
  const { baseUrl } = await startRightService();
  const { fetchQuotes } = open(baseUrl, shiftedClock(60));

  const answers = await Promise.all(Array.from({ length: 6 }, () => fetchQuotes(CALL)));

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 401]);
});

test("the times of answers are the machine's, although its clock is off", async () => {
  const { baseUrl } = await startRightService();
  const clock = shiftedClock(3_600);
  const { fetchQuotes } = open(baseUrl, clock);

  await fetchQuotes(CALL);
  const { requestedAt, observedAt } = await fetchQuotes(CALL);

  const now = clock.now().getTime();
  for (const time of [requestedAt, observedAt]) expect(Math.abs(Date.parse(time) - now)).toBeLessThan(60_000);
});

test("a wrong Date does not correct a clock that is right, as long as calls are accepted", async () => {
  const Date = "Wed, 16 Mar 2011 14:51:44 GMT";
  const service = await startStubService({ headers: { Date }, body: "<response><quotes/></response>" });
  const edge = open(service.baseUrl, truth);

  await statuses(edge, 3);

  expect(edge.clockCorrectionMs()).toBe(0);
});

test("a 200 whose document says not authorized is a refusal as well", async () => {
  const ahead = new Date(truth.now().getTime() + 60_000).toUTCString();
  const body = "<response><error>Not authorized</error></response>";
  const service = await startStubService({ headers: { Date: ahead }, body });
  const edge = open(service.baseUrl, truth);

  await edge.fetchQuotes(CALL);

  expect(Math.abs(edge.clockCorrectionMs() - 60_000)).toBeLessThan(2_000);
});
