import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "@jest/globals";
import { systemClock } from "../../src/clock.ts";
import { signRequest } from "../../src/quotes-api/oauth/signature.ts";
import { PATIENCE, type QuoteServiceOptions } from "../../src/serve/quoteService.ts";
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
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  return { baseUrl, call, open, authorization };
}

describe("callers that mean no good leave it answering", () => {
  test("200 slow ones that send a header a byte at a time; each is cut off, an honest one beside them is answered", async () => {
    const { call, open } = await running({
      patience: { ...PATIENCE, headersMs: 300, requestMs: 300, checkEveryMs: 50 },
    });
    const slow = await Promise.all(Array.from({ length: 200 }, open));
    const said = slow.map(async (socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      await once(socket, "close");
      return Buffer.concat(chunks).toString("latin1");
    });
    const text = `GET ${TARGET} HTTP/1.1\r\nHost: x\r\nX-Slow: ${"a".repeat(10_000)}`;
    let sent = 0;
    const dripping = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write(text[sent] ?? "a");
      sent += 1;
    }, 5);

    const beside = await Promise.all(Array.from({ length: 20 }, () => call()));
    const answers = await Promise.all(said);
    clearInterval(dripping);

    expect(beside).toEqual(Array.from({ length: 20 }, () => 200));
    for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(await call()).toBe(200);
  });

  test("a flood of wrong signatures is refused, uses up no budget and no memory of nonces, and hinders nobody", async () => {
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

  test("1,000 connections that say nothing: it answers beside them, and they are cut off when their time is over", async () => {
    const { call, open } = await running({
      patience: { ...PATIENCE, headersMs: 5_000, requestMs: 5_000, checkEveryMs: 100 },
    });
    const idle: Socket[] = [];
    for (let hundred = 0; hundred < 10; hundred++)
      idle.push(...(await Promise.all(Array.from({ length: 100 }, open))));
    const closed = Promise.all(idle.map((socket) => once(socket.resume(), "close")));

    const beside = await Promise.all(Array.from({ length: 20 }, () => call()));

    expect(beside).toEqual(Array.from({ length: 20 }, () => 200));
    await closed;
    expect(await call()).toBe(200);
  });

  test("garbage, and a body that never comes, end their own connection alone", async () => {
    const { call, open, authorization } = await running({
      patience: { ...PATIENCE, headersMs: 200, requestMs: 200, checkEveryMs: 50 },
    });
    const [garbage, promise] = [await open(), await open()];
    const ends = [garbage, promise].map((socket) => once(socket.resume(), "close"));
    garbage.write(Buffer.alloc(2_000, 0xff));
    promise.write(
      `POST /v1/account/1/orders.xml HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization()}\r\nContent-Length: 1000\r\n\r\nhalf`,
    );

    await Promise.all(ends);

    expect(await call()).toBe(200);
  });
});

test("left alone it waits for headers and requests for seconds, not for minutes", () => {
  expect(PATIENCE.headersMs).toBeLessThanOrEqual(15_000);
  expect(PATIENCE.requestMs).toBeLessThanOrEqual(30_000);
  expect(PATIENCE.checkEveryMs).toBeLessThanOrEqual(5_000);
});
