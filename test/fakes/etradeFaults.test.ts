/** Limits and faults of E*TRADE's fake over real HTTP. */
import { afterAll, describe, expect, test } from "@jest/globals";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { createTestClock } from "../support/clock.ts";
import { createClient } from "./etrade/client.ts";
import { CONSUMER, type FakeEtrade, type FakeEtradeOptions, startFakeEtrade } from "./etrade/fake.ts";
import { FAULT_NAMES, type FaultName, OVER_LIMIT } from "./etrade/faults.ts";

const IN_SESSION = "2026-11-20T20:00:03.000Z";
const QUOTE = "/v1/market/quote/AAPL";

const market = createSimulatedMarket({ seed: 1 });
const started: FakeEtrade[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

async function start({ at = IN_SESSION, ...options }: { at?: string } & Partial<FakeEtradeOptions> = {}) {
  const clock = createTestClock(at);
  const fake = await startFakeEtrade({ clock, market, mostStrikes: 10, ...options });
  started.push(fake);
  const client = createClient(fake, clock);
  const token = await client.logIn();
  const ask = (target = QUOTE, accept = "application/json") => client.call(target, { token, accept });
  const statuses = async (count: number): Promise<number[]> => {
    const got: number[] = [];
    for (let call = 0; call < count; call += 1) got.push((await ask()).status);
    return got;
  };
  return { clock, fake, ask, statuses };
}

describe("limits", () => {
  test("four calls of any second are answered, whenever it begins, and no header counts them", async () => {
    const { clock, ask, statuses } = await start();

    const first = await statuses(2);
    clock.advance(600);
    const second = await statuses(3);
    clock.advance(399);
    const third = await statuses(1);
    clock.advance(1);
    const fourth = await statuses(3);
    const refused = await ask();

    expect([first, second, third, fourth]).toEqual([[200, 200], [200, 200, 400], [400], [200, 200, 400]]);
    expect(await refused.json()).toEqual({ Error: { message: OVER_LIMIT } });
    expect([...refused.headers.keys()].filter((name) => /limit|retry/i.test(name))).toEqual([]);
  });

  test("the hour's limit begins anew with the clock's hour, and is refused in the same words", async () => {
    const { clock, ask, statuses } = await start({ limit: { perSecond: 100, perHour: 5 } });

    const before = await statuses(6);
    const refused = (await ask()).text();
    clock.setTo("2026-11-20T20:59:59.999Z");
    const still = await statuses(1);
    clock.setTo("2026-11-20T21:00:00.000Z");

    expect(before).toEqual([200, 200, 200, 200, 200, 400]);
    expect(await refused).toContain(OVER_LIMIT);
    expect([still, await statuses(6)]).toEqual([[400], [200, 200, 200, 200, 200, 400]]);
  });

  test("each consumer key has a limit of its own, and a list of symbols counts once", async () => {
    const other = { key: "other-key", secret: "other-secret" };
    const { clock, fake, ask, statuses } = await start({ consumers: [CONSUMER, other] });
    const otherClient = createClient(fake, clock, other);
    const token = await otherClient.logIn();

    const lists = [await ask(`${QUOTE},IBM,KO,F,T,V`), await ask(`${QUOTE},IBM,KO,F,T,V`)];
    const own = await statuses(3);

    expect([lists.map(({ status }) => status), own]).toEqual([
      [200, 200],
      [200, 200, 400],
    ]);
    expect((await otherClient.call(QUOTE, { token })).status).toBe(200);
  });
});

describe("faults", () => {
  test("each fault that is a whole answer has its status, its type and its words, and the next call is answered", async () => {
    const { fake, clock, ask } = await start();
    const told: Partial<Record<FaultName, unknown[]>> = {};
    for (const fault of FAULT_NAMES.filter((name) => !/closed|cut|slow/.test(name))) {
      clock.advance(1_000);
      fake.failNext(fault);
      const answer = await ask();
      const words = /oauth_\w+=[^"<]+|exceeded|maintenance|Internal|be back/.exec(await answer.text())?.[0];
      told[fault] = [answer.status, answer.headers.get("content-type")?.split(/[/;]/)[1], words];
    }
    const now = Math.floor(clock.now().getTime() / 1_000);
    const range = told.timestampRefused?.[2];

    expect(told).toEqual({
      tomcat500: [500, "html", "Internal"],
      maintenance500: [500, "json", "maintenance"],
      nonceAbsent: [401, "json", "oauth_problem=parameter_absent,oauth_parameters_absent=oauth_nonce"],
      empty: [200, "json", undefined],
      tokenExpired: [401, "json", "oauth_problem=token_expired"],
      tokenRejected: [401, "json", "oauth_problem=token_rejected"],
      consumerKeyRejected: [401, "json", "oauth_problem=consumer_key_rejected"],
      signatureInvalid: [401, "json", "oauth_problem=signature_invalid"],
      timestampRefused: [401, "json", range],
      rateLimitHtml: [400, "html", "exceeded"],
      rateLimitJson: [400, "json", "exceeded"],
      html200: [200, "html", "be back"],
    });
    const [, from, to] = /oauth_acceptable_timestamps=(\d+)-(\d+)$/.exec(String(range)) ?? [];
    expect(Number(to) - Number(from)).toBe(600);
    expect(Math.abs(now - Number(from) - 300)).toBeLessThan(20);
    expect((await ask()).status).toBe(200);
  });
});
