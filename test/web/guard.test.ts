import { expect, test } from "@jest/globals";
import { requireToken } from "../../src/web/guard/hosts.ts";
import { createRecords, createSessions, sameText, SESSION_MS } from "../../src/web/guard/session.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard } from "./dashboard.ts";

const MOST_SESSIONS = 1_000;

const { url } = await freshDatabase();
const pool = poolOn(url, { readOnly: true, max: 2 });

const TOKEN = "a-token-of-the-test-0123456789";

const logIn = (token: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ token }),
});

test.each([
  ["cross-site", 403],
  ["same-site", 403],
  ["same-origin", 200],
  ["none", 200],
])("data that a browser asks for as %s is answered with %d", async (site, status) => {
  const { get } = await openDashboard({ pool });
  const headers = { "sec-fetch-site": site };

  const [data, page] = [await get("/api/meta", { headers }), await get("/healthz", { headers })];

  // A link on another page may lead to the dashboard's own page.
  expect([data.status, page.status]).toEqual([status, 200]);
});

test("an answer holds each column once, however often it was asked for", async () => {
  const { get } = await openDashboard({ pool });
  const often = Array.from({ length: 3_800 }, () => "bid").join();

  const once = await get("/api/quotes?columns=bid");
  const again = await get(`/api/quotes?columns=${often}`);

  expect([once.status, again.status]).toEqual([200, 200]);
  expect(await again.text()).toBe(await once.text());
});

test("without a token there is nothing to log in to", async () => {
  const { get } = await openDashboard({ pool });

  expect((await get("/api/login", logIn(""))).status).toBe(401);
});

test("a login gives a cookie that no script can read and no other site sends", async () => {
  const { get } = await openDashboard({ pool, token: TOKEN });

  const login = await get("/api/login", logIn(TOKEN));
  const cookie = login.headers.get("set-cookie") ?? "";
  const [pair = ""] = cookie.split(";");
  const answer = await get("/api/meta", { headers: { cookie: `other=1; ${pair}` } });

  expect(login.status).toBe(200);
  expect(cookie).toMatch(/^quotekeeper_session=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(cookie).not.toContain("Secure");
  expect(cookie).not.toContain(TOKEN);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ protected: true });
});

test("behind a proxy that speaks https the login's cookie goes over https alone", async () => {
  const { get } = await openDashboard({ pool, token: TOKEN });

  const login = await get("/api/login", logIn(TOKEN, { "x-forwarded-proto": "https" }));

  expect(login.headers.get("set-cookie")).toMatch(/; Secure; /);
});

test.each([{ token: 7 }, { token: null }, { token: ["x"] }, {}, null])(
  "a login of %j is refused",
  async (body) => {
    const { get } = await openDashboard({ pool, token: TOKEN });
    const headers = { "content-type": "application/json" };

    expect((await get("/api/login", { method: "POST", headers, body: JSON.stringify(body) })).status).toBe(
      401,
    );
  },
);

const inMemory = () => createRecords(null, { warn: () => undefined });

test("a session lasts thirty days, and not a moment longer", () => {
  const clock = createTestClock();
  const sessions = createSessions(TOKEN, inMemory(), clock);
  const session = sessions.issue();

  clock.advance(SESSION_MS - 1);
  const atLast = sessions.isGood(session);
  clock.advance(1);

  expect(atLast).toBe(true);
  expect(sessions.isGood(session)).toBe(false);
});

test("a session cannot be made longer, made up, or taken to another token", () => {
  const clock = createTestClock();
  const records = inMemory();
  const sessions = createSessions(TOKEN, records, clock);
  const session = sessions.issue();
  const [ends = "", rest = ""] = session.split(/(?<=^\d+)-/);

  expect(sessions.isGood(session)).toBe(true);
  expect(createSessions("another-token-0123456789", records, clock).isGood(session)).toBe(false);
  for (const made of [
    "",
    ".",
    "9999999999999.",
    `NaN-${rest}`,
    `${Number(ends) + 1}-${rest}`,
    `${session}x`,
    records.names()[0] ?? "",
    `../${session}`,
    `${ends}-${"0".repeat(64)}`,
    session.toUpperCase() + " ",
  ])
    expect([made, sessions.isGood(made)]).toEqual([made, false]);
});

test("sessions beyond a thousand end the one that would end first, and those that have ended leave nothing", () => {
  const clock = createTestClock();
  const records = inMemory();
  const sessions = createSessions(TOKEN, records, clock);
  const issueLater = () => (clock.advance(1), sessions.issue());
  const issued = Array.from({ length: MOST_SESSIONS + 1 }, issueLater);

  expect(issued.map(sessions.isGood)).toEqual([false, ...Array<boolean>(MOST_SESSIONS).fill(true)]);
  clock.advance(SESSION_MS);
  sessions.issue();
  expect(records.names()).toHaveLength(1);
});

test("texts of any length are compared, none by its beginning", () => {
  expect(sameText("abc", "abc")).toBe(true);
  expect(sameText("ab", "abc")).toBe(false);
  expect(sameText("", "abc")).toBe(false);
});

test("a dashboard without a token listens on this machine's own addresses alone", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])
    expect(() => requireToken(host, null)).not.toThrow();
  for (const host of ["0.0.0.0", "::", "127.example", "10.0.0.1", ""])
    expect(() => requireToken(host, null)).toThrow("WEB_TOKEN_MISSING");
});
