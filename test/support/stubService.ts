/** A double of the outside world: an HTTP server that answers with whatever bytes a test gives it. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "@jest/globals";

/** What it answers. */
export type StubAnswer = {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
};

/** What it was asked. */
export type StubRequest = { method: string; target: string; headers: IncomingHttpHeaders };

/** A running stub. */
export type StubService = {
  /** Base address, without `/v1`. */
  baseUrl: string;
  /** What it was asked so far, in order. */
  requests: StubRequest[];
  /** Answers differently from now on. */
  answerWith: (answer: StubAnswer) => void;
  close: () => Promise<void>;
};

const open: Server[] = [];

afterAll(() => {
  for (const server of open) server.close().closeAllConnections();
});

/** Starts a server on a free port of loopback; it is closed when the test file ends. */
export async function startStubService(first: StubAnswer): Promise<StubService> {
  let answer = first;
  const requests: StubRequest[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? "", target: request.url ?? "", headers: request.headers });
    const {
      status = 200,
      headers = { "Content-Type": "application/xml; charset=UTF-8" },
      body = "",
    } = answer;
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerWith: (next) => {
      answer = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve()).closeAllConnections();
      }),
  };
}

/** A port of loopback on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
