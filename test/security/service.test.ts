/** What anybody who reaches the service's port may send, over raw sockets. */
import { connect, type Socket } from "node:net";
import { METHODS } from "node:http";
import { afterEach, describe, expect, test } from "@jest/globals";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { PATIENCE, type QuoteServiceOptions, XML_TYPE } from "../../src/serve/quoteService.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { until } from "../support/until.ts";

const QUOTES = "/v1/market/quotes.xml?symbols=AAPL";
const ORDERS = "/v1/account/1/orders.xml";
const FORM = "Content-Type: application/x-www-form-urlencoded";

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

type Answer = { status: number; headers: Record<string, string>; body: string };

/** The answers of a connection, as far as they are whole. */
function answersIn(said: string): Answer[] {
  const answers: Answer[] = [];
  let rest = said;
  for (;;) {
    const [head = "", ...behind] = rest.split("\r\n\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? NaN);
    if (behind.length === 0 || Number.isNaN(status)) return answers;
    const lines = head.split("\r\n").slice(1);
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(": ")[0]?.toLowerCase() ?? "", line.replace(/^[^:]*: /, "")]),
    );
    const length = status === 100 ? 0 : Number(headers["content-length"] ?? 0);
    const body = behind.join("\r\n\r\n");
    if (body.length < length) return answers;
    answers.push({ status, headers, body: body.slice(0, length) });
    rest = body.slice(length);
  }
}

let calls = 0;

async function running(options: Partial<QuoteServiceOptions> = {}) {
  const limits = { quotes: 1_000, orders: 1_000, other: 1_000, windowMs: 60_000 };
  const { baseUrl } = await startSimulatedService(systemClock, { limits, ...options });
  const { host, port } = new URL(baseUrl);

  /** A connection that was sent something, what it said so far, and its end. */
  const open = (text: string) => {
    const socket = connect(Number(port), "127.0.0.1");
    sockets.push(socket);
    let said = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
    socket.write(text, "latin1");
    const closed = new Promise<Answer[]>((resolve) => socket.once("close", () => resolve(answersIn(said))));
    const ended = new Promise<void>((resolve) => socket.once("end", resolve));
    const answers = (count = 1) =>
      until(() => {
        const whole = answersIn(said);
        return Promise.resolve(whole.length >= count ? whole : null);
      }, `${count} answers`);
    return { socket, closed, ended, answers };
  };

  /** The header that signs a call of an address. */
  const sign = (method: string, url: string, consumerSecret = TEST_CREDENTIALS.consumerSecret) => {
    const credentials = { ...TEST_CREDENTIALS, consumerSecret };
    const timestamp = Math.floor(systemClock.now().getTime() / 1000);
    return `Authorization: ${signRequest({ method, url, credentials, nonce: `n${++calls}`, timestamp })}`;
  };

  /** The header that signs a call; `signed` is its query and its form. */
  const signature = (method: string, target: string, form = "", secret = TEST_CREDENTIALS.consumerSecret) => {
    const divider = form === "" ? "" : target.includes("?") ? "&" : "?";
    return sign(method, `${baseUrl}${target}${divider}${form}`, secret);
  };

  /** The text of a request. */
  const request = (method: string, target: string, headers: readonly string[] = [], body = "") =>
    [`${method} ${target} HTTP/1.1`, `Host: ${host}`, ...headers, "", body].join("\r\n");

  /** The answer to a request that is sent alone. */
  const one = async (text: string): Promise<Answer> => {
    const [answer] = await open(text).answers();
    if (!answer) throw new Error("no answer");
    return answer;
  };
  return { host, open, sign, signature, request, one };
}

const problemOf = ({ body }: Answer) => readDocument(Buffer.from(body)).error;

describe("nothing is read of what nobody has signed for", () => {
  test("a form of 1 MB is refused by its length, before a byte of it has come", async () => {
    const { request, one } = await running();

    const answer = await one(request("POST", ORDERS, [FORM, "Content-Length: 1000000"]));

    expect([answer.status, answer.headers["connection"]]).toEqual([413, "close"]);
    expect(problemOf(answer)).toBe("the body is longer than 16384 bytes");
  });

  test("a form that does not say its length is refused at the byte that is too many", async () => {
    const { request, open } = await running();
    const { socket, answers, closed } = open(request("POST", ORDERS, [FORM, "Transfer-Encoding: chunked"]));

    socket.write(`4000\r\n${"a".repeat(0x4000)}\r\n`);
    socket.write("1\r\nb\r\n");

    expect((await answers()).map(({ status }) => status)).toEqual([413]);
    socket.write("0\r\n\r\n");
    expect(await closed).toHaveLength(1);
  });

  test("no other body is waited for: a call that nobody signed is refused without it", async () => {
    const { request, open } = await running();
    const { socket, answers, ended, closed } = open(
      request("POST", ORDERS, ["Content-Type: text/xml", "Transfer-Encoding: chunked"]),
    );

    expect((await answers()).map(({ status }) => status)).toEqual([401]);
    await ended;
    // It is thrown away until there is too much of it.
    const chunk = `10000\r\n${"a".repeat(0x10000)}\r\n`;
    const more = (): void => void (socket.writable && socket.write(chunk, more));
    more();
    expect(await closed).toHaveLength(1);
  });

  test("a caller that asks before it sends is not invited to send a body that nobody reads", async () => {
    const { request, open, signature } = await running();
    const length = "Content-Length: 3";
    const expecting = [length, "Expect: 100-continue"];

    const unread = await open(request("POST", ORDERS, expecting)).answers();
    const tooLong = await open(
      request("POST", ORDERS, [FORM, "Content-Length: 20000", "Expect: 100-continue"]),
    ).answers();
    const form = open(request("POST", ORDERS, [FORM, ...expecting, signature("POST", ORDERS, "a=1")]));
    await form.answers();
    form.socket.write("a=1");

    expect([unread, tooLong].flat().map(({ status }) => status)).toEqual([401, 413]);
    expect((await form.answers(2)).map(({ status }) => status)).toEqual([100, 501]);
  });

  test.each([
    ["in the query", (many: string[]) => [`${ORDERS}?${many.join("&")}`, [], ""]],
    ["that are all empty", (many: string[]) => [`${ORDERS}?${"&".repeat(many.length)}`, [], ""]],
    ["in the header", (many: string[]) => [ORDERS, [`Authorization: OAuth ${many.join('="",')}=""`], ""]],
    [
      "in a form",
      (many: string[]) => [ORDERS, [FORM, `Content-Length: ${many.join("&").length}`], many.join("&")],
    ],
  ] as const)("more than 200 parameters %s are refused for their number", async (_where, make) => {
    const { request, one } = await running();
    const [target, headers, body] = make(Array.from({ length: 201 }, (_, i) => `p${i}`)) as [
      string,
      string[],
      string,
    ];

    const answer = await one(request("POST", target, headers, body));

    expect(answer.status).toBe(400);
    expect(problemOf(answer)).toContain("more than 200 parameters");
  });

  test("a name of 8,000 characters is not repeated in the answer, nor such a path in the log", async () => {
    const lines: object[] = [];
    const logger = { info: (fields: object) => lines.push(fields), error: () => undefined };
    const { request, one } = await running({ logger });
    const long = "n".repeat(8_000);

    const answer = await one(request("GET", QUOTES, [`Authorization: OAuth ${long}="",${long}=""`]));
    await one(request("GET", `/v1/${long}`));

    expect(problemOf(answer)).toBe(`${"n".repeat(40)}... is given twice`);
    expect(lines).toMatchObject([{ status: 400 }, { path: `/v1/${"n".repeat(196)}...` }]);
  });
});

test("the host of an absolute target counts and is signed, whatever the Host header says", async () => {
  const { host, request, one, sign } = await running();
  const asked = async (target: string, signed: string): Promise<number> =>
    (await one(request("GET", target, [sign("GET", signed)]))).status;

  expect(await asked(`http://${host}${QUOTES}`, `http://${host}${QUOTES}`)).toBe(200);
  expect(await asked(`HTTP://${host.toUpperCase()}${QUOTES}`, `http://${host}${QUOTES}`)).toBe(200);
  expect(await asked(`http://quotes.example${QUOTES}`, `http://${host}${QUOTES}`)).toBe(401);
  expect(await asked(`http://quotes.example${QUOTES}`, `http://quotes.example${QUOTES}`)).toBe(200);
  expect(await asked(`https://${host}${QUOTES}`, `http://${host}${QUOTES}`)).toBe(401);
  // The same target once more: what was found out about it counts for its own host alone.
  expect(await asked(QUOTES, `http://quotes.example${QUOTES}`)).toBe(401);
});

test.each([
  ["a user's name", `http://me@quotes.example${QUOTES}`, []],
  ["no host", `http://${QUOTES}`, []],
  ["two authorizations", QUOTES, ["Authorization: x", "Authorization: x"]],
  ["two content types", QUOTES, [FORM, "content-type: text/xml"]],
])("a call with %s is refused", async (_what, target, headers) => {
  const { request, one } = await running();

  expect((await one(request("GET", target, headers))).status).toBe(400);
});

describe("every error has a document", () => {
  test("whatever the HTTP parser or the service refuses, and with the status that docs/serve.md names", async () => {
    const { request, host, open } = await running({
      patience: { ...PATIENCE, headersMs: 200, requestMs: 200, checkEveryMs: 20 },
    });
    const signed = "Authorization: x";
    const texts: [status: number, text: string][] = [
      [400, `GET ${QUOTES} HTTP/1.1\r\n\r\n`],
      [400, `GET ${QUOTES} HTTP/1.1\r\nHost:\r\n\r\n`],
      [400, request("GET", QUOTES, ["Host: other.example"])],
      [400, request("GET", QUOTES, [`host: ${host}`])],
      [400, `GET ${QUOTES} HTTP/1.1\r\nHost: ${host}, other.example\r\n\r\n`],
      [400, `FETCH ${QUOTES} HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
      [400, `GET ${QUOTES} HTTP/9.9\r\nHost: ${host}\r\n\r\n`],
      [400, request("GET", "/v1/%ff")],
      [401, request("GET", QUOTES, [signed])],
      [404, request("CONNECT", "other.example:443")],
      [404, request("OPTIONS", "*")],
      [408, `GET ${QUOTES} HTTP/1.1\r\nHost: `],
      [408, request("POST", ORDERS, [FORM, "Content-Length: 3"], "a=")],
      [413, request("POST", ORDERS, ["Content-Length: 16385"])],
      [414, request("GET", `${QUOTES}${"A".repeat(8_192)}`)],
      [414, request("GET", `${QUOTES}${"A".repeat(60_000)}`)],
      [400, request("GET", QUOTES, ["Transfer-Encoding: gzip, chunked"])],
      [417, request("GET", QUOTES, ["Expect: a miracle"])],
      [431, request("GET", QUOTES, [`X: ${"a".repeat(60_000)}`])],
      [
        431,
        request(
          "GET",
          QUOTES,
          Array.from({ length: 100 }, (_, i) => `X-${i}: a`),
        ),
      ],
    ];

    const answers = await Promise.all(texts.map(([, text]) => open(text).answers()));

    expect(answers.map(([answer]) => answer?.status)).toEqual(texts.map(([status]) => status));
    for (const [answer] of answers) {
      expect(answer?.headers["content-type"]).toBe(XML_TYPE);
      expect(answer && problemOf(answer)).toEqual(expect.any(String));
    }
  });
});

test("every signed call is counted, of whatever method, and of a path that is /v1 alone", async () => {
  const { request, open, signature } = await running();
  const methods = METHODS.filter((method) => method !== "CONNECT" && method !== "HEAD");

  const used: string[] = [];
  for (const method of methods) {
    const target = "/v1/other";
    const [answer] = await open(request(method, target, [signature(method, target)])).answers();
    expect([method, answer?.status]).toEqual([method, 501]);
    used.push(answer?.headers["x-ratelimit-used"] ?? "");
  }
  const [root] = await open(request("GET", "/v1", [signature("GET", "/v1")])).answers();
  const [quotes] = await open(request("PROPFIND", QUOTES, [signature("PROPFIND", QUOTES)])).answers();

  expect(used).toEqual(methods.map((_method, index) => String(index + 1)));
  expect([root?.status, root?.headers["x-ratelimit-used"]]).toEqual([501, String(methods.length + 1)]);
  expect([quotes?.status, quotes?.headers["x-ratelimit-limit"]]).toEqual([501, "1000"]);
  expect(quotes?.headers["x-ratelimit-used"]).toBe("1");
});

test("a signed call is counted that is refused for its length, its path or its Expect header; a wrongly signed one is not", async () => {
  const { request, one, signature } = await running();
  const long = `${QUOTES}${"A".repeat(20_000)}`;
  const ofAll = async (secret?: string): Promise<Answer[]> => [
    await one(request("GET", long, [signature("GET", long, "", secret)])),
    await one(request("GET", QUOTES, [signature("GET", QUOTES, "", secret), "Expect: a miracle"])),
    await one(
      request("POST", ORDERS, [
        signature("POST", ORDERS, "", secret),
        "Content-Type: text/xml",
        "Content-Length: 2000000",
      ]),
    ),
    await one(request("GET", "/v1/%ff", [signature("GET", "/v1/%ff", "", secret)])),
  ];

  const wrong = await ofAll("wrong");
  const right = await ofAll();

  expect(wrong.map(({ status }) => status)).toEqual([414, 417, 413, 400]);
  expect(wrong.map(({ headers }) => headers["x-ratelimit-used"])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(right.map(({ status }) => status)).toEqual([414, 417, 413, 400]);
  expect(right.map(({ headers }) => headers["x-ratelimit-used"])).toEqual(["1", "2", "1", "1"]);
});

describe("a connection says what one caller asked, in its order", () => {
  test("garbage behind a genuine call is answered after it, not in its place", async () => {
    const { request, open, signature } = await running();

    const answers = await open(`${request("GET", QUOTES, [signature("GET", QUOTES)])}garbage\r\n\r\n`).closed;

    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
  });

  test("calls that were sent ahead are answered in their order", async () => {
    const { request, open, signature } = await running();
    const ahead = [
      request("GET", QUOTES, [signature("GET", QUOTES)]),
      request("GET", "/nothing"),
      request("GET", QUOTES),
      request("GET", "/v1", [signature("GET", "/v1")]),
    ];

    const answers = await open(ahead.join("")).answers(4);

    expect(answers.map(({ status }) => status)).toEqual([200, 404, 401, 501]);
  });

  test.each([
    ["a length and chunks", ["Content-Length: 5", "Transfer-Encoding: chunked"]],
    ["two lengths", ["Content-Length: 5", "Content-Length: 6"]],
    ["a length with a sign", ["Content-Length: +5"]],
    ["chunks that are not the last encoding", ["Transfer-Encoding: chunked, identity"]],
    ["an encoding that is almost chunks", ["Transfer-Encoding: xchunked"]],
    ["a blank before the colon", ["Content-Length : 5"]],
    ["a folded line", ["Content-Length:", " 5"]],
    ["a line that ends without a carriage return", ["X: a\nContent-Length: 5"]],
  ])("a body whose end may be told in two ways is refused: %s", async (_what, headers) => {
    const { request, open, signature, one } = await running();
    const hidden = request("GET", QUOTES, [signature("GET", QUOTES)]);

    const answers = await open(request("POST", ORDERS, headers, `0\r\n\r\n${hidden}`)).closed;
    const next = await one(request("GET", QUOTES, [signature("GET", QUOTES)]));

    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(next.headers["x-ratelimit-used"]).toBe("1");
  });

  test("a body that was refused is not taken for the next call", async () => {
    const { request, open, signature, one } = await running();
    const hidden = request("GET", QUOTES, [signature("GET", QUOTES)]);
    const body = hidden.padEnd(20_000, "\n");

    const long = open(request("POST", ORDERS, [FORM, `Content-Length: ${body.length}`], `${body}${hidden}`));
    const short = open(request("POST", ORDERS, [`Content-Length: ${hidden.length}`], hidden));
    const answers = [await long.closed, await short.answers()].flat();
    const next = await one(request("GET", QUOTES, [signature("GET", QUOTES)]));

    expect(answers.map(({ status }) => status)).toEqual([413, 401]);
    expect(next.headers["x-ratelimit-used"]).toBe("1");
  });
});
