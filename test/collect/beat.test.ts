/** A heartbeat on the wire, against servers that answer in all ways. */
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterAll, expect, test } from "@jest/globals";
import { sendBeat } from "../../src/collect/transport/beat.ts";
import { selfSigned } from "../support/selfSigned.ts";
import { closedPort, startStubService } from "../support/stubService.ts";
import { until } from "../support/until.ts";

const servers: (Server & { closeAllConnections: () => void })[] = [];
afterAll(() => servers.forEach((server) => (server.close(), server.closeAllConnections())));

async function listening(server: (typeof servers)[number]): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const answering = (listener: RequestListener): Promise<number> => listening(createServer(listener));

function beat(url: string, options: { deadlineMs?: number; signal?: AbortSignal } = {}) {
  return sendBeat(url, { userAgent: "quotekeeper/test", signal: new AbortController().signal, ...options });
}

test("a heartbeat is one GET with path and query, and any 2xx takes it", async () => {
  const monitor = await startStubService({ status: 204 });

  const why = await beat(`${monitor.baseUrl}/ping/3f1c?status=up&msg=OK#part`);

  expect(why).toBeNull();
  expect(monitor.requests).toMatchObject([
    { method: "GET", target: "/ping/3f1c?status=up&msg=OK", headers: { "user-agent": "quotekeeper/test" } },
  ]);
  expect(monitor.requests[0]?.headers.authorization).toBeUndefined();
});

test("user name and password of its address are sent as Basic authentication", async () => {
  const monitor = await startStubService({});

  const why = await beat(monitor.baseUrl.replace("://", "://watch%40er:p%3Ass@"));

  expect(why).toBeNull();
  expect(monitor.requests[0]?.headers.authorization).toBe(
    `Basic ${Buffer.from("watch@er:p:ss").toString("base64")}`,
  );
});

test.each([301, 302, 307, 308])("HTTP %s is not followed, and is a failure", async (status) => {
  const elsewhere = await startStubService({});
  const monitor = await startStubService({ status, headers: { location: `${elsewhere.baseUrl}/ping` } });

  const why = await beat(`${monitor.baseUrl}/ping`);

  expect(why).toBe(`HTTP ${status}, and a redirect is not followed`);
  expect([monitor.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
});

test.each([404, 429, 500, 503])("HTTP %s is a failure, and nothing is tried twice", async (status) => {
  const monitor = await startStubService({ status });

  expect(await beat(monitor.baseUrl)).toBe(`HTTP ${status}`);
  expect(monitor.requests).toHaveLength(1);
});

test("a monitor that never answers is left at the deadline", async () => {
  const port = await answering(() => undefined);

  expect(await beat(`http://127.0.0.1:${port}/ping`, { deadlineMs: 50 })).toBe("no answer within 0.05 s");
});

test("a heartbeat under way is cut off when the collector ends", async () => {
  const ending = new AbortController();
  let asked = false;
  const port = await answering(() => void (asked = true));

  const sending = beat(`http://127.0.0.1:${port}/ping`, { deadlineMs: 600_000, signal: ending.signal });
  await until(() => asked, "the GET");
  ending.abort();

  expect(await sending).toMatch(/CALL_CANCELLED/);
});

test("a refused connection is a failure, in words without the address", async () => {
  const port = await closedPort();

  expect(await beat(`http://127.0.0.1:${port}/secret-path`)).toBe("ECONNREFUSED");
});

test("a certificate that nobody vouches for is a failure", async () => {
  const port = await listening(createTlsServer(selfSigned(), (_request, response) => response.end()));

  expect(await beat(`https://127.0.0.1:${port}/ping`)).toMatch(/^its certificate is not trusted \(.+\)$/);
});

test("what is no HTTP is a failure", async () => {
  const { createServer: plain } = await import("node:net");
  const server = plain((socket) => socket.on("error", () => undefined).end("SSH-2.0-OpenSSH\r\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  const why = await beat(`http://127.0.0.1:${port}/ping`);
  server.close();

  expect(why).toMatch(/^what came is not HTTP/);
});

test("a body of 100 MB is not read", async () => {
  const MEGABYTE = Buffer.alloc(1_000_000);
  let [written, closed] = [0, false];
  const port = await answering((_request, response) => {
    response.on("close", () => (closed = true)).on("error", () => undefined);
    const write = (): void => {
      while (written < 100 && !closed) {
        written += 1;
        if (!response.write(MEGABYTE)) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  });

  const why = await beat(`http://127.0.0.1:${port}/ping`);
  await until(() => closed, "the connection's end");

  expect(why).toBeNull();
  expect(written).toBeLessThan(50);
});
