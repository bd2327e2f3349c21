/** How the fakes listen, answer and close: real HTTP on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FaultAnswer } from "./faultRules.ts";

export type Reply = FaultAnswer & { headers?: Record<string, string> };

/** @param call.at the Date header's */
export async function send(
  { status, type, body, headers }: Reply,
  {
    response,
    call,
    sleep,
  }: { response: ServerResponse; call: { at: Date; fault: string | null }; sleep: () => Promise<void> },
): Promise<void> {
  const bytes = Buffer.from(body);
  response.sendDate = false;
  response.writeHead(status, {
    ...headers,
    Date: call.at.toUTCString(),
    "Content-Type": type,
    "Content-Length": bytes.length,
  });
  if (call.fault !== "cutBody" && call.fault !== "slowBody") return void response.end(bytes);
  const half = Math.floor(bytes.length / 2);
  await new Promise((resolve) => response.write(bytes.subarray(0, half), resolve));
  if (call.fault === "cutBody") return void response.destroy();
  await sleep();
  response.end(bytes.subarray(half));
}

/** Listens on loopback. @param port 0: any free one. @throws Error of Node when the port is taken */
export async function listen(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  port: number,
): Promise<{ baseUrl: string; close: () => Promise<void> }> {
  const server: Server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}
