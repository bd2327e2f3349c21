import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { systemClock } from "../../src/ground/clock.ts";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { PATIENCE, type QuoteServiceOptions } from "../../src/serve/quoteService.ts";
import { until } from "../support/until.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";

const TARGET = "/v1/market/quotes.xml?symbols=AAPL&delayed=false";

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

let calls = 0;

/** A service, and how to reach it. */
async function running(options: Partial<QuoteServiceOptions> = {}) {
  const limits = { quotes: 100_000, orders: 40, other: 180, windowMs: 60_000 };
  const { baseUrl } = await startSimulatedService(systemClock, { limits, ...options });
  const authorization = (secret = TEST_CREDENTIALS.consumerSecret): string =>
    signRequest({
      method: "GET",
      url: `${baseUrl}${TARGET}`,
      credentials: { ...TEST_CREDENTIALS, consumerSecret: secret },
      nonce: `n${++calls}`,
      timestamp: Math.floor(systemClock.now().getTime() / 1000),
    });
  const call = async (secret?: string): Promise<number> => {
    const answer = await fetch(`${baseUrl}${TARGET}`, { headers: { authorization: authorization(secret) } });
    await answer.arrayBuffer();
    return answer.status;
  };
  /** An honest caller who was too slow for an impatient service comes again. */
  const answered = (): Promise<number> =>
    until(async () => {
      const status = await call().catch(() => 408);
      return status === 408 ? null : status;
    }, "an answer to an honest caller");
  /** A connection, what it is sent, and its end, which may come at any time. */
  const open = async () => {
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    let said = "";
    socket.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
    // Not `once`, which rejects where a write meets the cut before the close is heard of.
    const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(said)));
    await Promise.race([once(socket, "connect"), closed]);
    return { socket, closed };
  };
  return { call, answered, open, authorization };
}

test("callers that mean no good leave it answering 200 callers that send a header a byte at a time are cut off, and an honest caller beside them is answered", async () => {
  const { answered, open } = await running({
    patience: { ...PATIENCE, headersMs: 300, requestMs: 300, checkEveryMs: 50 },
  });
  const slow = await Promise.all(Array.from({ length: 200 }, open));
  const text = `GET ${TARGET} HTTP/1.1\r\nHost: x\r\nX-Slow: ${"a".repeat(10_000)}`;
  let sent = 0;
  const dripping = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write(text[sent] ?? "a");
    sent += 1;
  }, 5);

  const beside = await Promise.all(Array.from({ length: 20 }, answered));
  const answers = await Promise.all(slow.map(({ closed }) => closed));
  clearInterval(dripping);

  expect(beside).toEqual(Array.from({ length: 20 }, () => 200));
  for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
  expect(await answered()).toBe(200);
});

test("a flood of wrong signatures is refused, uses up no budget and no memory of nonces, and hinders no other caller", async () => {
  const { call } = await running({
    limits: { quotes: 5, orders: 40, other: 180, windowMs: 60_000 },
  });
  const statuses: number[] = [];

  for (let round = 0; round < 20; round++)
    statuses.push(...(await Promise.all(Array.from({ length: 100 }, () => call("wrong")))));
  const honest = [await call(), await call(), await call(), await call(), await call(), await call()];

  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(honest).toEqual([200, 200, 200, 200, 200, 429]);
});

test("the service answers beside 1,000 silent connections, and cuts them off when their time is over", async () => {
  const { answered, open } = await running({
    patience: { ...PATIENCE, headersMs: 1_000, requestMs: 1_000, checkEveryMs: 100 },
  });
  const idle: Promise<string>[] = [];
  for (let hundred = 0; hundred < 10; hundred++)
    for (const { closed } of await Promise.all(Array.from({ length: 100 }, open))) idle.push(closed);

  const beside = await Promise.all(Array.from({ length: 20 }, answered));

  expect(beside).toEqual(Array.from({ length: 20 }, () => 200));
  await Promise.all(idle);
  expect(await answered()).toBe(200);
});

test("garbage and a body that never comes end their own connection alone", async () => {
  const { answered, open, authorization } = await running({
    patience: { ...PATIENCE, headersMs: 200, requestMs: 200, checkEveryMs: 50 },
  });
  const [garbage, promise] = [await open(), await open()];
  garbage.socket.write(Buffer.alloc(2_000, 0xff));
  promise.socket.write(
    `POST /v1/account/1/orders.xml HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization()}\r\nContent-Length: 1000\r\n\r\nhalf`,
  );

  await Promise.all([garbage.closed, promise.closed]);

  expect(await answered()).toBe(200);
});

test("the service waits for headers and requests for seconds, not for minutes", () => {
  expect(PATIENCE.headersMs).toBeLessThanOrEqual(15_000);
  expect(PATIENCE.requestMs).toBeLessThanOrEqual(30_000);
  expect(PATIENCE.checkEveryMs).toBeLessThanOrEqual(5_000);
});
