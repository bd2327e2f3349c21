import { expect, test } from "@jest/globals";
import type { Log } from "../../src/ground/log.ts";
import { closedPort } from "../support/stubService.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard, SOURCES } from "./dashboard.ts";

const { url } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

test("the dashboard's server answers before the first quote, with nothing", async () => {
  const { get } = await openDashboard({ pool: reader });

  expect(await (await get("/api/quotes")).json()).toMatchObject({ whole: true, view: { rows: [] } });
  expect(await (await get("/api/chains")).json()).toMatchObject({ view: [] });
  expect(await (await get("/api/coverage?from=2026-11-16&to=2026-11-20")).json()).toMatchObject({
    view: { rows: [] },
  });
});

test("the dashboard's server lets no script, style or frame of somebody else's in", async () => {
  const { get } = await openDashboard({ pool: reader });

  const { headers } = await get("/api/now");

  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("cache-control")).toBe("no-store");
});

test("the dashboard's server says 503 with a remedy while the database is away, names no password, and the program lives on", async () => {
  const logged: unknown[] = [];
  const at = (fields: object): void => void logged.push(fields);
  const log: Log = { debug: at, info: at, warn: at, error: at };
  const away = poolOn(`postgresql://me:canary-password@127.0.0.1:${await closedPort()}/quotes`);
  const { get } = await openDashboard({ pool: away, log });

  const response = await get("/api/quotes");
  const health = await get("/healthz");

  expect(response.status).toBe(503);
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({ error: { code: "DATABASE_UNREACHABLE", person: false } });
  expect(text).not.toContain("canary-password");
  expect(health.status).toBe(200);
  expect(JSON.stringify(logged)).not.toContain("canary-password");
});

test("a statement that takes too long is told as slow, and a file whose rows come after its deadline harms nobody", async () => {
  const { get } = await openDashboard({ pool: poolOn(url, { readOnly: true, readMs: 300 }) });
  const patient = await openDashboard({ pool: poolOn(url, { readOnly: true, readMs: 0, max: 1 }) });
  const file = "/api/chain.csv?symbol=AAPL&source=1";
  const locker = await poolOn(url).connect();
  await locker.query("begin; lock table instruments in access exclusive mode");

  const slow = await get(file);
  const silent = await patient.get(file);
  await locker.query("rollback");
  locker.release();
  const after = await patient.get(file);

  expect([slow.status, await slow.json()]).toMatchObject([
    503,
    { error: { code: "DATABASE_SLOW", person: false } },
  ]);
  expect([silent.status, await silent.json()]).toMatchObject([
    503,
    { error: { code: "DATABASE_UNREACHABLE" } },
  ]);
  expect([after.status, after.headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
});

test("with a database that was never migrated the dashboard's server is calm: it says that there is nothing yet, and how to begin", async () => {
  const empty = await freshDatabase({ migrated: false });
  const { get } = await openDashboard({ pool: poolOn(empty.url, { readOnly: true }) });

  for (const path of ["/api/quotes", "/api/chains", "/api/coverage?from=2026-11-01&to=2026-11-20"]) {
    const response = await get(path);

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { code: "ARCHIVE_EMPTY", hint: expect.stringContaining("quotekeeper start"), person: false },
    });
  }
});

test("the statements of the dashboard's server are not compiled, which would take longer than they do", async () => {
  const { rows } = await reader.query("show jit");

  expect(rows).toEqual([{ jit: "off" }]);
});

test("the dashboard's server knows no other address, and reaches no file", async () => {
  const { get } = await openDashboard({ pool: reader });

  expect((await get("/tokens?token=canary")).status).toBe(404);
  expect((await get("/assets/..%2f..%2f..%2fpackage.json")).status).toBe(404);
});

test.each([
  ["bars?instrument=x&source=2", "instrument"],
  ["bars?instrument=1&source=2&interval=7m", "interval"],
  ["bars?instrument=1&source=1&from=2026-11-18&to=2026-11-17", "query"],
  ["bars?instrument=1&source=1&sessions=0", "sessions"],
  ["bars/misses?instrument=1&source=1&from=2026-11-17", "to"],
  ["chain?symbol=A&expiration=2026-02-30&source=2", "expiration"],
  ["coverage?from=2026-11-20&to=2026-11-19", "query"],
  ["misses?date=2026-11-20&instrument=A&source=moon", "source"],
  ["quotes?columns=price", "columns"],
  ["quotes?names=A,,B", "names"],
  ["quotes?names=A,%00", "names"],
  [`quotes?names=${Array.from({ length: 251 }, (_, place) => `S${place}`).join()}`, "names"],
])("a query that makes no sense is refused with what is wrong about it, number %#", async (path, wrong) => {
  const { get } = await openDashboard({ pool: reader });

  const response = await get(`/api/${path}`);

  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.objectContaining({ code: "QUERY_INVALID", detail: expect.stringContaining(wrong) }) },
  ]);
});

test("an address that is not this machine's is named, with the settings to correct", async () => {
  await expect(
    openDashboard({ pool: reader, host: "192.0.2.1", token: "0123456789abcdef" }),
  ).rejects.toMatchObject({
    code: "HTTP_ADDRESS_INVALID",
    message: expect.stringMatching(/192\.0\.2\.1.*QUOTEKEEPER_HTTP_HOST/),
  });
});

test("where no collector runs the Now view says so, and tells what the archive and the journal say", async () => {
  const { get } = await openDashboard({ pool: reader, sources: { ...SOURCES, live: () => null } });

  const now = await (await get("/api/now")).json();

  expect(now).toMatchObject({
    live: null,
    market: { phase: "post" },
    status: { healthy: true },
    quotes: { quotes: [], instruments: 0 },
  });
});

test("what cannot be found out is null, and the rest is there", async () => {
  const broken = () => Promise.reject(new Error("no disk"));
  const { get } = await openDashboard({
    pool: reader,
    sources: { ...SOURCES, journal: broken, status: broken },
  });

  expect(await (await get("/api/now")).json()).toMatchObject({
    journal: null,
    status: null,
    quotes: { quotes: [], instruments: 0 },
  });
});
