/** Cutting recorded answers, and a service on a raw socket that sends the pieces in every way a body can end. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { openFetchQuotes } from "../../src/collect/fetchQuotes.ts";
import { createObserver } from "../../src/ground/clock.ts";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { createTestClock } from "../support/clock.ts";
import { symbolsCall } from "../support/journal.ts";
import type { RecordedDocument } from "../support/recorded.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

/** The numbers from 0 up to but not with `end`. */
export function upTo(end: number): number[] {
  return Array.from({ length: end }, (_, position) => position);
}

/** What goes over the socket. */
type Sent = { head: string; body: Uint8Array; close: boolean };

/** How a cut body may be sent. */
export type Sending = (cut: Uint8Array, whole: Uint8Array) => Sent;

const head = (...lines: string[]): string =>
  ["HTTP/1.1 200 OK", "Content-Type: application/xml", ...lines, "", ""].join("\r\n");

const chunk = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

/** Every way a body can end. */
export const SENDINGS: Record<string, Sending> = {
  "with the Content-Length of what is sent": (cut) => ({
    head: head(`Content-Length: ${cut.byteLength}`),
    body: cut,
    close: false,
  }),
  "with the Content-Length of the whole, and then closed": (cut, whole) => ({
    head: head(`Content-Length: ${whole.byteLength}`),
    body: cut,
    close: true,
  }),
  "in chunks with their end": (cut) => ({
    head: head("Transfer-Encoding: chunked"),
    body: Buffer.concat([...(cut.byteLength > 0 ? [chunk(cut)] : []), Buffer.from("0\r\n\r\n")]),
    close: false,
  }),
  "in chunks and then closed": (cut) => ({
    head: head("Transfer-Encoding: chunked"),
    body: cut.byteLength > 0 ? chunk(cut) : cut,
    close: true,
  }),
  "until the connection closes": (cut) => ({ head: head("Connection: close"), body: cut, close: true }),
  "with a Content-Length that is shorter than the body": (cut, whole) => ({
    head: head(`Content-Length: ${cut.byteLength}`, "Connection: close"),
    body: whole,
    close: true,
  }),
};

/** A client of a service that sends what it is told to. */
export type CuttingService = {
  /** What comes of a sent answer: its kind, or the error's code when none is kept. */
  take: (sent: Sent) => Promise<string>;
  close: () => Promise<void>;
};

/** Starts the service on a raw socket, and a client of it. */
export async function startCuttingService(): Promise<CuttingService> {
  const sockets = new Set<Socket>();
  let next: Sent = { head: "", body: new Uint8Array(0), close: true };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    let asked = "";
    socket.on("data", (bytes) => {
      asked += bytes.toString("latin1");
      if (!asked.endsWith("\r\n\r\n")) return;
      asked = "";
      socket.write(Buffer.concat([Buffer.from(next.head), next.body]));
      if (next.close) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clock = createTestClock();
  const opened = openFetchQuotes({
    service: REFERENCE,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: () => TEST_CREDENTIALS,
    clock,
    observe: createObserver(clock),
    userAgent: "test",
  });
  return {
    take: async (sent) => {
      next = sent;
      try {
        const response = await opened.fetchQuotes(symbolsCall("AAPL"));
        return classifyAnswer(response).outcome;
      } catch (error) {
        return (error as { code: string }).code;
      }
    },
    close: async () => {
      await opened.close();
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What came of sending a document cut at positions, each kind once, in order of appearance. */
export async function kindsOfCuts(
  service: CuttingService,
  sending: Sending,
  { body }: RecordedDocument,
  positions: readonly number[],
): Promise<string[]> {
  const kinds = new Set<string>();
  for (const end of positions) kinds.add(await service.take(sending(body.subarray(0, end), body)));
  return [...kinds];
}

/** The bytes of `taken` without which the document is read as another number of instruments. */
export function otherNumberWithout(body: Buffer, taken: readonly number[]): number[] {
  const whole = itemsOf(body);
  return taken.filter((at) => {
    const count = itemsOf(Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]));
    return count !== null && count !== whole;
  });
}

/** How many instruments were read, also of those with a problem of their own; null when the document is refused. */
function itemsOf(body: Uint8Array): number | null {
  const answer = classifyAnswer({ status: 200, headers: {}, body });
  return answer.outcome === "quotes" ? answer.document.items.length : null;
}
