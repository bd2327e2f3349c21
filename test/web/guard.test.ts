import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { requireToken } from "../../src/web/guard/hosts.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { openDashboard } from "./dashboard.ts";

const LOGIN_MS = 30 * 86_400_000;

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

  const [data, page] = [await get("/api/now", { headers }), await get("/healthz", { headers })];

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
  const answer = await get("/api/now", { headers: { cookie: `other=1; ${pair}` } });

  expect(login.status).toBe(200);
  expect(cookie).toMatch(/^quotekeeper_login=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(cookie).not.toContain("Secure");
  expect(cookie).not.toContain(TOKEN);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ page: { protected: true } });
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

const cookieOf = (login: Response): string => login.headers.get("set-cookie")?.split(";")[0] ?? "";

test("a login lasts thirty days, and not a moment longer", async () => {
  const clock = createTestClock();
  const { get } = await openDashboard({ pool, token: TOKEN, clock });
  const cookie = cookieOf(await get("/api/login", logIn(TOKEN)));
  const status = async (): Promise<number> => (await get("/api/chains", { headers: { cookie } })).status;

  clock.advance(LOGIN_MS - 1);
  const atLast = await status();
  clock.advance(1);

  expect([atLast, await status()]).toEqual([200, 401]);
});

test("a login cannot be made longer or made up, and another token ends it", async () => {
  const clock = createTestClock();
  const loginsDir = join(tempDir(), "dashboard");
  const { get } = await openDashboard({ pool, token: TOKEN, clock, loginsDir });
  const other = await openDashboard({ pool, token: "another-token-0123456789", clock, loginsDir });
  const [name = "", value = ""] = cookieOf(await get("/api/login", logIn(TOKEN))).split("=");
  const [ends = "", rest = ""] = value.split(/(?<=^\d+)-/);
  const status = async (cookie: string, ask = get): Promise<number> =>
    (await ask("/api/chains", { headers: { cookie: `${name}=${cookie}` } })).status;

  expect([await status(value), await status(value, other.get)]).toEqual([200, 401]);
  for (const made of [
    "",
    ".",
    "9999999999999.",
    `${Number(ends) + 1}-${rest}`,
    `${value}x`,
    value.split(".")[0] ?? "",
  ])
    expect([made, await status(made)]).toEqual([made, 401]);
});

test("a dashboard without a token listens on this machine's own addresses alone", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])
    expect(() => requireToken(host, null)).not.toThrow();
  for (const host of ["0.0.0.0", "::", "127.example", "10.0.0.1", ""])
    expect(() => requireToken(host, null)).toThrow("WEB_TOKEN_MISSING");
});
