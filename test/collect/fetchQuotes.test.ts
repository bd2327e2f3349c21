/** The edge to the service against real sockets: what arrives, what is refused, and what ends in time. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { inspect, promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "@jest/globals";
import { type FetchOptions, openFetchQuotes, type OpenFetchQuotes } from "../../src/collect/fetchQuotes.ts";
import { DEADLINES } from "../../src/collect/transport/httpCalls.ts";
import { ERRORS, type ErrorCode } from "../../src/ground/errors.ts";
import { createObserver } from "../../src/ground/clock.ts";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { MAX_BODY_BYTES } from "../../src/services/bodyText.ts";
import { createTestClock } from "../support/clock.ts";
import { symbolsCall } from "../support/journal.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { compileModules } from "../support/compileProgram.ts";
import { closedPort, startStubService } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { type KeyPair, selfSigned } from "../support/selfSigned.ts";
import { createHostAddresses, LOOKUP_TIMEOUT } from "../../src/ground/hostAddresses.ts";
import { steppedClock } from "../support/steppedClock.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

/** Most bytes of an answer that are read from a connection: twice the 8 MB of its body. */
const MAX_WIRE_BYTES = 16 * 1024 * 1024;

const CALL = symbolsCall("AAPL");
const QUOTES = answerXml(equityXml("AAPL"));
/** No deadline that a slow machine could reach. */
const NEVER = { connectMs: 3_600_000, headersMs: 3_600_000, callMs: 3_600_000 };
/** One of them is short, and what it ends would never end by itself. */
const NO_HEAD = { ...NEVER, headersMs: 60 };
const NO_END = { ...NEVER, callMs: 120 };

/** Lets a connection that has just answered become free. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

const opened: OpenFetchQuotes[] = [];
const servers: { server: Server; sockets: Set<Socket> }[] = [];

afterAll(async () => {
  for (const { close } of opened) await close();
  for (const { server, sockets } of servers) {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  }
});

function open(baseUrl: string, options: Partial<FetchOptions> = {}): OpenFetchQuotes {
  const clock = createTestClock();
  const observe = createObserver(clock);
  const made = openFetchQuotes({
    service: REFERENCE,
    baseUrl,
    credentials: () => TEST_CREDENTIALS,
    clock,
    observe,
    userAgent: "test",
    deadlines: NEVER,
    ...options,
  });
  opened.push(made);
  return made;
}

/** A server of raw bytes, over TLS if it has a key; `onRequest` is called with the socket each time a request's head has arrived. */
async function rawServer(
  onRequest: (socket: Socket, head: string) => void,
  keyPair?: KeyPair,
): Promise<{ baseUrl: string; port: number; sockets: Set<Socket>; allClosed: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const create = (onSocket: (socket: Socket) => void): Server =>
    keyPair ? createTlsServer(keyPair, onSocket) : createServer({ noDelay: true }, onSocket);
  const server = create((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    let asked = "";
    socket.on("data", (bytes) => {
      asked += bytes.toString("latin1");
      if (!asked.endsWith("\r\n\r\n")) return;
      onRequest(socket, asked);
      asked = "";
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push({ server, sockets });
  const { port } = server.address() as AddressInfo;
  const allClosed = async (): Promise<void> => {
    while (sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
  };
  const scheme = keyPair ? "https" : "http";
  return { baseUrl: `${scheme}://127.0.0.1:${port}`, port, sockets, allClosed };
}

async function failure(work: Promise<unknown>): Promise<{ code: ErrorCode; message: string }> {
  return work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: { code: ErrorCode; message: string }) => error,
  );
}

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const ANSWER = `${HEAD}Content-Length: ${Buffer.byteLength(QUOTES)}\r\n\r\n${QUOTES}`;

const chunk = (text: string, extension = ""): string =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`;

/** What a call in a process of its own came to, and the most memory that this process had. */
type CallAlone = { ends: string[]; peakMb: number };

/** @param env what the process has in its environment */
async function callsAlone(
  baseUrl: string,
  times: number,
  env: Record<string, string> = {},
): Promise<CallAlone> {
  compiled ??= compiledAlone();
  const script = `
    import { createObserver, systemClock as clock } from "${compiled}/dist/ground/clock.js";
    import { openFetchQuotes } from "${compiled}/dist/collect/fetchQuotes.js";
    import { REFERENCE as service } from "${compiled}/dist/services/reference/reference.js";
    const [baseUrl, secrets, call, times] = JSON.parse(process.argv[1]);
    const options = { service, baseUrl, credentials: () => secrets, clock, observe: createObserver(clock), userAgent: "test" };
    const { fetchQuotes, close } = openFetchQuotes({ ...options, deadlines: ${JSON.stringify(NEVER)} });
    const ends = [];
    for (let i = 0; i < times; i += 1) {
      ends.push(await fetchQuotes(call).then(({ body }) => Buffer.from(body).toString(), ({ code }) => code));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await close();
    process.stdout.write(JSON.stringify({ ends, peakMb: process.resourceUsage().maxRSS / 1024 }));`;
  const given = JSON.stringify([baseUrl, TEST_CREDENTIALS, CALL, times]);
  const argv = ["--input-type=module", "--eval", script, given];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env });
  return JSON.parse(stdout) as CallAlone;
}

let compiled: string | null = null;
function compiledAlone(): string {
  const dir = tempDir();
  compileModules(dir, "collect/fetchQuotes", "ground/clock", "services/reference/reference");
  return dir;
}

test("a deadline ends a call that no answer begins to, and closes its connection", async () => {
  const { baseUrl, allClosed } = await rawServer(() => undefined);

  const error = await failure(open(baseUrl, { deadlines: NO_HEAD }).fetchQuotes(CALL));

  expect(error.code).toBe("SERVICE_TIMEOUT");
  expect(error.message).toContain(`${baseUrl}: no answer began within 60 ms`);
  await allClosed();
});

test.each([
  ["stops in the middle of a body of known length", `${HEAD}Content-Length: 5000\r\n\r\n<response>`],
  ["stops in the middle of a chunk", `${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\n<response>`],
  ["stops between two chunks", `${HEAD}Transfer-Encoding: chunked\r\n\r\na\r\n<response>\r\n`],
  ["never closes the connection that ends the body", `${HEAD}Connection: close\r\n\r\n${QUOTES}`],
])("a deadline ends a call to a service that %s, and closes its connection", async (_what, sent) => {
  const { baseUrl, allClosed } = await rawServer((socket) => void socket.write(sent));

  const error = await failure(open(baseUrl, { deadlines: NO_END }).fetchQuotes(CALL));

  expect(error.code).toBe("SERVICE_TIMEOUT");
  expect(error.message).toContain("the answer did not end within 120 ms");
  await allClosed();
});

test("a deadline ends a call whose answer's bytes trickle in forever, each before the last one is forgotten", async () => {
  const { baseUrl, allClosed } = await rawServer((socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const timer = setInterval(() => socket.write("1\r\n \r\n"), 5);
    socket.on("close", () => clearInterval(timer));
  });

  expect((await failure(open(baseUrl, { deadlines: NO_END }).fetchQuotes(CALL))).code).toBe(
    "SERVICE_TIMEOUT",
  );
  await allClosed();
});

test("a deadline ends a call whose answer's head lines trickle in forever", async () => {
  const { baseUrl, allClosed } = await rawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const timer = setInterval(() => socket.write("X-A: b\r\n"), 5);
    socket.on("close", () => clearInterval(timer));
  });

  expect((await failure(open(baseUrl, { deadlines: NO_HEAD }).fetchQuotes(CALL))).code).toBe(
    "SERVICE_TIMEOUT",
  );
  await allClosed();
});

test("a deadline ends a call whose connection is accepted but TLS never begins", async () => {
  const { port } = await rawServer(() => undefined);

  const deadlines = { ...NEVER, connectMs: 60 };
  const error = await failure(open(`https://127.0.0.1:${port}`, { deadlines }).fetchQuotes(CALL));

  expect(error).toMatchObject({ code: "SERVICE_TIMEOUT" });
});

test("the end of the program cancels a call, before and during it", async () => {
  const { baseUrl, allClosed } = await rawServer(() => undefined);
  const { fetchQuotes } = open(baseUrl);
  const stop = new AbortController();

  const during = failure(fetchQuotes(CALL, stop.signal));
  const waiting = failure(fetchQuotes(CALL, stop.signal));
  stop.abort();

  expect([(await during).code, (await waiting).code]).toEqual(["CALL_CANCELLED", "CALL_CANCELLED"]);
  expect((await failure(fetchQuotes(CALL, stop.signal))).code).toBe("CALL_CANCELLED");
  await allClosed();
});

test("closing the edge cuts off the calls under way", async () => {
  const { baseUrl } = await rawServer(() => undefined);
  const edge = open(baseUrl);

  const under = failure(edge.fetchQuotes(CALL));
  await edge.close();

  expect((await under).code).toBe("CALL_CANCELLED");
});

test("all deadlines are shorter than a minute, in which a slot ends", () => {
  expect(DEADLINES.connectMs).toBeLessThanOrEqual(DEADLINES.headersMs);
  expect(DEADLINES.headersMs).toBeLessThanOrEqual(DEADLINES.callMs);
  expect(DEADLINES.callMs).toBeLessThan(60_000);
});

test("an answer is read up to 8 MB and not a byte further, and the connection is closed", async () => {
  const endless = Buffer.alloc(1 << 20, "x");
  let sentBytes = 0;
  const { baseUrl, allClosed } = await rawServer((socket) => {
    socket.write(`${HEAD}\r\n`);
    const more = (): void => {
      while (!socket.destroyed && socket.write(endless)) sentBytes += endless.length;
      sentBytes += endless.length;
    };
    socket.on("drain", more);
    more();
  });

  expect((await failure(open(baseUrl).fetchQuotes(CALL))).code).toBe("SERVICE_ANSWER_TOO_LARGE");
  await allClosed();
  // What is read plus what fits into the buffers of two sockets.
  expect(sentBytes).toBeLessThan(3 * MAX_BODY_BYTES);
});

test("an answer is asked for without any coding; one with a coding is kept as it came, and not read", async () => {
  const bomb = gzipSync(Buffer.alloc(64 << 20));
  const service = await startStubService({ headers: { "Content-Encoding": "gzip" }, body: bomb });

  const response = await open(service.baseUrl).fetchQuotes(CALL);

  expect(service.requests[0]?.headers["accept-encoding"]).toBe("identity");
  expect(Buffer.compare(response.body, bomb)).toBe(0);
  expect(classifyAnswer(response)).toMatchObject({
    outcome: "malformed",
    detail: "Content-Encoding gzip, and identity was asked for",
  });
});

test("Retry-After is kept with the answer, and with it in the journal", async () => {
  const headers = {
    "Retry-After": "120",
    Date: "Fri, 20 Nov 2026 22:50:00 GMT",
    Server: "nobody's business",
  };
  const service = await startStubService({ status: 503, headers });

  const response = await open(service.baseUrl).fetchQuotes(CALL);

  expect(response.headers).toEqual({ "retry-after": "120", date: "Fri, 20 Nov 2026 22:50:00 GMT" });
});

describe("1xx answers that nobody asked for", () => {
  const unasked = (status: number, headers = ""): string => `HTTP/1.1 ${status} Unasked\r\n${headers}\r\n`;
  const before: [string, string][] = [
    ...[100, 102, 103, 199].map((status): [string, string] => [`a ${status}`, unasked(status)]),
    ["a 100 without a reason", "HTTP/1.1 100\r\n\r\n"],
    ["a 100 of HTTP/1.0", "HTTP/1.0 100 Continue\r\n\r\n"],
    ["a 100 whose lines end in a line feed alone", "HTTP/1.1 100 Continue\nX-A: b\n\n"],
    ["a 100 with headers", unasked(100, "Connection: close\r\nContent-Length: 9\r\nX-A: b\r\n")],
    ["a row of 1xx answers", unasked(100) + unasked(102) + unasked(103, "Link: </a>\r\n") + unasked(100)],
  ];

  test.each(before)(
    "%s is passed over before each of three answers on one connection",
    async (_what, sent) => {
      const { baseUrl, sockets } = await rawServer((socket) => void socket.write(sent + ANSWER));
      const { fetchQuotes } = open(baseUrl);

      for (let call = 0; call < 3; call += 1) {
        const { status, body } = await fetchQuotes(CALL);
        expect([status, Buffer.from(body).toString()]).toEqual([200, QUOTES]);
        await turn();
      }

      expect(sockets.size).toBe(1);
    },
  );

  test("1xx answers are passed over on a connection with TLS, before each answer", async () => {
    const keyPair = selfSigned();
    const trusted = join(tempDir(), "certificate.pem");
    writeFileSync(trusted, keyPair.cert);
    const sent = unasked(100) + unasked(103) + ANSWER;
    const used = new Set<Socket>();
    const { baseUrl } = await rawServer((socket) => {
      used.add(socket);
      socket.write(sent);
    }, keyPair);

    const { ends } = await callsAlone(baseUrl, 3, { NODE_EXTRA_CA_CERTS: trusted });

    expect(ends).toEqual([QUOTES, QUOTES, QUOTES]);
    expect(used.size).toBe(1);
  });

  test.each([
    ["after which nothing comes", unasked(100), "SERVICE_CUT_SHORT"],
    ["that is cut short", "HTTP/1.1 1", "SERVICE_CUT_SHORT"],
    ["before an answer that is cut short", `${unasked(100)}${ANSWER.slice(0, -1)}`, "SERVICE_CUT_SHORT"],
    [
      "that changes the protocol (101)",
      unasked(101, "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
      "SERVICE_CUT_SHORT",
    ],
    ["that changes the protocol (101) to none", unasked(101) + ANSWER, "SERVICE_UNREACHABLE"],
    ["with a status of four digits", `HTTP/1.1 1000 No\r\n\r\n${ANSWER}`, "SERVICE_UNREACHABLE"],
  ])("a 1xx answer %s is an error", async (_what, sent, code) => {
    const { baseUrl, allClosed } = await rawServer((socket) => void socket.end(sent));

    const error = await failure(open(baseUrl).fetchQuotes(CALL));

    expect(error.code).toBe(code);
    await allClosed();
  });
});

describe("an answer takes no more memory than the largest one that is kept", () => {
  /** More than any answer may take. A service that may send so much closes the connection. */
  const MUCH = 32 * MAX_BODY_BYTES;

  /** A service that sends this, over and over, until the connection is closed or MUCH is sent. */
  const endless = async (head: string, again: string) => {
    const piece = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)));
    let sentBytes = 0;
    const service = await rawServer((socket) => {
      socket.write(head);
      const more = (): void => {
        do sentBytes += piece.length;
        while (!socket.destroyed && sentBytes < MUCH && socket.write(piece));
        if (sentBytes >= MUCH) socket.destroy();
      };
      socket.on("drain", more);
      more();
    });
    return { ...service, sentBytes: () => sentBytes };
  };
  const LONG_EXTENSION: [string, string] = [CHUNKED, `1;${"x".repeat(60_000)}\r\n \r\n`];

  test.each([
    ["chunks of one byte with long extensions", ...LONG_EXTENSION, "SERVICE_ANSWER_TOO_LARGE"],
    [
      "chunks of one byte with short extensions",
      CHUNKED,
      `1;${"x".repeat(400)}\r\n \r\n`,
      "SERVICE_ANSWER_TOO_LARGE",
    ],
    ["chunks of one byte", CHUNKED, "1\r\n \r\n", "SERVICE_ANSWER_TOO_LARGE"],
    ["a chunk's extension", `${CHUNKED}1;`, "x", "SERVICE_ANSWER_TOO_LARGE"],
    ["a chunk's length", CHUNKED, "0", "SERVICE_ANSWER_TOO_LARGE"],
    [
      "1xx answers before it",
      "",
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
      "SERVICE_ANSWER_TOO_LARGE",
    ],
    [
      "headers of a 1xx answer before it",
      "HTTP/1.1 100 Continue\r\n",
      "X-A: b\r\n",
      "SERVICE_ANSWER_TOO_LARGE",
    ],
    ["a reason", "HTTP/1.1 200 ", "O", "SERVICE_ANSWER_TOO_LARGE"],
    ["empty lines before it", "", "\r\n", "SERVICE_ANSWER_TOO_LARGE"],
    ["headers", "HTTP/1.1 200 OK\r\n", "X-A: b\r\n", "SERVICE_ANSWER_TOO_LARGE"],
    ["one header", "HTTP/1.1 200 OK\r\nX-A: ", "b", "SERVICE_ANSWER_TOO_LARGE"],
    ["trailers", `${CHUNKED}0\r\n`, "X-A: b\r\n", "SERVICE_ANSWER_TOO_LARGE"],
  ])("an answer with %s without an end is cut off", async (_what, head, again, code) => {
    const { baseUrl, sentBytes, allClosed } = await endless(head, again);

    const error = await failure(open(baseUrl).fetchQuotes(CALL));

    await allClosed();
    expect(error.code).toBe(code);
    // What is read plus what fits into the buffers of two sockets.
    expect(sentBytes()).toBeLessThan(2 * MAX_WIRE_BYTES);
  });

  test("an answer in chunks of one byte with long extensions takes less than 100 MB of memory", async () => {
    const { baseUrl } = await endless(...LONG_EXTENSION);
    const small = await rawServer((socket) => void socket.write(ANSWER));

    const ordinary = await callsAlone(small.baseUrl, 1);
    const attacked = await callsAlone(baseUrl, 1);

    expect([ordinary.ends, attacked.ends]).toEqual([[QUOTES], ["SERVICE_ANSWER_TOO_LARGE"]]);
    expect(attacked.peakMb - ordinary.peakMb).toBeLessThan(100);
  });

  test("each answer on a connection may have as many bytes as the one before it", async () => {
    const half = " ".repeat(MAX_BODY_BYTES / 2);
    const sent = `${HEAD}Content-Length: ${half.length}\r\n\r\n${half}`;
    const { baseUrl, sockets } = await rawServer((socket) => void socket.write(sent));
    const { fetchQuotes } = open(baseUrl);

    for (let call = 0; call * half.length <= MAX_WIRE_BYTES; call += 1) {
      expect((await fetchQuotes(CALL)).body).toHaveLength(half.length);
      await turn();
    }

    expect(sockets.size).toBe(1);
  });

  test.each([8, 1_024, 65_536])("an answer of 8 MB in chunks of %d bytes is kept", async (size) => {
    const sent = chunk(" ".repeat(size)).repeat(MAX_BODY_BYTES / size);
    const { baseUrl } = await rawServer((socket) => void socket.write(`${CHUNKED}${sent}0\r\n\r\n`));

    const { body } = await open(baseUrl).fetchQuotes(CALL);

    expect(Buffer.alloc(MAX_BODY_BYTES, " ").equals(body)).toBe(true);
  });

  test("an answer in chunks with extensions and trailers is read as any other", async () => {
    const sent = `${CHUNKED}${chunk(QUOTES, ";a=b;c")}0;last\r\nX-RateLimit-Used: 9\r\n\r\n`;
    const { baseUrl } = await rawServer((socket) => void socket.write(sent));

    expect(Buffer.from((await open(baseUrl).fetchQuotes(CALL)).body).toString()).toBe(QUOTES);
  });
});

test.each([301, 302, 303, 307, 308])(
  "a redirect with %d is an answer, and no call goes where it points",
  async (status) => {
    const other = await startStubService({ body: QUOTES });
    const service = await startStubService({
      status,
      headers: { Location: `${other.baseUrl}/v1/market/quotes.xml` },
    });

    const response = await open(service.baseUrl).fetchQuotes(CALL);

    expect(response.status).toBe(status);
    expect(response.headers).not.toHaveProperty("location");
    expect(classifyAnswer(response).outcome).toBe("refused");
    expect(service.requests).toHaveLength(1);
    expect(other.requests).toEqual([]);
  },
);

test("an answer whose headers are too large is told as that, and is not asked for again", async () => {
  const { baseUrl } = await rawServer((s) => s.end(`${HEAD}X-A: ${"a".repeat(100_000)}\r\n\r\n`));

  const error = await failure(open(baseUrl).fetchQuotes(CALL));

  expect(error).toMatchObject({
    code: "SERVICE_ANSWER_TOO_LARGE",
    message: expect.stringContaining("headers"),
  });
});

describe("each error has a code that says whether to try again", () => {
  const cases: [string, () => Promise<string>, ErrorCode][] = [
    ["nobody listens", async () => `http://127.0.0.1:${await closedPort()}`, "SERVICE_UNREACHABLE"],
    [
      "the connection is reset",
      async () => (await rawServer((s) => s.resetAndDestroy())).baseUrl,
      "SERVICE_CUT_SHORT",
    ],
    [
      "it closes without an answer",
      async () => (await rawServer((s) => s.end())).baseUrl,
      "SERVICE_CUT_SHORT",
    ],
    [
      "the body is shorter than announced",
      async () => (await rawServer((s) => s.end(`${HEAD}Content-Length: 99\r\n\r\n<response>`))).baseUrl,
      "SERVICE_CUT_SHORT",
    ],
    [
      "a chunked body has no end, and the connection was to be closed after it",
      async () =>
        (await rawServer((s) => s.end(CHUNKED.replace("\r\n", "\r\nConnection: close\r\n") + chunk(QUOTES))))
          .baseUrl,
      "SERVICE_CUT_SHORT",
    ],
    [
      "what comes is not HTTP",
      async () => (await rawServer((s) => s.end("220 mail.example ESMTP\r\n"))).baseUrl,
      "SERVICE_UNREACHABLE",
    ],
    [
      "https is spoken to a plain port",
      async () => (await startStubService({})).baseUrl.replace("http:", "https:"),
      "SERVICE_UNREACHABLE",
    ],
  ];

  test.each(cases)("an error has a code that says whether to try again: %s", async (_what, start, code) => {
    const baseUrl = await start();

    const error = await failure(open(baseUrl).fetchQuotes(CALL));

    expect({ code: error.code, retryable: ERRORS[error.code].retryable }).toEqual({ code, retryable: true });
    expect(error.message).toContain(new URL(baseUrl).origin);
    expect(error.message).not.toContain("/v1/");
  });
});

test("every attempt is signed with a nonce of its own, also on a connection that is kept alive", async () => {
  const heads: string[] = [];
  const { baseUrl, sockets } = await rawServer((socket, head) => {
    heads.push(head);
    socket.write(ANSWER);
  });
  const { fetchQuotes } = open(baseUrl);

  await fetchQuotes(CALL);
  await turn();
  await fetchQuotes(CALL);

  expect(new Set(heads.map((head) => /oauth_nonce="(\w+)"/.exec(head)?.[1])).size).toBe(2);
  expect(sockets.size).toBe(1);
});

test("a request is not sent again behind our back when its kept connection breaks", async () => {
  const heads: string[] = [];
  const used = new Set<Socket>();
  const { baseUrl } = await rawServer((socket, head) => {
    heads.push(head);
    used.add(socket);
    if (heads.length === 2) socket.destroy();
    else socket.write(ANSWER);
  });
  const { fetchQuotes } = open(baseUrl);

  await fetchQuotes(CALL);
  await turn();
  const error = await failure(fetchQuotes(CALL));

  expect(error.code).toBe("SERVICE_CUT_SHORT");
  expect(heads).toHaveLength(2);
  expect(used.size).toBe(1);
});

describe("the last check before a call is written", () => {
  const respond = (socket: Socket) => socket.write(ANSWER);

  test("the last check before a call is written stops calls that wait for their connections before one byte leaves, and the next that may leave goes", async () => {
    const heads: string[] = [];
    const { baseUrl } = await rawServer((socket, head) => {
      heads.push(head);
      respond(socket);
    });
    const { fetchQuotes } = open(baseUrl);
    await fetchQuotes(CALL);
    let mine = true;
    let asked = 0;
    const mayLeave = (): boolean => ((asked += 1), mine);

    const six = Array.from({ length: 6 }, () => failure(fetchQuotes(CALL, undefined, mayLeave)));
    // They are on their way: each waits for a connection of its own, or for the one there is.
    await Promise.resolve();
    const askedBefore = asked;
    mine = false;
    const codes = (await Promise.all(six)).map(({ code }) => code);
    mine = true;
    const { status } = await fetchQuotes(CALL, undefined, mayLeave);

    expect(askedBefore).toBe(0);
    expect(codes).toEqual(Array(6).fill("LEASE_UNSURE"));
    expect(status).toBe(200);
    expect(heads).toHaveLength(2);
  });

  test("the last check before a call is written holds also for calls behind those that all connections are busy with", async () => {
    const busy: Socket[] = [];
    const heads: string[] = [];
    const { baseUrl } = await rawServer((socket, head) => {
      heads.push(head);
      if (heads.length === 1) respond(socket);
      else busy.push(socket);
    });
    const { fetchQuotes } = open(baseUrl);
    await fetchQuotes(CALL);
    let mine = true;
    const all = Array.from({ length: 14 }, () => fetchQuotes(CALL, undefined, () => mine));
    while (busy.length < 8) await turn();

    mine = false;
    busy.forEach(respond);
    const ends = await Promise.allSettled(all);

    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
    expect(ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []))).toEqual(
      Array(6).fill(
        expect.objectContaining({
          code: "LEASE_UNSURE",
          detail: `${baseUrl}: its account may be another collector's by now`,
        }),
      ),
    );
    expect(heads).toHaveLength(9);
  });

  test("the last check before a call is written changes nothing of a call that passes it", async () => {
    const heads: string[] = [];
    const cookies = "Date: a\r\nRetry-After: 1\r\nRetry-After: \xe9\r\n";
    const { baseUrl, sockets } = await rawServer((socket, head) => {
      heads.push(head.replace(/oauth_(nonce|signature)="[^"]*"/g, ""));
      socket.write(
        Buffer.from(`${HEAD}${cookies}Content-Length: ${Buffer.byteLength(QUOTES)}\r\n\r\n`, "latin1"),
      );
      socket.write(QUOTES);
    });
    const { fetchQuotes } = open(baseUrl);

    const plain = await fetchQuotes(CALL);
    await turn();
    const checked = await fetchQuotes(CALL, undefined, () => true);

    expect(heads[1]).toBe(heads[0]);
    expect(checked).toEqual({ ...plain, observedAt: checked.observedAt });
    expect(checked.headers["retry-after"]).toBe("1, \xe9");
    expect(sockets.size).toBe(1);
  });
});

test("an answer that quotes its request is kept without credentials and signature, and otherwise byte for byte", async () => {
  const odd = { ...TEST_CREDENTIALS, consumerSecret: "s&cret <+> 'quoted'" };
  const { baseUrl } = await rawServer((socket, head) => {
    const authorization = /^authorization: (.*)\r$/im.exec(head)?.[1] ?? "";
    const body = `<error>${authorization} sbs=GET&amp;${encodeURIComponent(encodeURIComponent(odd.accessToken))} s&amp;cret &lt;+&gt; 'quoted' ${encodeURIComponent(odd.consumerSecret)}</error>`;
    socket.end(`HTTP/1.1 401 No\r\nDate: ${authorization}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });

  const response = await open(baseUrl, { credentials: () => odd }).fetchQuotes(CALL);

  const text = Buffer.from(response.body).toString();
  const everything = text + inspect(response);
  for (const secret of [...Object.values(odd), encodeURIComponent(odd.consumerSecret), "s&amp;cret"])
    expect(everything).not.toContain(secret);
  expect(text).toMatch(/oauth_signature="\*+"/);
  expect(text).toMatch(/^<error>OAuth oauth_consumer_key="\*{13}"/);
  expect(text).toMatch(/ sbs=GET&amp;\*+ \*+ \*+<\/error>$/);
});

describe("the name of a service", () => {
  const LOOPBACK = [{ address: "127.0.0.1", family: 4 }];
  const named = (baseUrl: string): string => baseUrl.replace("127.0.0.1", "quotes.example");

  test("a service that closes its connections is called while no lookup answers any more: at its last good addresses", async () => {
    const { baseUrl } = await rawServer((socket) =>
      socket.end(ANSWER.replace(HEAD, `${HEAD}Connection: close\r\n`)),
    );
    const time = steppedClock();
    let lookups = 0;
    const addresses = createHostAddresses(
      async () => ((lookups += 1) === 1 ? LOOPBACK : new Promise<never>(() => undefined)),
      time.clock,
    );
    const { fetchQuotes } = open(named(baseUrl), { addresses });

    for (let call = 0; call < 5; call += 1) {
      const answered = fetchQuotes(CALL);
      while (time.asleep() === 0 && call === 1) await turn();
      if (call === 1) time.step();
      expect((await answered).status).toBe(200);
    }
    expect(lookups).toBe(2);
  });

  test("a lookup without an answer is named as that", async () => {
    const silent = Promise.reject(Object.assign(new Error("silent"), { code: LOOKUP_TIMEOUT }));
    silent.catch(() => undefined);
    const { fetchQuotes } = open("http://quotes.example", { addresses: () => silent });

    const { code, message } = await failure(fetchQuotes(CALL));

    expect(code).toBe("SERVICE_TIMEOUT");
    expect(message).toContain("http://quotes.example: the address of the host was not found in time");
  });

  test("TLS checks the name and not the address", async () => {
    const names: string[] = [];
    const SNICallback = (name: string, done: (error: null) => void): void => {
      names.push(name);
      done(null);
    };
    const server = createTlsServer({ ...selfSigned(), SNICallback });
    server.on("tlsClientError", () => undefined);
    servers.push({ server, sockets: new Set() });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { fetchQuotes } = open(`https://quotes.example:${port}`, { addresses: async () => LOOPBACK });

    expect((await failure(fetchQuotes(CALL))).code).toBe("SERVICE_UNTRUSTED");
    expect(names).toEqual(["quotes.example"]);
  });
});

test("a part of an answer is no answer: HTTP 206", async () => {
  const { baseUrl } = await startStubService({ status: 206, body: QUOTES });

  const { code, message } = await failure(open(baseUrl).fetchQuotes(CALL));

  expect({ code, message }).toEqual({
    code: "SERVICE_CUT_SHORT",
    message: expect.stringContaining("HTTP 206"),
  });
});

test("headers that are too large are named as that", async () => {
  const large = `HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(40_000)}\r\n\r\n`;
  const { baseUrl } = await rawServer((socket) => socket.end(large));

  const { code, message } = await failure(open(baseUrl).fetchQuotes(CALL));

  expect(code).toBe("SERVICE_ANSWER_TOO_LARGE");
  expect(message).toContain("the headers of the answer are too large");
});
