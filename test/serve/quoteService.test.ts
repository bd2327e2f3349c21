import { readWatchlists } from "../../src/serve/archive/readWatchlists.ts";
import { afterEach, expect, test } from "@jest/globals";
import { writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { connect } from "node:net";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { newNonceMemory } from "../../src/serve/authenticate.ts";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { createQuoteService, type QuoteServiceOptions } from "../../src/serve/quoteService.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { tempDir } from "../support/tempDir.ts";
import { movableClock } from "./movableClock.ts";

const key = { consumerKey: "ck", consumerSecret: "cs", accessToken: "at", accessTokenSecret: "ts" };
const QUOTES = "/v1/market/quotes.xml";
const OPTION = "underlying=AAPL&expiration=2026-12-18&type=CALL&strike=150";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Answer = { status: number; headers: Record<string, string>; rawNames: string[]; body: string };
type Call = {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  credentials?: typeof key;
  nonce?: string;
};

/** A running service on a free port, a clock to move, and a signed call to it. */
async function running(options: Partial<QuoteServiceOptions> = {}) {
  const clock = movableClock("2026-03-11T15:00:30.250Z");
  const source = createSimulatedMarket({ seed: 5 });
  const service = createQuoteService({ source, keys: [key], clock, ...options });
  const base = await service.listen({ host: "127.0.0.1", port: 0 });
  closers.push(service.close);
  let calls = 0;

  function call(
    target: string,
    { method = "GET", headers, body, credentials = key, nonce = `n${++calls}` }: Call = {},
  ) {
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const form = headers?.["content-type"] === "application/x-www-form-urlencoded" ? body : undefined;
    const url = `${base}${target}${form === undefined ? "" : `?${form}`}`;
    const authorization = signRequest({ method, url, credentials, nonce, timestamp });
    return send(target, { method, headers: { authorization, ...headers }, body });
  }

  /** Sends the target exactly as given: `fetch` would encode it anew. */
  function send(
    target: string,
    { method, headers, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) {
    const { hostname, port } = new URL(base);
    return new Promise<Answer>((resolve, reject) => {
      const sent = httpRequest(
        { host: hostname, port, path: target, method, headers, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers as Record<string, string>,
              rawNames: response.rawHeaders.filter((_text, index) => index % 2 === 0),
              body: Buffer.concat(chunks).toString("utf8"),
            }),
          );
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  return { base, call, send, clock, source };
}

const read = ({ body }: Answer) => readDocument(Buffer.from(body));
const names = (answer: Answer) =>
  read(answer).items.map((item) => (item.ok ? item.item.instrument.symbol : item.problem));

test("a signed call for symbols is answered with one instrument each, in the order asked, each once", async () => {
  const { call } = await running();

  const answer = await call(`${QUOTES}?symbols=GE%2CAAPL%2CGE%2CSIRI&delayed=false`);

  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/xml; charset=UTF-8");
  expect(names(answer)).toEqual(["GE", "AAPL", "SIRI"]);
  expect(read(answer).id).toMatch(/^[0-9a-f]{24}$/);
});

test("the quotes are those of the source at this moment, and delayed ones those of 15 minutes ago", async () => {
  const { call, clock, source } = await running();
  const last = (at: Date) => source.quote({ kind: "security", symbol: "AAPL" }, at).quote.last;
  const lastOf = (answer: Answer) =>
    read(answer).items.map((item) => (item.ok ? item.item.quote.last : null));

  const realTime = await call(`${QUOTES}?symbols=AAPL&delayed=false`);
  const delayed = await call(`${QUOTES}?symbols=AAPL&delayed=true`);
  const byDefault = await call(`${QUOTES}?symbols=AAPL`);

  expect(lastOf(realTime)).toEqual([last(clock.now())]);
  expect(lastOf(delayed)).toEqual([last(new Date("2026-03-11T14:45:30.250Z"))]);
  expect(byDefault.body.split("\n").slice(2)).toEqual(delayed.body.split("\n").slice(2));
});

test("an option contract is answered with its underlying and the underlying's quote", async () => {
  const { call } = await running();

  const [item] = read(await call(`${QUOTES}?${OPTION}&delayed=false`)).items;

  expect(item).toMatchObject({
    ok: true,
    item: {
      instrument: {
        symbol: "AAPL",
        expiration: "2026-12-18",
        optionType: "CALL",
        strike: "150.0",
        exchange: "CMP",
      },
      underlying: { symbol: "AAPL", exchange: "NSD" },
      underlyingQuote: { last: expect.stringMatching(/^\d+\.\d+$/) },
      unknownSymbol: false,
    },
  });
});

test("an unknown symbol is named and marked, the others are answered", async () => {
  const { call } = await running();

  const answer = read(await call(`${QUOTES}?symbols=AAPL%2CZZZZ`));

  expect(answer.items.map((item) => item.ok && item.item.unknownSymbol)).toEqual([false, true]);
});

test("a watchlist may have blanks in its name, and one that is named like a symbol does not stand before it", async () => {
  const file = join(tempDir(), "lists.yaml");
  writeFileSync(file, "my tech stocks: [AAPL, MSFT]\nGE: [SIRI, F]\nNOSYMBOL: [GE]\n");
  const lists = readWatchlists(file);
  const source = {
    ...createSimulatedMarket({ seed: 5 }),
    watchlist: (id: string) => lists.get(id) ?? null,
  };
  const { call } = await running({ source });

  expect(names(await call(`${QUOTES}?watchlist=my%20tech%20stocks`))).toEqual(["AAPL", "MSFT"]);
  expect(names(await call(`${QUOTES}?symbols=my%20tech%20stocks`))).toEqual(["AAPL", "MSFT"]);
  expect(names(await call(`${QUOTES}?symbols=GE`))).toEqual(["GE"]);
  expect(names(await call(`${QUOTES}?watchlist=GE`))).toEqual(["SIRI", "F"]);
  expect(names(await call(`${QUOTES}?symbols=NOSYMBOL`))).toEqual(["GE"]);
});

test("a watchlist is answered by its own parameter, and as the only name in symbols", async () => {
  const { call, source } = await running();
  const members = source.watchlist("watchlist-18516");

  expect(names(await call(`${QUOTES}?watchlist=watchlist-18516`))).toEqual(members);
  expect(names(await call(`${QUOTES}?symbols=watchlist-18516`))).toEqual(members);
  expect(names(await call(`${QUOTES}?symbols=DEFAULT%2CAAPL`))).toEqual(["DEFAULT", "AAPL"]);
  expect((await call(`${QUOTES}?watchlist=none`)).status).toBe(400);
});

test("an OCC option symbol in a list is answered as that option", async () => {
  const { call } = await running();

  const answer = read(await call(`${QUOTES}?symbols=AAPL261218C00150000`));

  expect(answer.items).toMatchObject([
    { ok: true, item: { instrument: { optionType: "CALL", strike: "150.0" } } },
  ]);
});

test("text beyond ASCII is counted in bytes, so that an answer is neither cut short nor too long", async () => {
  const source = createSimulatedMarket({ seed: 1 });
  const { call } = await running({
    source: {
      ...source,
      quotes: (keys, { now }) =>
        keys.map((asked) => {
          const found = source.quote(asked, now);
          return { ...found, instrument: { ...found.instrument, description: "Nestlé 雀巢 🍫" } };
        }),
    },
  });

  const answer = await call(`${QUOTES}?symbols=AAPL&delayed=false`);

  expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(answer.body)));
  expect(answer.body).toContain("<desc>Nestlé 雀巢 🍫</desc>");
  expect(answer.rawNames).toEqual(expect.arrayContaining(["X-RateLimit-Used", "X-Quotekeeper-Source"]));
});

test("a source that takes its time, and one of another name, are answered from in the same order", async () => {
  const market = createSimulatedMarket({ seed: 1 });
  const { call } = await running({
    source: {
      name: "archive",
      quotes: async (keys, asked) => {
        await new Promise(setImmediate);
        return market.quotes(keys, asked);
      },
      watchlist: async () => null,
    },
  });

  const answer = await call(`${QUOTES}?symbols=GE%2CAAPL`);

  expect(names(answer)).toEqual(["GE", "AAPL"]);
  expect(answer.headers["x-quotekeeper-source"]).toBe("archive");
});

test.each([
  ["no selector", QUOTES, "symbols, watchlist, or underlying"],
  ["half an option form", `${QUOTES}?underlying=AAPL&type=CALL`, "expiration, strike is missing"],
  ["both forms", `${QUOTES}?symbols=AAPL&${OPTION}`, "exclude each other"],
  ["a bad type", `${QUOTES}?${OPTION.replace("CALL", "BOTH")}`, "BOTH"],
  ["a bad strike", `${QUOTES}?${OPTION.replace("150", "-1")}`, "-1"],
  ["a bad delayed", `${QUOTES}?symbols=AAPL&delayed=maybe`, "delayed must be true or false"],
  ["a bad date", `${QUOTES}?${OPTION.replace("12-18", "13-18")}`, "2026-13-18"],
  ["an unknown parameter", `${QUOTES}?symbols=AAPL&colour=red`, "colour"],
])("refusals %s is answered 400 with a document that says what is wrong", async (_what, target, problem) => {
  const { call } = await running();

  const answer = await call(target);

  expect(answer.status).toBe(400);
  expect(answer.headers["content-type"]).toBe("application/xml; charset=UTF-8");
  expect(read(answer).error).toContain(problem);
  expect(answer.headers["x-ratelimit-used"]).toBe("1");
});

test("more than 325 symbols are answered 400, 325 are not", async () => {
  const { call } = await running();
  const list = (count: number) => Array.from({ length: count }, (_, i) => `SIM${String(i).padStart(4, "0")}`);

  const refused = await call(`${QUOTES}?symbols=${list(326).join("%2C")}`);
  expect(refused.status).toBe(400);
  expect(read(refused).error).toBe("326 symbols exceed the 325 of one call");
  expect(names(await call(`${QUOTES}?symbols=${list(325).join("%2C")}`))).toEqual(list(325));
});

test("an unsigned or wrongly signed call is answered 401 with the challenge, and is not counted", async () => {
  const { send, call } = await running();

  const unsigned = await send(`${QUOTES}?symbols=AAPL`);
  const wrong = await call(`${QUOTES}?symbols=AAPL`, {
    credentials: { ...key, accessTokenSecret: "other" },
  });
  const right = await call(`${QUOTES}?symbols=AAPL`);

  for (const answer of [unsigned, wrong]) {
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe("OAuth");
    expect(answer.headers["x-ratelimit-used"]).toBeUndefined();
    expect(read(answer).error).toMatch(/^Not authorized: /);
  }
  expect(right.headers["x-ratelimit-used"]).toBe("1");
});

test("every kind of refusal of an authenticated call has the four headers, and Used plus Remaining is Limit", async () => {
  const { call } = await running({
    limits: { quotes: 3, orders: 1, other: 1, windowMs: 60_000 },
    keys: [{ ...key, access: "delayed" }],
  });

  const answers = [
    await call(QUOTES),
    await call(`${QUOTES}?symbols=F&delayed=false`),
    await call(`${QUOTES}?symbols=F`, { method: "POST" }),
    await call(`${QUOTES}?symbols=F`),
    await call("/v1/account/1/orders.xml", { method: "POST" }),
    await call("/v1/account/1/orders.xml", { method: "POST" }),
    await call("/v1/accounts.xml"),
    await call("/v1/accounts.xml"),
  ];

  expect(answers.map(({ status }) => status)).toEqual([400, 403, 501, 429, 501, 429, 501, 429]);
  for (const { headers } of answers) {
    const limit = Number(headers["x-ratelimit-limit"]);
    expect(Number(headers["x-ratelimit-used"]) + Number(headers["x-ratelimit-remaining"])).toBe(limit);
    expect(headers["x-ratelimit-expire"]).toMatch(/^\d{10}$/);
    expect(headers["content-type"]).toBe("application/xml; charset=UTF-8");
  }
});

test("a call signed in its query is answered as one signed in its header", async () => {
  const { base, clock, send } = await running();
  const timestamp = Math.floor(clock.now().getTime() / 1000);
  const url = `${base}${QUOTES}?symbols=AAPL%2CGE&delayed=true`;
  const header = signRequest({ method: "GET", url, credentials: key, nonce: "q", timestamp });
  const query = [...header.matchAll(/(oauth_\w+)="([^"]*)"/g)].map(([, name, value]) => `${name}=${value}`);

  const answer = await send(`${QUOTES}?symbols=AAPL%2CGE&delayed=true&${query.join("&")}`);

  expect(answer.status).toBe(200);
  expect(names(answer)).toEqual(["AAPL", "GE"]);
});

test("the body of a GET is neither read nor signed", async () => {
  const { base, clock, send } = await running();
  const timestamp = Math.floor(clock.now().getTime() / 1000);
  const url = `${base}${QUOTES}?symbols=AAPL`;
  const authorization = signRequest({ method: "GET", url, credentials: key, nonce: "body", timestamp });
  const body = "symbols=MSFT";
  const form = {
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(body.length),
  };

  const answer = await send(`${QUOTES}?symbols=AAPL`, { headers: { authorization, ...form }, body });

  expect(names(answer)).toEqual(["AAPL"]);
});

test("other paths and versions are answered 404, signed or not, and are not counted", async () => {
  const { call, send } = await running();

  for (const path of ["/", "/v2/market/quotes.xml", "/market/quotes.xml", "/v10"]) {
    const answer = await call(path);
    expect(answer.status).toBe(404);
    expect(answer.headers["x-ratelimit-used"]).toBeUndefined();
    expect(read(answer).error).toBe("there is nothing at this path");
    expect((await send(path)).status).toBe(404);
  }
});

test("a call whose nonce the disk does not take is answered 500 and not counted, whatever it asks for", async () => {
  const errors: object[] = [];
  let isFull = true;
  const { call } = await running({
    persistUsed: () => {
      if (isFull) throw new QuotekeeperError("NONCES_UNWRITABLE", "serve/nonces cannot be written (ENOSPC)");
    },
    logger: { info: () => undefined, error: (fields) => errors.push(fields) },
  });
  const targets = [`${QUOTES}?symbols=AAPL`, "/v1/market/quotes.json", "/v1/account/1/balances.xml"];

  const refused = await Promise.all(targets.map((target) => call(target)));
  isFull = false;
  const accepted = await call(`${QUOTES}?symbols=AAPL`);

  expect(refused.map(({ status }) => status)).toEqual([500, 500, 500]);
  expect(refused.map(({ headers }) => headers["x-ratelimit-used"])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(errors).toHaveLength(3);
  expect([accepted.status, accepted.headers["x-ratelimit-used"]]).toEqual([200, "1"]);
});

test("no call is answered before its nonce is kept", async () => {
  const kept: string[] = [];
  const used: string[] = [];
  const { call } = await running({
    nonces: newNonceMemory({ windowSeconds: 10, onFresh: ({ mark }) => used.push(mark) }),
    persistUsed: () => kept.push(...used.splice(0)),
  });

  const keptAtAnswer = await Promise.all(
    [1, 2, 3].map(() => call(`${QUOTES}?symbols=AAPL`).then(() => kept.length)),
  );

  expect(used).toEqual([]);
  expect(keptAtAnswer.every((count, place) => count > place)).toBe(true);
  expect(new Set(kept).size).toBe(3);
});

test.each([
  [500, new QuotekeeperError("UNEXPECTED", "password=hunter2")],
  [503, new QuotekeeperError("DATABASE_UNREACHABLE", "password=hunter2")],
])("a source that fails is answered %i without its reason, which goes to the log", async (status, error) => {
  const errors: object[] = [];
  const { call } = await running({
    source: {
      name: "archive",
      quotes: () => Promise.reject(error),
      watchlist: () => null,
    },
    logger: { info: () => undefined, error: (fields) => errors.push(fields) },
  });

  const answer = await call(`${QUOTES}?symbols=AAPL`);

  expect(answer.status).toBe(status);
  expect(answer.body).not.toContain("hunter2");
  expect(errors).toEqual([{ err: error }]);
});

test("the 61st quote call of a minute is answered with the fault and the headers, until the minute has passed", async () => {
  const { call, clock } = await running();
  const quotes = () => call(`${QUOTES}?symbols=F`);

  const first = await quotes();
  for (let i = 0; i < 59; i++) await quotes();
  const fault = await quotes();
  clock.advance(59_999);
  const stillFault = await quotes();
  clock.advance(1);
  const again = await quotes();

  expect(first.headers).toMatchObject({
    "x-ratelimit-used": "1",
    "x-ratelimit-remaining": "59",
    "x-ratelimit-limit": "60",
    "x-ratelimit-expire": String(Math.ceil(Date.parse("2026-03-11T15:01:30.250Z") / 1000)),
  });
  expect(fault.status).toBe(429);
  expect(fault.headers).toMatchObject({
    "x-ratelimit-used": "60",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-limit": "60",
  });
  expect(fault.body).toContain("<string>API calls quota exceeded! maximum admitted 60 per Minute.</string>");
  expect(fault.headers["x-quotekeeper-source"]).toBeUndefined();
  expect(stillFault.status).toBe(429);
  expect([again.status, again.headers["x-ratelimit-used"]]).toEqual([200, "1"]);
});

test("the service counts orders and other calls on their own, 40 and 180 a minute, and answers them 501", async () => {
  const { call } = await running();

  const quote = await call(`${QUOTES}?symbols=F`);
  const order = await call("/v1/account/123/orders.xml", {
    method: "POST",
    headers: { "content-type": "text/xml" },
    body: "<FIXML/>",
  });
  const balances = await call("/v1/accounts/balances.xml");
  const submitted = await call("/v1/account/123/orders.xml");
  const posted = await call(QUOTES, { method: "POST" });
  const json = await call("/v1/market/quotes.json?symbols=F");
  const clockCall = await call("/v1/market/clock.xml");
  const calls = [quote, order, balances, submitted, clockCall, posted, json];

  expect(calls.map(({ status }) => status)).toEqual([200, 501, 501, 501, 501, 501, 501]);
  expect(calls.map(({ headers }) => headers["x-ratelimit-limit"])).toEqual([
    ...["60", "40", "180", "180", "180", "60", "60"],
  ]);
  expect(calls.map(({ headers }) => headers["x-ratelimit-used"])).toEqual([
    ...["1", "1", "1", "2", "3", "2", "3"],
  ]);
  expect(read(order).error).toBe("trade submission is not part of this service");
  expect(read(balances).error).toBe("this call is not part of this service");
});

test("each token has limits of its own, which can be set", async () => {
  const other = { consumerKey: "ck", consumerSecret: "cs", accessToken: "at2", accessTokenSecret: "ts2" };
  const { call } = await running({
    keys: [key, other],
    limits: { quotes: 1, orders: 1, other: 1, windowMs: 1_000 },
  });

  const statuses = [
    await call(`${QUOTES}?symbols=F`),
    await call(`${QUOTES}?symbols=F`),
    await call(`${QUOTES}?symbols=F`, { credentials: other }),
  ].map(({ status }) => status);

  expect(statuses).toEqual([200, 429, 200]);
});

test("the headers are spelled as in the specification", async () => {
  const { call } = await running();

  const { rawNames } = await call(`${QUOTES}?symbols=F`);

  expect(rawNames).toEqual(
    expect.arrayContaining([
      "X-RateLimit-Used",
      "X-RateLimit-Expire",
      "X-RateLimit-Limit",
      "X-RateLimit-Remaining",
    ]),
  );
});

test("a token for delayed quotes gets those, and is refused real-time ones in words", async () => {
  const realTime = { ...key, accessToken: "rt", access: "real-time" as const };
  const { call, source, clock } = await running({ keys: [{ ...key, access: "delayed" }, realTime] });
  const lastOf = (answer: Answer) =>
    read(answer).items.map((item) => (item.ok ? item.item.quote.last : null));
  const last = (at: Date) => source.quote({ kind: "security", symbol: "AAPL" }, at).quote.last;
  const earlier = last(new Date(clock.now().getTime() - 15 * 60_000));

  const byDefault = await call(`${QUOTES}?symbols=AAPL`);
  const delayed = await call(`${QUOTES}?symbols=AAPL&delayed=true`);
  const refused = await call(`${QUOTES}?symbols=AAPL&delayed=false`);
  const allowed = await call(`${QUOTES}?symbols=AAPL&delayed=false`, { credentials: realTime });

  expect([lastOf(byDefault), lastOf(delayed)]).toEqual([[earlier], [earlier]]);
  expect(refused.status).toBe(403);
  expect(read(refused).error).toBe("this token may see delayed quotes alone; ask with delayed=true");
  expect(lastOf(allowed)).toEqual([last(clock.now())]);
});

test("the log has method, path and status of a call, but no query, header, key or token", async () => {
  const lines: object[] = [];
  const { call } = await running({
    logger: { info: (fields) => lines.push(fields), error: (fields) => lines.push(fields) },
  });

  await call(`${QUOTES}?symbols=AAPL&oauth_token=at&oauth_signature=sig`);
  await call(`${QUOTES}?symbols=AAPL`);
  await new Promise(setImmediate);

  expect(lines).toEqual([
    { method: "GET", path: QUOTES, status: 400, ms: expect.any(Number) },
    { method: "GET", path: QUOTES, status: 200, ms: expect.any(Number) },
  ]);
});

test("the service closes while a caller keeps its connection open", async () => {
  const { clock, source } = await running();
  const service = createQuoteService({ source, keys: [key], clock });
  const { port } = new URL(await service.listen({ host: "127.0.0.1", port: 0 }));
  const socket = connect({ host: "127.0.0.1", port: Number(port) });
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));

  await service.close();

  socket.destroy();
});
