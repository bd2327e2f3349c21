import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { handOnDatabases } from "../support/database.ts";
import { CHANCE_FAULTS, decideFault, faultyAnswers, readFaults, shuffled } from "../support/faultyAnswers.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";

handOnDatabases();

/** A service that makes faults, and a collector that asks it for the same symbols again and again. */
async function faulty(text: string, { seed = 4, clock = createTestClock() } = {}) {
  const faults = faultyAnswers(readFaults(text), { seed, clock });
  const limits = { quotes: 60, orders: 40, other: 180, windowMs: 60_000 };
  const service = await startSimulatedService(faults.clock, { ...faults, limits });
  return { ...service, clock };
}

const SYMBOLS = ["AAPL", "GE", "KO", "SIRI", "T"];
const CALL: QuoteCall = { form: "symbols", symbols: SYMBOLS, delayed: false };
const TARGET = `/v1/market/quotes.xml?symbols=${SYMBOLS.join("%2C")}&delayed=false`;

type Answer = {
  status: number;
  headers: Record<string, string | undefined>;
  body: string;
  /** Whether the transport shows that something is missing. */
  broken: boolean;
};

/** A signed call over a bare socket, which takes whatever comes until the connection is closed. */
function ask({ baseUrl, clock }: { baseUrl: string; clock: TestClock }, skewMs = 0): Promise<Answer> {
  const authorization = signRequest({
    method: "GET",
    url: `${baseUrl}${TARGET}`,
    credentials: TEST_CREDENTIALS,
    nonce: Buffer.from(clock.random(8)).toString("hex"),
    timestamp: Math.floor((clock.now().getTime() + skewMs) / 1000),
  });
  const { hostname, port, host } = new URL(baseUrl);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
    socket.on("close", () => resolve(answerIn(Buffer.concat(chunks).toString("utf8"))));
    socket.write(
      `GET ${TARGET} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
    );
  });
}

function answerIn(text: string): Answer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const body = rest.join("\r\n\r\n");
  const broken = text === "" || Number(headers["content-length"] ?? 0) > Buffer.byteLength(body);
  return { status: Number(first.split(" ")[1] ?? 0), headers, body, broken };
}

test("a list of faults is read with shares, durations and ranges", () => {
  expect(readFaults("latency=200ms..2s,429=5%,truncate=2%,500=0.01,skew=-11s,reorder")).toEqual({
    latencyMs: { from: 200, to: 2_000 },
    shares: expect.objectContaining({ "429": 0.05, truncate: 0.02, "500": 0.01, drop: 0 }),
    reorder: 1,
    skewMs: -11_000,
    headerSkewMs: 0,
  });
});

test("seed and number of a call decide its fault; shares and latencies come out as asked", () => {
  const config = readFaults("latency=100ms..300ms,500=10%,truncate=20%,reorder=50%");
  const draw = (seed: number) => Array.from({ length: 5_000 }, (_, call) => decideFault(config, seed, call));

  const faults = draw(7);

  const share = (test: (fault: (typeof faults)[number]) => boolean) => faults.filter(test).length / 5_000;
  expect(draw(7)).toEqual(faults);
  expect(draw(8)).not.toEqual(faults);
  expect(share(({ kind }) => kind === "500")).toBeCloseTo(0.1, 1);
  expect(share(({ kind }) => kind?.startsWith("truncate-") === true)).toBeCloseTo(0.18, 1);
  expect(share(({ shuffle }) => shuffle !== null)).toBeCloseTo(0.5, 1);
  const latencies = faults.map(({ latencyMs }) => latencyMs);
  expect([Math.min(...latencies), Math.max(...latencies)]).toEqual([100, 300]);
  expect(new Set(faults.map(({ kind }) => kind)).size).toBe(6);
});

test("two or more instruments never keep their order, and none is lost", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer(), { minLength: 2 }), fc.integer(), (items, seed) => {
      const mixed = shuffled(items, seed);
      expect(mixed).not.toEqual(items);
      expect(mixed.toSorted()).toEqual(items.toSorted());
    }),
  );
});

test("the fault 429 uses the limit up at once, with its headers, and normal answers come when it has expired", async () => {
  const world = await faulty("429=8%", { seed: 1 });
  const answers: Answer[] = [];

  for (let call = 0; call < 50; call++) {
    answers.push(await ask(world));
    world.clock.advance(5_000);
  }

  const statuses = answers.map(({ status }) => status);
  const first = statuses.indexOf(429);
  const storm = answers.slice(first, statuses.indexOf(200, first));
  expect(first).toBeGreaterThan(0);
  expect(storm.length).toBeGreaterThan(1);
  for (const { headers, body } of storm) {
    expect(headers).toMatchObject({
      "x-ratelimit-used": "60",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-limit": "60",
      "x-ratelimit-expire": storm[0]?.headers["x-ratelimit-expire"],
    });
    expect(body).toContain("API calls quota exceeded");
  }
  expect(statuses.slice(first)).toContain(200);
});

test("a service truncates silently, early, open, and with a length that is too small", async () => {
  const seen: Record<string, Answer> = {};
  for (const way of ["silent", "early", "open", "length"])
    seen[way] = await ask(await faulty(`truncate-${way}=100%`));

  const lengths = (way: string) => [
    seen[way]?.headers["content-length"],
    seen[way]?.body.length,
    seen[way]?.broken,
  ];
  const [silent, cut, isBroken] = lengths("silent");
  expect([Number(silent), isBroken]).toEqual([cut, false]);
  expect(Number(lengths("early")[0])).toBeGreaterThan(Number(lengths("early")[1]));
  expect(lengths("early")[2]).toBe(true);
  expect(lengths("open")).toEqual([undefined, expect.any(Number), false]);
  expect(Number(lengths("length")[0])).toBeLessThan(Number(lengths("length")[1]));
  for (const { status, headers, body: sent } of Object.values(seen)) {
    const body = sent.slice(0, Number(headers["content-length"] ?? Infinity));
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: "application/xml; charset=UTF-8",
    });
    expect(headers["x-ratelimit-remaining"]).toBe("59");
    expect(() => readDocument(Buffer.from(body))).toThrow("DOCUMENT_REFUSED");
  }
});

test("the fault 500 is an error document, html a page with status 200, drop no answer at all", async () => {
  const [error, page, none] = [
    await ask(await faulty("500=100%")),
    await ask(await faulty("html=100%")),
    await ask(await faulty("drop=100%")),
  ];

  expect(error).toMatchObject({ status: 500, body: expect.stringContaining("<error>") });
  expect(page).toMatchObject({ status: 200, body: expect.stringMatching(/^<!DOCTYPE html>/) });
  expect(page.headers["content-type"]).toMatch(/^text\/html/);
  expect(none).toMatchObject({ status: 0, broken: true });
});

test("the fault latency delays every answer, on the service's clock", async () => {
  const world = await faulty("latency=200ms..2s");
  for (let call = 0; call < 20; call++) expect((await ask(world)).status).toBe(200);

  expect(world.clock.slept).toHaveLength(20);
  expect(new Set(world.clock.slept).size).toBeGreaterThan(10);
  for (const ms of world.clock.slept) expect(ms >= 200 && ms <= 2_000).toBe(true);
});

test("the fault skew moves the clock that verifies and the clock that is shown; header-skew only the latter", async () => {
  const [skewed, shown] = [await faulty("skew=11s"), await faulty("header-skew=-1h")];

  const refused = await ask(skewed);
  const corrected = await ask(skewed, 11_000);
  const accepted = await ask(shown);

  const dateOf = ({ headers }: Answer) => headers["date"];
  const utc = (ms: number) => new Date(skewed.clock.now().getTime() + ms).toUTCString();
  expect([refused.status, dateOf(refused)]).toEqual([401, utc(11_000)]);
  expect([corrected.status, dateOf(corrected)]).toEqual([200, utc(11_000)]);
  expect([accepted.status, dateOf(accepted)]).toEqual([200, utc(-3_600_000)]);
  expect(accepted.headers["x-ratelimit-expire"]).toBe(
    String(Math.ceil(shown.clock.now().getTime() / 1000) + 60 - 3_600),
  );
});

test("the fault reorder keeps every instrument, in another order", async () => {
  const { body } = await ask(await faulty("reorder"));

  const names = readDocument(Buffer.from(body)).items.map((item) =>
    item.ok ? item.item.instrument.symbol : "",
  );
  expect(names).not.toEqual(SYMBOLS);
  expect(names.toSorted()).toEqual(SYMBOLS.toSorted());
});

const SPECS = [
  ...CHANCE_FAULTS.map((name) => `${name}=50%`),
  "reorder",
  "latency=1s..5s",
  "skew=11s",
  "skew=-11s",
  "header-skew=1h",
  "latency=10ms..20ms,429=5%,truncate=20%,500=10%,drop=10%,html=10%,skew=11s,reorder",
];

test.each(SPECS)(
  "our own collector meets %s without one wrong row, and stores whole answers",
  async (text) => {
    const { baseUrl, credentials, clock, market } = await faulty(text);
    const collecting = await openCollecting(clock, { baseUrl, credentials });
    let whole = 0;

    for (let call = 0; call < 12; call++) {
      const collected = await collecting.collect(CALL).catch((error: Error) => error);
      if (!(collected instanceof Error) && classifyAnswer(collected.record).outcome === "quotes") whole += 1;
      clock.advance(20_000);
    }

    const rows = await rowsOfQuery(
      collecting.pool,
      `select i.symbol, q.last, q.bid, e.volume, to_char(q.observed_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
       from quotes q join instruments i on i.id = q.instrument_id
       join extended_quotes e using (instrument_id, observed_at, source_id)`,
    );
    const skewMs = readFaults(text).skewMs;
    for (const { symbol, last, bid, volume, at } of rows) {
      // What the market says at the service's own time of the answer, which is the time of receipt here.
      const atMs = Date.parse(String(at)) + skewMs;
      const { quote } = market.quote({ kind: "security", symbol: String(symbol) }, new Date(atMs));
      expect({ last, bid, volume }).toEqual({
        last: quote.last,
        bid: quote.bid,
        volume: quote.extended.volume,
      });
    }
    expect(rows).toHaveLength(whole * SYMBOLS.length);
    expect(whole).toBeGreaterThan(0);
  },
);
